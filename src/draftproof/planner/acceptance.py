"""How many tokens a round emits, when the acceptance of each position is known.

An acceptance is a *conditional* one: the probability that a drafted token is kept, given that all
before it in the round were kept, so that it is looked at. It is one number for every position
(Leviathan, Kalman and Matias 2023, arXiv 2211.17192, equation 1), or a sequence with one number
for each. With conditional acceptances a_1, a_2, ... and k drafted tokens::

    E[N] = 1 + sum_{j=1..k} a_1 * ... * a_j

where the 1 is the token the target adds at the end of every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np

from draftproof.errors import InvalidInput
from draftproof.planner.checking import as_float, as_sequence, check_count, check_probability

ENDLESS = 1 << 30
"""Positions at which a single number is known: all that anybody drafts."""


def check_acceptance(value: Any, name: str = "acceptance") -> Any:
    """Give an acceptance back: a number in [0, 1], or a tuple of them, one for each position."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
        each = enumerate(as_sequence(value, name))
        return tuple(check_probability(one, f"{name}[{at}]") for at, one in each)
    return check_probability(value, name)


def positions(acceptance: Any) -> int:
    """Give the number of draft positions whose acceptance is known."""
    return len(acceptance) if isinstance(acceptance, tuple) else ENDLESS


def survivals(acceptance: Any, k: int) -> tuple[Any, ...]:
    """Probability that position j and all before it are kept, for j = 1..k.

    These are the *unconditional* acceptances that serving engines count per position.

    Examples
    --------
    >>> survivals((0.5, 0.5), 2)
    (0.5, 0.25)
    """
    a, k = _known(acceptance, k)
    each = a if isinstance(a, tuple) else (a,) * k
    alive: list[Any] = []
    for one in each[:k]:
        alive.append(one * alive[-1] if alive else one)
    return tuple(alive)


def _known(acceptance: Any, k: Any) -> tuple[Any, int]:
    a, k = check_acceptance(acceptance), check_count(k, "k")
    if k > positions(a):
        raise InvalidInput(
            f"acceptance is known at {positions(a)} positions and k is {k}; give one number for "
            f"every position, or a smaller k."
        )
    return a, k


def conditionals(survival: Sequence[Any]) -> tuple[Any, ...]:
    """Conditional acceptances from unconditional ones; the inverse of `survivals`.

    Positions that are never reached have no conditional acceptance, so the answer ends there.

    Examples
    --------
    >>> conditionals((0.5, 0.25, 0.0, 0.0))
    (0.5, 0.5, 0.0)
    """
    found: list[Any] = []
    before: Any = 1
    for at, alive in enumerate(as_sequence(survival, "survival")):
        if check_probability(alive, f"survival[{at}]") > before:
            raise InvalidInput(
                f"survival[{at}] is {alive} and the position before it has {before}; a position "
                f"cannot be kept more often than the one before it."
            )
        if before == 0:
            break
        found.append(alive / before)
        before = alive
    return tuple(found)


def expected_tokens(acceptance: Any, k: int) -> Any:
    """Expected tokens a round emits, the correction or bonus token included.

    Parameters
    ----------
    acceptance
        Probability that a drafted token is kept, given that it is looked at: a float or a
        fraction in [0, 1], or a sequence (list, tuple, array) with one for each position.
    k
        Drafted tokens per round, 0 or more.

    Returns
    -------
    The finite sum ``1 + a + ... + a^k``, which is k + 1 at a = 1; no division, so no special case.
    With one acceptance per position ``1 + a_1 + a_1 a_2 + ...``.

    Examples
    --------
    >>> round(expected_tokens(0.8, 4), 4)
    3.3616
    >>> expected_tokens(1, 4)
    5.0
    >>> round(expected_tokens((0.9, 0.5, 0.1), 3), 3)
    2.395
    """
    a, k = _known(acceptance, k)
    each = reversed(a[:k]) if isinstance(a, tuple) else repeat(a, k)
    total: Any = Fraction(1) if isinstance(a, Fraction) else 1
    for one in each:
        total = total * one + 1
    return total


def length_law(acceptance: Any, k: int) -> tuple[Any, ...]:
    """Law of the tokens a round emits: entry n is the probability of n + 1 tokens.

    Examples
    --------
    >>> length_law(0.5, 2)
    (0.5, 0.25, 0.25)
    """
    alive = (1, *survivals(acceptance, k), 0)
    return tuple(alive[at] - alive[at + 1] for at in range(len(alive) - 1))


def variance_of_tokens(acceptance: Any, k: int) -> Any:
    """Variance of the tokens a round emits.

    Examples
    --------
    >>> round(variance_of_tokens(0.8, 5), 5)
    3.86409
    """
    law = length_law(acceptance, k)
    mean = sum(share * (at + 1) for at, share in enumerate(law))
    return sum(share * (at + 1 - mean) ** 2 for at, share in enumerate(law))


def oracle_tokens(acceptance: Any) -> Any:
    """Expected tokens of a round whose length stops just where the first rejection is.

    No schedule can do better with this acceptance: 1 / (1 - a).

    Examples
    --------
    >>> oracle_tokens(0.5)
    2.0
    """
    a = check_probability(acceptance, "acceptance")
    if a == 1:
        raise InvalidInput("acceptance is 1, and then a round has no end; give one below 1.")
    return 1 / (1 - a)


def acceptance_of_length(length: Any, k: int) -> float:
    """Constant acceptance at which rounds of k drafts emit `length` tokens on average.

    Serving engines that report only a mean length are read this way.

    Parameters
    ----------
    length
        Mean tokens per round with the target's own token counted, in [1, k + 1].
    k
        Drafted tokens per round, at least 1.

    Examples
    --------
    >>> round(acceptance_of_length(3.3616, 4), 6)
    0.8
    """
    k, mean = check_count(k, "k", 1), as_float(length, "length")
    if not 1 <= mean <= k + 1:
        raise InvalidInput(
            f"length is {length}; a round of k = {k} drafts emits between 1 and {k + 1} tokens."
        )
    return acceptance_of_mean_draft(mean, k)


def acceptance_of_mean_draft(length: float, drafted: float) -> float:
    """Constant acceptance at which rounds that draft `drafted` tokens on average emit `length`.

    Where `drafted` is no whole number, some rounds draft the one below it and the others the one
    above: at 2.5, half of them draft 2 and half 3.

    Parameters
    ----------
    length
        Mean tokens per round with the target's own token counted, in [1, drafted + 1].
    drafted
        Mean drafted tokens per round, above 0.

    Examples
    --------
    >>> [round(acceptance_of_mean_draft(*one), 6) for one in ((2.4, 1.4), (1.8125, 2.5))]
    [1.0, 0.5]
    """
    below = int(drafted)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        tokens = expected_tokens(middle, below) + (drafted - below) * middle ** (below + 1)
        low, high = (middle, high) if tokens < length else (low, middle)
    return high
