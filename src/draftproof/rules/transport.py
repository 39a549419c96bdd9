"""Optimal transport between what was drafted and what the target wants, in fractions.

Several drafts at one position form a set S. A rule couples S with a token Y ~ p, and is best when
Y lies in S as often as possible: a maximum flow from each S, holding its probability, through the
tokens in it, to the token's room p(y). Exponentially many sets, so for small vocabularies only;
`draftproof.rules.optimum` has the value in closed form.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import Any, TypeAlias

import numpy as np

from draftproof.dist import Row
from draftproof.errors import UnsupportedDraft

Set: TypeAlias = frozenset[int]
Sets: TypeAlias = Mapping[Set, Fraction]
Flow: TypeAlias = dict[tuple[Set, int], Fraction]

MAX_SETS = 5_000
"""Most candidate sets a plan is made for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A coupling of candidate sets with tokens: what flows, and what is left on both sides."""

    flow: Flow
    sets: Sets
    room: tuple[Fraction, ...]

    @property
    def value(self) -> Fraction:
        """Probability that the token lies in the set: the best acceptance of any exact rule."""
        return sum(self.flow.values(), Fraction(0))

    def shares(self, drafted: Set, size: int, dtype: Any) -> Row:
        """Give the weight of each token when `drafted` came up, and last that of leaving it."""
        weights = [Fraction(0)] * (size + 1)
        for token in drafted:
            weights[token] = self.flow.get((drafted, token), Fraction(0))
        weights[size] = max(self.sets.get(drafted, Fraction(0)) - sum(weights), Fraction(0))
        return np.array(weights, dtype=dtype)

    def leftover(self, dtype: Any) -> Row:
        """Give what the flow leaves of the target, from which a token outside the set is drawn."""
        left = list(self.room)
        for (_, token), amount in self.flow.items():
            left[token] -= amount
        return np.array(left, dtype=dtype)


def plan(p: Row, sets: Sets) -> Plan:
    """Give an optimal plan for candidate sets that come up with the probabilities in `sets`.

    Examples
    --------
    >>> from draftproof.backends.table import fractions
    >>> p, q = fractions("1/2", "3/10", "1/5"), fractions("1/5", "3/10", "1/2")
    >>> plan(p, iid_sets(q, 2)).value
    Fraction(43, 50)
    """
    room = tuple(Fraction(value) for value in p)
    return Plan(_maximum_flow(sets, room), sets, room)


def plan_iid(p: Row, q: Row, n: int) -> Plan:
    """Give an optimal plan for n independent drafts from q, remembered for the last few rows.

    Raises
    ------
    UnsupportedDraft
        If the drafts can form too many sets.
    """
    return _plan_iid(tuple(map(Fraction, p)), tuple(map(Fraction, q)), n)


@lru_cache(maxsize=64)
def _plan_iid(p: tuple[Fraction, ...], q: tuple[Fraction, ...], n: int) -> Plan:
    return plan(np.array(p, dtype=object), iid_sets(np.array(q, dtype=object), n))


def iid_sets(q: Row, n: int) -> Sets:
    """Law of the set that n independent draws from q form.

    The draws all lie in H with probability ``q(H)^n``; taking away what lies in smaller sets
    leaves the probability of each set itself.
    """
    law: dict[Set, Fraction] = {}
    for drafted in _subsets([token for token, value in enumerate(q) if value > 0], n):
        inside = sum(Fraction(q[token]) for token in drafted) ** n
        law[drafted] = inside - sum(
            law[Set(part)] for part in _proper(sorted(drafted)) if Set(part) in law
        )
    return law


def _subsets(tokens: list[int], n: int) -> Iterator[Set]:
    count = _sets_of(len(tokens), n)
    if count > MAX_SETS:
        raise UnsupportedDraft(
            f"{n} drafts over {len(tokens)} tokens can form more than {MAX_SETS} sets, too many "
            f"for rule 'optimal-transport'; use 'k-seq' or 'max-ratio', or a smaller vocabulary."
        )
    sizes = range(1, min(n, len(tokens)) + 1)
    return (Set(part) for size in sizes for part in combinations(tokens, size))


def _sets_of(size: int, n: int) -> int:
    total, ways = 0, 1
    for drawn in range(min(n, size)):
        ways = ways * (size - drawn) // (drawn + 1)
        total += ways
    return total


def _proper(tokens: list[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(tokens, size) for size in range(1, len(tokens)))


def _maximum_flow(sets: Sets, room: tuple[Fraction, ...]) -> Flow:
    """Give a maximum flow by shortest augmenting paths (Edmonds and Karp 1972)."""
    flow: Flow = {}
    supply, space = dict(sets), list(room)
    while path := _augmenting_path(supply, space, flow):
        edges = list(pairwise(path))
        amount = min(
            supply[path[0]],
            space[path[-1]],
            *(flow[after, before] for before, after in edges if isinstance(before, int)),
        )
        for before, after in edges:
            if isinstance(before, int):
                flow[after, before] -= amount
            else:
                flow[before, after] = flow.get((before, after), Fraction(0)) + amount
        supply[path[0]] -= amount
        space[path[-1]] -= amount
    return flow


def _augmenting_path(supply: dict[Set, Fraction], space: list[Fraction], flow: Flow) -> list[Any]:
    """Give the shortest way from a set with supply to a token with space, or nothing."""
    came: dict[Any, Any] = {drafted: None for drafted, left in supply.items() if left > 0}
    queue = deque(came)
    while queue:
        here = queue.popleft()
        if isinstance(here, int):
            if space[here] > 0:
                return _trace(came, here)
            onward: list[Any] = [s for (s, y), amount in flow.items() if y == here and amount > 0]
        else:
            onward = sorted(here)
        for there in onward:
            if there not in came:
                came[there] = here
                queue.append(there)
    return []


def _trace(came: dict[Any, Any], end: Any) -> list[Any]:
    path = [end]
    while came[path[-1]] is not None:
        path.append(came[path[-1]])
    return path[::-1]
