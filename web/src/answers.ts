// Judges one typed answer, exactly; the twin of draftproof.lesson.answers, held to the same cases.
import type { AnswerItem } from "./page";
import { Rational } from "./rational";

export type Verdict = "right" | "wrong" | "not-judged";

export interface Judged {
  readonly verdict: Verdict;
  /** HTML when the lesson knows this wrong answer, plain text otherwise. */
  readonly why: string;
  readonly known: boolean;
}

export type Judgeable = Pick<AnswerItem, "answer" | "wrong">;

const LONGEST = 200;
const DECIMAL = String.raw`(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?`;
const NUMBER = new RegExp(`^([+-]?${DECIMAL})(?:/(${DECIMAL}))?(%?)$`);
const SMALL = /[¼-¾⅐-⅞↉]|[⁰¹²³⁴-⁹]+⁄[₀-₉]+/g;
const MIXED = /(?<![0-9A-Za-z.])([0-9]+)?<([0-9]+)\/([0-9]+)>(?![0-9A-Za-z.<])/g;
const EXAMPLES = { fraction: ["2/7", "3/11", "4/13"], decimal: ["0.25", "0.15", "0.35"] } as const;
const BRACKETS: Record<string, string> = { "(": ")", "[": "]", "{": "}" };
const COUNTS = ["", "one number", "two numbers", "three numbers", "four numbers"];

export function judge(item: Judgeable, typed: string): Judged {
  const count = item.answer.length;
  const wanted = COUNTS[count] ?? `${count} numbers`;
  if (!typed.trim()) return unjudged(`Nothing typed yet: ${wanted}, please.`);
  const numbers = read(typed, count);
  if (!numbers) return unjudged(`This cannot be read as ${wanted}, for example ${example(item)}.`);
  if (same(numbers, item.answer)) return { verdict: "right", why: "", known: false };
  const wrong = item.wrong.find(({ value }) => same(numbers, value));
  if (wrong) return { verdict: "wrong", why: wrong.why, known: true };
  return { verdict: "wrong", why: "Not this. Take it step by step, or ask for a hint.", known: false };
}

/** What could be typed, without any number of the answer. */
function example({ answer }: Judgeable): string {
  const given = answer.map((text) => Rational.parse(text)!);
  const other = (texts: readonly string[]) =>
    texts.find((text) => !given.some((value) => value.equals(Rational.parse(text)!))) ?? texts[0]!;
  const [fraction, decimal] = [other(EXAMPLES.fraction), other(EXAMPLES.decimal)];
  if (answer.length === 1) return `${fraction} or ${decimal}`;
  return answer.map((_, i) => (i % 2 ? decimal : fraction)).join(", ");
}

function unjudged(why: string): Judged {
  return { verdict: "not-judged", why, known: false };
}

function same(numbers: readonly Rational[], texts: readonly string[]): boolean {
  return (
    numbers.length === texts.length &&
    numbers.every((number, i) => number.equals(Rational.parse(texts[i]!)!))
  );
}

/** So many numbers, or null where the text is something else. */
export function read(typed: string, count: number): Rational[] | null {
  if (typed.length > LONGEST) return null;
  const text = tidy(typed);
  for (const words of count === 1 ? [[text]] : splits(text)) {
    const numbers = words.length === count ? words.map(readNumber) : [null];
    if (numbers.every((number) => number !== null)) return numbers;
  }
  return null;
}

/** Marks the characters that are whole fractions, so that 1⅞ is not taken for 17/8. */
function spelt(typed: string): string {
  return typed.replace(SMALL, (found) => `<${found.normalize("NFKC")}>`);
}

/** One spelling of signs and spaces, and no brackets around it. */
function tidy(typed: string): string {
  let text = spelt(typed).normalize("NFKC").replaceAll("\u2212", "-").replaceAll("\u2044", "/").trim();
  text = text.replace(MIXED, (_, whole: string | undefined, top: string, bottom: string) => {
    const under = BigInt(bottom);
    return `${BigInt(whole ?? 0) * under + BigInt(top)}/${under}`;
  });
  if (text && BRACKETS[text[0]!] === text.at(-1)) text = text.slice(1, -1).trim();
  return text.replace(/\s*\/\s*/g, "/").replace(/\s+%/g, "%");
}

/** The ways of cutting a list into words, the more careful ones first. */
function* splits(text: string): Generator<string[]> {
  if (text.includes(";")) yield text.split(";").map((word) => word.trim());
  if (/\s/.test(text)) yield text.split(/\s*;\s*|\s*,\s+|\s+,\s*|\s+/);
  yield text.split(/\s*[,;]\s*|\s+/);
}

/** One number, with a point or with one decimal comma. */
function readNumber(typed: string): Rational | null {
  const word = typed.includes(".") ? typed : typed.replace(/^([+-]?[0-9]*),([0-9]+%?)$/, "$1.$2");
  const match = NUMBER.exec(word);
  if (!match) return null;
  const under = match[2] ? readDecimal(match[2]) : Rational.of(1);
  if (under.sign === 0) return null;
  const value = readDecimal(match[1]!).over(under);
  return match[3] ? value.over(Rational.of(100)) : value;
}

function readDecimal(text: string): Rational {
  const [digits, power] = text.toLowerCase().split("e") as [string, string?];
  const ten = 10n ** BigInt(Math.abs(Number(power ?? 0)));
  const value = Rational.parse(digits)!;
  return Number(power ?? 0) < 0 ? value.over(Rational.of(ten)) : value.times(Rational.of(ten));
}
