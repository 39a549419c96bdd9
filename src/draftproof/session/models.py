"""What a session needs of a language model, and how to open one by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from draftproof.backends import open_backend
from draftproof.contracts import Backend, Text
from draftproof.session.typist import Speller

if TYPE_CHECKING:
    from draftproof.backends.openvino import OpenVinoBackend


class Model(Protocol):
    """A back end with its tokenizer."""

    @property
    def backend(self) -> Backend:
        """The model's logits."""
        ...

    @property
    def engine(self) -> str:
        """``"bit-exact"`` when rows do not depend on how a text is split, else ``"tolerance"``."""
        ...

    @property
    def eos(self) -> frozenset[int]:
        """Token ids that end a text."""
        ...

    @property
    def pieces(self) -> Sequence[bytes]:
        """The text of every token, by id."""
        ...

    def encode(self, prompt: str, *, chat: bool) -> Text:
        """Turn a prompt into tokens, in the chat template or as it is."""
        ...

    def spell(self, token: int) -> str:
        """Give one token as text, for a record."""
        ...

    def speller(self) -> Speller:
        """Give an incremental detokenizer for one text."""
        ...


@dataclass(frozen=True)
class Opened:
    """A back end of `draftproof.backends` as a session sees it."""

    backend: OpenVinoBackend

    @property
    def engine(self) -> str:
        """What the check on this machine found."""
        return self.backend.engine

    @property
    def eos(self) -> frozenset[int]:
        """Token ids that end a text."""
        return self.backend.tokenizer.ends

    @property
    def pieces(self) -> Sequence[bytes]:
        """The bytes of every token, by id."""
        return self.backend.tokenizer.pieces

    def encode(self, prompt: str, *, chat: bool) -> Text:
        """Turn a prompt into tokens, in the chat template or as it is.

        Raises
        ------
        ContextFull
            If the tokenizer cannot read so long a prompt to its end.
        """
        tokenizer = self.backend.tokenizer
        return tokenizer.chat(prompt) if chat else tokenizer.raw(prompt)

    def spell(self, token: int) -> str:
        """Give one token as text; bytes that are no whole character show as U+FFFD."""
        return self.pieces[token].decode("utf-8", errors="replace")

    def speller(self) -> Speller:
        """Give an incremental detokenizer for one text."""
        return self.backend.tokenizer.detokenizer()


def open_model(name: str) -> Model:
    """Open a model by name or path.

    Raises
    ------
    MissingExtra, UnreadableModel, InvalidInput
        As `draftproof.backends.open_backend` does; the message says what to type.
    """
    return Opened(open_backend(name))
