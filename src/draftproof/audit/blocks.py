"""Small worlds for block verifiers, and one sampled round of a verifier in them.

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
from draftproof.audit.foreign import Fault, Foreign, read_verdict
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
        self._rows, self._k, self._foreign = world.rows.as_floats(), world.k, foreign
        self._along = cache(self._rows_along)

    def _rows_along(self, chain: Text) -> tuple[Row, Row]:
        return self._rows.target_rows(chain), self._rows.draft_rows(chain)

    def _draw(self, table: Table, text: Text, rng: np.random.Generator) -> Text:
        return (*text, int(rng.choice(self._rows.size, p=table.row(text))))

    def __call__(self, rng: np.random.Generator) -> Text | Fault:
        """Draft a chain, let the verifier judge it, and complete what it emits."""
        chain: Text = ()
        for _ in range(self._k):
            chain = self._draw(self._rows.draft, chain, rng)
        text = self._judged(chain, rng)
        while not isinstance(text, Fault) and len(text) <= self._k:
            text = self._draw(self._rows.target, text, rng)
        return text

    def _judged(self, chain: Text, rng: np.random.Generator) -> Text | Fault:
        target, draft = (rows.copy() for rows in self._along(chain))
        value = self._foreign.sampled(rng, target, draft, np.array(chain, dtype=np.int64))
        emitted = value if isinstance(value, Fault) else read_verdict(value, chain, len(target[0]))
        if isinstance(emitted, tuple):
            return tuple(token for token in emitted if isinstance(token, int))
        return emitted if isinstance(emitted, Fault) else (emitted,)


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
