import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "smol-toml";
import { judge, type Judgeable } from "../src/answers";

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
