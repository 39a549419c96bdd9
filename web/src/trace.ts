// A decoding as a list of moments, from the records of a draftproof-trace.

export type Verdict = "kept" | "rejected" | "untested";

export interface Drafted {
  readonly text: string;
  readonly p: number;
  readonly q: number;
  readonly coin: number | null;
  readonly verdict: Verdict;
}

export interface Emitted {
  readonly text: string;
  readonly source: "draft" | "residual" | "bonus" | "target";
}

type Listed = readonly (readonly [number, string, number])[];

export interface Rows {
  readonly overlap: number;
  readonly residual_top?: Listed;
  readonly residual_rest?: number;
}

export interface Round {
  readonly type: "round";
  readonly round: number;
  readonly draft: readonly Drafted[];
  readonly emitted: readonly Emitted[];
  readonly rows: readonly Rows[];
}

export interface Header {
  readonly type: "header";
  readonly target: string;
  readonly draft: string;
  readonly prompt: string;
  readonly seed: number;
  readonly temperature: number;
  readonly k: number;
}

/** One thing to look at: a drafted token judged, or the token that ends a round. */
/** The coin in words; one that p >= q leaves nothing to decide is shown, since it was drawn. */
export function coinWords({ coin, p, q }: Drafted): string {
  if (coin === null) return "not needed";
  return p >= q ? `${coin.toFixed(4)}, but any coin keeps it` : coin.toFixed(4);
}

export type Moment =
  | { readonly kind: "drafted"; readonly round: number; readonly at: number }
  | { readonly kind: "added"; readonly round: number; readonly token: Emitted };

export interface Trace {
  readonly header: Header | null;
  readonly rounds: readonly Round[];
}

export function readTrace(records: readonly unknown[]): Trace {
  let header: Header | null = null;
  const rounds: Round[] = [];
  for (const record of records as readonly { type?: string }[]) {
    if (record.type === "header") header = record as Header;
    if (record.type === "round") rounds.push(record as Round);
  }
  return { header, rounds };
}

export function moments(trace: Trace): Moment[] {
  return trace.rounds.flatMap((round, index): Moment[] => [
    ...round.draft
      .map((drafted, at) => ({ drafted, at }))
      .filter(({ drafted }) => drafted.verdict !== "untested")
      .map(({ at }) => ({ kind: "drafted" as const, round: index, at })),
    ...round.emitted
      .filter((token) => token.source !== "draft")
      .map((token) => ({ kind: "added" as const, round: index, token })),
  ]);
}
