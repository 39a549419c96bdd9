"""Where a decode loop is watched: known rows, a prompt, and where the text ends.

A world says what a right loop emits, which is the law of plain decoding, and holds what the bugs of
`draftproof.audit.loop_bugs` need to say what a wrong one would.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.backends.table import Table
from draftproof.contracts import Text
from draftproof.decode import Limits
from draftproof.dist import Row
from draftproof.errors import InvalidInput
from draftproof.laws import Law, plain_law

MOST_TEXTS = 512
"""Largest joint law an audit of a loop looks at."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A model's own rows, and its rows after the user's settings.

    Parameters
    ----------
    raw
        Rows without the settings.
    after
        The row after a text with the settings applied, from the text and from what the settings
        look at, which is the text itself where the loop is right.

    Examples
    --------
    >>> from draftproof.audit.suspects_loops import THIRDS, counted
    >>> no_repeats = applied(Table(THIRDS), counted)
    >>> [str(p) for p in no_repeats.after((0, 1), (0,))]
    ['1/7', '3/7', '3/7']
    """

    raw: Table
    after: Callable[[Text, Text], Row]

    @property
    def target(self) -> Table:
        """The rows that a right loop follows."""
        return Table(lambda text: self.after(text, text))


def applied(raw: Table, apply: Callable[[Row, Text], Row]) -> Settings:
    """Give the settings that turn a raw row and what they look at into a row."""
    return Settings(raw, lambda text, seen: apply(raw.row(text), seen))


@dataclass(frozen=True, kw_only=True)
class LoopWorld:
    """Where a decode loop is watched.

    Parameters
    ----------
    name
        What the world is called.
    target, draft
        Rows after every text, the prompt included, with the user's settings applied. The target's
        are the law that the loop must follow; the draft's let the suspects bet.
    prompt
        The text before the first token.
    k
        Tokens drafted per round, fewer where the text is about to end.
    tokens
        Tokens to emit.
    stop
        Ids that end the text earlier; the one that does is emitted.
    settings
        The target before the user's settings, which lets the suspects forget them.
    sure
        A draft ends after a token to which its row gives less than this.
    """

    name: str
    target: Table
    draft: Table
    prompt: Text = ()
    k: int = 2
    tokens: int = 3
    stop: frozenset[int] = frozenset()
    settings: Settings | None = None
    sure: float = 0.0

    def __post_init__(self) -> None:
        if self.size**self.tokens > MOST_TEXTS or self.tokens < 1 or self.k < 0:
            raise InvalidInput(
                f"a loop with k = {self.k} over {self.tokens} tokens of a vocabulary of "
                f"{self.size} has no small joint law; take 1 token or more, k of 0 or more, and "
                f"at most {MOST_TEXTS} texts."
            )
        if len(self.draft.row(self.prompt)) != self.size:
            raise InvalidInput(
                f"target has {self.size} tokens and draft "
                f"{len(self.draft.row(self.prompt))}; both need one vocabulary."
            )

    @property
    def size(self) -> int:
        """Number of tokens in the vocabulary."""
        return len(self.target.row(self.prompt))

    @property
    def limits(self) -> Limits:
        """Give where the text ends."""
        return Limits(max_tokens=self.tokens, stop=self.stop)

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """Every text a loop that knows its limits can emit."""
        every = itertools.product(range(self.size), repeat=self.tokens)
        return tuple(dict.fromkeys(self.ended(text) for text in every))

    def ended(self, emitted: Text) -> Text:
        """Cut a text at its first stop token and at the number of tokens asked for."""
        stops = (at + 1 for at, token in enumerate(emitted) if token in self.stop)
        return emitted[: min(next(stops, self.tokens), self.tokens)]

    def is_over(self, emitted: Text) -> bool:
        """Say whether a text has ended."""
        return bool(emitted) and (len(emitted) >= self.tokens or emitted[-1] in self.stop)

    def wanted(self) -> Law:
        """Give the law of plain decoding."""
        return plain_law(self.target, self.prompt, self.limits)

    def over_texts(self, law: Law) -> Row:
        """Give a law of texts as a row over `texts`."""
        return np.array([law.get(text, Fraction(0)) for text in self.texts], dtype=object)


def settled(name: str, settings: Settings, draft: Table, **where: Any) -> LoopWorld:
    """Give the world of a target whose rows the user's settings change."""
    return LoopWorld(name=name, target=settings.target, draft=draft, settings=settings, **where)
