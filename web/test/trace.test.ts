import assert from "node:assert/strict";
import { test } from "node:test";
import { coinWords, moments, readTrace } from "../src/trace";

const token = (text: string, verdict: string) => ({ token: 1, text, p: 0.5, q: 0.25, coin: 0.1, verdict });

const records = [
  { type: "header", prompt: "Once", target: "t", draft: "d" },
  {
    type: "round",
    round: 0,
    draft: [token("a", "kept"), token("b", "rejected"), token("c", "untested")],
    emitted: [
      { text: "a", source: "draft" },
      { text: "x", source: "residual" },
    ],
    rows: [],
  },
  {
    type: "round",
    round: 1,
    draft: [token("d", "kept")],
    emitted: [
      { text: "d", source: "draft" },
      { text: "y", source: "bonus" },
    ],
    rows: [],
  },
  { type: "end" },
];

test("a decoding becomes its judged drafts and the token that ends each round", () => {
  const found = moments(readTrace(records)).map((moment) =>
    moment.kind === "drafted" ? `${moment.round}.${moment.at}` : moment.token.text,
  );
  assert.deepEqual(found, ["0.0", "0.1", "x", "1.0", "y"]);
});

test("a decoding that has only begun has nothing to look at", () => {
  assert.deepEqual(moments(readTrace(records.slice(0, 1))), []);
  assert.equal(readTrace([]).header, null);
});

test("a coin that cannot matter is said not to decide", () => {
  const drafted = { text: "a", p: 0.5, q: 0.25, coin: 0.1, verdict: "kept" } as const;
  assert.equal(coinWords(drafted), "0.1000, but any coin keeps it");
  assert.equal(coinWords({ ...drafted, p: 0.25 }), "0.1000, but any coin keeps it");
  assert.equal(coinWords({ ...drafted, p: 0.2 }), "0.1000");
  assert.equal(coinWords({ ...drafted, coin: null }), "not needed");
});
