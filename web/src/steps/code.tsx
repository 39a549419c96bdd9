// The exercise: write, run, read why a test failed, ask for a hint, come back tomorrow.
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { download, GONE, mustAnswer } from "../api";
import type { Context } from "../context";
import type { Editor } from "../editor";
import type { Record_ } from "../merge";
import type { CodeStep } from "../page";
import type { PyRunner, State } from "../python";
import { useStore } from "../store";
import { Confirmed, focusSoon, Hints, Verdict } from "../ui";
import { Results, type Reply, type Result, type Test } from "./results";

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const SHORTCUT = MAC ? "⌘ Enter" : "Ctrl+Enter";

const STATES: Record<Exclude<State, "unavailable">, string> = {
  idle: "Python starts when you get here",
  loading: "Python is starting…",
  ready: "Python is ready",
  running: "Running your program…",
};

export function Code({ step, context }: { step: CodeStep; context: Context }) {
  useStore(context.store);
  const { store, python } = context;
  const saved = store.step(step.id);
  const draft = (saved.draft as string | undefined) ?? step.starter;
  const [result, setResult] = useState<Result | null>(null);
  const now = useRef(draft);
  const count = useRef(0);
  const write = (text: string, more: Record_ = {}) => {
    if (text === now.current) return;
    now.current = text;
    const starter = text === step.starter ? text : ((saved.starter as string | undefined) ?? step.starter);
    store.update(step.id, { draft: text, starter, ...more });
  };
  const [replaced, setReplaced] = useState(0);
  const replace = (text: string, before: string | null) => {
    write(text, { before });
    setReplaced(replaced + 1);
  };
  useEffect(() => {
    // Written in another tab.
    if (draft === now.current) return;
    now.current = draft;
    setReplaced((n) => n + 1);
  }, [draft]);
  const busy = useRef(false);
  const [started, setStarted] = useState(0);
  const run = async () => {
    if (busy.current) return;
    busy.current = true;
    count.current += 1;
    setStarted(count.current);
    const code = now.current;
    const found = await grade(python, { code, run: count.current }, step, setResult);
    busy.current = false;
    setResult(found);
    const passed = found.reply?.status === "pass" ? { passedAt: new Date().toISOString() } : {};
    const runs = ((store.step(step.id).runs as number | undefined) ?? 0) + 1;
    store.update(step.id, { runs, ...(found.reply && { last: tally(found.reply) }), ...passed });
    announce(spoken(found));
  };
  const latest = useRef(run);
  latest.current = run;
  const hints = (saved.hints as number | undefined) ?? 0;
  return (
    <div class="exercise">
      <Changed step={step} starter={saved.starter as string | undefined} />
      <Write context={context} step={step} draft={draft} replaced={replaced} onChange={write} onRun={() => void latest.current()} />
      <div class="buttons">
        <RunButton python={python} onRun={() => void run()} />
        <button
          type="button"
          class="quiet"
          onClick={() => download(step.filename, new Blob([now.current], { type: "text/x-python" }))}
        >
          Download {step.filename}
        </button>
        <Restart step={step} draft={draft} before={(saved.before as string | null | undefined) ?? null} onWrite={replace} />
      </div>
      <Results step={step} result={result} last={(saved.last as string | undefined) ?? ""} old={oldness(result, draft, started)} />
      {!saved.passedAt && (
        <Hints hints={step.hints} shown={hints} onShow={(count) => store.update(step.id, { hints: count })} />
      )}
      <Solution step={step} context={context} ready={hints >= step.hints.length} />
      <p class="fine">
        In the terminal, with your own Python and NumPy:{" "}
        <code>
          draftproof learn check {context.page.lesson.n} {step.filename}
        </code>
      </p>
    </div>
  );
}

/** Why the results shown say nothing of the program in the editor; "" where they do. */
function oldness(result: Result | null, draft: string, started: number): string {
  if (result && result.run < started) return "This is the run before; the new one is starting.";
  return result && result.code !== draft ? "The code has changed since this run." : "";
}

/** Grades a program, and shows what is known of it after every test. */
async function grade(
  python: PyRunner,
  { code, run }: Pick<Result, "code" | "run">,
  step: CodeStep,
  show: (sofar: Result) => void,
): Promise<Result> {
  const tests: Test[] = [];
  const sofar = (): Result => ({
    code,
    run,
    reply: tests.length ? { status: "running", tests: [...tests] } : null,
    trouble: "",
    printed: "",
    cut: false,
  });
  const outcome = await python.run({
    type: "grade",
    source: code,
    exercise: step.exercise,
    limitS: step.time_limit_s,
    onReport: (test) => {
      tests.push(test as Test);
      show(sofar());
    },
  });
  if (outcome.outcome !== "finished") return { ...sofar(), trouble: outcome.message };
  const reply = outcome.answer as Reply;
  const cut = outcome.cut || Boolean(reply.cut);
  return { code, run, reply, trouble: "", printed: reply.stdout || outcome.printed, cut };
}

function tally({ tests }: Reply): string {
  return `${tests.filter((test) => test.status === "pass").length} of ${tests.length} tests passed`;
}

function spoken(result: Result): string {
  if (!result.reply || result.trouble) return result.trouble;
  const { tests, message } = result.reply;
  const first = tests.find((test) => test.status === "fail" || test.status === "error");
  return `${tally(result.reply)}. ${first ? `${first.name}: ${first.message ?? ""}` : (message ?? "")}`;
}

function RunButton({ python, onRun }: { python: PyRunner; onRun(): void }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => python.subscribe(() => redraw(0)), [python]);
  const state = python.state;
  return (
    <>
      <button type="button" class="primary" onClick={onRun} disabled={state === "running"}>
        Run the tests <kbd>{SHORTCUT}</kbd>
      </button>
      <span class={`python ${state}`}>
        {state === "unavailable" ? python.trouble : STATES[state]}
      </span>
    </>
  );
}

