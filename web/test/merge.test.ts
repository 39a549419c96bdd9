import assert from "node:assert/strict";
import { test } from "node:test";
import { broughtBack, merge, readProgress, type Progress, type Record_ } from "../src/merge";

const progress = (steps: Record<string, Record_>): Progress => ({
  v: 1,
  lessons: { three: { contentHash: "h", steps } },
});
const steps = (merged: Progress) => merged.lessons.three!.steps;

test("a pass is kept whichever tab saved last", () => {
  const passed = progress({ code: { draft: "old", passedAt: "noon", at: "1" } });
  const newer = progress({ code: { draft: "new", at: "2" } });
  for (const merged of [merge(passed, newer), merge(newer, passed)]) {
    assert.deepEqual(steps(merged).code, { draft: "new", passedAt: "noon", at: "2" });
  }
});

test("each typed answer is merged by its own time", () => {
  const answered = progress({ numbers: { one: { status: "right", at: "2" }, two: { status: "wrong", at: "1" }, at: "2" } });
  const stale = progress({ numbers: { one: { status: "wrong", at: "1" }, two: { status: "right", at: "3" }, at: "3" } });
  for (const merged of [merge(answered, stale), merge(stale, answered)]) {
    assert.deepEqual(steps(merged).numbers, {
      one: { status: "right", at: "2" },
      two: { status: "right", at: "3" },
      at: "3",
    });
  }
});

test("steps and lessons of both tabs are kept", () => {
  const mine = progress({ predict: { choice: "yes", at: "1" } });
  const theirs = progress({ table: { doneAt: "x", at: "1" } });
  assert.deepEqual(Object.keys(steps(merge(mine, theirs))).sort(), ["predict", "table"]);
  const other: Progress = { v: 1, lessons: { four: { contentHash: "h", steps: {} } } };
  assert.deepEqual(Object.keys(merge(mine, other).lessons).sort(), ["four", "three"]);
});

test("a prediction once made is not replaced by one that lacks it", () => {
  const made = progress({ predict: { choice: "no", at: "1" } });
  const later = progress({ predict: { at: "2" } });
  assert.equal(steps(merge(later, made)).predict!.choice, "no");
});

test("nothing from before a reset comes back, not even within a step that is newer", () => {
  const reset: Progress = { v: 1, lessons: { three: { contentHash: "h", steps: {}, resetAt: "5" } } };
  const numbers = { at: "6", passedAt: "4", one: { status: "right", at: "4" }, two: { status: "wrong", at: "6" } };
  const stale = progress({ predict: { choice: "yes", at: "4" }, numbers });
  for (const merged of [merge(reset, stale), merge(stale, reset)]) {
    assert.deepEqual(steps(merged), { numbers: { at: "6", two: { status: "wrong", at: "6" } } });
    assert.equal(merged.lessons.three!.resetAt, "5");
  }
  const undone = broughtBack(stale, "7");
  for (const merged of [merge(reset, undone), merge(undone, reset)]) {
    assert.deepEqual(steps(merged), steps(stale));
  }
});

test("what is not progress is no progress", () => {
  for (const data of [null, {}, { v: 2, lessons: {} }, { v: 1 }]) {
    assert.deepEqual(readProgress(data), { v: 1, lessons: {} });
  }
});
