import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FORMULAS } from "../src/curves";
import { Rational } from "../src/rational";
import { play, type Models, type Turn } from "../src/rounds";

interface CurveCase {
  readonly formula: string;
  readonly at: Readonly<Record<string, string>>;
  readonly value: string | null;
}

function read<T>(name: string): readonly T[] {
  return JSON.parse(readFileSync(`../tests/lesson/${name}`, "utf8")) as T[];
}

test("every formula agrees with the Python library", () => {
  const cases = read<CurveCase>("curve_cases.json");
  assert.deepEqual(new Set(cases.map((one) => one.formula)), new Set(Object.keys(FORMULAS)));
  for (const { formula, at, value } of cases) {
    const values = Object.fromEntries(Object.entries(at).map(([name, text]) => [name, Rational.parse(text)!]));
    assert.equal(FORMULAS[formula]!(values)?.toString() ?? null, value, `${formula} ${JSON.stringify(at)}`);
  }
});

test("rounds are played as by the Python library", () => {
  const cases = read<{ models: Models; turns: Turn[] }>("round_cases.json");
  assert.ok(cases.length > 20);
  for (const { models, turns } of cases) assert.deepEqual(play(models), turns);
});