/** A program begun on an older lesson is kept; the new beginning is shown beside it. */
function Changed({ step, starter }: { step: CodeStep; starter: string | undefined }) {
  if (starter === undefined || starter === step.starter) return null;
  return (
    <details class="note">
      <summary>The exercise has changed since you began. Your program is kept; here is the new beginning.</summary>
      <pre tabIndex={0}>{step.starter}</pre>
    </details>
  );
}

interface WriteProps {
  context: Context;
  step: CodeStep;
  draft: string;
  /** Grows when the program was replaced from outside; what is typed only flows out. */
  replaced: number;
  onChange(text: string): void;
  onRun(): void;
}

const PLAIN = "draftproof-plain-editor";

/** The editor, or a plain text box for those who prefer one. */
function Write(props: WriteProps) {
  const [plain, setPlain] = useState(() => localStorage.getItem(PLAIN) === "yes");
  const [trouble, setTrouble] = useState("");
  const fallBack = (why: string) => {
    setTrouble(`The editor could not be loaded, so here is a plain text box. ${why}`);
    setPlain(true);
  };
  const choose = (wanted: boolean) => {
    localStorage.setItem(PLAIN, wanted ? "yes" : "no");
    setPlain(wanted);
    setTrouble("");
  };
  return (
    <div class="write">
      {trouble && <Verdict tone="open">{trouble}</Verdict>}
      {plain ? <PlainBox {...props} /> : <RichEditor {...props} onFail={fallBack} />}
      <p class="fine boxed">
        <label class="inline">
          <input type="checkbox" checked={plain} onChange={(event) => choose(event.currentTarget.checked)} /> Plain
          text box
        </label>
        {!plain && <span>Tab indents; press Escape, then Tab, to leave the editor.</span>}
      </p>
    </div>
  );
}

function PlainBox({ step, draft, onChange, onRun }: WriteProps) {
  return (
    <textarea
      class="plain-code"
      aria-label={`Your program, ${step.filename}`}
      spellcheck={false}
      autocapitalize="off"
      rows={Math.min(40, draft.split("\n").length + 2)}
      value={draft}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        onRun();
      }}
    />
  );
}

/** Why a part of the page did not come: the server is gone, or else this sentence. */
async function whyMissing(address: string, otherwise: string): Promise<string> {
  return mustAnswer(address).then(
    () => otherwise,
    () => GONE,
  );
}

function RichEditor({ context, step, draft, replaced, onChange, onRun, onFail }: WriteProps & { onFail(why: string): void }) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const handlers = useRef({ onChange, onRun });
  const current = useRef(draft);
  current.current = draft;
  handlers.current = { onChange, onRun };
  useEffect(() => {
    let wanted = true;
    const load = async () => {
      const { openEditor } = await import("../editor");
      if (!wanted || !place.current) return;
      editor.current = openEditor({
        parent: place.current,
        text: current.current,
        label: `Your program, ${step.filename}`,
        nonce: context.page.nonce,
        onChange: (text) => handlers.current.onChange(text),
        onRun: () => handlers.current.onRun(),
      });
    };
    const fail = async () => {
      const why = await whyMissing(context.page.worker, "Reload the page to try again.");
      if (wanted) onFail(why);
    };
    const stop = whenNear(place.current!, () => void load().catch(fail));
    return () => {
      wanted = false;
      stop();
      editor.current?.close();
      editor.current = null;
    };
  }, []);
  useEffect(() => {
    if (replaced > 0) editor.current?.write(current.current);
  }, [replaced]);
  return <div class="editor" ref={place} />;
}

/** Calls back once the element is about to be seen; one that is hidden waits until it is shown. */
function whenNear(element: Element, callback: () => void): () => void {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      callback();
    },
    { rootMargin: "600px" },
  );
  observer.observe(element);
  return () => observer.disconnect();
}

interface RestartProps {
  step: CodeStep;
  draft: string;
  /** The program that the last start over replaced. */
  before: string | null;
  onWrite(text: string, before: string | null): void;
}

/** Back to the starter, with the way back. */
function Restart({ step, draft, before, onWrite }: RestartProps) {
  const place = useRef<HTMLSpanElement>(null);
  const write = (text: string, kept: string | null) => {
    onWrite(text, kept);
    focusSoon(() => place.current?.querySelector("button"));
  };
  return (
    <span ref={place}>
      {before !== null && draft === step.starter ? (
        <button type="button" class="quiet" onClick={() => write(before, null)}>
          Undo: bring my program back
        </button>
      ) : (
        <Confirmed
          label="Start over"
          sure="Yes, replace my program"
          disabled={draft === step.starter}
          onClick={() => {
            write(step.starter, draft);
            announce("The starter is back. Undo brings your program back.");
          }}
        />
      )}
    </span>
  );
}

function Solution({ step, context, ready }: { step: CodeStep; context: Context; ready: boolean }) {
  const saved = context.store.step(step.id);
  const place = useRef<HTMLElement>(null);
  if (saved.passedAt || saved.solutionSeen) {
    return (
      <details class="solution">
        <summary ref={place}>A solution</summary>
        <pre tabIndex={0}>
          <code>{step.reference}</code>
        </pre>
      </details>
    );
  }
  if (!ready) return null;
  return (
    <Confirmed
      label="Show a solution"
      sure="Yes, show it"
      onClick={() => {
        context.store.update(step.id, { solutionSeen: true });
        focusSoon(() => place.current);
      }}
    />
  );
}
