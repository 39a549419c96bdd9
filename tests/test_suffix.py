"""The suffix proposer against a slow search for the longest repeated suffix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice
from draftproof.decode import Limits
from draftproof.errors import InvalidInput
from draftproof.proof import prove_loop, varied
from draftproof.proposers.suffix import Suffix, SuffixAutomaton
from draftproof.rules import find_rule

texts = st.lists(st.integers(0, 2), max_size=40).map(tuple)


def longest_repeated(text):
    """Slow twin: the longest proper suffix that also ends earlier, and where it first ended."""
    for size in range(len(text) - 1, 0, -1):
        suffix = text[-size:]
        for end in range(size - 1, len(text) - 1):
            if text[end - size + 1 : end + 1] == suffix:
                return size, end
    return 0, -1


def longest_within(text, earlier):
    """Slow twin: the longest suffix of `text` that stands in one of the earlier texts."""
    for size in range(len(text), 0, -1):
        for other in earlier:
            for end in range(size - 1, len(other)):
                if other[end - size + 1 : end + 1] == text[-size:]:
                    return size
    return 0


@given(texts)
@settings(max_examples=300, derandomize=True)
def test_the_automaton_finds_the_longest_repeated_suffix(text):
    automaton = SuffixAutomaton()
    for end, token in enumerate(text):
        automaton.extend(token)
        assert automaton.repeated() == longest_repeated(text[: end + 1])


@given(texts, st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=200, derandomize=True)
def test_earlier_texts_are_matched_within_one_text_only(text, earlier):
    suffix = Suffix(3, earlier=earlier)
    suffix._within.read(text)
    assert suffix._within.matched == longest_within(text, earlier)


@given(st.lists(texts, min_size=1, max_size=5))
@settings(max_examples=100, derandomize=True)
def test_the_draft_depends_on_the_text_alone(several):
    shared = Suffix(3, min_match=1)
    for text in several:
        seen = shared.propose(Dice(0), text, 5).tokens
        assert seen == Suffix(3, min_match=1).propose(Dice(0), text, 5).tokens


def test_length_follows_the_match_and_the_factor():
    text = (7, 8, 1, 2, 3, 4, 5, 6, 7, 8)
    assert len(Suffix(10, factor=1.0).propose(Dice(0), text, 9)) == 2
    assert len(Suffix(10, factor=3.0).propose(Dice(0), text, 9)) == 6
    assert len(Suffix(10, factor=3.0).propose(Dice(0), text, 4)) == 4
    assert len(Suffix(10, min_match=3).propose(Dice(0), text, 9)) == 0


def test_a_longer_match_in_earlier_texts_wins():
    text = (5, 6, 9, 4, 5, 6)
    assert Suffix(10).propose(Dice(0), text, 1).tokens == (9,)
    assert Suffix(10, earlier=[(4, 5, 6, 2)]).propose(Dice(0), text, 1).tokens == (2,)
    assert Suffix(10, earlier=[(5, 6, 2)]).propose(Dice(0), text, 1).tokens == (9,)


def test_a_draft_ends_with_eos_and_its_rows_are_one_hot():
    draft = Suffix(10, eos=(3,)).propose(Dice(0), (1, 2, 3, 4, 1, 2), 4)
    assert draft.tokens == (3,)
    assert np.array_equal(draft.rows[0], np.eye(10)[3])


@pytest.mark.parametrize(("name", "value"), [("min_match", 0), ("factor", 0.0)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(InvalidInput, match=f"{name} is {value}"):
        Suffix(4, **{name: value})


def test_the_loop_with_it_is_exact():
    rows = [fractions("1/2", "1/2"), fractions("1/3", "2/3"), fractions("3/4", "1/4")]
    proof = prove_loop(
        find_rule("token-wise"),
        Table(varied(rows)),
        Suffix(2, min_match=1),
        (0, 1, 0),
        k=2,
        limits=Limits(max_tokens=4),
    )
    assert proof.exact, proof.counterexample
