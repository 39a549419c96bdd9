"""Prompt lookup: guess that the text goes on as it did the last time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import Draft, Text
from draftproof.dist import Row
from draftproof.errors import InvalidInput


class TextIndex(ABC):
    """Something learnt from a text token by token, that grows with the text.

    A text that continues the last one costs only its new tokens; any other text is learnt from
    its start. So the answer depends on the text alone.
    """

    def __init__(self) -> None:
        self._text: Text = ()

    def read(self, text: Text) -> None:
        """Know `text`, and nothing else."""
        known = len(self._text)
        if text[:known] != self._text:
            self.clear()
            known = 0
        self._text = text
        for end in range(known, len(text)):
            self.learn(text, end)

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def learn(self, text: Text, end: int) -> None:
        """Learn that ``text[end]`` follows ``text[:end]``."""


class _LastSeen(TextIndex):
    """Where each n-gram was last followed by a token."""

    def __init__(self, shortest: int, longest: int) -> None:
        super().__init__()
        self.sizes = range(longest, shortest - 1, -1)
        self.clear()

    def clear(self) -> None:
        self.followed: dict[Text, int] = {}

    def learn(self, text: Text, end: int) -> None:
        for size in self.sizes:
            if size <= end:
                self.followed[text[end - size : end]] = end

    def find(self, text: Text) -> int | None:
        """Give where the longest known suffix of `text` was last continued."""
        for size in self.sizes:
            if size <= len(text):
                at = self.followed.get(text[-size:])
                if at is not None:
                    return at
        return None


class PromptLookup:
    """Copy what followed the longest suffix of the text that occurred in it before.

    Among several occurrences the latest one is copied. The copy may run into itself: after
    ``a b a b`` it goes on ``a b a b ...``. There is no luck in it, so its rows are one-hot.

    Source: Saxena 2023, "Prompt lookup decoding" (github.com/apoorvumang/prompt-lookup-decoding).

    Parameters
    ----------
    vocab_size
        Length of the rows.
    min_match, max_match
        Shortest and longest suffix looked for, in tokens.
    eos
        A draft ends after one of these ids.

    Examples
    --------
    >>> from draftproof.chance import Dice
    >>> PromptLookup(10).propose(Dice(0), (1, 2, 3, 9, 1, 2), 3).tokens
    (3, 9, 1)
    """

    name = "prompt-lookup"

    def __init__(
        self,
        vocab_size: int,
        *,
        min_match: int = 2,
        max_match: int = 4,
        eos: tuple[int, ...] = (),
    ) -> None:
        if not 1 <= min_match <= max_match:
            raise InvalidInput(
                f"min_match is {min_match} and max_match is {max_match}; they must satisfy "
                f"1 <= min_match <= max_match."
            )
        self.vocab_size, self.eos = vocab_size, frozenset(eos)
        self._index = _LastSeen(min_match, max_match)

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft `k` tokens, or none where no suffix was seen before. `chance` is not asked."""
        self._index.read(text)
        start = self._index.find(text)
        if start is None:
            return Draft.empty()
        tokens: list[int] = []
        lag = len(text) - start
        for at in range(k):
            tokens.append(text[start + at] if at < lag else tokens[at - lag])
            if tokens[-1] in self.eos:
                break
        return Draft.chain(tokens, one_hots(self.vocab_size, tokens))


def one_hots(vocab_size: int, tokens: Sequence[int]) -> list[Row]:
    """Give the rows of tokens chosen without luck."""
    rows = np.zeros((len(tokens), vocab_size))
    rows[np.arange(len(tokens)), tokens] = 1.0
    return list(rows)
