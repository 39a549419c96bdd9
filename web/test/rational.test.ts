import assert from "node:assert/strict";
import { test } from "node:test";
import { Rational } from "../src/rational";

const read = (text: string) => Rational.parse(text)!;

test("fractions are kept in lowest terms with a positive denominator", () => {
  assert.equal(Rational.of(6, -8).toString(), "-3/4");
  assert.equal(Rational.of(4, 2).toString(), "2");
  assert.throws(() => Rational.of(1, 0), RangeError);
});

test("decimals and fractions are read exactly", () => {
  assert.ok(read("0.1").plus(read("0.2")).equals(read("3/10")));
  assert.equal(read(".625").toString(), "5/8");
  assert.equal(read("-0.05").toString(), "-1/20");
  assert.equal(read("2.").toString(), "2");
});

test("what is no number is refused", () => {
  for (const text of ["", ".", "-", "1/0", "1/2/3", "a", "1 2", "1e3", "0x1", "½"]) {
    assert.equal(Rational.parse(text), null, text);
  }
});

test("a decimal is exact or says that it is not", () => {
  assert.equal(read("23/160").exactDecimal(6), "0.14375");
  assert.equal(read("1/3").exactDecimal(6), null);
  assert.equal(read("-1/8").exactDecimal(3), "-0.125");
  assert.equal(read("1/8").exactDecimal(2), null);
});

test("rounding is half away from zero", () => {
  assert.equal(read("0.125").rounded(2), "0.13");
  assert.equal(read("-0.125").rounded(2), "-0.13");
  assert.equal(read("2/3").rounded(4), "0.6667");
});

test("order and extremes", () => {
  assert.equal(read("1/3").min(read("0.3")).toString(), "3/10");
  assert.equal(read("1/3").max(read("0.3")).toString(), "1/3");
});
