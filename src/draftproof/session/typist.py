"""From emitted tokens to text: whole characters only, and nothing past a stop string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from draftproof.contracts import Source
from draftproof.errors import InvalidInput


class Speller(Protocol):
    """Turns tokens into text one by one."""

    def push(self, token: int) -> str:
        """Give the characters that this token completes; the rest waits for the next one."""
        ...

    def flush(self) -> str:
        """End the text: give what is still waiting, as a whole text's decoding would."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text, and where the token that completed it came from."""

    text: str
    source: Source


class Typist:
    """Types pieces as tokens come, and stops at the first stop string.

    The text ends just before the stop string that is complete first, wherever tokens and rounds
    begin and end. Text that may be the beginning of a stop string is held back until it is clear.

    Parameters
    ----------
    speller
        The incremental detokenizer of one text.
    stop
        Strings that end the text and do not belong to it; none is empty.

    Examples
    --------
    >>> class Letters:
    ...     def push(self, token): return chr(token)
    ...     def flush(self): return ""
    >>> typist = Typist(Letters(), ["lo"])
    >>> typed = [piece.text for at in "hello" for piece in typist.type(ord(at), Source.DRAFT)]
    >>> typed, typist.ended
    (['h', 'e', 'l'], True)
    """

    def __init__(self, speller: Speller, stop: Sequence[str] = ()) -> None:
        self._speller, self._stop = speller, tuple(stop)
        self._held: tuple[Piece, ...] = ()
        self._last = Source.TARGET
        self.ended = False

    def type(self, token: int, source: Source) -> tuple[Piece, ...]:
        """Give what this token makes certain: no piece, one, or several with held-back text."""
        if self.ended:
            raise InvalidInput(f"token {token} comes after the stop string; the text has ended.")
        text, self._last = self._speller.push(token), source
        if text == "":
            return ()
        waiting = (*self._held, Piece(text, source))
        written = "".join(piece.text for piece in waiting)
        start = _first_stop(written, self._stop)
        if start is not None:
            self.ended, self._held = True, ()
            return _split(waiting, start)[0]
        certain, self._held = _split(waiting, len(written) - _overhang(written, self._stop))
        return certain

    def finish(self) -> tuple[Piece, ...]:
        """Give the text still held back, at the end of a text without its stop string."""
        held, self._held = self._held, ()
        rest = "" if self.ended else self._speller.flush()
        return (*held, Piece(rest, self._last)) if rest else held


def _first_stop(written: str, stops: Sequence[str]) -> int | None:
    """Start of the stop string that is complete first; of two that end together, the longer."""
    found = [(at + len(stop), at) for stop in stops if (at := written.find(stop)) >= 0]
    return min(found)[1] if found else None


def _overhang(written: str, stops: Sequence[str]) -> int:
    """Length of the longest end of `written` that begins a stop string."""
    lengths = (
        length
        for stop in stops
        for length in range(min(len(stop) - 1, len(written)), 0, -1)
        if written.endswith(stop[:length])
    )
    return max(lengths, default=0)


def _split(pieces: Sequence[Piece], length: int) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Cut a run of pieces after `length` characters."""
    before: list[Piece] = []
    after: list[Piece] = []
    for piece in pieces:
        head, tail = piece.text[:length], piece.text[length:]
        length = max(length - len(piece.text), 0)
        if head:
            before.append(Piece(head, piece.source))
        if tail:
            after.append(Piece(tail, piece.source))
    return tuple(before), tuple(after)
