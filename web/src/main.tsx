// Brings the server's page to life: each step's still picture is replaced by its live widget.
import { render } from "preact";
import { getJson, speakFor } from "./api";
import { isChapter, startChapter } from "./chapter";
import type { Context, Model } from "./context";
import { applyTheme, savedTheme, Tools } from "./header";
import { parsePlace } from "./link";
import { readPage, type Page, type Step } from "./page";
import { PyRunner } from "./python";
import { Answers } from "./steps/answers";
import { Code } from "./steps/code";
import { Curve } from "./steps/curve";
import { Measure } from "./steps/measure";
import { Choice, Predict } from "./steps/questions";
import { RunProgram } from "./steps/reference";
import { Rounds } from "./steps/rounds";
import { Table } from "./steps/table";
import { Timing } from "./steps/timing";
import { TraceStrip } from "./steps/trace";
import { Store } from "./store";

function Widget({ step, context }: { step: Step; context: Context }) {
  switch (step.kind) {
    case "predict":
      return <Predict step={step} context={context} />;
    case "choice":
      return <Choice step={step} context={context} />;
    case "table":
      return <Table step={step} context={context} />;
    case "curve":
      return <Curve step={step} context={context} />;
    case "rounds":
      return <Rounds step={step} context={context} />;
    case "answers":
      return <Answers step={step} context={context} />;
    case "code":
      return <Code step={step} context={context} />;
    case "trace":
      return <TraceStrip step={step} context={context} />;
    case "measure":
      return <Measure step={step} context={context} />;
    case "timing":
      return <Timing step={step} context={context} />;
    default:
      return null;
  }
}

async function askModel(): Promise<Model> {
  try {
    return (await getJson<{ model: Model }>("/api/status")).model;
  } catch (error) {
    return { available: false, how: (error as Error).message };
  }
}

const shown = new WeakMap<Element, number>();
/** The kinds that read their record once, so that another tab's change needs a fresh start. */
const READ_ONCE: ReadonlySet<Step["kind"]> = new Set(["table", "curve", "rounds"]);

/** A step that has no widget keeps its still picture. */
function fill(context: Context): void {
  for (const step of context.page.steps) {
    const place = document.querySelector(`#${CSS.escape(step.id)} .widget`);
    if (!place || !Widget({ step, context })) continue;
    if (!shown.has(place)) place.replaceChildren();
    const version = context.store.version(step.id, READ_ONCE.has(step.kind));
    if (shown.get(place) === version) continue;
    shown.set(place, version);
    render(<Widget key={version} step={step} context={context} />, place);
  }
}

/** Opens what was waiting for an answer, and marks in the list what is done. */
function mark({ page, store }: Context): void {
  const linked = parsePlace(location.hash);
  for (const step of page.steps) {
    const section = document.getElementById(step.id)!;
    const answered = !step.reveal_after || store.step(step.reveal_after).choice !== undefined;
    const shared = linked.step === step.id && linked.p !== null;
    if (step.reveal_after) section.classList.toggle("later", !answered && !shared);
    const state = document.querySelector(`nav.steps [data-step="${CSS.escape(step.id)}"] .state`);
    if (state) state.textContent = stateOf(store, step);
  }
}

function stateOf(store: Store, step: Step): string {
  const record = store.step(step.id);
  if (record.passedAt || record.doneAt) return "done";
  return Object.keys(record).length ? "begun" : "";
}

function goTo(hash: string): void {
  const { step } = parsePlace(hash);
  if (step) document.getElementById(step)?.scrollIntoView();
}

/** What scrolls sideways can be reached with the keyboard, and only that. */
function reachScrolled(): void {
  for (const box of document.querySelectorAll<MathMLElement | HTMLElement>("math.tml-display")) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}

/** Python starts with the page, so that nobody waits for it later. */
function warmUp(page: Page, python: PyRunner): void {
  if (page.steps.some((step) => step.kind === "code" || step.kind === "reference")) python.warm();
}

async function startLesson(): Promise<void> {
  const page = readPage();
  speakFor(page.learner);
  const store = new Store(page.lesson.id, page.lesson.contentHash, page.learner);
  const python = new PyRunner(page.worker, page.pyodide, page.python);
  warmUp(page, python);
  const context: Context = { page, store, python, model: askModel() };
  await store.load();
  render(<Tools context={context} />, document.getElementById("tools")!);
  fill(context);
  store.subscribe(() => {
    mark(context);
    reachScrolled();
    fill(context);
  });
  addEventListener("hashchange", () => mark(context));
  mark(context);
  for (const place of document.querySelectorAll(".run-program")) {
    render(<RunProgram program={page.program} python={python} />, place);
  }
  goTo(location.hash);
}

applyTheme(savedTheme());
addEventListener("resize", reachScrolled);
if (document.getElementById("page-data")) void startLesson().then(reachScrolled);
if (isChapter()) startChapter();
reachScrolled();
