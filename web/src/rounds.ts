// Rounds of two greedy models that look at the last token only: the twin of
// draftproof.lesson.rounds.

export interface Models {
  /** What each model writes after each token. */
  readonly target: readonly number[];
  readonly draft: readonly number[];
  readonly prompt: readonly number[];
  readonly k: number;
  readonly stop: number;
  readonly limit: number;
}

export interface Turn {
  readonly start: number;
  readonly drafted: readonly number[];
  /** What the target writes at each place, one more than drafted. */
  readonly due: readonly number[];
  readonly kept: number;
  /** Cut where the text ends. */
  readonly added: readonly number[];
}

export function play(models: Models): Turn[] {
  const { target, draft, prompt, k, stop, limit } = models;
  const text = [...prompt];
  const turns: Turn[] = [];
  while (text.length < prompt.length + limit && (turns.length === 0 || text.at(-1) !== stop)) {
    const start = text.length;
    const room = prompt.length + limit - start;
    // More drafts than there is room for, beside the target's own token, would be wasted.
    const drafted = draftFrom(draft, text.at(-1)!, Math.min(k, room - 1));
    const due = [text.at(-1)!, ...drafted].map((token) => target[token]!);
    const wrong = drafted.findIndex((token, i) => token !== due[i]);
    const kept = wrong < 0 ? drafted.length : wrong;
    const added = cut([...drafted.slice(0, kept), due[kept]!], stop, room);
    text.push(...added);
    turns.push({ start, drafted, due, kept, added });
  }
  return turns;
}

function draftFrom(draft: readonly number[], last: number, k: number): number[] {
  const drafted: number[] = [];
  for (let i = 0; i < k; i += 1) drafted.push(draft[drafted.at(-1) ?? last]!);
  return drafted;
}

function cut(tokens: number[], stop: number, room: number): number[] {
  const end = tokens.indexOf(stop);
  return tokens.slice(0, Math.min(room, end < 0 ? tokens.length : end + 1));
}
