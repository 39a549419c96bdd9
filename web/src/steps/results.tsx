// What a run of the exercise showed: the tests, the first failure opened, and the drawing after a pass.
import { Frequencies } from "../charts";
import type { CodeStep, Plot } from "../page";
import { Verdict } from "../ui";

export interface Test {
  readonly id: string;
  readonly name: string;
  readonly status: "pass" | "fail" | "error";
  readonly call?: string;
  readonly got?: string;
  readonly message?: string;
}

interface Plots {
  readonly p?: readonly number[];
  readonly trials: number;
  readonly level: number;
  readonly series: readonly {
    readonly method: "exact" | "naive";
    readonly frequencies: readonly number[];
    readonly low: readonly number[];
    readonly high: readonly number[];
  }[];
}

export interface Reply {
  readonly status: "running" | "pass" | "fail" | "error" | "harness-error";
  readonly message?: string;
  readonly tests: readonly Test[];
  readonly stdout?: string;
  /** How many characters the program printed beyond those. */
  readonly cut?: number;
  readonly plots?: Plots;
}

export interface Result {
  /** Counts the runs since the page was opened, so that two equal results can be told apart. */
  readonly run: number;
  readonly code: string;
  readonly reply: Reply | null;
  readonly trouble: string;
  readonly printed: string;
  readonly cut: boolean;
}

interface ResultsProps {
  step: CodeStep;
  result: Result | null;
  /** What the last run of an earlier visit gave, in words. */
  last: string;
  /** Why the results are no longer those of the program; "" where they are. */
  old: string;
}

export function Results({ step, result, last, old }: ResultsProps) {
  if (!result) {
    return (
      <div class="results">
        <h3>Tests</h3>
        {last && <p class="note">Before you left: {last}. Run the tests to see each again.</p>}
        <ul class="tests waiting">
          {step.tests.map((test) => (
            <li key={test.id}>{test.name}</li>
          ))}
        </ul>
      </div>
    );
  }
  const running = result.reply?.status === "running" && !result.trouble;
  return (
    <div class={`results ${old ? "stale" : ""}`} aria-busy={running}>
      <p class="run">Run {result.run}</p>
      {old && <p class="note">{old}</p>}
      {result.trouble && <Verdict tone="wrong">{result.trouble}</Verdict>}
      {result.reply && <Graded step={step} reply={result.reply} />}
      {result.cut && <p class="note">Your program printed more than is shown: its output was cut.</p>}
      {result.printed && (
        <details>
          <summary>What your program printed</summary>
          <pre tabIndex={0}>{result.printed}</pre>
        </details>
      )}
      {step.plot && result.reply?.plots?.p && (
        <Proof plot={step.plot} plots={result.reply.plots} p={result.reply.plots.p} />
      )}
    </div>
  );
}

function Graded({ step, reply }: { step: CodeStep; reply: Reply }) {
  const passed = reply.tests.filter((test) => test.status === "pass").length;
  const first = reply.tests.find((test) => test.status === "fail" || test.status === "error");
  const harness = reply.status === "harness-error";
  return (
    <>
      <h3>
        {passed} of {Math.max(reply.tests.length, step.tests.length)} tests passed
      </h3>
      {reply.message && (
        <Verdict tone={harness ? "open" : reply.status === "pass" ? "right" : "wrong"}>{reply.message}</Verdict>
      )}
      {harness && <p class="note">This is a fault of the lesson, not of your program, and does not count.</p>}
      <ul class="tests">
        {reply.tests.map((test) => (
          <TestLine key={test.id} test={test} open={test === first} />
        ))}
        {step.tests.slice(reply.tests.length).map((test) => (
          <li key={test.id} class="not-run">
            ○ {test.name} <span class="unseen">not run</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const SIGNS: Record<Test["status"], string> = { pass: "✓", fail: "✗", error: "✗" };

function TestLine({ test, open }: { test: Test; open: boolean }) {
  const sign = (
    <span class="sign" aria-hidden="true">
      {SIGNS[test.status]}
    </span>
  );
  if (test.status === "pass") {
    return (
      <li class="pass">
        {sign} {test.name} <span class="unseen">passed</span>
      </li>
    );
  }
  return (
    <li class={test.status}>
      <details open={open}>
        <summary>
          {sign} {test.name} <span class="unseen">failed</span>
        </summary>
        {test.message && <p class="message">{test.message}</p>}
        {test.call && (
          <pre tabIndex={0}>
            {test.call}
            {test.got ? `\n→ ${test.got}` : ""}
          </pre>
        )}
      </details>
    </li>
  );
}

function Proof({ plot, plots, p }: { plot: Plot; plots: Plots; p: readonly number[] }) {
  const series = plots.series.map((one) => ({
    name: plot[one.method],
    tone: one.method,
    observed: one.frequencies,
    intervals: one.low.map((low, i) => [low, one.high[i]!] as const),
  }));
  const each = series.length > 1 ? "steps by each method" : "trials";
  return (
    <Frequencies
      tokens={plot.rows}
      p={p}
      truth={plot.truth}
      series={series}
      caption={`What your own program drew, ${plots.trials.toLocaleString("en")} ${each}, beside ${plot.truth}; the intervals hold together with probability ${plots.level}`}
    />
  );
}
