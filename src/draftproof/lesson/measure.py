"""Observed frequencies against exact laws: how sure can one be, after how many draws.

All intervals of one method hold together: with probability at least ``1 - LEVEL`` every one of
them contains the true value, whatever the law (Clopper and Pearson 1934, with the error shared
among the cells). The verdict is the picture: a method is refuted when p lies outside one of its
intervals, so a correct method is refuted with probability at most ``LEVEL``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from draftproof.dist import (
    METHODS,
    Row,
    check_pair,
    empirical,
    exact_distribution,
    naive_distribution,
    rejection_probability,
)
from draftproof.errors import InvalidInput

Json: TypeAlias = dict[str, Any]
Floats: TypeAlias = npt.NDArray[np.float64]

LEVEL = 1e-6
"""Largest probability of refuting a method whose law is p."""

ROUNDING = 1e-12
"""Two laws of floats closer than this everywhere count as equal."""

TOKENS_LIMIT = 32
TRIALS_LIMIT = 10_000_000

_FRACTION = re.compile(r"\d{1,15}(\.\d{1,15})?(/\d{1,15})?|\.\d{1,15}")


def measure(p: Sequence[Any], q: Sequence[Any], trials: int, seed: int) -> Json:
    """Draw `trials` speculative steps by either method and compare them with their exact laws.

    Parameters
    ----------
    p, q
        Rows as strings of fractions or decimals (``"3/10"``, ``"0.3"``), each summing to 1.
    trials
        Number of steps per method.
    seed
        Seed of both methods.

    Examples
    --------
    >>> found = measure(["1/2", "3/10", "1/5"], ["1/4", "1/2", "1/4"], 20_000, 1)
    >>> [found["methods"][method]["verdict"] for method in ("exact", "naive")]
    ['consistent', 'refuted']
    >>> found["methods"]["naive"]["law"]
    ['3/8', '3/8', '1/4']
    """
    _limit("trials", trials, 1, TRIALS_LIMIT)
    _limit("seed", seed, 0, 2**53)
    target, draft = check_pair(_row("p", p), _row("q", q))
    cells = [[cell] for cell in range(target.size)]
    return {"p": _shown(target), "q": _shown(draft)} | compare(target, draft, cells, trials, seed)


def compare(p: Row, q: Row, cells: Sequence[Sequence[int]], trials: int, seed: int) -> Json:
    """Draw by both methods and judge each on a partition of the tokens into `cells`.

    The partition must be chosen before looking at any draw.
    """
    laws = {"exact": exact_distribution(p, q), "naive": naive_distribution(p, q)}
    target = _gather(p, cells)
    methods = {}
    for method in METHODS:
        counts = _gather(empirical(p, q, trials, seed, method) * trials, cells).round()
        law = _gather(laws[method], cells)
        methods[method] = {"law": _shown(law)} | judge(counts.astype(np.int64), target)
    return {
        "trials": trials,
        "seed": seed,
        "level": LEVEL,
        "rejection_probability": _shown(np.array([rejection_probability(p, q)]))[0],
        "methods": methods,
        "draws_until_visible": draws_until_visible(_gather(laws["naive"], cells), target),
    }


def judge(counts: npt.NDArray[np.int64], target: Row) -> Json:
    """Give frequencies, simultaneous intervals and the verdict of one method's counts.

    Examples
    --------
    >>> judge(np.array([5000, 5000]), np.array([0.5, 0.5]))["verdict"]
    'consistent'
    """
    low, high = intervals(counts)
    law = target.astype(np.float64)
    outside = np.flatnonzero((law < low) | (law > high))
    return {
        "counts": counts.tolist(),
        "observed": (counts / counts.sum()).tolist(),
        "intervals": np.stack([low, high], axis=1).tolist(),
        "verdict": "refuted" if outside.size else "consistent",
        "outside": outside.tolist(),
    }


def intervals(counts: npt.NDArray[np.int64], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Give the ends of exact intervals that hold together with probability ``1 - level``.

    Examples
    --------
    >>> low, high = intervals(np.array([0, 10]), level=0.1)
    >>> float(low[0]), float(high[1])
    (0.0, 1.0)
    """
    total = counts.sum()
    share = level / (2 * counts.size)
    some, others = np.maximum(counts, 1), np.maximum(total - counts, 1)
    low = np.where(counts == 0, 0.0, betaincinv(some, total - some + 1, share))
    high = np.where(counts == total, 1.0, betainccinv(counts + 1, others, share))
    return low, high


def draws_until_visible(law: Row, target: Row) -> float | None:
    """Give the expected number of draws until `law` is 1 / LEVEL times likelier than `target`.

    Wald's equation: ``log(1 / LEVEL) / KL(law || target)``, the overshoot left out. None when
    the two are equal (floats: up to rounding), since no number of draws would tell.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> draws_until_visible(half, half) is None
    True
    """
    if abs(law - target).max() <= (0 if law.dtype == object else ROUNDING):
        return None
    drawn = law > 0
    a, b = law[drawn].astype(np.float64), target[drawn].astype(np.float64)
    return math.log(1 / LEVEL) / float((a * np.log(a / b)).sum())


def _gather(row: Row, cells: Sequence[Sequence[int]]) -> Row:
    return np.array([row[list(cell)].sum() for cell in cells])


def _shown(row: Row) -> list[Any]:
    return [str(x) if isinstance(x, Fraction | int) else float(x) for x in row]


def _limit(name: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InvalidInput(f"{name} is {value!r}; it must be a whole number from {low} to {high}.")


def _row(name: str, values: object) -> Row:
    if not isinstance(values, list) or not 1 <= len(values) <= TOKENS_LIMIT:
        raise InvalidInput(f"{name} must be a list of 1 to {TOKENS_LIMIT} fractions.")
    row = np.empty(len(values), dtype=object)
    row[:] = [_fraction(f"{name}[{at}]", value) for at, value in enumerate(values)]
    return row


def _fraction(name: str, value: object) -> Fraction:
    """Read one number of bounded length: a hostile exponent would fill the memory."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        top, _, bottom = value.partition("/")
        if not bottom or int(bottom):
            return Fraction(top) / int(bottom or 1)
    raise InvalidInput(f'{name} is {value!r:.40}; write a fraction like "3/10" or a decimal.')
