"""Suffix automaton: copy after the longest suffix that was ever seen before, of any length."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.chance import Chance
from draftproof.contracts import Draft, Text
from draftproof.errors import InvalidInput
from draftproof.proposers.lookup import TextIndex, one_hots

START = 0
BREAK = -1
"""A token no text holds; it keeps a match from running over from one text into the next."""


class SuffixAutomaton:
    """Every substring of the tokens read so far, in linear space, one token at a time.

    Each state stands for the substrings that end at the same places; `link` leads to the longest
    suffix that also ends elsewhere, `length` is the longest substring of a state and `end` where
    it ended first.

    Source: Blumer et al. 1985, "The smallest automaton recognizing the subwords of a text".

    Examples
    --------
    >>> automaton = SuffixAutomaton()
    >>> for token in (1, 2, 3, 1, 2):
    ...     automaton.extend(token)
    >>> automaton.repeated()
    (2, 1)
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._next: list[dict[int, int]] = [{}]
        self._link: list[int] = [-1]
        self._length: list[int] = [0]
        self._end: list[int] = [-1]
        self._last = START

    def _state(self, length: int, end: int, link: int, following: dict[int, int]) -> int:
        self._next.append(following)
        self._link.append(link)
        self._length.append(length)
        self._end.append(end)
        return len(self._next) - 1

    def extend(self, token: int) -> None:
        """Read one more token; constant time on average."""
        end = len(self.tokens)
        self.tokens.append(token)
        new = self._state(self._length[self._last] + 1, end, START, {})
        at = self._last
        while at != -1 and token not in self._next[at]:
            self._next[at][token] = new
            at = self._link[at]
        if at != -1:
            self._link[new] = self._split(at, token)
        self._last = new

    def _split(self, at: int, token: int) -> int:
        """Give the state of exactly the suffix that ended before, made from its class if needed."""
        old = self._next[at][token]
        if self._length[old] == self._length[at] + 1:
            return old
        length, following = self._length[at] + 1, dict(self._next[old])
        part = self._state(length, self._end[old], self._link[old], following)
        self._link[old] = part
        while at != -1 and self._next[at].get(token) == old:
            self._next[at][token] = part
            at = self._link[at]
        return part

    def repeated(self) -> tuple[int, int]:
        """Give the length of the longest suffix that occurred earlier, and where that ended."""
        state = self._link[self._last]
        return (self._length[state], self._end[state]) if state > START else (0, -1)

    def step(self, state: int, matched: int, token: int) -> tuple[int, int]:
        """Follow a foreign text: the longest of its suffixes that occurs here, one token on."""
        while state != START and token not in self._next[state]:
            state = self._link[state]
            matched = self._length[state]
        if token in self._next[state]:
            return self._next[state][token], matched + 1
        return START, 0

    def first_end(self, state: int) -> int:
        """Give where the substrings of a state ended first."""
        return self._end[state]


class _Own(TextIndex):
    """The automaton of the text itself."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self.automaton = SuffixAutomaton()

    def learn(self, text: Text, end: int) -> None:
        self.automaton.extend(text[end])


class _Within(TextIndex):
    """Where the text's suffix stands in a collection of earlier texts."""

    def __init__(self, earlier: Sequence[Text]) -> None:
        super().__init__()
        self.automaton = SuffixAutomaton()
        for text in earlier:
            for token in (*text, BREAK):
                self.automaton.extend(token)
        self.clear()

    def clear(self) -> None:
        self.state, self.matched = START, 0

    def learn(self, text: Text, end: int) -> None:
        self.state, self.matched = self.automaton.step(self.state, self.matched, text[end])


class Suffix:
    """Copy what followed the longest suffix of the text that occurred before.

    The occurrence is looked for in the text itself and, if given, in earlier texts; the longer
    match wins, the text itself on a tie. How much is drafted is settled by the length of the
    match before any token is looked at: at most ``factor * match`` tokens, so a short, perhaps
    accidental match risks little. There is no luck in it, so its rows are one-hot.

    Source: Oliaro et al. 2024, "SuffixDecoding", arXiv 2411.04975 (length from the match length;
    theirs keeps trees with counts, ours one automaton).

    Parameters
    ----------
    vocab_size
        Length of the rows.
    earlier
        Texts written before, as token ids.
    min_match
        Shortest suffix that is worth a draft, in tokens.
    factor
        Drafted tokens per matched token.
    eos
        A draft ends after one of these ids.

    Examples
    --------
    >>> from draftproof.chance import Dice
    >>> Suffix(10).propose(Dice(0), (1, 2, 3, 9, 1, 2, 3), 8).tokens
    (9, 1, 2, 3, 9, 1)
    """

    name = "suffix"

    def __init__(
        self,
        vocab_size: int,
        *,
        earlier: Sequence[Text] = (),
        min_match: int = 2,
        factor: float = 2.0,
        eos: tuple[int, ...] = (),
    ) -> None:
        if min_match < 1:
            raise InvalidInput(f"min_match is {min_match}; it must be at least 1.")
        if not factor > 0:
            raise InvalidInput(f"factor is {factor}; it must be above 0.")
        self.vocab_size, self.eos = vocab_size, frozenset(eos)
        self.min_match, self.factor = min_match, factor
        self._own = _Own()
        self._within = _Within(earlier) if earlier else None

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft at most `k` tokens, none without a match. `chance` is not asked."""
        self._own.read(text)
        source, (matched, end) = self._own.automaton, self._own.automaton.repeated()
        if self._within is not None:
            self._within.read(text)
            if self._within.matched > matched:
                source = self._within.automaton
                matched, end = self._within.matched, source.first_end(self._within.state)
        if matched < self.min_match:
            return Draft.empty()
        length = min(k, max(1, int(self.factor * matched)))
        tokens = self._copied(source.tokens, end + 1, length)
        return Draft.chain(tokens, one_hots(self.vocab_size, tokens))

    def _copied(self, tokens: Sequence[int], start: int, length: int) -> list[int]:
        """Copy from `start`, running on into the copy itself at the end of the source."""
        copied: list[int] = []
        lag = len(tokens) - start
        for at in range(length):
            token = tokens[start + at] if at < lag else copied[at - lag]
            if token == BREAK:
                break
            copied.append(token)
            if token in self.eos:
                break
        return copied
