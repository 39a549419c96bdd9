import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { laws, shortcutIsRight, whyRight, type Row } from "../src/law";
import { Rational } from "../src/rational";

const row = (texts: readonly string[]): Row => texts.map((text) => Rational.parse(text)!);
const shown = (values: Row) => values.map(String);

test("the worked pair, value by value", () => {
  const law = laws(row(["1/2", "3/10", "1/5"]), row(["1/4", "1/2", "1/4"]));
  assert.equal(law.reject.toString(), "1/4");
  assert.deepEqual(shown(law.difference), ["1/4", "-1/5", "-1/20"]);
  assert.deepEqual(shown(law.residual), ["1", "0", "0"]);
  assert.deepEqual(shown(law.corrected), ["1/2", "3/10", "1/5"]);
  assert.deepEqual(shown(law.naive), ["3/8", "3/8", "1/4"]);
});

test("the residual of two equal rows is the row, and is not needed", () => {
  const p = row(["1/2", "1/2"]);
  const law = laws(p, p);
  assert.equal(law.residualNeeded, false);
  assert.deepEqual(shown(law.residual), ["1/2", "1/2"]);
});

test("the shortcut is right exactly where q is proportional to p on p's support", () => {
  const p = row(["3/5", "2/5", "0"]);
  for (const q of [p, row(["0", "0", "1"]), row(["3/10", "1/5", "1/2"])]) {
    assert.ok(shortcutIsRight(p, q));
    assert.ok(whyRight(p, q));
  }
  for (const q of [row(["2/5", "3/5", "0"]), row(["1", "0", "0"])]) {
    assert.ok(!shortcutIsRight(p, q));
    assert.equal(whyRight(p, q), null);
  }
});

interface Case {
  readonly p: readonly string[];
  readonly q: readonly string[];
  readonly reject: string;
  readonly acceptance: readonly string[];
  readonly residual: readonly string[];
  readonly exact: readonly string[];
  readonly naive: readonly string[];
  readonly agreement: string;
  readonly matched: readonly string[];
  readonly redrawn: readonly string[];
  readonly greedy: readonly string[];
}

const cases = process.env.LAW_CASES;

test("every column agrees with the Python library", { skip: !cases && "set LAW_CASES" }, () => {
  for (const one of JSON.parse(readFileSync(cases!, "utf8")) as Case[]) {
    const law = laws(row(one.p), row(one.q));
    assert.equal(law.reject.toString(), one.reject);
    assert.deepEqual(shown(law.acceptance), one.acceptance);
    assert.deepEqual(shown(law.residual), one.residual);
    assert.deepEqual(shown(law.corrected), one.exact);
    assert.deepEqual(shown(law.naive), one.naive);
    assert.equal(law.agreement.toString(), one.agreement);
    assert.deepEqual(shown(law.matched), one.matched);
    assert.deepEqual(shown(law.redrawn), one.redrawn);
    assert.deepEqual(shown(law.greedy), one.greedy);
  }
});
