"""Typing: whole characters, nothing past a stop string, wherever the tokens are cut."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.contracts import Source
from draftproof.errors import InvalidInput
from draftproof.session.typist import Piece, Typist

LETTERS = st.text("ab\u00e9\U0001f98a", max_size=14)
STOPS = st.lists(st.text("ab\u00e9\U0001f98a", min_size=1, max_size=4), max_size=3)


class Bytes:
    """A speller whose tokens are bytes, so that a character is up to four tokens."""

    def __init__(self):
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token):
        return self._decoder.decode(bytes([token]))

    def flush(self):
        return self._decoder.decode(b"", final=True)


class Chunks:
    """A speller whose tokens are indices into a list of texts."""

    def __init__(self, texts):
        self._texts = texts

    def push(self, token):
        return self._texts[token]

    def flush(self):
        return ""


def type_all(typist, tokens):
    """Type tokens until the text ends; give the pieces and the number of tokens used."""
    pieces, used = [], 0
    for token in tokens:
        pieces += typist.type(token, Source.DRAFT)
        used += 1
        if typist.ended:
            break
    return [*pieces, *typist.finish()], used


def ending(text, stops):
    """Where the text ends, by trying every length: the slow, obvious twin."""
    for end in range(len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return min(starts)
    return len(text)


@given(LETTERS, STOPS)
def test_the_text_ends_before_the_stop_string_that_is_complete_first(text, stops):
    pieces, _ = type_all(Typist(Bytes(), stops), text.encode())
    assert "".join(piece.text for piece in pieces) == text[: ending(text, stops)]


@given(st.lists(LETTERS, max_size=6), STOPS)
def test_it_does_not_matter_how_the_text_is_cut_into_tokens(chunks, stops):
    pieces, _ = type_all(Typist(Chunks(chunks), stops), range(len(chunks)))
    text = "".join(chunks)
    assert "".join(piece.text for piece in pieces) == text[: ending(text, stops)]


@given(LETTERS)
def test_without_stop_strings_nothing_is_held_back(text):
    typist = Typist(Bytes())
    for character in text:
        *started, last = character.encode()
        assert [typist.type(byte, Source.DRAFT) for byte in started] == [()] * len(started)
        assert typist.type(last, Source.BONUS) == (Piece(character, Source.BONUS),)
    assert typist.finish() == ()


def test_the_last_token_used_is_the_one_that_completes_the_stop_string():
    _, used = type_all(Typist(Bytes(), ["bc"]), b"abcd")
    assert used == 3


def test_a_stop_string_may_begin_inside_one_token_and_end_inside_another():
    typist = Typist(Chunks(["one tw", "o three"]), ["two"])
    assert typist.type(0, Source.DRAFT) == (Piece("one ", Source.DRAFT),)
    assert typist.type(1, Source.BONUS) == ()
    assert typist.ended


def test_held_back_text_keeps_its_source():
    typist = Typist(Chunks(["x", "y"]), ["xz"])
    assert typist.type(0, Source.RESIDUAL) == ()
    assert typist.type(1, Source.DRAFT) == (
        Piece("x", Source.RESIDUAL),
        Piece("y", Source.DRAFT),
    )


def test_an_unfinished_character_is_one_replacement_at_the_end():
    typist = Typist(Bytes())
    assert typist.type(0xC3, Source.DRAFT) == ()
    assert typist.finish() == (Piece("\ufffd", Source.DRAFT),)


def test_nothing_comes_after_a_stop_string():
    typist = Typist(Bytes(), ["a"])
    typist.type(ord("a"), Source.DRAFT)
    assert typist.finish() == ()
    with pytest.raises(InvalidInput, match="has ended"):
        typist.type(ord("b"), Source.DRAFT)


class TokenAtATime(Typist):
    """A known bug: the stop string is looked for in the newest token only."""

    def type(self, token, source):
        self._held = ()
        return super().type(token, source)


def test_the_suspect_that_looks_at_one_token_only_is_caught():
    pieces, _ = type_all(TokenAtATime(Bytes(), ["bc"]), b"abcd")
    assert "".join(piece.text for piece in pieces) != "a"
