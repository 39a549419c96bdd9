// Draw many steps by either method and compare what comes out with p.
import { useState } from "preact/hooks";
import { announce } from "../announce";
import { postJson } from "../api";
import { Frequencies } from "../charts";
import type { Context } from "../context";
import type { MeasureStep } from "../page";
import { Rational } from "../rational";
import { Verdict } from "../ui";
import { NoModel, Prompt, useModel } from "./model";

interface Method {
  readonly counts: readonly number[];
  readonly observed: readonly number[];
  readonly intervals: readonly (readonly [number, number])[];
  readonly verdict: "refuted" | "consistent";
}

interface Measured {
  readonly p: readonly (string | number)[];
  readonly trials: number;
  readonly seed: number;
  readonly level: number;
  readonly tokens?: readonly string[];
  readonly rejection_probability: string | number;
  readonly methods: { readonly exact: Method; readonly naive: Method };
  readonly draws_until_visible: number | null;
}

const LIVE_ROUNDS = 20_000;
const MOST_SEED = 1_000_000_000;

/** The seed, or null where the text is no whole number within bounds. */
export function readSeed(typed: string): number | null {
  const seed = /^[0-9]{1,10}$/.test(typed.trim()) ? Number(typed) : MOST_SEED + 1;
  return seed <= MOST_SEED ? seed : null;
}

export function Measure({ step, context }: { step: MeasureStep; context: Context }) {
  const [trials, setTrials] = useState(step.draws[Math.floor(step.draws.length / 2)] ?? 1000);
  const [typed, setTyped] = useState(`${step.seed}`);
  const job = useJob(step, context);
  const measure = () => {
    const seed = readSeed(typed);
    if (seed === null) job.refuse(`The seed is “${typed.trim()}”; it must be a whole number from 0 to ${MOST_SEED.toLocaleString("en")}.`);
    else job.start("/api/measure", { p: step.p, q: step.q, trials, seed });
  };
  return (
    <div>
      <div class="form">
        <label>
          Draws
          <select value={trials} onChange={(event) => setTrials(Number(event.currentTarget.value))}>
            {step.draws.map((draws) => (
              <option key={draws} value={draws}>
                {draws.toLocaleString("en")}
              </option>
            ))}
          </select>
        </label>
        <label>
          Seed
          <input
            type="text"
            inputMode="numeric"
            autocomplete="off"
            class="seed"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <button type="button" class="primary" disabled={job.busy} onClick={measure}>
          Draw
        </button>
      </div>
      <Outcome job={job} />
      <LiveMeasure step={step} context={context} />
    </div>
  );
}

interface Job {
  readonly busy: boolean;
  readonly found: Measured | null;
  readonly trouble: string;
  start(path: string, body: unknown): void;
  /** Says why nothing is drawn. */
  refuse(why: string): void;
}

function useJob(step: MeasureStep, context: Context): Job {
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<Measured | null>(null);
  const [trouble, setTrouble] = useState("");
  const refuse = (why: string) => {
    setFound(null);
    setTrouble(why);
    announce(why);
  };
  const start = async (path: string, body: unknown) => {
    setBusy(true);
    setTrouble("");
    try {
      const answer = await postJson<Measured>(path, body);
      setFound(answer);
      context.store.update(step.id, { doneAt: new Date().toISOString() });
      announce(`${verdictText("The correction", answer.methods.exact)} ${verdictText("The shortcut", answer.methods.naive)}`);
    } catch (error) {
      refuse((error as Error).message);
    }
    setBusy(false);
  };
  return { busy, found, trouble, refuse, start: (path, body) => void start(path, body) };
}

function Outcome({ job }: { job: Job }) {
  if (job.trouble) return <Verdict tone="open">{job.trouble}</Verdict>;
  if (!job.found) return job.busy ? <p>Drawing…</p> : null;
  const found = job.found;
  const p = found.p.map((x) => (typeof x === "number" ? x : Rational.parse(x)?.toNumber() ?? Number(x)));
  const { exact, naive } = found.methods;
  return (
    <div class={job.busy ? "stale" : ""}>
      <Frequencies
        tokens={found.tokens ?? p.map((_, i) => `token ${i}`)}
        p={p}
        caption={`Observed frequencies of ${found.trials.toLocaleString("en")} draws by each method (seed ${found.seed}), beside p`}
        series={[
          { name: "with the correction", tone: "exact", ...exact },
          { name: "resampling from p", tone: "naive", ...naive },
        ]}
      />
      <ul class="verdicts">
        <li>{verdictText("The correction", exact)}</li>
        <li>{verdictText("The shortcut", naive)}</li>
      </ul>
      <p>{until(found)}</p>
      <p class="fine">
        All intervals of one method hold together, except with probability {found.level}.
      </p>
    </div>
  );
}

function verdictText(who: string, method: Method): string {
  return method.verdict === "refuted"
    ? `✗ ${who} is visibly wrong: p lies outside its intervals.`
    : `✓ ${who} agrees with p so far: every interval contains p.`;
}

function until({ draws_until_visible: draws, level }: Measured): string {
  return draws === null
    ? "Here the shortcut has exactly the law p, so no number of draws will tell the two apart."
    : `On average it takes about ${Math.ceil(draws).toLocaleString("en")} draws until the shortcut's own law is ` +
        `${Math.round(1 / level).toLocaleString("en")} times likelier than p.`;
}

function LiveMeasure({ step, context }: { step: MeasureStep; context: Context }) {
  const model = useModel(context);
  const [prompt, setPrompt] = useState("The capital of France is");
  const job = useJob(step, context);
  return (
    <details class="live">
      <summary>On the real model</summary>
      <p>The first position after your own prompt: real rows p and q, the likeliest tokens, and all others together.</p>
      {model?.available ? (
        <div class="form">
          <Prompt value={prompt} onValue={setPrompt} />
          <button
            type="button"
            class="primary"
            disabled={job.busy || !prompt.trim()}
            onClick={() => job.start("/api/measure-live", { prompt, rounds: LIVE_ROUNDS, seed: step.seed })}
          >
            Draw {LIVE_ROUNDS.toLocaleString("en")} rounds
          </button>
        </div>
      ) : (
        <NoModel model={model} />
      )}
      <Outcome job={job} />
    </details>
  );
}
