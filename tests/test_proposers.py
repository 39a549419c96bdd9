"""Proposers: what they draft, that they draw from the rows they carry, and the exact law."""

from collections import Counter
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice, outcomes
from draftproof.contracts import ROOT, Draft
from draftproof.decode import Limits
from draftproof.errors import InvalidInput, VocabularyMismatch
from draftproof.laws import largest_difference, loop_law, plain_law
from draftproof.proposers import (
    NAMED,
    DraftModel,
    Grams,
    NGram,
    PromptLookup,
    Setting,
    Suffix,
    check_same_vocabulary,
    propose,
    proposer_named,
)
from draftproof.proposers import ngram as ngram_module
from draftproof.rules.chain import TOKEN_WISE
from draftproof.warp import Warp

VOCAB = 4
small_texts = st.lists(st.integers(0, VOCAB - 1), max_size=14).map(tuple)
corpora = st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=20), min_size=1)


def everyone(eos=()):
    table = Table(lambda text: fractions("1/2", "1/4", "1/4", "0"))
    grams = Grams.learn([[0, 1, 2, 3, 0, 1, 3, 3, 2, 1]])
    return [
        DraftModel(table, eos=eos),
        PromptLookup(VOCAB, min_match=1, eos=eos),
        NGram(VOCAB, grams, eos=eos),
        NGram(VOCAB, grams, warp=Warp(temperature=0.5, top_p=0.8, presence_penalty=1.0), eos=eos),
        NGram(VOCAB, eos=eos),
        Suffix(VOCAB, eos=eos),
    ]


# -- what every proposer promises ----------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(small_texts, st.integers(0, 5), st.integers(0, 99))
def test_a_draft_is_a_chain_of_at_most_k_tokens_with_rows_that_allow_them(text, k, seed):
    for proposer in everyone():
        draft = propose(proposer, Dice(seed), text, k)
        assert draft.is_chain
        assert len(draft) <= k
        for token, row in zip(draft.tokens, draft.rows, strict=True):
            assert row.shape == (VOCAB,)
            assert row[token] > 0
            assert abs(float(row.sum()) - 1) <= 1e-12


@settings(max_examples=60, deadline=None)
@given(st.lists(small_texts, min_size=1, max_size=5), st.integers(0, 99))
def test_the_answer_depends_on_the_text_and_the_luck_only(texts, seed):
    used = everyone()
    for text in texts:
        for worn, fresh in zip(used, everyone(), strict=True):
            one, other = (p.propose(Dice(seed), text, 4) for p in (worn, fresh))
            assert one.tokens == other.tokens
            assert all(np.array_equal(a, b) for a, b in zip(one.rows, other.rows, strict=True))


@settings(max_examples=60, deadline=None)
@given(small_texts, st.integers(0, 99))
def test_a_draft_ends_after_an_end_of_sequence_id_and_keeps_it(text, seed):
    for free, ending in zip(everyone(), everyone(eos=(1,)), strict=True):
        whole = free.propose(Dice(seed), text, 5).tokens
        cut = ending.propose(Dice(seed), text, 5).tokens
        end = whole.index(1) + 1 if 1 in whole else len(whole)
        assert cut == whole[:end]


class Recorder:
    """Luck that takes the first possible token and remembers every row it was asked about."""

    def __init__(self, asked=None, key=()):
        self.asked, self.key = [] if asked is None else asked, key

    def at(self, *key):
        return Recorder(self.asked, key)

    def pick(self, weights):
        self.asked.append((self.key, weights))
        return int(np.flatnonzero(weights)[0])


def test_a_draft_model_carries_the_very_rows_it_drew_from():
    luck = Recorder()
    draft = DraftModel(Table(fractions("0", "1/3", "2/3"))).propose(luck, (2,), 3)
    assert draft.tokens == (1, 1, 1)
    assert [key for key, _ in luck.asked] == [("draft", 0), ("draft", 1), ("draft", 2)]
    assert all(row is drawn for row, (_, drawn) in zip(draft.rows, luck.asked, strict=True))


def test_an_n_gram_draft_carries_the_law_it_drew_from():
    luck = Recorder()
    draft = NGram(VOCAB, Grams.learn([[0, 1, 2, 3, 0, 1, 3]])).propose(luck, (3, 0), 3)
    for row, (_, drawn) in zip(draft.rows, luck.asked, strict=True):
        assert np.array_equal(row[row > 0], drawn[drawn > 0])


