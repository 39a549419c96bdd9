"""What decoding with a schedule would take, where only the luck of acceptance is played out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from draftproof.contracts import Draft, Text, Verdict
from draftproof.decode import Round, Schedule, Seconds
from draftproof.errors import InvalidInput
from draftproof.planner.acceptance import check_acceptance
from draftproof.planner.checking import check_count

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
