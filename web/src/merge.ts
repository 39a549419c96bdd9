// What a learner has done, as plain data, and how two tabs' versions of it become one.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Record_ = { [key: string]: Json };

export interface LessonProgress {
  contentHash: string;
  steps: { [step: string]: Record_ };
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

/**
 * Both versions' steps. Where both have one, the later change counts, part by part (each typed
 * answer has its own time), and everything earned is kept.
 */
export function merge(mine: Progress, theirs: Progress): Progress {
  const lessons: Progress["lessons"] = { ...theirs.lessons };
  for (const [id, lesson] of Object.entries(mine.lessons)) {
    const other = lessons[id];
    lessons[id] = other
      ? { contentHash: lesson.contentHash, steps: mergeSteps(lesson.steps, other.steps) }
      : lesson;
  }
  return { v: 1, lessons };
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
