import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlace, place } from "../src/link";
import { Rational } from "../src/rational";
import { fromLink, fromRow, setProbability, setWeight, toLink, toRow, total } from "../src/weights";

const read = (text: string) => Rational.parse(text)!;
const worked = fromRow(["1/2", "3/10", "1/5"].map(read), 20);

test("a row becomes whole weights in twentieths", () => {
  assert.deepEqual(worked.weights, [10, 6, 4]);
  assert.deepEqual(toRow(worked).map(String), ["1/2", "3/10", "1/5"]);
});

test("the token changed longest ago makes room", () => {
  const first = setWeight(worked, 0, 12);
  assert.deepEqual(first.weights, [12, 6, 2]);
  const second = setWeight(first, 2, 5);
  assert.deepEqual(second.weights, [12, 3, 5]);
  const third = setWeight(second, 1, 20);
  assert.deepEqual(third.weights, [0, 20, 0]);
});

test("a row can be typed token by token", () => {
  const start = fromLink("1.1.1", 3)!;
  const first = setProbability(start, 0, read("0.7"))!;
  const second = setProbability(first, 1, read("1/8"))!;
  assert.deepEqual(toRow(second).map(String), ["7/10", "1/8", "7/40"]);
});

test("typing plain fractions one after the other never gets too fine", () => {
  let row = worked;
  for (const text of ["1/7", "1/11", "1/13", "1/17", "0.123456", "1/3"]) {
    const next = setProbability(row, 0, read(text), 20);
    assert.ok(next, text);
    assert.equal(toRow(next)[0]!.toString(), read(text).toString());
    assert.equal(toRow(next).reduce((sum, x) => sum.plus(x)).toString(), "1");
    row = next;
  }
  assert.equal(total(setProbability(worked, 0, read("2/5"), 20)!), 20);
});

test("the total stays, whatever is asked", () => {
  for (const weight of [-5, 0, 3, 20, 99]) {
    assert.equal(total(setWeight(worked, 1, weight)), 20);
  }
});

test("no probability beyond 0 and 1, and none too fine", () => {
  assert.equal(setProbability(worked, 0, read("1.01")), null);
  assert.equal(setProbability(worked, 0, read("-0.1")), null);
  assert.equal(setProbability(worked, 0, read("1/999983")), null);
});

test("a link carries a row there and back", () => {
  assert.equal(toLink(fromLink("10.6.4", 3)!), "10.6.4");
  for (const bad of [null, "", "1.2", "0.0.0", "1.x.2", "1.2.3.4", "-1.2.3", "999999.1.1", "1..2"]) {
    assert.equal(fromLink(bad, 3), null, String(bad));
  }
});

test("the address names the step and its rows", () => {
  const here = parsePlace(place("table", "10.6.4", "5.10.5"));
  assert.deepEqual(here, { step: "table", p: "10.6.4", q: "5.10.5" });
  assert.deepEqual(parsePlace("#code"), { step: "code", p: null, q: null });
});
