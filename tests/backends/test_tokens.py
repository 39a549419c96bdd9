"""Text as it streams: every character once, whole, and the same as decoding at once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.backends.tokens import Detokenizer, spelt
from draftproof.errors import InvalidInput

BYTES = [bytes([value]) for value in range(256)]


def naive(pieces, tokens):
    """The usual mistake: every token decoded on its own."""
    return "".join(pieces[token].decode("utf-8", "replace") for token in tokens)


def streamed(pieces, tokens, silent=()):
    stream = Detokenizer(pieces, silent)
    return "".join([*map(stream.push, tokens), stream.flush()])


@pytest.mark.parametrize("text", ["é", "→", "🙂", "a🙂b", "👩‍🚀", "漢字"])
def test_a_character_spread_over_tokens_comes_out_once_and_whole(text):
    tokens = list(text.encode())
    assert streamed(BYTES, tokens) == text
    assert naive(BYTES, tokens) != text, "the mistake this test is for went unseen"


def test_nothing_comes_out_before_a_character_is_whole():
    stream = Detokenizer(BYTES)
    assert [stream.push(byte) for byte in "🙂".encode()] == ["", "", "", "🙂"]
    assert stream.flush() == ""


def test_bytes_that_cannot_become_a_character_come_out_as_soon_as_that_is_certain():
    stream = Detokenizer(BYTES)
    assert stream.push(0xC3) == ""
    assert stream.push(ord("x")) == "\ufffdx"


def test_flush_gives_what_is_held_back_and_starts_afresh():
    stream = Detokenizer(BYTES)
    stream.push(0xF0)
    assert stream.flush() == "\ufffd"
    assert stream.push(ord("a")) == "a"


def test_a_silent_token_prints_nothing_and_does_not_break_a_character():
    pieces = [*BYTES, b"<|im_end|>"]
    assert streamed(pieces, [0xC3, 256, 0xA9], silent=[256]) == "é"


def test_an_id_outside_the_vocabulary_is_refused():
    with pytest.raises(InvalidInput, match="token id 256 is outside the vocabulary of 256"):
        Detokenizer(BYTES).push(256)


def test_a_sentencepiece_vocabulary_is_spelt_out():
    pieces = spelt(("▁caf".encode(), b"<0xC3>", b"<0xA9>", "▁".encode()))
    assert streamed(pieces, [0, 1, 2, 3]) == " café "


def test_a_byte_level_vocabulary_is_left_alone():
    pieces = (*BYTES, "▁".encode(), b"<0xC3>")
    assert spelt(pieces) == pieces


@given(st.binary(max_size=40))
def test_streaming_equals_decoding_at_once_for_any_bytes(data):
    assert streamed(BYTES, list(data)) == data.decode("utf-8", "replace")


@given(st.text(max_size=20), st.data())
def test_streaming_does_not_depend_on_where_pieces_are_cut(text, data):
    whole = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))) | {0, len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(cuts)]
    assert streamed(pieces, range(len(pieces))) == text


@pytest.mark.model
class TestTheDefaultTokenizer:
    TEXT = "Grüße, 世界! 👩‍🚀 costs 3€ →\n\n\tdef f(x): return x**2"

    def test_text_survives_the_way_there_and_back(self, smollm2):
        tokenizer = smollm2.tokenizer
        assert tokenizer.decode(tokenizer.encode(self.TEXT)) == self.TEXT

    def test_a_token_by_token_reading_needs_the_detokenizer(self, smollm2):
        tokenizer = smollm2.tokenizer
        tokens = tokenizer.encode(self.TEXT)
        assert naive(tokenizer.pieces, tokens) != self.TEXT
        assert streamed(tokenizer.pieces, tokens) == self.TEXT

    def test_every_piece_has_bytes_and_the_model_has_a_row_entry_for_it(self, smollm2):
        pieces = smollm2.tokenizer.pieces
        assert len(pieces) == smollm2.vocab_size == 49_152
        assert all(pieces)

    def test_the_chat_template_opens_the_answer(self, smollm2):
        tokenizer = smollm2.tokenizer
        spelt = b"".join(tokenizer.pieces[i] for i in tokenizer.chat("Hi", system="Be brief."))
        assert spelt == (
            b"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            b"<|im_start|>assistant\n"
        )

    def test_the_end_of_a_turn_ends_a_text_and_prints_nothing(self, smollm2):
        tokenizer = smollm2.tokenizer
        (end,) = tokenizer.encode("<|im_end|>")
        assert end in tokenizer.ends
        assert tokenizer.detokenizer().push(end) == ""

    def test_an_empty_text_has_no_tokens(self, smollm2):
        assert smollm2.tokenizer.encode("") == smollm2.tokenizer.raw("") == ()
