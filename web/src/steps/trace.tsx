// The step strip: a real decoding, one judged token at a time, recorded or live.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { stream } from "../api";
import { Bars } from "../charts";
import type { Context } from "../context";
import type { TraceStep } from "../page";
import { coinWords, moments, readTrace, type Drafted, type Moment, type Round, type Trace } from "../trace";
import { reducedMotion, Verdict } from "../ui";
import { NoModel, Prompt, useModel } from "./model";

const PLAY_EVERY_MS = 1200;

export function TraceStrip({ step, context }: { step: TraceStep; context: Context }) {
  const [records, setRecords] = useState<readonly unknown[]>(step.records);
  const [follow, setFollow] = useState(false);
  const seen = () => context.store.update(step.id, { doneAt: new Date().toISOString() });
  return (
    <div>
      {records.length ? (
        <Strip records={records} follow={follow} onMove={seen} />
      ) : (
        <p class="note">No recorded decoding came with this copy; run one live.</p>
      )}
      <RunLive
        context={context}
        onRecords={(found, running) => {
          setRecords(found);
          setFollow(running);
        }}
      />
    </div>
  );
}

function Strip(props: { records: readonly unknown[]; follow: boolean; onMove(): void }) {
  const trace = useMemo(() => readTrace(props.records), [props.records]);
  const all = useMemo(() => moments(trace), [trace]);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const place = props.follow ? all.length - 1 : Math.min(at, all.length - 1);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(all.length - 1, to));
    setAt(next);
    props.onMove();
    if (all[next]) announce(sentence(trace, all[next]!));
  };
  useEffect(() => {
    if (!playing) return;
    if (place >= all.length - 1) return setPlaying(false);
    const timer = setTimeout(() => move(place + 1), PLAY_EVERY_MS);
    return () => clearTimeout(timer);
  });
  const moment = all[place];
  if (!moment) return <p>{trace.header ? "Waiting for the first round…" : ""}</p>;
  return (
    <div class="strip">
      <p class="prompt">
        <span class="fine">
          {trace.header?.target} checks what {trace.header?.draft} drafts; temperature {trace.header?.temperature}, seed{" "}
          {trace.header?.seed}
        </span>
      </p>
      <Text trace={trace} moment={moment} />
      <div class="buttons">
        <button type="button" onClick={() => move(place - 1)} disabled={place === 0}>
          Back
        </button>
        <button type="button" onClick={() => move(place + 1)} disabled={place >= all.length - 1}>
          Next
        </button>
        <button type="button" aria-pressed={playing} onClick={() => setPlaying(!playing)}>
          {playing ? "Pause" : "Play"}
        </button>
        <span class="fine">
          {place + 1} of {all.length}
        </span>
      </div>
      <Detail trace={trace} moment={moment} />
    </div>
  );
}

/** The text so far, and the round in hand token by token. */
function Text({ trace, moment }: { trace: Trace; moment: Moment }) {
  const before = trace.rounds.slice(0, moment.round).flatMap((round) => round.emitted);
  const current = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const box = current.current;
    if (box) box.scrollTo({ top: box.scrollHeight, behavior: reducedMotion() ? "auto" : "smooth" });
  }, [moment]);
  return (
    <p class="decoded" ref={current}>
      <span class="given">{trace.header?.prompt}</span>
      {before.map((token, i) => (
        <span key={i} class={token.source}>
          {token.text}
        </span>
      ))}
      <CurrentRound round={trace.rounds[moment.round]!} moment={moment} />
    </p>
  );
}

const WORD: Record<string, string> = { kept: "✓", rejected: "✗", residual: "→", bonus: "+", target: "→" };

function CurrentRound({ round, moment }: { round: Round; moment: Moment }) {
  const judged = moment.kind === "drafted" ? moment.at + 1 : round.draft.length;
  return (
    <>
      {round.draft.map((token, i) => {
        const state = i < judged ? token.verdict : "waiting";
        const here = moment.kind === "drafted" && moment.at === i ? " here" : "";
        return (
          <span key={i} class={`draft-token ${state}${here}`}>
            {token.text}
            {WORD[state] && <sup>{WORD[state]}</sup>}
          </span>
        );
      })}
      {moment.kind === "added" && (
        <span class={`draft-token here ${moment.token.source}`}>
          {moment.token.text}
          <sup>{WORD[moment.token.source]}</sup>
        </span>
      )}
    </>
  );
}

