// A row of probabilities as whole weights with a fixed total, which is what sliders, typed cells
// and links all change.
import { gcd, ONE, Rational, ZERO } from "./rational";

export interface Weights {
  readonly weights: readonly number[];
  /** Tokens by the time of their last change, the latest first. */
  readonly touched: readonly number[];
}

export const MOST_STEPS = 100_000;

export function fromRow(row: readonly Rational[], atLeast = 1): Weights {
  const common = row.reduce((all, x) => lcm(all, x.den), 1n);
  const scale = common < BigInt(atLeast) && BigInt(atLeast) % common === 0n ? BigInt(atLeast) : common;
  return {
    weights: row.map((x) => Number((x.num * scale) / x.den)),
    touched: row.map((_, i) => i),
  };
}

export function total(row: Weights): number {
  return row.weights.reduce((sum, weight) => sum + weight, 0);
}

export function toRow(row: Weights): Rational[] {
  const whole = total(row);
  return row.weights.map((weight) => Rational.of(weight, whole));
}

/**
 * Gives one token this weight. The others make room, the one changed longest ago first, so that
 * the total stays and a row can be entered token by token.
 */
export function setWeight(row: Weights, token: number, weight: number): Weights {
  const whole = total(row);
  const wanted = Math.max(0, Math.min(whole, Math.round(weight)));
  const weights = [...row.weights];
  let surplus = wanted - weights[token]!;
  weights[token] = wanted;
  for (const other of row.touched.filter((i) => i !== token).reverse()) {
    const left = Math.min(whole, Math.max(0, weights[other]! - surplus));
    surplus -= weights[other]! - left;
    weights[other] = left;
  }
  return { weights, touched: [token, ...row.touched.filter((i) => i !== token)] };
}

/**
 * Gives one token this probability, the others making room as in `setWeight`, on the smallest
 * total that holds the new row (and whole `steps`, where there is room); null when that is too fine.
 */
export function setProbability(row: Weights, token: number, value: Rational, steps = 1): Weights | null {
  if (value.sign < 0 || value.minus(ONE).sign > 0) return null;
  const next = toRow(row);
  let surplus = value.minus(next[token]!);
  next[token] = value;
  for (const other of row.touched.filter((i) => i !== token).reverse()) {
    const left = next[other]!.minus(surplus).max(ZERO).min(ONE);
    surplus = surplus.minus(next[other]!.minus(left));
    next[other] = left;
  }
  const common = next.reduce((all, x) => lcm(all, x.den), 1n);
  if (common > BigInt(MOST_STEPS)) return null;
  const even = lcm(common, BigInt(steps));
  const { weights } = fromRow(next, even > BigInt(MOST_STEPS) ? 1 : Number(even));
  return { weights, touched: [token, ...row.touched.filter((i) => i !== token)] };
}

function lcm(a: bigint, b: bigint): bigint {
  return (a / gcd(a, b)) * b;
}

/** Weights in a link, "10.6.4"; null unless they are whole, of this number and not all zero. */
export function fromLink(text: string | null, tokens: number): Weights | null {
  if (!text || !/^\d{1,6}(\.\d{1,6})*$/.test(text)) return null;
  const weights = text.split(".").map(Number);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  if (weights.length !== tokens || whole === 0 || whole > MOST_STEPS) return null;
  return { weights, touched: weights.map((_, i) => i) };
}

export function toLink(row: Weights): string {
  return row.weights.join(".");
}
