// Rounds of two small greedy models: change what the draft writes, or how far it runs ahead.
import { useState } from "preact/hooks";
import { announce } from "../announce";
import type { Context } from "../context";
import type { RoundsStep } from "../page";
import { play, type Turn } from "../rounds";

interface Setting {
  readonly k: number;
  readonly draft: readonly number[];
}

function starting(step: RoundsStep, saved: unknown): Setting {
  const { k, draft } = (saved ?? {}) as Partial<Setting>;
  const fits =
    Array.isArray(draft) && draft.length === step.tokens.length && draft.every((token) => token in step.tokens);
  const known = typeof k === "number" && Number.isInteger(k) && k >= 0 && k <= step.most_k;
  return { k: known ? k : step.k, draft: fits ? draft : step.draft };
}

export function Rounds({ step, context }: { step: RoundsStep; context: Context }) {
  const [setting, setSetting] = useState<Setting>(() => starting(step, context.store.step(step.id).setting));
  const turns = play({ ...step, ...setting });
  const change = (next: Setting) => {
    setSetting(next);
    context.store.update(step.id, { setting: { k: next.k, draft: [...next.draft] }, doneAt: new Date().toISOString() });
    announce(summary(play({ ...step, ...next })));
  };
  return (
    <div class="played">
      <div class="form">
        <label>
          <span>
            drafted tokens k{" "}
            <span class="value" aria-hidden="true">
              {setting.k}
            </span>
          </span>
          <input
            type="range"
            min={0}
            max={step.most_k}
            step={1}
            value={setting.k}
            onInput={(event) => change({ ...setting, k: Number(event.currentTarget.value) })}
          />
        </label>
        <button type="button" class="quiet" onClick={() => change(starting(step, null))}>
          Back to the start
        </button>
      </div>
      <Models step={step} setting={setting} onChange={change} />
      <p class="reading">{summary(turns)}</p>
      {turns.map((turn, i) => (
        <Played key={i} step={step} turn={turn} index={i} before={[...step.prompt, ...added(turns.slice(0, i))]} />
      ))}
      <p>
        The text: <span class="decoded-words">{words(step, [...step.prompt, ...added(turns)])}</span>
      </p>
    </div>
  );
}

function added(turns: readonly Turn[]): number[] {
  return turns.flatMap((turn) => turn.added);
}

function words(step: RoundsStep, tokens: readonly number[]): string {
  return tokens.map((token) => step.tokens[token]).join(" ");
}

function summary(turns: readonly Turn[]): string {
  const tokens = added(turns).length;
  const rejected = turns.filter((turn) => turn.kept < turn.drafted.length).length;
  return `${counted(tokens, "token")} in ${counted(turns.length, "pass", "passes")} of the target, ${rejected} of them with a rejection. Alone the target would need ${counted(tokens, "pass", "passes")} for the same text.`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

interface ModelsProps {
  step: RoundsStep;
  setting: Setting;
  onChange(setting: Setting): void;
}

/** What each model writes after each token; the draft's can be changed. */
function Models({ step, setting, onChange }: ModelsProps) {
  const write = (after: number, token: number) =>
    onChange({ ...setting, draft: setting.draft.map((old, i) => (i === after ? token : old)) });
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${step.title}: the two models`}>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">after</th>
            <th scope="col">the target writes</th>
            <th scope="col">the draft writes</th>
          </tr>
        </thead>
        <tbody>
          {step.tokens.map((name, after) => (
            <tr key={after}>
              <th scope="row">{name}</th>
              <td>{step.tokens[step.target[after]!]}</td>
              <td>
                <select
                  aria-label={`What the draft writes after “${name}”`}
                  value={setting.draft[after]!}
                  onChange={(event) => write(after, Number(event.currentTarget.value))}
                >
                  {step.tokens.map((option, token) => (
                    <option key={token} value={token}>
                      {option}
                    </option>
                  ))}
                </select>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PlayedProps {
  step: RoundsStep;
  turn: Turn;
  index: number;
  before: readonly number[];
}

function Played({ step, turn, index, before }: PlayedProps) {
  const dropped = turn.drafted.length - turn.kept;
  return (
    <section class="round-played" aria-label={`Round ${index + 1}`}>
      <h3>Round {index + 1}</h3>
      <p class="fine">
        The text so far: {words(step, before)}. {counted(turn.drafted.length, "draft step")}, one pass of the target
        with {counted(turn.due.length, "row")}.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Round ${index + 1}: the places`}>
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">place</th>
              <th scope="col">drafted</th>
              <th scope="col">the target writes</th>
              <th scope="col">verdict</th>
            </tr>
          </thead>
          <tbody>
            {turn.due.map((due, at) => (
              <tr key={at}>
                <th scope="row">{at + 1}</th>
                <td>{at < turn.drafted.length ? step.tokens[turn.drafted[at]!] : "nothing"}</td>
                <td>{step.tokens[due]}</td>
                <td class={tone(turn, at)}>{verdict(turn, at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="fine">
        The text grows by {counted(turn.added.length, "token")}.{" "}
        {dropped > 0 && `${counted(dropped, "position")} of the cache dropped.`}
      </p>
    </section>
  );
}

function tone(turn: Turn, at: number): string {
  if (at > turn.kept || at >= turn.added.length) return "unused";
  return at === turn.kept && at < turn.drafted.length ? "differs" : "agrees";
}

function verdict(turn: Turn, at: number): string {
  if (at > turn.kept) return at < turn.drafted.length ? "thrown away" : "not used";
  if (at >= turn.added.length) return "behind the end of the text";
  if (at < turn.kept) return "✓ kept";
  return at < turn.drafted.length ? "✗ rejected, corrected by the target" : "+ bonus token";
}
