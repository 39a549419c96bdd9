"""The law of the first token a round emits, on the default model's own rows.

The target row after one prompt is computed once; then thousands of rounds of the shipped loop
are played with it, drafting from a hotter row of the same model and from the shipped n-gram
model. Tokens the target expects at least
`EXPECTED` times in all rounds are cells of their own, all others share one, so the cells are fixed
by the row before a single token is drawn. Each cell is judged by an exact binomial test, and
together they falsely refuse a right sampler with probability at most `LEVEL`.
"""

import numpy as np
import pytest
from scipy.stats import binomtest

from draftproof.chance import Dice
from draftproof.contracts import Draft
from draftproof.decode import Limits, rounds
from draftproof.dist import overlap
from draftproof.proposers import DraftModel, Grams, NGram
from draftproof.rules.chain import TOKEN_WISE
from draftproof.warp import Warp, Warped
from suspects.rules import ALWAYS_ACCEPT, RESAMPLE_FROM_P

pytestmark = pytest.mark.model

ROUNDS = 20_000
FEWER = 4_000
"""Rounds that already tell the wrong rules apart."""

LEVEL = 1e-6
EXPECTED = 20
WARP = Warp(temperature=0.8)
PROMPT = "The three most important things to remember when you cook pasta are"


class Fixed:
    """A predictor with one row after the text; what follows a draft is of no interest here."""

    def __init__(self, row):
        self.row = row

    def rows(self, text, draft):
        return [self.row, *[np.ones(1)] * len(draft)]


@pytest.fixture(scope="module")
def text(smollm2):
    return tuple(smollm2.tokenizer.encode(PROMPT))


@pytest.fixture(scope="module")
def row(smollm2, text):
    return Warped(smollm2, WARP).rows(text, Draft.empty())[0]


@pytest.fixture(scope="module")
def hotter(smollm2, text):
    return DraftModel(Fixed(Warped(smollm2, Warp(temperature=1.3)).rows(text, Draft.empty())[0]))


@pytest.fixture(scope="module")
def ngram(row):
    return NGram(row.size, Grams.shipped(), warp=WARP)


def first_tokens(rule, row, draft, text, count):
    """First emitted token of `count` independent rounds."""
    target, limits = Fixed(row), Limits(max_tokens=2)
    played = (
        next(rounds(Dice(seed), target, draft, rule, text, k=1, limits=limits))
        for seed in range(count)
    )
    return np.array([one.emitted[0] for one in played])


def p_value(tokens, row):
    """Smallest exact binomial p-value over the cells, times their number (Bonferroni)."""
    own = np.flatnonzero(row * len(tokens) >= EXPECTED)
    counts = np.bincount(tokens, minlength=row.size)
    cells = [(counts[token], row[token]) for token in own]
    cells.append((len(tokens) - counts[own].sum(), 1 - row[own].sum()))
    values = [binomtest(int(seen), len(tokens), float(p)).pvalue for seen, p in cells]
    return min(values) * len(values)


@pytest.mark.parametrize(("kind", "count"), [("ngram", ROUNDS), ("hotter", FEWER)])
def test_the_first_token_of_a_round_follows_the_target(kind, count, row, text, request):
    draft = request.getfixturevalue(kind)
    q = draft.propose(Dice(0), text, 1).rows[0]
    assert 0.05 < overlap(row, q) < 0.95, "so that drafts are kept and rejected"
    assert p_value(first_tokens(TOKEN_WISE, row, draft, text, count), row) > LEVEL


@pytest.mark.parametrize("kind", ["ngram", "hotter"])
@pytest.mark.parametrize("wrong", [RESAMPLE_FROM_P, ALWAYS_ACCEPT], ids=lambda rule: rule.name)
def test_the_same_test_refutes_a_wrong_rule(wrong, kind, row, text, request):
    draft = request.getfixturevalue(kind)
    assert p_value(first_tokens(wrong, row, draft, text, FEWER), row) < LEVEL
