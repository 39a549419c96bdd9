// Judges one typed answer; the twin of draftproof.lesson.answers, held to the same cases.
import type { AnswerItem } from "./page";
import { Rational } from "./rational";

export type Verdict = "right" | "wrong" | "not judged";

export interface Judged {
  readonly verdict: Verdict;
  /** HTML for a recognised wrong answer, plain text otherwise. */
  readonly why: string;
}

export type Judgeable = Pick<AnswerItem, "form" | "answer" | "wrong">;

const UNREADABLE: Record<AnswerItem["form"], string> = {
  number: "Type a number: a fraction such as 3/8, a decimal such as 0.375, or a percentage.",
  list: "Type numbers separated by spaces, commas or semicolons, such as 1/2, 0.3, 0.2.",
};

export function judge(item: Judgeable, typed: string): Judged {
  const values = item.form === "number" ? readNumber(typed) : readList(typed);
  if (values === null) return { verdict: "not judged", why: UNREADABLE[item.form] };
  if (item.form === "list" && values.length !== item.answer.length) {
    return { verdict: "not judged", why: `Type ${item.answer.length} numbers; this has ${values.length}.` };
  }
  if (same(values, item.answer)) return { verdict: "right", why: "" };
  const known = item.wrong.find((wrong) => same(values, wrong.value));
  return { verdict: "wrong", why: known?.why ?? "" };
}

function same(values: readonly Rational[], texts: readonly string[]): boolean {
  return values.length === texts.length && values.every((value, i) => value.equals(Rational.parse(texts[i]!)!));
}

function readNumber(typed: string): Rational[] | null {
  const value = readOne(typed.trim().replace(",", "."));
  return value && [value];
}

function readList(typed: string): Rational[] | null {
  const inner = /^\s*[[({]?(.*?)[\])}]?\s*$/s.exec(typed)![1]!;
  const parts = inner.split(/\s*[;,]\s*|\s+/).filter(Boolean);
  const values = parts.map(readOne);
  return values.length && values.every((value) => value !== null) ? values : null;
}

function readOne(text: string): Rational | null {
  if (!text.endsWith("%")) return Rational.parse(text);
  return Rational.parse(text.slice(0, -1))?.over(Rational.of(100)) ?? null;
}
