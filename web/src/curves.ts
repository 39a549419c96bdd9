// The formulas of charts, in exact fractions: the twin of draftproof.lesson.curves.
import { ONE, Rational, sum, ZERO } from "./rational";

export type Values = Readonly<Record<string, Rational>>;

/** A value, or null where the formula has none. */
type Formula = (at: Values) => Rational | null;

/** 1 + a1 + a1 a2 + ...: what is reached and kept, and the target's own token. */
function expected(acceptances: readonly Rational[]): Rational {
  return acceptances.reduceRight((rest, a) => ONE.plus(a.times(rest)), ONE);
}

function repeated(a: Rational, k: number): Rational[] {
  return Array.from({ length: k }, () => a);
}

function whole(value: Rational): number {
  return Number(value.num / value.den);
}

function byPosition(at: Values): Rational[] {
  const found: Rational[] = [];
  for (let position = 1; at[`a${position}`]; position += 1) found.push(at[`a${position}`]!);
  return found.slice(0, whole(at["k"]!));
}

function constant(at: Values): Rational {
  return expected(repeated(at["a"]!, whole(at["k"]!)));
}

/** From P(N > i) = a^i: the second moment is the sum of (2i + 1) a^i. */
function variance(at: Values): Rational {
  const mean = constant(at);
  let [second, power] = [ZERO, ONE];
  for (let i = 0; i <= whole(at["k"]!); i += 1) {
    second = second.plus(power.times(Rational.of(2 * i + 1)));
    power = power.times(at["a"]!);
  }
  return second.minus(mean.times(mean));
}

function ofMean(at: Values): Rational {
  const acceptances = byPosition(at);
  if (acceptances.length === 0) return ONE;
  const mean = sum(acceptances).over(Rational.of(acceptances.length));
  return expected(repeated(mean, acceptances.length));
}

/** Milliseconds of a round; k = 0 is plain decoding. */
function roundTime(at: Values): Rational {
  const k = at["k"]!;
  return k.sign === 0 ? at["t_target"]! : at["t_verify"]!.plus(k.times(at["t_draft"]!));
}

/** Milliseconds of a pass over so many tokens of every text of a batch. */
function passTime(at: Values, tokens: Rational): Rational {
  return at["t_fixed"]!.plus(tokens.times(at["batch"]!).times(at["t_token"]!));
}

export const FORMULAS: Readonly<Record<string, Formula>> = {
  "expected-tokens": constant,
  "tokens-variance": variance,
  "most-tokens": (at) => at["k"]!.plus(ONE),
  "endless-draft": (at) => (at["a"]!.equals(ONE) ? null : ONE.over(ONE.minus(at["a"]!))),
  "expected-by-position": (at) => expected(byPosition(at)),
  "expected-of-mean": ofMean,
  throughput: (at) => constant(at).times(Rational.of(1000)).over(roundTime(at)),
  speedup: (at) => constant(at).times(at["t_target"]!).over(roundTime(at)),
  "batch-speedup": (at) => constant(at).times(passTime(at, ONE)).over(passTime(at, at["k"]!.plus(ONE))),
  plain: () => ONE,
};
