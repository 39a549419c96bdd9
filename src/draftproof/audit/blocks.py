"""Small worlds for block verifiers, and sampled rounds of a verifier or a batch of them.

Completing a round with plain draws from the target must give the target's joint law of k + 1
tokens (`draftproof.proof` says why that is enough), so an outcome is a text of k + 1 tokens, and
marginals are never looked at alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, TypeAlias, cast

import numpy as np

from draftproof.audit.explore import explore_symbols
from draftproof.audit.foreign import Fault, Foreign, Outcome, read_batch, read_verdict
from draftproof.audit.shapes import Rows, Text
from draftproof.backends.table import Table, fractions
from draftproof.dist import Row
from draftproof.proof import varied

Verifier: TypeAlias = Callable[[Row, Row, Any, np.random.Generator], Any]
"""``fn(target_rows, draft_rows, draft_tokens, rng)`` giving (accepted, token)."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockWorld:
    """Target and draft rows that may depend on the text before them, and a draft length."""

    name: str
    target: Table
    draft: Table
    k: int = 2

    @property
    def rows(self) -> Rows:
        """Give both tables as the enumeration takes them."""
        return Rows.of(self.target, self.draft)

    @property
    def texts(self) -> tuple[Text, ...]:
        """Give every text of k + 1 tokens."""
        return tuple(itertools.product(range(self.rows.size), repeat=self.k + 1))

    def wanted(self) -> Row:
        """Give the joint law of k + 1 tokens under the target, over `texts`."""
        return self.over_texts(dict(self.rows.completed((), self.k + 1)))

    def over_texts(self, law: dict[Any, Fraction]) -> Row:
        """Give a law of texts as a row over `texts`."""
        return np.array([law.get(text, Fraction(0)) for text in self.texts], dtype=object)

    def law_of(self, judge: Verifier) -> dict[Any, Fraction]:
        """Enumerate the joint law of a verifier that is known to behave, chain by chain."""
        rows, law = self.rows, dict[Any, Fraction]()
        for chain, drafted in rows.chains(self.k):
            target, draft = rows.target_rows(chain), rows.draft_rows(chain)
            found = explore_symbols(partial(_verdict, judge, target, draft, chain)).law
            for (accepted, token), weight in cast(dict[tuple[int, int], Fraction], found).items():
                begun = (*chain[:accepted], token)
                for text, onward in rows.completed(begun, self.k + 1):
                    law[text] = law.get(text, Fraction(0)) + drafted * weight * onward
        return law

    def rolled(self, by: int, k: int) -> BlockWorld:
        """Give the world with its tokens renamed, as for another request of a batch."""
        rows = self.rows.rolled(by)
        return BlockWorld(f"{self.name}, request {by}", rows.target, rows.draft, k)


def _verdict(judge: Verifier, target: Row, draft: Row, chain: Text, rng: Any) -> tuple[int, int]:
    accepted, token = judge(target, draft, chain, rng)
    return int(accepted), int(token)


class _Seat:
    """One request in its world, played with floats: drafts, rows along them, and completion."""

    def __init__(self, world: BlockWorld) -> None:
        self._rows, self.k = world.rows.as_floats(), world.k
        self._along = cache(self._rows_along)

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self._rows.size

    def _rows_along(self, chain: Text) -> tuple[Row, Row]:
        return self._rows.target_rows(chain), self._rows.draft_rows(chain)

    def _draw(self, table: Table, text: Text, rng: np.random.Generator) -> Text:
        return (*text, int(rng.choice(self.size, p=table.row(text))))

    def drafted(self, rng: np.random.Generator) -> Text:
        """Draft a chain of k tokens."""
        chain: Text = ()
        for _ in range(self.k):
            chain = self._draw(self._rows.draft, chain, rng)
        return chain

    def inputs(self, chain: Text) -> tuple[Row, Row, Row]:
        """Give what a verifier is handed for this chain, as copies."""
        target, draft = (rows.copy() for rows in self._along(chain))
        return target, draft, np.array(chain, dtype=np.int64)

    def completed(self, emitted: Outcome, rng: np.random.Generator) -> Text | Fault:
        """Complete what a verifier emitted to k + 1 tokens by plain draws from the target."""
        if not isinstance(emitted, tuple):
            return emitted if isinstance(emitted, Fault) else self.completed((emitted,), rng)
        text: Text = tuple(token for token in emitted if isinstance(token, int))
        while len(text) <= self.k:
            text = self._draw(self._rows.target, text, rng)
        return text


