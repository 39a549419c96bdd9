// What a learner has done, as plain data, and how two tabs' versions of it become one.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Record_ = { [key: string]: Json };

export interface LessonProgress {
  contentHash: string;
  steps: { [step: string]: Record_ };
  /** When the lesson was last reset; older work of other tabs does not come back. */
  resetAt?: string;
  /** When a reset was last taken back; it counts until the next reset. */
  undoneAt?: string;
}

export interface Progress {
  v: 1;
  lessons: { [lesson: string]: LessonProgress };
}

export const EMPTY: Progress = { v: 1, lessons: {} };

/** Keys that, once earned or answered, no older or newer version takes away. */
const KEPT = ["passedAt", "choice", "doneAt"] as const;

export function readProgress(data: unknown): Progress {
  const given = data as Partial<Progress> | null;
  return given && given.v === 1 && given.lessons ? (given as Progress) : EMPTY;
}

/** The moments that a record remembers. */
const MOMENTS = ["passedAt", "doneAt"] as const;

/** The same progress, marked so that no reset before this moment is brought in from another tab. */
export function broughtBack(progress: Progress, undoneAt: string): Progress {
  const lessons = Object.entries(progress.lessons).map(([id, lesson]) => [id, { ...lesson, undoneAt }]);
  return { v: 1, lessons: Object.fromEntries(lessons) as Progress["lessons"] };
}

/**
 * Both versions' steps. Where both have one, the later change counts, part by part (each typed
 * answer has its own time), and everything earned is kept; but nothing from before a reset.
 */
export function merge(mine: Progress, theirs: Progress): Progress {
  const lessons: Progress["lessons"] = { ...theirs.lessons };
  for (const [id, lesson] of Object.entries(mine.lessons)) {
    const other = lessons[id];
    lessons[id] = other ? mergeLesson(lesson, other) : lesson;
  }
  return { v: 1, lessons };
}

function mergeLesson(mine: LessonProgress, theirs: LessonProgress): LessonProgress {
  const resetAt = latest(mine.resetAt, theirs.resetAt);
  const undoneAt = latest(mine.undoneAt, theirs.undoneAt);
  const since = resetAt > undoneAt ? resetAt : "";
  return {
    contentHash: mine.contentHash,
    steps: mergeSteps(stepsAfter(mine.steps, since), stepsAfter(theirs.steps, since)),
    ...(resetAt && { resetAt }),
    ...(undoneAt && { undoneAt }),
  };
}

function latest(one = "", other = ""): string {
  return one > other ? one : other;
}

function stepsAfter(steps: LessonProgress["steps"], since: string): LessonProgress["steps"] {
  if (!since) return steps;
  const left = Object.entries(steps).filter(([, record]) => when(record) > since);
  return Object.fromEntries(left.map(([id, record]) => [id, partsAfter(record, since)]));
}

/** A record that was changed after a reset may still carry parts from before it. */
function partsAfter(record: Record_, since: string): Record_ {
  const left = Object.entries(record).filter(([key, part]) => {
    if (isRecord(part)) return !when(part) || when(part) > since;
    return !(MOMENTS as readonly string[]).includes(key) || String(part) > since;
  });
  return Object.fromEntries(left);
}

function mergeSteps(
  mine: LessonProgress["steps"],
  theirs: LessonProgress["steps"],
): LessonProgress["steps"] {
  const steps = { ...theirs };
  for (const [id, record] of Object.entries(mine)) {
    const other = steps[id];
    steps[id] = other ? mergeRecord(record, other) : record;
  }
  return steps;
}

function mergeRecord(mine: Record_, theirs: Record_): Record_ {
  const [newer, older] = when(mine) >= when(theirs) ? [mine, theirs] : [theirs, mine];
  const merged: Record_ = { ...older, ...newer };
  for (const [key, part] of Object.entries(mine)) {
    const other = theirs[key];
    if (isRecord(part) && isRecord(other)) merged[key] = mergeRecord(part, other);
  }
  for (const key of KEPT) {
    const kept = newer[key] ?? older[key];
    if (kept !== undefined) merged[key] = kept;
  }
  return merged;
}

function isRecord(value: Json | undefined): value is Record_ {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function when(record: Record_): string {
  return typeof record.at === "string" ? record.at : "";
}
