// The part of the address after "#": which step, and the rows of its table if it says so.

export interface Place {
  readonly step: string;
  readonly p: string | null;
  readonly q: string | null;
}

export function parsePlace(hash: string): Place {
  const [step, query] = hash.replace(/^#/, "").split("?", 2);
  const values = new URLSearchParams(query ?? "");
  return { step: step ?? "", p: values.get("p"), q: values.get("q") };
}

export function place(step: string, p: string, q: string): string {
  return `#${step}?p=${p}&q=${q}`;
}