class BlockSampler:
    """Plays rounds of a verifier in one world with floats.

    Examples
    --------
    >>> from draftproof.audit.suspects_blocks import TOKEN_WISE
    >>> play = BlockSampler(BLOCK_WORLDS[0], Foreign(TOKEN_WISE.judge))
    >>> len(play(np.random.default_rng(0)))
    3
    """

    def __init__(self, world: BlockWorld, foreign: Foreign) -> None:
        self._seat, self._foreign = _Seat(world), foreign

    def __call__(self, rng: np.random.Generator) -> Text | Fault:
        """Draft a chain, let the verifier judge it, and complete what it emits."""
        chain = self._seat.drafted(rng)
        value = self._foreign.sampled(rng, *self._seat.inputs(chain))
        emitted = value if isinstance(value, Fault) else read_verdict(value, chain, self._seat.size)
        return self._seat.completed(emitted, rng)


class BatchSampler:
    """Plays rounds of a batched verifier with floats: one request in each world, in this order.

    Examples
    --------
    >>> from draftproof.audit.suspects_blocks import TOKEN_WISE
    >>> def batch(target_rows, draft_rows, draft_tokens, rng):
    ...     requests = zip(target_rows, draft_rows, draft_tokens)
    ...     return [TOKEN_WISE.judge(*request, rng) for request in requests]
    >>> play = BatchSampler([BLOCK_WORLDS[0].rolled(r, r + 1) for r in (0, 1)], Foreign(batch))
    >>> [len(text) for text in play(np.random.default_rng(0))]
    [2, 3]
    """

    def __init__(self, worlds: Sequence[BlockWorld], foreign: Foreign) -> None:
        self._seats, self._foreign = [_Seat(world) for world in worlds], foreign

    def __call__(self, rng: np.random.Generator) -> tuple[Text | Fault, ...]:
        """Draft for every request, let the batch be judged, and complete what each emits."""
        chains = [seat.drafted(rng) for seat in self._seats]
        given = [seat.inputs(chain) for seat, chain in zip(self._seats, chains, strict=True)]
        value = self._foreign.sampled(rng, *([one[at] for one in given] for at in range(3)))
        read = read_batch(value, chains, self._seats[0].size)
        return tuple(
            seat.completed(emitted, rng) for seat, emitted in zip(self._seats, read, strict=True)
        )


def _rows(*lines: str) -> Sequence[Row]:
    return [fractions(*line.split()) for line in lines]


BLOCK_WORLDS = (
    BlockWorld(
        "three tokens, rows that follow the text",
        Table(varied(_rows("1/2 3/10 1/5", "1/5 1/5 3/5", "1/3 1/3 1/3", "0 1/4 3/4"))),
        Table(varied(_rows("1/4 1/2 1/4", "3/5 1/5 1/5", "1/6 1/3 1/2", "1/2 1/2 0"))),
    ),
    BlockWorld(
        "four tokens, residuals of several",
        Table(varied(_rows("2/5 3/10 1/5 1/10", "1/10 2/5 1/10 2/5", "1/4 1/4 1/4 1/4"))),
        Table(varied(_rows("1/10 1/5 3/10 2/5", "1/2 1/6 1/6 1/6", "3/4 1/12 1/12 1/12"))),
    ),
    BlockWorld(
        "two tokens, rows that follow the text",
        Table(varied(_rows("2/3 1/3", "1/5 4/5", "1 0"))),
        Table(varied(_rows("1/3 2/3", "1/2 1/2", "1/7 6/7"))),
    ),
)
