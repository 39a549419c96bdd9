import assert from "node:assert/strict";
import { test } from "node:test";
import { readSeed } from "../src/steps/measure";

test("a seed is a whole number within bounds, and nothing else becomes one", () => {
  assert.deepEqual(["0", " 7 ", "1000000000"].map(readSeed), [0, 7, 1_000_000_000]);
  for (const text of ["-5", "1.7", "1e30", "", "x", "1000000001"]) assert.equal(readSeed(text), null, text);
});
