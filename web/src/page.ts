// What the server wrote into the page: the lesson's steps with their prose as HTML.

export interface StepBase {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly reveal_after: string;
}

export interface PlainStep extends StepBase {
  readonly kind: "prose" | "reference";
}

export interface Option {
  readonly id: string;
  readonly text: string;
  readonly right: boolean | null;
  readonly why: string;
}

export interface PredictStep extends StepBase {
  readonly kind: "predict";
  readonly question: string;
  readonly options: readonly Option[];
  readonly after: string;
}

export interface ChoiceStep extends StepBase {
  readonly kind: "choice";
  readonly question: string;
  readonly options: readonly Option[];
  readonly quotes: string;
}

export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly p: readonly string[];
  readonly q: readonly string[];
  readonly note: string;
}

export interface TableStep extends StepBase {
  readonly kind: "table";
  readonly tokens: readonly string[];
  readonly p: readonly string[];
  readonly q: readonly string[];
  readonly columns: readonly Column[];
  readonly facts: readonly Fact[];
  readonly presets: readonly Preset[];
}

export type Column =
  | "token"
  | "p"
  | "q"
  | "covered"
  | "acceptance"
  | "residual"
  | "corrected"
  | "naive"
  | "matched"
  | "redrawn"
  | "greedy";

/** What is shown once, below the table. */
export type Fact = "reject" | "overlap" | "variation" | "agreement" | "difference";

export interface Parameter {
  readonly id: string;
  readonly title: string;
  readonly low: string;
  readonly high: string;
  readonly step: string;
  readonly value: string;
  readonly unit: string;
}

export interface CurveStep extends StepBase {
  readonly kind: "curve";
  /** The parameter along the axis. */
  readonly x: string;
  readonly y: string;
  readonly parameters: readonly Parameter[];
  readonly series: readonly { readonly formula: string; readonly title: string }[];
  /** The formula whose highest point is marked, or "". */
  readonly best: string;
}

export interface RoundsStep extends StepBase {
  readonly kind: "rounds";
  readonly tokens: readonly string[];
  readonly target: readonly number[];
  readonly draft: readonly number[];
  readonly prompt: readonly number[];
  readonly k: number;
  readonly most_k: number;
  readonly stop: number;
  readonly limit: number;
}

export interface AnswerItem {
  readonly id: string;
  readonly ask: string;
  readonly form: "number" | "list";
  readonly answer: readonly string[];
  readonly wrong: readonly { readonly value: readonly string[]; readonly why: string }[];
  readonly hints: readonly string[];
  readonly solution: string;
  readonly placeholder: string;
}

export interface AnswersStep extends StepBase {
  readonly kind: "answers";
  readonly items: readonly AnswerItem[];
}

export interface CodeStep extends StepBase {
  readonly kind: "code";
  readonly filename: string;
  readonly time_limit_s: number;
  readonly starter: string;
  readonly reference: string;
  readonly hints: readonly string[];
  readonly tests: readonly { readonly id: string; readonly name: string }[];
  readonly exercise: unknown;
  readonly plot: Plot | null;
}

/** What to call the parts of the drawing after a pass. */
export interface Plot {
  readonly truth: string;
  readonly rows: readonly string[];
  readonly exact: string;
  readonly naive: string;
}

export interface TraceStep extends StepBase {
  readonly kind: "trace";
  readonly records: readonly unknown[];
}

export interface MeasureStep extends StepBase {
  readonly kind: "measure";
  readonly p: readonly string[];
  readonly q: readonly string[];
  readonly draws: readonly number[];
  readonly seed: number;
}

export interface TimingStep extends StepBase {
  readonly kind: "timing";
  readonly most_k: number;
  readonly texts: readonly { readonly id: string; readonly title: string; readonly prompt: string }[];
}

export type Step =
  | PlainStep
  | PredictStep
  | ChoiceStep
  | TableStep
  | CurveStep
  | RoundsStep
  | AnswersStep
  | CodeStep
  | TraceStep
  | MeasureStep
  | TimingStep;

export interface Page {
  readonly lesson: {
    readonly id: string;
    readonly n: number;
    readonly title: string;
    readonly contentHash: string;
  };
  readonly steps: readonly Step[];
  readonly columns: Readonly<Record<Column, string>>;
  readonly nonce: string;
  /** Names the folder that holds this learner's work. */
  readonly learner: string;
  readonly worker: string;
  readonly pyodide: string;
  readonly python: Readonly<Record<string, string>>;
  readonly program: string;
}

export function readPage(): Page {
  return JSON.parse(document.getElementById("page-data")!.textContent!) as Page;
}
