"""The stated battery of row pairs on which a foreign step is tried when no rows are given.

Between them: residuals of one token and of several, p = 0 < q and q = 0 < p, one-hot rows on
either side, disjoint supports, equal rows, a token so rare that only a coarse coin keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from draftproof.dist import Row


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A target row and a draft row over the same tokens."""

    name: str
    p: Row
    q: Row

    def __str__(self) -> str:
        return f"p = {spelled(self.p)}, q = {spelled(self.q)}"


def spelled(row: Row, most: int = 8) -> str:
    """Write a row down for people, cut short when it is long.

    Examples
    --------
    >>> spelled(np.array([Fraction(1, 2), Fraction(1, 2)]))
    '(1/2, 1/2)'
    """
    shown = [str(x) if isinstance(x, Fraction) else f"{float(x):.4g}" for x in row[:most]]
    return f"({', '.join(shown)}{', ...' if len(row) > most else ''})"


def _pair(name: str, p: str, q: str) -> Pair:
    rows = [np.array([Fraction(x) for x in text.split()], dtype=object) for text in (p, q)]
    return Pair(name, rows[0], rows[1])


WORKED_PAIR = _pair("the worked pair", "1/2 3/10 1/5", "1/4 1/2 1/4")

PAIRS = (
    WORKED_PAIR,
    _pair("residual of two tokens", "2/5 3/10 1/5 1/10", "1/10 1/5 3/10 2/5"),
    _pair("p = 0 where the draft is likely", "1/2 1/2 0", "0 1/2 1/2"),
    _pair("two drafted tokens under-covered", "2/5 2/5 1/5", "1/10 1/10 4/5"),
    _pair("one-hot target", "0 1 0", "1/3 1/3 1/3"),
    _pair("one-hot draft", "2/5 2/5 1/5", "0 0 1"),
    _pair("disjoint supports", "1/3 2/3 0 0", "0 0 1/4 3/4"),
    _pair("equal rows", "3/5 3/10 1/10", "3/5 3/10 1/10"),
    _pair("two tokens", "1/5 4/5", "1/2 1/2"),
    _pair("a rare token", "99/100 1/100", "1/20 19/20"),
)
