"""The simple speed model: expected tokens per round, throughput, speed-up, and the best k.

With a constant, independent acceptance probability a per drafted token and k drafted tokens
(Leviathan, Kalman and Matias 2023, arXiv 2211.17192, equation 1 and theorem 3.8)::

    E[N] = sum_{i=0..k} a^i = (1 - a^(k+1)) / (1 - a)  for a != 1;  k + 1 at a = 1
    throughput = E[N] / (t_verify + k * t_draft)

It is a model of speed, not a proof of correctness: real samplers accept with a probability that
depends on the position and the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from draftproof.errors import InvalidInput


def expected_tokens(acceptance: Any, k: int) -> Any:
    """Expected tokens a round emits, the correction or bonus token included.

    Parameters
    ----------
    acceptance
        Probability that a drafted token is kept, in [0, 1]; a float or a fraction.
    k
        Drafted tokens per round, 0 or more.

    Returns
    -------
    The finite sum ``1 + a + ... + a^k``, which is k + 1 at a = 1. No division, so no special case.

    Examples
    --------
    >>> round(expected_tokens(0.8, 4), 4)
    3.3616
    >>> expected_tokens(1, 4)
    5.0
    """
    a = _check_probability(acceptance, "acceptance")
    total = a * 0
    for _ in range(_check_count(k, "k") + 1):
        total = total * a + 1
    return total


def throughput(acceptance: Any, k: int, *, t_verify: float, t_draft: float) -> Any:
    """Tokens per second: expected tokens of a round over its time ``t_verify + k * t_draft``.

    Parameters
    ----------
    acceptance, k
        As in `expected_tokens`.
    t_verify
        Seconds of one verification pass, above 0.
    t_draft
        Seconds per drafted token, 0 or more.

    Examples
    --------
    >>> round(throughput(0.8, 4, t_verify=0.012, t_draft=0.001), 1)
    210.1
    """
    tokens = expected_tokens(acceptance, k)
    seconds = _check_time(t_verify, "t_verify", zero=False) + k * _check_time(t_draft, "t_draft")
    return tokens / seconds


def speedup(acceptance: Any, k: int, *, t_target: float, t_verify: float, t_draft: float) -> Any:
    """Throughput over that of plain decoding at `t_target` seconds per token.

    Examples
    --------
    >>> round(speedup(0.8, 4, t_target=0.010, t_verify=0.012, t_draft=0.001), 3)
    2.101
    """
    plain = _check_time(t_target, "t_target", zero=False)
    return throughput(acceptance, k, t_verify=t_verify, t_draft=t_draft) * plain


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of one verification pass as a function of the tokens in it.

    A round that drafts k tokens verifies k + 1: the last token of the text, and the drafts.
    Between two points the curve is a straight line; outside them it is unknown.

    Parameters
    ----------
    points
        Pairs of a number of tokens and seconds, by ascending number.

    Raises
    ------
    InvalidInput
        If there is no point, a number of tokens is below 1 or does not ascend, or a time is not
        above 0.

    Examples
    --------
    >>> Curve(((1, 0.010), (5, 0.030))).at(2)
    0.015
    """

    points: tuple[tuple[int, Any], ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidInput("t_verify has no point; give at least one, like 1:9.7ms.")
        counts = [count for count, _ in self.points]
        if counts[0] < 1 or any(after <= before for before, after in pairwise(counts)):
            raise InvalidInput(
                f"t_verify has its points at {counts} tokens; they must be 1 or more and ascend."
            )
        for _, seconds in self.points:
            _check_time(seconds, "t_verify", zero=False)

    @property
    def first(self) -> int:
        """Smallest number of tokens at which the curve is known."""
        return self.points[0][0]

    @property
    def last(self) -> int:
        """Largest number of tokens at which the curve is known."""
        return self.points[-1][0]

    def at(self, tokens: int) -> Any:
        """Give the seconds of a pass over `tokens` tokens.

        Raises
        ------
        InvalidInput
            If `tokens` lies outside the points.
        """
        for count, seconds in self.points:
            if count == tokens:
                return seconds
        for (low, fast), (high, slow) in pairwise(self.points):
            if low < tokens < high:
                return fast + (slow - fast) * (tokens - low) / (high - low)
        raise InvalidInput(
            f"t_verify is known from {self.first} to {self.last} tokens, and a pass over {tokens} "
            f"was asked for; add a point, or choose k from {max(self.first - 1, 0)} to "
            f"{self.last - 1}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a token and a round cost, in seconds.

    Parameters
    ----------
    t_target
        One plain decoding step.
    t_verify
        One verification pass: a single time for every k, or a `Curve`.
    t_draft
        One drafted token; 0 is a free draft.
    """

    t_target: Any
    t_verify: Any
    t_draft: Any = 0

    def __post_init__(self) -> None:
        _check_time(self.t_target, "t_target", zero=False)
        _check_time(self.t_draft, "t_draft")
        if not isinstance(self.t_verify, Curve):
            _check_time(self.t_verify, "t_verify", zero=False)

    def knows(self, k: int) -> bool:
        """Say whether the time of a round of k drafts can be told."""
        curve = self.t_verify
        return k == 0 or not isinstance(curve, Curve) or curve.first <= k + 1 <= curve.last

    def round_seconds(self, k: int) -> Any:
        """Give the seconds of a round of k drafts; k = 0 is a plain decoding step."""
        if k == 0:
            return self.t_target
        verify = self.t_verify.at(k + 1) if isinstance(self.t_verify, Curve) else self.t_verify
        return verify + k * self.t_draft


@dataclass(frozen=True, slots=True)
class Choice:
    """One k, and what it gives: tokens per round, tokens per second, speed-up over k = 0."""

    k: int
    expected_tokens: Any
    throughput: Any
    speedup: Any


def choices(acceptance: Any, costs: Costs, max_k: int = 16) -> tuple[Choice, ...]:
    """Give every k from 0 to `max_k` whose cost is known; k = 0 is plain decoding, speed-up 1.

    Examples
    --------
    >>> costs = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    >>> [round(one.speedup, 3) for one in choices(0.8, costs, 4)]
    [1.0, 1.385, 1.743, 1.968, 2.101]
    """
    a = _check_probability(acceptance, "acceptance")
    return tuple(_choices(a, costs, _check_count(max_k, "max_k")))


def _choices(a: Any, costs: Costs, max_k: int) -> Iterator[Choice]:
    expected: Any = 1
    for k in range(max_k + 1):
        expected = expected if k == 0 else 1 + a * expected
        if costs.knows(k):
            seconds = costs.round_seconds(k)
            yield Choice(k, expected, expected / seconds, costs.t_target * expected / seconds)


def best_choice(acceptance: Any, costs: Costs, max_k: int = 16) -> Choice:
    """Give the k with the largest speed-up, the smallest such k on a tie; 0: do not speculate.

    Examples
    --------
    >>> lesson = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    >>> best = best_choice(0.8, lesson)
    >>> best.k, round(best.speedup, 3)
    (6, 2.195)
    >>> dear = Costs(t_target=0.0097, t_verify=Curve(((1, 0.0097), (5, 0.030))))
    >>> best_choice(0.5, dear).k
    0
    """
    return max(choices(acceptance, costs, max_k), key=lambda one: one.speedup)


def _check_probability(value: Any, name: str) -> Any:
    number = value if isinstance(value, Fraction) else _as_float(value, name)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} is {value}; it is a probability and must lie in [0, 1].")
    return number


def _check_time(value: Any, name: str, *, zero: bool = True) -> Any:
    number = value if isinstance(value, Fraction) else _as_float(value, name)
    if (
        number < 0
        or (number == 0 and not zero)
        or (isinstance(number, float) and math.isinf(number))
    ):
        least = "0 or more" if zero else "above 0"
        raise InvalidInput(f"{name} is {value}; it must be a finite time in seconds, {least}.")
    return number


def _check_count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InvalidInput(f"{name} is {value!r}; it must be an integer of 0 or more.")
    return int(value)


def _as_float(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{name} is {value!r}; it must be a number.")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidInput(f"{name} is an integer too large for a float.") from None
    if math.isnan(number):
        raise InvalidInput(f"{name} is NaN; it must be a number.")
    return number
