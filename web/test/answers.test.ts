import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "smol-toml";
import { judge, read, type Judgeable } from "../src/answers";

interface Case {
  readonly item: string;
  readonly input: string;
  readonly verdict: string;
  readonly known: boolean;
}

const cases = JSON.parse(readFileSync("../tests/lesson/answer_cases.json", "utf8")) as Case[];
const lesson = parse(
  readFileSync("../src/draftproof/lesson/lessons/03-rejection-correction.toml", "utf8"),
) as unknown as { step: { kind: string; item?: (Judgeable & { id: string })[] }[] };
const items = lesson.step.flatMap((step) => (step.kind === "answers" ? step.item! : []));

test("there are cases", () => assert.ok(cases.length > 50));

for (const { item, input, verdict, known } of cases) {
  test(`${item}: ${JSON.stringify(input)} is ${verdict}`, () => {
    const found = items.find(({ id }) => id === item)!;
    const judged = judge({ ...found, wrong: found.wrong ?? [] }, input);
    assert.deepEqual([judged.verdict, judged.known], [verdict, known]);
    assert.equal(judged.why !== "", judged.verdict !== "right");
  });
}

test("a mixed number is the sum of its parts, and an unclear one is not read", () => {
  const value = (text: string) => read(text, 1)?.map(String) ?? null;
  const known = { "1⅞": "15/8", "1½": "3/2", "−2⅓": "-7/3", "(1⁷⁄₈)": "15/8", "½": "1/2", "1½%": "3/200" };
  for (const [text, number] of Object.entries(known)) assert.deepEqual(value(text), [number], text);
  for (const text of ["1.5½", "½5", "½½", "x2½", "1/½"]) assert.equal(value(text), null, text);
  assert.deepEqual(read("1½, ½", 2)?.map(String), ["3/2", "1/2"]);
});

test("the example of what can be typed never is the answer", () => {
  for (const answer of [["2/7"], ["1/4"], ["3/8"], ["2/7", "1/4", "0"]]) {
    const { why } = judge({ answer, wrong: [] }, "?");
    const shown = why.split("for example ")[1]!.replace(/\.$/, "");
    const examples = answer.length > 1 ? [shown] : shown.split(" or ");
    for (const example of examples) {
      const numbers = read(example, answer.length);
      assert.ok(numbers, why);
      assert.ok(!numbers.some((number) => answer.includes(number.toString())), why);
    }
  }
});
