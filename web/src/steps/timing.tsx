// What passes cost on the reader's own machine, and which k pays there.
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { send } from "../api";
import type { Context, Model } from "../context";
import { Lines } from "../lines";
import type { TimingStep } from "../page";
import { Verdict } from "../ui";
import { NoModel, Prompt, useModel } from "./model";

interface Prediction {
  readonly k: number;
  readonly tokens: number;
  readonly speedup: number;
  readonly interval: readonly [number, number];
}

/** Times are in milliseconds; the n-th entry of `passes` is n and the time of a pass over n tokens. */
interface Timed {
  /** The text that was timed. */
  readonly prompt: string;
  readonly draft: string;
  readonly places: number;
  readonly level: number;
  readonly passes: readonly (readonly [number, number])[];
  readonly t_draft: number;
  readonly acceptance: readonly number[];
  readonly predictions: readonly Prediction[];
  readonly best_k: number;
  readonly verdict: "pays" | "does not pay" | "cannot tell";
}

export function Timing({ step, context }: { step: TimingStep; context: Context }) {
  const model = useModel(context);
  return model?.available ? <Here step={step} context={context} model={model} /> : <NoModel model={model} />;
}

function Here({ step, context, model }: { step: TimingStep; context: Context; model: Model }) {
  const [prompt, setPrompt] = useState(step.texts[0]!.prompt);
  const [draft, setDraft] = useState(model.drafts?.[0] ?? "");
  const job = useTiming(step, context);
  const chosen = step.texts.find((one) => one.prompt === prompt)?.id ?? "";
  return (
    <div>
      <div class="form">
        <label>
          Text
          <select
            value={chosen}
            onChange={(event) => {
              const found = step.texts.find((one) => one.id === event.currentTarget.value);
              if (found) setPrompt(found.prompt);
            }}
          >
            {step.texts.map((one) => (
              <option key={one.id} value={one.id}>
                {one.title}
              </option>
            ))}
            {chosen === "" && <option value="">your own</option>}
          </select>
        </label>
        <label>
          Draft
          <select value={draft} onChange={(event) => setDraft(event.currentTarget.value)}>
            {model.drafts?.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
        <Prompt value={prompt} onValue={setPrompt} />
        <button
          type="button"
          class="primary"
          disabled={job.busy || !prompt.trim()}
          onClick={() => job.start({ prompt, proposer: draft, most_k: step.most_k })}
        >
          Measure
        </button>
        {job.busy && (
          <button type="button" onClick={job.stop}>
            Stop
          </button>
        )}
      </div>
      {job.busy && <p>Timing passes and drafts, then reading a text. This takes up to a minute.</p>}
      {job.trouble && <Verdict tone="open">{job.trouble}</Verdict>}
      {job.found && <Outcome step={step} found={job.found} old={job.busy || job.trouble !== ""} />}
    </div>
  );
}

interface Asked {
  readonly prompt: string;
  readonly proposer: string;
  readonly most_k: number;
}

interface Job {
  readonly busy: boolean;
  readonly found: Timed | null;
  readonly trouble: string;
  start(body: Asked): void;
  stop(): void;
}

function useTiming(step: TimingStep, context: Context): Job {
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<Timed | null>(null);
  const [trouble, setTrouble] = useState("");
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const start = async (body: Asked) => {
    const job = (running.current = new AbortController());
    setBusy(true);
    setTrouble("");
    announce("Measuring.");
    try {
      const answer = await send("POST", "/api/timing", body, { signal: job.signal });
      const timed: Timed = { ...((await answer.json()) as Timed), prompt: body.prompt };
      setFound(timed);
      context.store.update(step.id, { doneAt: new Date().toISOString() });
      announce(verdict(timed));
    } catch (error) {
      const said = job.signal.aborted ? "Stopped. Nothing was measured." : (error as Error).message;
      setTrouble(said);
      announce(said);
    }
    setBusy(false);
  };
  return { busy, found, trouble, start: (body) => void start(body), stop: () => running.current?.abort() };
}

function Outcome({ step, found, old }: { step: TimingStep; found: Timed; old: boolean }) {
  const tone = found.verdict === "pays" ? "right" : found.verdict === "cannot tell" ? "open" : "info";
  const speedups = found.predictions.map((one) => one.speedup);
  const times = found.passes.map(([, time]) => time);
  return (
    <div class={old ? "timed stale" : "timed"}>
      {old && <p class="note">This is the measurement before.</p>}
      <p class="fine">
        Measured on <q>{excerpt(found.prompt)}</q>, drafted by {found.draft}
      </p>
      <Verdict tone={tone}>{verdict(found)}</Verdict>
      <h3>Speed-up for every k</h3>
      <Lines
        xs={found.predictions.map((one) => one.k)}
        at={found.best_k}
        xTitle="drafted tokens k"
        yTitle="speed-up here"
        lines={[
          { title: "speed-up here", values: speedups, best: found.best_k },
          { title: "plain decoding", values: speedups.map(() => 1), best: null },
        ]}
      />
      <h3>What a pass costs</h3>
      <Lines
        xs={found.passes.map(([n]) => n)}
        at={found.best_k + 1}
        xTitle="tokens in the pass"
        yTitle="milliseconds"
        lines={[
          { title: "measured here", values: times, best: null },
          { title: "if further tokens were free", values: times.map(() => times[0]!), best: null },
        ]}
      />
      <p>{kept(found)}</p>
      <details>
        <summary>The same as numbers</summary>
        <Numbers step={step} found={found} />
      </details>
      <p class="fine">
        Measured over {found.places} places of one text. The intervals hold with {percent(found.level)} and cover the luck
        of this text and the unrest of this machine, not other kinds of text.
      </p>
    </div>
  );
}

function verdict({ best_k, verdict: said, predictions, level }: Timed): string {
  const best = predictions.find((one) => one.k === best_k)!;
  const [low, high] = best.interval.map((end) => end.toFixed(2));
  const figures = `${best.speedup.toFixed(2)} times plain decoding, with a ${percent(level)} interval from ${low} to ${high}`;
  if (best_k === 0) return "Do not speculate: on this text no k is faster than plain decoding here.";
  if (said === "pays") return `Speculation pays here: k = ${best_k} gives ${figures}.`;
  return `The best is k = ${best_k}, ${figures}. The interval holds 1, so this measurement cannot tell whether it pays.`;
}

function kept({ acceptance, t_draft, draft }: Timed): string {
  const time = t_draft < 0.01 ? "less than 0.01" : t_draft.toPrecision(2);
  const cost = `One token drafted by ${draft} takes ${time} ms.`;
  if (acceptance.length === 0) return `${cost} It drafted nothing on this text.`;
  return `${cost} Kept per position, of those looked at: ${acceptance.map(percent).join(", ")}.`;
}

function Numbers({ step, found }: { step: TimingStep; found: Timed }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${step.title}: the values`}>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">drafted tokens k</th>
            <th scope="col">tokens per round</th>
            <th scope="col">pass of k + 1 tokens, ms</th>
            <th scope="col">speed-up</th>
            <th scope="col">interval</th>
          </tr>
        </thead>
        <tbody>
          {found.predictions.map((one) => (
            <tr key={one.k}>
              <th scope="row">{one.k}</th>
              <td>{one.tokens.toFixed(3)}</td>
              <td>{found.passes[one.k]![1].toFixed(1)}</td>
              <td>{one.speedup.toFixed(3)}</td>
              <td>
                {one.interval[0].toFixed(2)} to {one.interval[1].toFixed(2)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function excerpt(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
