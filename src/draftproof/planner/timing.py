"""Timing the parts of a round, interleaved, so that a machine that slows down favours nobody."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from draftproof.chance import Dice
from draftproof.contracts import Draft, Predictor, Proposer, Text
from draftproof.planner.costs import Costs, Curve

SETTLE = 8
"""Untimed passes of one size before a timed one: a back end may fill a small pass up to the size
of the last few, and planning for another size costs more than the tokens (`backends.paged`)."""

COUNTS = tuple(range(1, 18))
"""Tokens of the passes that are timed: up to 16 drafts and the token before them."""

FEWEST = 3
"""Samples of each part that are taken however long they take."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Seconds of the parts of a round, every sample of them.

    Parameters
    ----------
    passes
        For a number of tokens in a pass, the seconds of each timed pass.
    draft
        Seconds per drafted token.
    row
        Seconds to turn one row of logits into probabilities, and to judge it.
    window
        A pass costs what the largest of the last `window` passes costs; 1 where each costs its own.
    """

    passes: Mapping[int, Sequence[float]]
    draft: Sequence[float] = (0.0,)
    row: Sequence[float] = (0.0,)
    window: int = 1

    def costs(self) -> Costs:
        """Give the medians as costs of plain steps and of rounds."""
        row = median(self.row)
        curve = Curve(tuple((n, median(each)) for n, each in sorted(self.passes.items())))
        return Costs(
            t_target=curve.at(1) + row, t_verify=curve, t_draft=median(self.draft), t_overhead=row
        )

    def medians(self) -> tuple[np.ndarray, Any, Any]:
        """Give the medians of passes of 1, 2, ... tokens, of the draft, and of a row."""
        passes = np.array([np.median(each) for _, each in sorted(self.passes.items())])
        return passes, np.float64(np.median(self.draft)), np.float64(np.median(self.row))

    def resampled_medians(
        self, random: np.random.Generator, times: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give the same medians of samples drawn anew, with replacement, `times` times."""

        def again(samples: Sequence[float]) -> np.ndarray:
            drawn = random.choice(np.asarray(samples), size=(times, len(samples)))
            return np.asarray(np.median(drawn, axis=1))

        passes = [again(each) for _, each in sorted(self.passes.items())]
        return np.stack(passes, axis=1), again(self.draft), again(self.row)


def time_parts(
    target: Predictor,
    proposer: Proposer,
    text: Text,
    *,
    repeats: int = 7,
    counts: Sequence[int] = COUNTS,
    settle: int = SETTLE,
    clock: Clock = time.perf_counter,
    tick: Callable[[], None] = lambda: None,
    more: Callable[[], bool] = lambda: True,
) -> Timings:
    """Time passes of `target` over each of `counts` tokens, its rows, and `proposer`'s drafts.

    Parameters
    ----------
    target, proposer
        What a run uses.
    text
        Prompt after which everything is timed.
    repeats
        Samples of each part; every repeat goes through all parts in another order.
    counts
        Numbers of tokens in a pass.
    settle
        Untimed passes of the same size before each timed one; the window of the answer.
    clock
        Seconds.
    tick
        Called before each repeat.
    more
        Asked before each repeat after the third; False ends the timing, for a limit of time.
    """
    passes: dict[int, list[float]] = {n: [] for n in counts}
    drafts: list[float] = []
    rows: list[float] = []
    order = np.random.default_rng(0)
    _one_pass(target, text, max(counts), clock)
    for repeat in range(repeats):
        tick()
        if repeat >= FEWEST and not more():
            continue
        for at in order.permutation(len(counts)):
            for _ in range(settle):
                _one_pass(target, text, counts[at], clock)
            spent, row = _one_pass(target, text, counts[at], clock)
            passes[counts[at]].append(spent)
            rows.append(row)
        drafts += _one_draft(proposer, text, max(counts) - 1, repeat, clock)
    return Timings(passes=passes, draft=drafts or (0.0,), row=rows, window=max(settle, 1))


def _one_pass(target: Predictor, text: Text, count: int, clock: Clock) -> tuple[float, float]:
    """Time a pass over the last token of `text` and the first ones again, and its first row."""
    tokens = [text[at % len(text)] for at in range(count - 1)]
    draft = Draft.chain(tokens, [np.ones(1)] * len(tokens))
    began = clock()
    rows = target.rows(text, draft)
    passed = clock()
    rows[0]
    return passed - began, clock() - passed


def time_drafts(
    proposer: Proposer, text: Text, k: int, *, repeats: int = 7, clock: Clock = time.perf_counter
) -> Sequence[float]:
    """Time drafts of k tokens after `text`; seconds per drafted token, 0 where none are made."""
    found: list[float] = []
    for repeat in range(repeats):
        found += _one_draft(proposer, text, k, repeat, clock)
    return found or (0.0,)


def _one_draft(proposer: Proposer, text: Text, k: int, seed: int, clock: Clock) -> list[float]:
    began = clock()
    draft = proposer.propose(Dice(seed), text, k)
    return [(clock() - began) / len(draft)] if len(draft) else []
