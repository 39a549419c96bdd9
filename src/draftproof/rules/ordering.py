"""Tokens in ascending order of p/q, and what n independent draws look like in that order."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.dist import Row


def by_ratio(p: Row, q: Row) -> Any:
    """Give the token ids in ascending order of p/q, the lowest id first on a tie.

    Long rows are full of zeros, and a stable sort is slow: only what lies between is sorted, fast
    where nothing is tied.
    """
    ratio = ratios(p, q)
    between = np.flatnonzero((ratio > 0) & (ratio < np.inf))
    order = between[np.argsort(ratio[between])]
    if (ratio[order[1:]] == ratio[order[:-1]]).any():
        order = between[np.argsort(ratio[between], kind="stable")]
    return np.concatenate([np.flatnonzero(ratio == 0), order, np.flatnonzero(ratio == np.inf)])


def ratios(p: Row, q: Row) -> Row:
    """Give p/q; infinite for a token that is never drafted."""
    drafted = q > 0
    return np.where(drafted, p / np.where(drafted, q, 1), np.inf)


def ranks(order: Any) -> Any:
    """Give the place of each token in `order`."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def largest_of(q: Row, order: Any, n: int, *, start: Any = 0, mass: Any = 1) -> Row:
    """Law of the last in `order` among n independent draws from q: ``F(x)^n - F(x-)^n``.

    F starts at `start` and all of q weighs `mass` in it, so the same formula serves strings: the
    draws that share a prefix occupy one stretch of F.
    """
    law = np.zeros_like(q)
    upper = start + mass * np.cumsum(q[order])
    lower = np.concatenate([np.zeros_like(q[:1]) + start, upper[:-1]])
    law[order] = mass * q[order] * between_powers(upper, lower, n)
    return law


def between_powers(upper: Any, lower: Any, n: int) -> Any:
    """Give ``(upper^n - lower^n) / (upper - lower)`` as a sum, which loses no digits."""
    return sum(upper**i * lower ** (n - 1 - i) for i in range(n))
