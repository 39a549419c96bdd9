"""What decoding with a schedule would take, where only the luck of acceptance is played out.

`MODELS` and `STEADY` are the costs and texts on which a schedule is compared with fixed ks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from draftproof.contracts import Draft, Text, Verdict
from draftproof.decode import Round, Schedule, Seconds
from draftproof.errors import InvalidInput
from draftproof.planner.acceptance import check_acceptance
from draftproof.planner.checking import check_count
from draftproof.planner.costs import Curve

PAGED = Curve(
    tuple((n, ms / 1000) for n, ms in {
        1: 9.9, 2: 9.9, 3: 10.9, 4: 11.7, 5: 11.7, 6: 12.9, 8: 14.8, 9: 15.4, 12: 16.2, 16: 18.8,
    }.items())
)  # fmt: skip
"""Seconds of a pass of a small model on a paged cache, by tokens in it."""

STEEP = Curve(((1, 0.0097), (5, 0.030), (9, 0.050)))
"""A machine that is busy with computing already: the same model in llama.cpp."""

FLAT = Curve(((1, 0.010), (17, 0.0101)))
"""A machine that waits for memory."""

MODELS: Mapping[str, tuple[Curve, float]] = MappingProxyType(
    {
        "paged, free draft": (PAGED, 0.0),
        "paged": (PAGED, 0.001),
        "steep, free draft": (STEEP, 0.0),
        "steep": (STEEP, 0.001),
        "flat": (FLAT, 0.001),
    }
)
"""Costs of a pass, and seconds of a drafted token."""

STEADY: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "hopeless": (0.0,) * 15,
        "poor": (0.2,) * 15,
        "even": (0.5,) * 15,
        "good": (0.7,) * 15,
        "very good": (0.9,) * 15,
        "certain": (1.0,) * 15,
        "good at first": (0.9, 0.5, 0.1) + (0.05,) * 12,
        "good later": (0.3, 0.6) + (0.8,) * 13,
    }
)
"""Conditional acceptance per position of texts that stay as they are."""

_ROW = np.ones(1)


def simulated_seconds(
    schedule: Schedule,
    acceptance: Callable[[int], Sequence[float]],
    seconds: Sequence[float],
    tokens: int,
    *,
    seed: int = 0,
    drafted: Callable[[int, int], int] = lambda k, at: k,
) -> float:
    """Give the seconds of a text of `tokens` tokens.

    Parameters
    ----------
    schedule
        Chooses k before each round, from the round before it.
    acceptance
        Conditional acceptance per position of a round that starts after n tokens.
    seconds
        Time of a round that drafts 0, 1, 2, ... tokens.
    tokens
        Length of the text; no more are drafted than are missing.
    seed
        Luck.
    drafted
        How many of k tokens the draft makes after n tokens; all of them if not given.

    Examples
    --------
    >>> simulated_seconds(lambda text, last: 2, lambda at: (1.0, 1.0), (1.0, 1.5, 2.0), 6)
    4.0
    """
    luck, wanted = random.Random(seed), check_count(tokens, "tokens")
    at, spent, last = 0, 0.0, None
    while at < wanted:
        k = min(schedule((), last), wanted - at - 1)
        length = min(drafted(k, at), k)
        shares = check_acceptance(acceptance(at)[:length])
        if length >= len(seconds) or length > len(shares):
            raise InvalidInput(
                f"the schedule drafts {length} tokens after {at}; seconds is known for "
                f"{len(seconds) - 1} and acceptance for {len(shares)}."
            )
        accepted = _run_of_luck(luck, shares)
        spent += seconds[length]
        at += accepted + 1
        last = _round(k, length, accepted)
    return spent


def _run_of_luck(luck: random.Random, shares: Sequence[float]) -> int:
    for at, share in enumerate(shares):
        if luck.random() >= share:
            return at
    return len(shares)


def _round(k: int, length: int, accepted: int) -> Round:
    """Give a round of which only the counts mean anything."""
    text: Text = (0,) * (accepted + 1)
    return Round(
        index=0, start=0, k=k, draft=Draft.chain((0,) * length, (_ROW,) * length),
        verdict=Verdict(text, (), tuple(range(accepted))), emitted=text, ends=None,
        seconds=Seconds(0.0, 0.0, 0.0),
    )  # fmt: skip
