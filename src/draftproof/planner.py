"""The simple speed model: expected tokens per round, throughput, speed-up.

With a constant, independent acceptance probability a per drafted token and k drafted tokens
(Leviathan, Kalman and Matias 2023, arXiv 2211.17192, equation 1 and theorem 3.8)::

    E[N] = sum_{i=0..k} a^i = (1 - a^(k+1)) / (1 - a)  for a != 1;  k + 1 at a = 1
    throughput = E[N] / (t_verify + k * t_draft)

It is a model of speed, not a proof of correctness: real samplers accept with a probability that
depends on the position and the text.
"""

from __future__ import annotations

import math
from fractions import Fraction
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
    seconds = _check_time(t_verify, "t_verify", zero=False) + k * _check_time(t_draft, "t_draft")
    return expected_tokens(acceptance, k) / seconds


def speedup(acceptance: Any, k: int, *, t_target: float, t_verify: float, t_draft: float) -> Any:
    """Throughput over that of plain decoding at `t_target` seconds per token.

    Examples
    --------
    >>> round(speedup(0.8, 4, t_target=0.010, t_verify=0.012, t_draft=0.001), 3)
    2.101
    """
    plain = _check_time(t_target, "t_target", zero=False)
    return throughput(acceptance, k, t_verify=t_verify, t_draft=t_draft) * plain


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
        raise InvalidInput(f"{name} is {value}; it is a time in seconds and must be {least}.")
    return number


def _check_count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InvalidInput(f"{name} is {value!r}; it must be an integer of 0 or more.")
    return int(value)


def _as_float(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {value!r}; it must be a number.") from None
    if math.isnan(number):
        raise InvalidInput(f"{name} is NaN; it must be a number.")
    return number
