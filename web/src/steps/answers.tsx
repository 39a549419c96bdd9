// Typed answers, each judged on its own.
import { useEffect, useRef } from "preact/hooks";
import { announce } from "../announce";
import { judge } from "../answers";
import type { Context } from "../context";
import type { Record_ } from "../merge";
import type { AnswerItem, AnswersStep } from "../page";
import { useStore } from "../store";
import { Confirmed, focusSoon, Hints, Html, plainText, Verdict, type Tone } from "../ui";

/** Where the record keeps what is typed and not checked yet, apart from what was judged. */
const UNCHECKED = "unchecked";
const now = (): string => new Date().toISOString();
const TONES: Record<string, Tone> = { right: "right", wrong: "wrong", "not-judged": "open" };
const WORDS: Record<string, string> = { right: "Right.", wrong: "Not yet.", "not-judged": "Not judged." };

export function Answers({ step, context }: { step: AnswersStep; context: Context }) {
  useStore(context.store);
  const saved = context.store.step(step.id);
  const all = step.items.every((item) => (saved[item.id] as Record_ | undefined)?.status === "right");
  // Here and not where an answer is judged, since the others may have been given in another tab.
  useEffect(() => {
    if (all && !saved.passedAt) context.store.update(step.id, { passedAt: new Date().toISOString() });
  }, [all, saved.passedAt]);
  const unchecked = saved[UNCHECKED] as Record_ | undefined;
  const note = (id: string, text: string | null): Record_ => ({ ...unchecked, [id]: { text, at: now() } });
  const update = (id: string, change: Record_, checked: boolean) => {
    const item = saved[id] as Record_ | undefined;
    const notes = checked ? { [UNCHECKED]: note(id, null) } : {};
    context.store.update(step.id, { [id]: { ...item, ...change, at: now() }, ...notes });
  };
  return (
    <ol class="answers">
      {step.items.map((item) => (
        <Item
          key={item.id}
          id={`${step.id}-${item.id}`}
          item={item}
          saved={(saved[item.id] as Record_ | undefined) ?? {}}
          typed={((unchecked?.[item.id] as Record_ | undefined)?.text as string | null | undefined) ?? null}
          onType={(text) => context.store.update(step.id, { [UNCHECKED]: note(item.id, text) })}
          onChange={(change, checked = false) => update(item.id, change, checked)}
        />
      ))}
    </ol>
  );
}

interface ItemProps {
  id: string;
  item: AnswerItem;
  saved: Record_;
  /** What is in the box and not checked yet; null when nothing was typed since the last check. */
  typed: string | null;
  onType(text: string): void;
  onChange(change: Record_, checked?: boolean): void;
}

function Item({ id, item, saved, typed, onType, onChange }: ItemProps) {
  const raw = typed ?? (saved.raw as string | undefined) ?? "";
  const status = typed === null ? ((saved.status as string | undefined) ?? "") : "";
  const verdict = status ? judge(item, raw) : null;
  const hints = (saved.hints as number | undefined) ?? 0;
  const check = (event: Event) => {
    event.preventDefault();
    const judged = judge(item, raw);
    const counts = judged.verdict === "not-judged" ? 0 : 1;
    const tries = ((saved.tries as number | undefined) ?? 0) + counts;
    onChange({ raw, status: judged.verdict, tries }, true);
    announce(`${WORDS[judged.verdict]} ${plainText(judged.why)}`);
  };
  return (
    <li>
      <form onSubmit={check}>
        <label for={id}>
          <Html html={item.ask} inline />
        </label>
        <div class="answer">
          <input
            id={id}
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            placeholder={item.placeholder}
            value={raw}
            class={item.form}
            aria-describedby={`${id}-verdict`}
            onInput={(event) => onType(event.currentTarget.value)}
          />
          <button type="submit">Check</button>
        </div>
      </form>
      <div id={`${id}-verdict`}>
        {verdict && (
          <Verdict tone={TONES[verdict.verdict]!}>
            <strong>{WORDS[verdict.verdict]}</strong> <Html html={verdict.why} inline />
            {verdict.verdict === "right" && <Html html={item.solution} />}
          </Verdict>
        )}
      </div>
      {status !== "right" && (
        <>
          <Hints hints={item.hints} shown={hints} onShow={(count) => onChange({ hints: count })} />
          <Solution item={item} saved={saved} ready={hints >= item.hints.length} onChange={onChange} />
        </>
      )}
    </li>
  );
}

function Solution(props: { item: AnswerItem; saved: Record_; ready: boolean; onChange(change: Record_): void }) {
  const place = useRef<HTMLDivElement>(null);
  if (props.saved.solutionSeen) {
    return (
      <Verdict tone="info" place={place}>
        <Html html={props.item.solution} />
      </Verdict>
    );
  }
  if (!props.ready) return null;
  return (
    <Confirmed
      label="Show the solution"
      sure="Yes, show it"
      onClick={() => {
        props.onChange({ solutionSeen: true });
        focusSoon(() => place.current);
      }}
    />
  );
}