function Detail({ trace, moment }: { trace: Trace; moment: Moment }) {
  const round = trace.rounds[moment.round]!;
  const rejected = round.draft.findIndex((token) => token.verdict === "rejected");
  return (
    <div class="detail">
      <p>{sentence(trace, moment)}</p>
      {moment.kind === "drafted" && <Judged token={round.draft[moment.at]!} />}
      {rejected >= 0 && (moment.kind === "added" || moment.at === rejected) && (
        <Residual round={round} at={rejected} />
      )}
    </div>
  );
}

function Judged({ token }: { token: Drafted }) {
  const ratio = Math.min(1, token.p / token.q);
  return (
    <dl class="facts">
      <dt>p</dt>
      <dd>{token.p.toFixed(4)}</dd>
      <dt>q</dt>
      <dd>{token.q.toFixed(4)}</dd>
      <dt>kept with min(1, p/q)</dt>
      <dd>{ratio.toFixed(4)}</dd>
      <dt>coin</dt>
      <dd>{coinWords(token)}</dd>
      <dt>verdict</dt>
      <dd class={token.verdict}>
        {WORD[token.verdict]} {token.verdict}
      </dd>
    </dl>
  );
}

function Residual({ round, at }: { round: Round; at: number }) {
  const row = round.rows[at];
  if (!row?.residual_top?.length) return null;
  const rest = row.residual_rest ?? 0;
  const bars = row.residual_top.map(([, label, value]) => ({ label, value }));
  if (rest > 0) bars.push({ label: "all others", value: rest });
  return <Bars bars={bars} caption="The residual that the correction is drawn from" />;
}

function sentence(trace: Trace, moment: Moment): string {
  const round = `Round ${moment.round + 1}: `;
  if (moment.kind === "added") {
    const token = quoted(moment.token.text);
    return round + ADDED[moment.token.source]!.replace("TOKEN", () => token);
  }
  const drafted = trace.rounds[moment.round]!.draft[moment.at]!;
  const token = quoted(drafted.text);
  if (drafted.verdict === "rejected") return `${round}${token} is rejected; the rest of the draft is thrown away.`;
  return drafted.p >= drafted.q
    ? `${round}${token} is kept: the target likes it at least as much as the draft did.`
    : `${round}${token} is kept: the coin fell below p/q.`;
}

const ADDED: Record<string, string> = {
  residual: "the residual gives TOKEN in its place.",
  bonus: "every draft was kept, so the target adds TOKEN as a bonus.",
  target: "nothing was drafted; the target itself gives TOKEN.",
};

function quoted(text: string): string {
  return `“${text.replace(/\n/g, "⏎")}”`;
}

interface RunProps {
  context: Context;
  onRecords(records: readonly unknown[], running: boolean): void;
}

function RunLive({ context, onRecords }: RunProps) {
  const model = useModel(context);
  const [prompt, setPrompt] = useState("Once upon a time");
  const [k, setK] = useState(4);
  const [temperature, setTemperature] = useState(0.7);
  const [seed, setSeed] = useState(0);
  const [stop, setStop] = useState<AbortController | null>(null);
  const [trouble, setTrouble] = useState("");
  const run = async () => {
    const control = new AbortController();
    setStop(control);
    setTrouble("");
    const records: unknown[] = [];
    try {
      for await (const record of stream("/api/run", { prompt, k, temperature, seed }, control.signal)) {
        records.push(record);
        onRecords([...records], true);
      }
      announce("The decoding is complete. Step through it.");
    } catch (error) {
      if (!control.signal.aborted) setTrouble((error as Error).message);
    }
    if (records.length) onRecords([...records], false);
    setStop(null);
  };
  return (
    <details class="live">
      <summary>Run live</summary>
      {model?.available ? (
        <div class="form">
          <Prompt value={prompt} onValue={setPrompt} />
          <NumberField label="Drafted per round" value={k} min={0} max={12} step={1} onValue={setK} />
          <NumberField label="Temperature" value={temperature} min={0} max={5} step={0.1} onValue={setTemperature} />
          <NumberField label="Seed" value={seed} min={0} max={1_000_000_000} step={1} onValue={setSeed} />
          {stop ? (
            <button type="button" onClick={() => stop.abort()}>
              Stop
            </button>
          ) : (
            <button type="button" class="primary" disabled={!prompt.trim()} onClick={() => void run()}>
              Run
            </button>
          )}
        </div>
      ) : (
        <NoModel model={model} />
      )}
      {trouble && <Verdict tone="open">{trouble}</Verdict>}
    </details>
  );
}

function NumberField(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onValue(value: number): void;
}) {
  const { label, onValue, ...rest } = props;
  return (
    <label>
      {label}
      <input type="number" {...rest} onInput={(event) => onValue(Number(event.currentTarget.value))} />
    </label>
  );
}
