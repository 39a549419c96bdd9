"""Between text and token ids: the tokenizer, the chat template, and text as it streams."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from draftproof.contracts import Text
from draftproof.errors import ContextFull, InvalidInput, UnreadableModel

END_PIECES = frozenset({
    b"<|im_end|>", b"<|endoftext|>", b"<|eot_id|>", b"<|end_of_text|>", b"<|end|>",
    b"<end_of_turn>", b"</s>",
})  # fmt: skip
"""Special pieces that end a text in the models this back end reads."""

LONG = 1000
"""From so many tokens on, `Tokenizer` makes sure that the end of the text is among them."""

_SPACE = "▁".encode()
_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")


class Detokenizer:
    r"""Turn tokens into text one by one, holding back a character until it is whole.

    A character may be spread over several tokens; it is given out once, with the token that
    completes it. Bytes that can never become a character come out as U+FFFD, as soon as that
    is certain, exactly as decoding the whole text at once would give them.

    Parameters
    ----------
    pieces
        The bytes of each token id.
    silent
        Ids that print nothing, such as the end of a turn.

    Examples
    --------
    >>> stream = Detokenizer([b"caf", b"\xc3", b"\xa9", b"!"])
    >>> [stream.push(token) for token in (0, 1, 2, 3)]
    ['caf', '', 'é', '!']
    >>> stream.push(1) + stream.flush()
    '\ufffd'
    """

    def __init__(self, pieces: Sequence[bytes], silent: Iterable[int] = ()) -> None:
        self._pieces = pieces
        self._silent = frozenset(silent)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token: int) -> str:
        """Take one more token; give the text it completes, which may be empty.

        Raises
        ------
        InvalidInput
            If the id is outside the vocabulary.
        """
        if not 0 <= token < len(self._pieces):
            raise InvalidInput(
                f"token id {token} is outside the vocabulary of {len(self._pieces)} pieces."
            )
        return "" if token in self._silent else self._decoder.decode(self._pieces[token])

    def flush(self) -> str:
        """End the text: give what is still held back, and be ready for another text."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest


class Tokenizer:
    """A model's own tokenizer, as saved beside it.

    Parameters
    ----------
    folder
        A folder that holds ``openvino_tokenizer.xml`` and ``openvino_detokenizer.xml``.

    Attributes
    ----------
    pieces
        The bytes of each token id: what two models must share to be draft and target.

    Raises
    ------
    UnreadableModel
        If the folder holds no tokenizer that openvino-genai can load.
    """

    def __init__(self, folder: Path) -> None:
        import openvino_genai

        try:
            self._genai: Any = openvino_genai.Tokenizer(str(folder))
            self.pieces = spelt(_in_order(self._genai.get_vocab()))
        except RuntimeError as error:
            raise UnreadableModel(
                f"{folder} holds no tokenizer that can be loaded: {_first_line(error)}"
            ) from error

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> Text:
        """Give the token ids of a text; special pieces written out in it become their ids.

        Raises
        ------
        ContextFull
            If the library drops the end of so long a text, which it does in silence.
        """
        return self._encode(text, start=False)

    def raw(self, prompt: str) -> Text:
        """Give the ids of a prompt without a template, after the model's start token if any."""
        return self._encode(prompt, start=True)

    def _encode(self, text: str, *, start: bool) -> Text:
        if not text:
            return ()
        found = self._ids(text, start=start)
        if len(found) >= LONG and len(self._ids(f"{text} and more", start=start)) <= len(found):
            raise ContextFull(
                f"the text has {len(text)} characters, and this tokenizer reads {len(found)} "
                f"tokens at most; shorten it."
            )
        return found

    def _ids(self, text: str, *, start: bool) -> Text:
        ids = self._genai.encode(text, add_special_tokens=start).input_ids.data
        return tuple(int(token) for token in ids[0])

    def decode(self, tokens: Sequence[int]) -> str:
        """Give the text of token ids, without special pieces."""
        stream = self.detokenizer()
        return "".join([*map(stream.push, tokens), stream.flush()])

    def detokenizer(self) -> Detokenizer:
        """Give a fresh detokenizer for one text."""
        return Detokenizer(self.pieces, self.special)

    def chat(self, prompt: str, system: str | None = None) -> Text:
        """Give the ids of a conversation in which the model is about to answer `prompt`.

        Raises
        ------
        UnreadableModel
            If the model has no chat template, or it cannot be applied.
        """
        messages = [{"role": "user", "content": prompt}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        try:
            whole = self._genai.apply_chat_template(messages, add_generation_prompt=True)
        except RuntimeError as error:
            raise UnreadableModel(
                f"the model's chat template cannot be applied ({_first_line(error)}); give the "
                f"prompt without a template (--raw)."
            ) from error
        return self.encode(str(whole))

    @cached_property
    def special(self) -> frozenset[int]:
        """Ids that print nothing."""
        marked = [i for i, p in enumerate(self.pieces) if p[:1] == b"<" and p[-1:] == b">"]
        if not marked:
            return frozenset()
        printed = self._genai.decode([[i] for i in marked], skip_special_tokens=True)
        return frozenset(i for i, text in zip(marked, printed, strict=True) if not text)

    @cached_property
    def ends(self) -> frozenset[int]:
        """Ids that end a text: the declared end of sequence, and the usual end pieces."""
        declared = int(self._genai.get_eos_token_id())
        known = {i for i in self.special if self.pieces[i] in END_PIECES}
        return frozenset(known | ({declared} if declared >= 0 else set()))


def spelt(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Give the bytes that pieces stand for, where a vocabulary writes them in SentencePiece's way.

    There U+2581 stands for a space and ``<0x41>`` for one byte. Vocabularies of byte-level
    models hold the bytes themselves and are given back as they are; a hundredth of the pieces
    starting with U+2581 tells the two apart.

    Examples
    --------
    >>> spelt(("▁the".encode(), b"<0x41>", b"s"))
    (b' the', b'A', b's')
    """
    if 100 * sum(piece.startswith(_SPACE) for piece in pieces) < len(pieces):
        return pieces
    return tuple(
        bytes([int(found[1], 16)])
        if (found := _BYTE.fullmatch(piece))
        else piece.replace(_SPACE, b" ")
        for piece in pieces
    )


def _in_order(vocabulary: dict[bytes, int]) -> tuple[bytes, ...]:
    """List the pieces by id; an id that no piece has stays empty."""
    pieces = [b""] * (max(vocabulary.values()) + 1)
    for piece, token in vocabulary.items():
        pieces[token] = piece
    return tuple(pieces)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
