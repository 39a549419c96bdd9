"""What a round costs beside the two model passes: microseconds, median and fastest of many runs.

    python benchmarks/round_overhead.py

Logits are synthetic, with the peaked shape of a small chat model's (a few likely tokens over a
normal background); the vocabulary is that of the default model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from draftproof.chance import Dice
from draftproof.contracts import Draft, Text
from draftproof.proposers import Grams, NGram, PromptLookup
from draftproof.rules.chain import TOKEN_WISE
from draftproof.warp import Warp, Warped

VOCAB = 49_152
LENGTH = 4_000
K = 4
RUNS = 400


class Still:
    """A back end that has its logits ready, so that only what follows them is timed."""

    name, vocab_size, context_limit = "still", VOCAB, 1 << 20

    def __init__(self, rng: np.random.Generator) -> None:
        self.ready = [peaked(rng) for _ in range(K + 1)]

    def logits(self, text: Text, draft: Draft) -> list[np.ndarray]:
        return self.ready[: len(draft) + 1]


def peaked(rng: np.random.Generator) -> np.ndarray:
    logits = rng.standard_normal(VOCAB) * 2.5
    likely = rng.integers(0, VOCAB, 40)
    logits[likely] += np.linspace(14, 4, 40)
    return logits.astype(np.float32)


def microseconds(play: Callable[[int], object]) -> tuple[float, float]:
    taken = []
    for run in range(RUNS + 20):
        start = time.perf_counter()
        play(run)
        taken.append((time.perf_counter() - start) * 1e6)
    return median(taken[20:]), min(taken[20:])


def report(name: str, play: Callable[[int], object]) -> None:
    middle, least = microseconds(play)
    print(f"{name:<52}{middle:>10.0f}{least:>10.0f}")


def warps() -> dict[str, Warp]:
    cool = 0.8
    return {
        "temperature 0": Warp(temperature=0),
        "temperature 1": Warp(),
        "temperature 0.8": Warp(temperature=cool),
        "temperature 0.8, top-k 50": Warp(temperature=cool, top_k=50),
        "temperature 0.8, top-p 0.95": Warp(temperature=cool, top_p=0.95),
        "temperature 0.8, top-k 50, top-p 0.95": Warp(temperature=cool, top_k=50, top_p=0.95),
        "temperature 0.8, min-p 0.05": Warp(temperature=cool, min_p=0.05),
        "temperature 0.8, repetition 1.1": Warp(temperature=cool, repetition_penalty=1.1),
        "temperature 0.8, presence, frequency": Warp(
            temperature=cool, presence_penalty=0.5, frequency_penalty=0.5
        ),
    }


def a_text(rng: np.random.Generator) -> Text:
    """A text of frequent and rare tokens, half of it said twice."""
    ids = np.minimum(rng.zipf(1.3, LENGTH // 2), VOCAB - 1)
    return tuple(int(token) for token in np.tile(ids, 2))


def main() -> None:
    rng = np.random.default_rng(1)
    text, backend = a_text(rng), Still(rng)
    past, row = np.array(text), backend.ready[0]
    print(f"{'microseconds':<52}{'median':>10}{'fastest':>10}")
    for name, warp in warps().items():
        report(f"one row: {name}", lambda _, w=warp: w.row(row, past, prompt=LENGTH // 2))
    lookup = PromptLookup(VOCAB)
    report(f"prompt lookup, k={K}, {LENGTH} tokens", lambda _: lookup.propose(Dice(0), text, K))
    grams = Grams.shipped()
    for name, warp in list(warps().items())[:5]:
        ngram = NGram(VOCAB, grams, warp=warp)
        report(
            f"n-gram draft, k={K}: {name}",
            lambda run, proposer=ngram: proposer.propose(Dice(run), text, K),
        )
    for name, warp in list(warps().items())[:5]:
        target, ngram = Warped(backend, warp), NGram(VOCAB, grams, warp=warp)
        draft = ngram.propose(Dice(1), text, K)
        rows = [row.copy() for row in target.rows(text, draft)]
        report(
            f"token-wise verdict, rows ready: {name}",
            lambda run, d=draft, r=rows: TOKEN_WISE.verify(Dice(run), d, r),
        )
        report(
            f"warp, draft and verdict, k={K}: {name}",
            lambda run, t=target, p=ngram: whole_round(Dice(run), t, p, text),
        )


def whole_round(chance: Dice, target: Warped, proposer: NGram, text: Text) -> object:
    draft = proposer.propose(chance, text, K)
    return TOKEN_WISE.verify(chance, draft, target.rows(text, draft))


if __name__ == "__main__":
    main()