# -- draft model ---------------------------------------------------------------------------------


def test_a_draft_model_sees_its_own_draft():
    step = Table(lambda text: np.eye(5)[len(text)])
    assert DraftModel(step).propose(Dice(0), (0,), 3).tokens == (1, 2, 3)


@pytest.mark.parametrize(("length", "drafted"), [(3, 4), (4, 3), (6, 1), (7, 0), (9, 0)])
def test_a_draft_model_stays_inside_its_context(length, drafted):
    lengths = []

    def row(text):
        lengths.append(len(text))
        return [0.5, 0.5]

    proposer = DraftModel(Table(row), context_limit=6)
    assert len(proposer.propose(Dice(0), (0,) * length, 4)) == drafted
    assert max(lengths, default=0) <= 6


# -- prompt lookup -------------------------------------------------------------------------------


def slow_lookup(text, k, shortest, longest):
    for size in range(longest, shortest - 1, -1):
        for start in range(len(text) - size - 1, -1, -1):
            if size <= len(text) and text[start : start + size] == text[-size:]:
                grown = list(text)
                for at in range(start + size, start + size + k):
                    grown.append(grown[at])
                return tuple(grown[len(text) :])
    return ()


@settings(max_examples=200, deadline=None)
@given(st.lists(small_texts, min_size=1, max_size=4), st.integers(1, 2), st.integers(0, 3))
def test_prompt_lookup_equals_a_slow_search(texts, shortest, more):
    proposer = PromptLookup(VOCAB, min_match=shortest, max_match=shortest + more)
    for text in (*texts, *(texts[0][:n] for n in range(len(texts[0])))):
        wanted = slow_lookup(text, 4, shortest, shortest + more)
        assert proposer.propose(Dice(0), text, 4).tokens == wanted


def test_prompt_lookup_prefers_the_longest_then_the_latest_occurrence():
    proposer = PromptLookup(10, min_match=1)
    assert proposer.propose(Dice(0), (1, 2, 7, 2, 8, 1, 2), 1).tokens == (7,)
    assert proposer.propose(Dice(0), (2, 7, 2, 8, 2), 1).tokens == (8,)


