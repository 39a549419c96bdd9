"""What a session needs of a language model, and how to open one by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from draftproof.contracts import Backend, Text
from draftproof.session.typist import Speller


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
    def pieces(self) -> Sequence[str | bytes]:
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


def open_model(name: str) -> Model:
    """Open a model by name or path."""
    raise NotImplementedError
