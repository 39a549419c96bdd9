"""Proposers that draft several tokens for one position, and the one that shares the target's noise.

A node of the draft always carries the row its token was drawn from *given its elder siblings*, so
the four ways to draw siblings differ in their rows only:

* ``iid``: every sibling from q;
* ``without-replacement``: from q with the elder siblings taken out;
* ``greedy-draft``: the likeliest n - 1 tokens, chosen and not drawn (one-hot rows), then one
  drawn from the rest of q;
* ``deterministic``: the likeliest n tokens, all chosen (one-hot rows).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Predictor, Text
from draftproof.dist import Row, likeliest, normalised
from draftproof.errors import InvalidInput
from draftproof.proposers.model import DraftModel

Pick = Callable[[Row], int]
"""Draws the next sibling from a row."""

MOST_NODES = 512
"""Most tokens that the program drafts in one round; the time of a round grows with them."""

Drawn = Iterator[tuple[Row, int]]


def _iid(q: Row, count: int, pick: Pick) -> Drawn:
    for _ in range(count):
        yield q, pick(q)


def _without_replacement(q: Row, count: int, pick: Pick) -> Drawn:
    left = q
    for _ in range(count):
        token = pick(left)
        yield left, token
        rest = left.copy()
        rest[token] = 0
        if not rest.any():
            return
        left = normalised(rest)


def _deterministic(q: Row, count: int, _: Pick) -> Drawn:
    for token in likeliest(q, count):
        yield one_hot(q, token), token


def _greedy_draft(q: Row, count: int, pick: Pick) -> Drawn:
    chosen = likeliest(q, count - 1)
    for token in chosen:
        yield one_hot(q, token), token
    rest = q.copy()
    rest[chosen] = 0
    if rest.any():
        tail = normalised(rest)
        yield tail, pick(tail)


SCHEMES: Mapping[str, Callable[[Row, int, Pick], Drawn]] = MappingProxyType(
    {
        "iid": _iid,
        "without-replacement": _without_replacement,
        "greedy-draft": _greedy_draft,
        "deterministic": _deterministic,
    }
)
"""The ways to draw siblings. Where q runs out of tokens there are fewer of them."""


def one_hot(like: Row, token: int) -> Row:
    """Give the row that is certain of `token`, with the arithmetic of the row `like`."""
    row = np.zeros_like(like)
    row[token] = 1
    return row


def tree_nodes(shape: Sequence[int], k: int) -> int:
    """Give the number of nodes of `k` levels, with ``shape[d]`` children at depth d, then one.

    Examples
    --------
    >>> tree_nodes((2, 3), 1), tree_nodes((2, 3), 2), tree_nodes((2, 3), 4)
    (2, 8, 20)
    """
    widths = [math.prod(shape[: depth + 1]) for depth in range(min(k, len(shape)))]
    return sum(widths) + max(k - len(shape), 0) * math.prod(shape)


class TreeModel:
    """Draft a tree from a predictor: ``shape[d]`` children for each node at depth d.

    Parameters
    ----------
    predictor
        The draft model; its rows after the drafted prefix are what siblings are drawn from.
    shape
        Number of children by depth; beyond its end every node has one child. A round of k
        positions drafts k levels.
    scheme
        One of ``SCHEMES``.
    name
        Short name for reports.
    context_limit
        Most tokens, text and whole tree together, that the models can hold; near it the tree gets
        fewer levels, down to none. None means that there is no limit.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> table = Table([0.5, 0.3, 0.2])
    >>> TreeModel(table, (2, 1), "deterministic").propose(Dice(0), (), 2).tokens
    (0, 1, 0, 0)
    """

    def __init__(
        self,
        predictor: Predictor,
        shape: Sequence[int],
        scheme: str = "iid",
        *,
        name: str = "tree",
        context_limit: int | None = None,
    ) -> None:
        if scheme not in SCHEMES:
            raise InvalidInput(f"scheme is {scheme!r}; choose one of {', '.join(SCHEMES)}.")
        if not all(isinstance(count, int) and count >= 1 for count in shape):
            raise InvalidInput(f"shape is {shape!r}; give at least one child for each depth.")
        self.predictor, self.shape, self.scheme, self.name = predictor, tuple(shape), scheme, name
        self.context_limit = context_limit

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft `k` levels; node i is drawn under ``at("draft", i)``."""
        draft, level, width = Draft.empty(), [ROOT], 1
        room = math.inf if self.context_limit is None else self.context_limit - len(text)
        for depth in range(k):
            count = self.shape[depth] if depth < len(self.shape) else 1
            width *= count
            room -= width
            if room < 0:
                break
            draft, level = self._grow(chance, text, draft, level, count)
        return draft

    def _grow(
        self, chance: Chance, text: Text, draft: Draft, level: list[int], count: int
    ) -> tuple[Draft, list[int]]:
        """Give the draft with children below every node of its last level, and their indices."""
        tokens, parents, rows = list(draft.tokens), list(draft.parents), list(draft.rows)
        known = self.predictor.rows(text, draft)
        for parent in level:
            siblings = SCHEMES[self.scheme](
                known[parent + 1], count, lambda row: chance.at("draft", len(tokens)).pick(row)
            )
            for row, token in siblings:
                tokens.append(token)
                parents.append(parent)
                rows.append(row)
        grown = Draft(tuple(tokens), tuple(parents), tuple(rows))
        return grown, list(range(len(draft), len(grown)))


class Siblings(TreeModel):
    """Draft several tokens for the next position, each going on as a chain of its own.

    With ``iid`` these are `drafts` independent chains of k tokens.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> Siblings(Table([0.5, 0.3, 0.2]), 2).propose(Dice(0), (), 3).parents
    (-1, -1, 0, 1, 2, 3)
    """

    def __init__(
        self,
        predictor: Predictor,
        drafts: int = 2,
        scheme: str = "iid",
        *,
        name: str = "siblings",
        context_limit: int | None = None,
    ) -> None:
        super().__init__(predictor, (drafts,), scheme, name=name, context_limit=context_limit)


class GumbelDraft(DraftModel):
    """Draft with the target's own noise: the token that wins the race under q.

    To be judged by the rule ``gumbel``, or by one that never reads q and does not use that noise.
    A rule that compares p with q needs a draft independent of the target's draws. Parameters are
    those of `DraftModel`.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> row = [0.5, 0.3, 0.2]
    >>> GumbelDraft(Table(row)).propose(Dice(4), (), 1).tokens[0] == Dice(4).own(0).race(
    ...     np.array(row))
    True
    """

    def draw(self, chance: Chance, node: int, row: Row) -> int:
        """Give the winner of the race that the target will run at this position."""
        return chance.own(node).race(row)