def test_prompt_lookup_rows_are_one_hot():
    draft = PromptLookup(4, min_match=1).propose(Dice(0), (3, 1, 3), 2)
    assert [row.tolist() for row in draft.rows] == [[0, 1, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(("least", "most"), [(0, 3), (4, 3)])
def test_prompt_lookup_refuses_impossible_lengths(least, most):
    with pytest.raises(InvalidInput, match=f"min_match is {least} and max_match is {most}"):
        PromptLookup(4, min_match=least, max_match=most)


# -- n-gram model --------------------------------------------------------------------------------


def slow_counts(texts, order):
    counts = Counter()
    for text in texts:
        for end in range(order, len(text) + 1):
            counts[tuple(text[end - order : end])] += 1
    return counts


def slow_share(corpus, text, token, order):
    """P_n(token | text) by the formula in the module, one dictionary per order."""
    if order == 1:
        singles = Counter(token for part in corpus for token in part)
        return Fraction(singles[token], singles.total())
    below = slow_share(corpus, text, token, order - 1)
    context = tuple(text[len(text) - order + 1 :])
    if len(context) < order - 1:
        return below
    total = distinct = here = 0
    for texts, weight in ((corpus, 1), ([text], int(ngram_module.RECENT))):
        after = {g[-1]: n for g, n in slow_counts(texts, order).items() if g[:-1] == context}
        total += weight * sum(after.values())
        distinct += len(after)
        here += weight * after.get(token, 0)
    expected = Fraction(str(ngram_module.BACK_OFF)) * distinct
    return (here + expected * below) / (total + expected) if total else below


def slow_law(corpus, text):
    shares = np.array([float(slow_share(corpus, text, token, 4)) for token in range(VOCAB)])
    return shares**ngram_module.SHARPNESS / (shares**ngram_module.SHARPNESS).sum()


def ngram_row(proposer, text):
    return proposer.propose(Dice(0), text, 1).rows[0]


@settings(max_examples=150, deadline=None)
@given(corpora, small_texts)
def test_n_gram_rows_equal_the_formula(corpus, text):
    row = ngram_row(NGram(VOCAB, Grams.learn(corpus)), text)
    np.testing.assert_allclose(row, slow_law(corpus, text), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("RECENT", 1.0),
        ("BACK_OFF", 0.1),
        ("SHARPNESS", 1.0),
        ("ORDERS", (3, 2)),
        ("ORDERS", (4, 3)),
    ],
)
def test_a_wrong_mixture_is_caught(monkeypatch, name, wrong):
    corpus, text = [[0, 1, 2, 3, 0, 1, 2, 2], [3, 0, 1, 1]], (3, 0, 1, 2, 3, 0, 1)
    wanted = slow_law(corpus, text)
    np.testing.assert_allclose(ngram_row(NGram(VOCAB, Grams.learn(corpus)), text), wanted)
    monkeypatch.setattr(ngram_module, name, wrong)
    row = ngram_row(NGram(VOCAB, Grams.learn(corpus)), text)
    assert not np.allclose(row, wanted, rtol=1e-3, atol=0)


def test_no_n_gram_reaches_over_the_end_of_a_text():
    row = ngram_row(NGram(VOCAB, Grams.learn([[0, 1], [2, 3]])), (1,))
    assert row.tolist() == [0.25] * 4


def test_an_n_gram_model_keeps_only_the_most_frequent(monkeypatch):
    monkeypatch.setattr(ngram_module, "WIDTH", 1)
    monkeypatch.setattr(ngram_module, "SINGLES", 2)
    grams = Grams.learn([[0, 1, 0, 2, 0, 2, 3]])
    assert grams.singles[0].tolist() == [0, 2]
    tokens, counts, total, distinct = grams.tables[-1].after(0)
    assert (tokens.tolist(), counts.tolist(), total, distinct) == ([2], [2.0], 3, 2)
    assert ngram_row(NGram(VOCAB, grams), (0,))[[1, 3]].tolist() == [0.0, 0.0]


def test_an_n_gram_model_at_temperature_zero_drafts_its_best_guess_one_hot():
    draft = NGram(VOCAB, Grams.learn([[0, 1, 2, 0, 1, 3, 0, 1, 2]]), warp=Warp(temperature=0))
    rows = draft.propose(Dice(0), (0, 1), 2).rows
    assert [row.tolist() for row in rows] == [[0, 0, 1, 0], [1, 0, 0, 0]]


def test_the_temperature_of_the_learnt_text_is_taken_out():
    corpus = [[0, 1, 0, 1, 0, 2, 0, 3]]
    plain = ngram_row(NGram(VOCAB, Grams.learn(corpus)), (0,))
    cool = NGram(VOCAB, Grams.learn(corpus, temperature=0.5), warp=Warp(temperature=0.5))
    np.testing.assert_allclose(ngram_row(cool, (0,)), plain, rtol=1e-12)


def test_an_n_gram_model_with_nothing_to_say_says_nothing():
    assert len(NGram(VOCAB).propose(Dice(0), (1, 2), 3)) == 0
    masked = Warp(min_tokens=9, eos=(3,))
    assert len(NGram(VOCAB, Grams.learn([[3, 3]]), warp=masked).propose(Dice(0), (3,), 2)) == 0


def test_grams_of_another_vocabulary_are_refused():
    with pytest.raises(InvalidInput, match="knows token 7, and the vocabulary has 4"):
        NGram(4, Grams.learn([[0, 7]]))
    with pytest.raises(InvalidInput, match="token ids from 0 to 65535"):
        Grams.learn([[70_000]])


def test_the_shipped_model_is_small_and_speaks_the_default_vocabulary():
    with (resources.files("draftproof.data") / ngram_module.SHIPPED).open("rb") as file:
        assert len(file.read()) <= 5_000_000
    draft = proposer_named("ngram", Setting(vocab_size=49_152, warp=Warp())).propose(
        Dice(0), (1, 2, 3), 4
    )
    assert len(draft) == 4
    assert all(50 < np.count_nonzero(row) < 500 for row in draft.rows)


# -- the law -------------------------------------------------------------------------------------


class Rational:
    """A proposer whose float rows are rounded to fractions before they are drawn from."""

    name = "rational"

    def __init__(self, proposer):
        self.proposer = proposer

    def propose(self, chance, text, k):
        tokens, rows = [], []
        for node in range(k):
            guess = self.proposer.propose(Recorder(), (*text, *tokens), 1)
            if not len(guess):
                break
            row = np.array([Fraction(x).limit_denominator(1000) for x in guess.rows[0]])
            rows.append(row / row.sum())
            tokens.append(chance.at("draft", node).pick(rows[-1]))
        return Draft.chain(tokens, rows)


@pytest.mark.parametrize("stop", [frozenset(), frozenset({1})])
@pytest.mark.parametrize(
    "proposer",
    [
        DraftModel(Table(lambda text: fractions("1/3", "2/3") if text[-1] else fractions(0, 1))),
        Rational(PromptLookup(2, min_match=1)),
        Rational(NGram(2, Grams.learn([[0, 1, 1, 0, 1]]), warp=Warp(top_k=2))),
        DraftModel(Table(fractions("1/4", "3/4")), eos=(1,), context_limit=2),
    ],
)
def test_the_loop_follows_the_target_whatever_proposes(proposer, stop):
    target = Table(lambda text: fractions("1/5", "4/5") if sum(text) % 2 else fractions(1, 0))
    limits = Limits(max_tokens=3, stop=stop)
    law, _ = loop_law(TOKEN_WISE, target, proposer, (1, 0), k=2, limits=limits)
    assert largest_difference(law, plain_law(target, (1, 0), limits)).gap == 0


def test_a_proposer_that_drops_the_token_it_looked_at_is_caught():
    class Peeking(DraftModel):
        def propose(self, chance, text, k):
            draft = super().propose(chance, text, k)
            cut = draft.tokens.index(0) if 0 in draft.tokens else len(draft)
            return Draft.chain(draft.tokens[:cut], draft.rows[:cut])

    table, limits = Table(fractions("1/2", "1/2")), Limits(max_tokens=2)
    law, _ = loop_law(TOKEN_WISE, table, Peeking(table), (), k=1, limits=limits)
    assert largest_difference(law, plain_law(table, (), limits)).gap > 0


def test_the_drafted_tokens_have_the_law_of_their_rows():
    table = Table(lambda text: fractions("1/3", "2/3") if sum(text) else fractions("1/4", "3/4"))
    seen = Counter()
    for tokens, weight in outcomes(lambda luck: DraftModel(table).propose(luck, (), 2).tokens):
        seen[tokens] += weight
    assert seen[(0, 1)] == Fraction(1, 4) * Fraction(3, 4)
    assert seen[(1, 1)] == Fraction(3, 4) * Fraction(2, 3)


# -- the checks in front of every proposer -------------------------------------------------------


class Eager:
    name = "eager"

    def propose(self, chance, text, k):
        row = np.array([0.5, 0.5])
        return Draft((0, 1, 0, 1), (ROOT, ROOT, 0, 2), (row,) * 4)


def test_no_proposer_drafts_deeper_than_it_was_asked():
    assert len(propose(Eager(), Dice(0), (0,), 3)) == 4
    with pytest.raises(InvalidInput, match="'eager' drafted 3 tokens deep where at most k = 2"):
        propose(Eager(), Dice(0), (0,), 2)


def test_k_zero_asks_nobody():
    assert len(propose(None, Dice(0), (0,), 0)) == 0


@pytest.mark.parametrize("k", [-1, 1.5, True, "2"])
def test_a_k_that_is_no_count_is_refused(k):
    with pytest.raises(InvalidInput, match=r"^k is "):
        propose(Eager(), Dice(0), (0,), k)


def test_the_same_vocabulary_passes():
    check_same_vocabulary(["a", b"b"], ["a", b"b"])


@pytest.mark.parametrize(
    ("target", "draft", "words"),
    [
        ("abc", "ab", "3 tokens and the draft has 2, and ids from 2 on exist in one"),
        ("abc", "xbz", r"has 3, and ids 0 \('a' / 'x'\), 2 \('c' / 'z'\) differ"),
        ("abcde", "vwxyz", r"2 \('c' / 'x'\) and 2 more differ"),
    ],
)
def test_another_vocabulary_is_refused_with_both_sizes_and_the_first_ids(target, draft, words):
    with pytest.raises(VocabularyMismatch, match=words):
        check_same_vocabulary(list(target), list(draft))


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_every_name_makes_a_proposer_of_that_name(name):
    proposer = proposer_named(name, Setting(vocab_size=8, warp=Warp()))
    assert proposer.name == name
    assert len(propose(proposer, Dice(0), (1, 2, 3, 1, 2), 2)) == 2


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(InvalidInput, match="'magic'; choose 'prompt-lookup', 'ngram'"):
        proposer_named("magic", Setting(vocab_size=8, warp=Warp()))
