// The laws of one speculative step, column by column, in exact fractions.
import { ONE, Rational, sum, ZERO } from "./rational";

export type Row = readonly Rational[];

export interface Laws {
  /** min(p, q): drafted and kept. */
  readonly covered: Row;
  /** min(1, p / q); where q is 0, 1 if p is positive and 0 if not. */
  readonly acceptance: Row;
  readonly difference: Row;
  readonly reject: Rational;
  /** max(0, p - q) divided by its sum; p where that is zero everywhere. */
  readonly residual: Row;
  readonly residualNeeded: boolean;
  readonly corrected: Row;
  readonly naive: Row;
  /** How often independent draws from p and q agree. */
  readonly agreement: Rational;
  /** The target's own draw comes out, in an agreement as in a mismatch. */
  readonly matched: Row;
  /** On a mismatch the target draws once more. */
  readonly redrawn: Row;
  /** The draft proposes its likeliest token, and is judged as if it had drawn from q. */
  readonly greedy: Row;
}

export function laws(p: Row, q: Row): Laws {
  const covered = p.map((x, i) => x.min(q[i]!));
  const reject = ONE.minus(sum(covered));
  const acceptance = p.map((x, i) => (q[i]!.sign ? x.over(q[i]!).min(ONE) : x.sign ? ONE : ZERO));
  const difference = p.map((x, i) => x.minus(q[i]!));
  const shortfall = difference.map((x) => x.max(ZERO));
  const missing = sum(shortfall);
  const residualNeeded = missing.sign > 0;
  const residual = residualNeeded ? shortfall.map((x) => x.over(missing)) : p;
  const after = (replacement: Row): Row => covered.map((x, i) => x.plus(reject.times(replacement[i]!)));
  const [corrected, naive] = [after(residual), after(p)];
  const both = p.map((x, i) => x.times(q[i]!));
  const agreement = sum(both);
  const matched = p.map((x, i) => both[i]!.plus(x.times(ONE.minus(q[i]!))));
  const redrawn = p.map((x, i) => both[i]!.plus(x.times(ONE.minus(agreement))));
  const favourite = q.reduce((best, x, i) => (x.minus(q[best]!).sign > 0 ? i : best), 0);
  const kept = acceptance[favourite]!;
  const greedy = residual.map((x, i) => (i === favourite ? kept : ZERO).plus(x.times(ONE.minus(kept))));
  const outputs = { corrected, naive, matched, redrawn, greedy };
  return { covered, acceptance, difference, reject, residual, residualNeeded, agreement, ...outputs };
}

/** Whether resampling from p is right here: q is the same multiple of p wherever p is positive. */
export function shortcutIsRight(p: Row, q: Row): boolean {
  return laws(p, q).naive.every((x, i) => x.equals(p[i]!));
}

/** Why the shortcut is right, in one sentence; null where it is wrong. */
export function whyRight(p: Row, q: Row): string | null {
  if (!shortcutIsRight(p, q)) return null;
  if (p.every((x, i) => x.equals(q[i]!))) {
    return "Nothing is ever rejected when q equals p, so no replacement is drawn and the shortcut cannot do harm.";
  }
  if (p.every((x, i) => x.min(q[i]!).sign === 0)) {
    return (
      "p and q have no token in common: every draft is rejected, the draft has covered nothing of p, " +
      "and the residual is p itself. Resampling from p is the correction here."
    );
  }
  return (
    "q is proportional to p on the tokens that p can give, so the draft covers the same share of each. " +
    "What is left over has the shape of p: the residual is p itself, and resampling from p is the correction here."
  );
}
