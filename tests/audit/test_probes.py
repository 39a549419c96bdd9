"""Small inputs on which known bugs show, with the right answer and the wrong one, as fractions.

A probe whose bug has a law is enumerated from the bug's own code; a deterministic one is asked of
our rules and our loop. Each right answer is checked on code of ours that must give it.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from draftproof.audit.catalogue import find_suspect, speculative
from draftproof.audit.enumerate import enumerate_sampler
from draftproof.audit.suspects_coins import noise_again_by_chance
from draftproof.audit.suspects_drafts import cut_to_the_top
from draftproof.audit.suspects_loops import LOOP_SUSPECTS, masked
from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice
from draftproof.chance import law as law_of
from draftproof.contracts import Draft
from draftproof.decode import Limits, generate, rounds
from draftproof.dist import keeps, residual, speculative_step
from draftproof.errors import DraftproofError, NotADistribution
from draftproof.proposers import DraftModel
from draftproof.rules import find_rule
from draftproof.warp import Warp

PQ = ("1/2 3/10 1/5", "1/5 3/10 1/2")
TOKEN_WISE = find_rule("token-wise")
LOOPS = {suspect.name: suspect for suspect in LOOP_SUSPECTS}


def rows(*texts):
    return [fractions(*text.split()) for text in texts]


def law_of_step(step, p, q):
    found = enumerate_sampler(step, p, q)
    return [found.law.get(token, Fraction(0)) for token in range(len(p))]


PROBES = [
    ("P1", "argmax draft", "1/2 1/2", "3/5 2/5", "5/6 1/6"),
    ("P2", "resample from p", *PQ, "7/20 39/100 13/50"),
    ("P3", "absolute residual", *PQ, "7/20 3/10 7/20"),
    ("P4", "always accept", *PQ, "1/5 3/10 1/2"),
    ("P4, inverted", "inverted ratio", *PQ, "1/5 3/10 1/2"),
    ("P5", "truncated draft", "1/2 1/2 0", "2/5 1/5 2/5", "5/8 3/8 0"),
    ("P6", "coin used again", "2/5 2/5 1/5", "1/10 1/10 4/5", "3/10 1/2 1/5"),
    ("P7", "argmax match, else p", "3/5 2/5", "3/5 2/5", "21/25 4/25"),
    ("P9", "drafted stop token dropped", "1/5 4/5", "1/2 1/2", "1/10 9/10"),
    ("P10", "unsure drafts dropped", "1/2 1/2", "1/5 4/5", "2/5 3/5"),
    ("P11", "coarse coin", "999/1000 1/1000", "0 1", "255/256 1/256"),
    ("P16", "siblings not rescaled", "1/3 1/3 1/3", "1/2 3/10 1/5", "1/3 11/30 3/10"),
    ("P17", "last token id lost", "3/10 3/10 3/10 1/10", "1/3 1/3 1/3 0", "1/3 1/3 1/3 0"),
    ("P26, q drawn", "a target draw for each path", "1/2 1/2", "3/4 1/4", "11/16 5/16"),
    ("22", "accept iff p >= q", "2/5 3/5", "3/5 2/5", "0 1"),
    ("23", "accept iff ratio > 1/2", "2/5 3/5", "3/5 2/5", "3/5 2/5"),
]


@pytest.mark.parametrize(("probe", "name", "p", "q", "wrong"), PROBES, ids=[x[0] for x in PROBES])
def test_a_probe_has_the_wrong_law_written_down_and_the_right_rule_gives_p(
    probe, name, p, q, wrong
):
    target, draft, said = rows(p, q, wrong)
    assert law_of_step(find_suspect(name).step, target, draft) == said.tolist()
    assert law_of_step(speculative, target, draft) == target.tolist()
    assert said.tolist() != target.tolist()


def test_p5_the_draft_was_really_drawn_from_the_cut_row():
    assert cut_to_the_top(*rows("1/2 1/2 0", "2/5 1/5 2/5")).tolist() == [Fraction(1, 2), 0, 0.5]


class Scripted(np.random.Generator):
    """Plays given uniforms."""

    def __init__(self, *uniforms):
        super().__init__(np.random.PCG64(0))
        self._left = list(uniforms)

    def random(self):
        return self._left.pop(0)


def test_p8_a_coin_of_zero_keeps_nothing_of_probability_zero():
    p, q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert speculative_step(p, q, Scripted(0.5, 0.0, 0.0)) == 0
    assert not keeps(0.0, 0.0, 1.0)
    assert p[1] / q[1] >= 0.0, "a coin compared with <= would keep it"


def test_p12_a_penalty_that_stays_behind_doubles_the_repetition():
    suspect = LOOPS["penalty not advanced inside the block"]
    assert suspect.wanted()[(0, 0)] == Fraction(1, 8)
    assert suspect.law()[(0, 0)] == Fraction(1, 4)


ONE_HOT = {(): 0, (0,): 1, (0, 1): 2}


def say(text):
    return [float(token == ONE_HOT.get(text, 0)) for token in range(3)]


@pytest.mark.parametrize("rule", ["token-wise", "point-mass", "block", "exact-match", "greedy"])
@pytest.mark.parametrize(
    ("drafted", "wanted"), [((0, 1), (0, 1, 2)), ((0, 2), (0, 1)), ((2, 1), (0,))]
)
def test_p13_any_shift_of_rows_shows_without_statistics(rule, drafted, wanted):
    draft = Draft.chain(drafted, [np.full(3, 1 / 3)] * 2)
    target = Table(say).rows((), draft)
    assert find_rule(rule).verify(Dice(0).after(0), draft, target).emitted == wanted


def test_p14_min_p_on_verified_positions():
    logits = np.log([0.6, 0.3, 0.1])
    assert Warp(min_p=0.2).row(logits).tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    suspect = LOOPS["min-p on bonus tokens only"]
    assert all(2 not in text for text in suspect.wanted())
    assert sum(w for text, w in suspect.law().items() if text[0] == 2) == Fraction(1, 10)


def test_p15_temperature_ignored_and_softmax_twice():
    logits = np.array([math.log(9), 0.0])
    right = Warp(temperature=2.0).row(logits)
    assert right.tolist() == pytest.approx([0.75, 0.25])
    q = rows("1/2 1/2")[0]
    ignored = find_suspect("target temperature ignored").law(fractions("3/4", "1/4"), q)
    assert ignored.tolist() == [Fraction(9, 10), Fraction(1, 10)]
    twice = find_suspect("softmax applied twice").law(fractions("9/10", "1/10"), q)
    assert twice.tolist() == pytest.approx([0.690, 0.310], abs=5e-4)


def test_p17_a_token_the_draft_cannot_say_keeps_its_probability():
    p, q = rows("3/10 3/10 3/10 1/10", "1/3 1/3 1/3 0")
    assert law_of_step(speculative, p, q)[3] == Fraction(1, 10)


@pytest.mark.parametrize("factor", [1.0, 1 + 1e-7, 1 - 1e-7])
def test_p18_equal_rows_never_give_nan_or_an_edge_token(factor):
    q = np.array([0.5, 0.3, 0.2])
    p = q * np.array([factor, 2 - factor, 1.0])
    p = p / p.sum()
    assert all(keeps(np.nextafter(1, 0), q[at], q[at]) for at in range(3))
    assert np.isfinite(residual(p, q)).all()
    for u in (0.0, 2**-53, 1 - 2**-53):
        assert 0 <= speculative_step(p, q, Scripted(u, 1 - 2**-53, u)) < 3


@pytest.mark.parametrize("logits", [[math.nan] * 3, [-math.inf] * 3, [0, math.nan, 0]])
def test_p19_rows_without_meaning_are_refused(logits):
    with pytest.raises(DraftproofError):
        Warp().row(np.array(logits))
    fine, bad = np.full(3, 1 / 3), np.full(3, math.nan)
    for draft_row, target_row in ((bad, fine), (fine, bad)):
        draft = Draft.chain([0], [draft_row])
        with pytest.raises(NotADistribution):
            TOKEN_WISE.verify(Dice(0).after(0), draft, [target_row, fine])


class Says:
    """A proposer that drafts a given text, each token as certain."""

    name = "says"

    def __init__(self, tokens, size):
        self.tokens, self.size = tokens, size

    def propose(self, chance, text, k):
        ahead = self.tokens[len(text) : len(text) + k]
        return Draft.chain(ahead, [np.eye(self.size)[token] for token in ahead])


def one_text(tokens, size):
    return Table(lambda text: np.eye(size)[tokens[min(len(text), len(tokens) - 1)]])


def emitted(tokens, drafted, *, k, size=32, **limits):
    return generate(
        Dice(0), one_text(tokens, size), Says(drafted, size), TOKEN_WISE, (), k=k,
        limits=Limits(**limits),
    )  # fmt: skip


def test_p20_budgets_and_stops_inside_a_block():
    text = (5, 3, 7, 8, 5, 3)
    for budget in range(7):
        assert emitted(text, text, k=4, max_tokens=budget).tokens == text[:budget]
    done = emitted(text, text, k=4, stop=frozenset({3}), max_tokens=9)
    assert (done.tokens, done.ends) == ((5, 3), "stop")
    long = (10, 11, 2, 20, 21, 22)
    done = emitted(long, long, k=4, stop=frozenset({2}), max_tokens=5)
    assert (done.tokens, done.ends) == ((10, 11, 2), "stop")


def test_p21_nothing_drafted_and_a_context_that_ends():
    text = tuple(range(1, 9))
    assert emitted(text, text, k=0, max_tokens=4).tokens == text[:4]
    near = emitted(text, text, k=4, max_tokens=9, context_limit=3)
    assert (near.tokens, near.ends) == (text[:4], "length")
    short = DraftModel(one_text(text, 32), context_limit=2)
    done = generate(
        Dice(0), one_text(text, 32), short, TOKEN_WISE, (), k=4, limits=Limits(max_tokens=6)
    )
    assert done.tokens == text[:6]


class Careful:
    """A toy model that asserts it is asked only for what was committed."""

    def __init__(self, table, committed):
        self.table, self.committed = table, committed

    def rows(self, text, draft):
        assert text == self.committed()
        return self.table.rows(text, draft)


@pytest.mark.parametrize("wrong_at", [None, 0, 1, 2], ids=["right", "first", "second", "third"])
def test_p22_a_model_is_only_asked_about_the_committed_text(wrong_at):
    text, so_far = (1, 2, 3, 1, 2, 3, 1, 2, 3), []
    drafted = tuple((t + (at % 3 == wrong_at)) % 32 for at, t in enumerate(text))
    model = Careful(one_text(text, 32), lambda: tuple(so_far))
    for one in rounds(
        Dice(0), model, Says(drafted, 32), TOKEN_WISE, (), k=3, limits=Limits(max_tokens=9)
    ):
        so_far.extend(one.emitted)
    assert tuple(so_far) == text


def test_p23_a_seed_is_one_text_and_two_seeds_are_two():
    table = Table(np.full(16, 1 / 16))

    def text(dice):
        return generate(dice, table, DraftModel(table), TOKEN_WISE, (), k=3,
                        limits=Limits(max_tokens=24)).tokens  # fmt: skip

    alone = text(Dice(7))
    other = text(Dice(8))
    assert text(Dice(7)) == alone != other
    joint = LOOPS["one stream for two requests"].law()
    assert all(x == y for x, y in joint)


def test_p24_shared_noise_is_seen_where_the_residual_has_two_tokens():
    p, q = rows("2/5 3/10 1/5 1/10", "1/10 1/5 3/10 2/5")
    law = law_of(lambda chance: noise_again_by_chance(chance, p, q))
    assert [law[token] for token in range(4)] == rows("13/30 4/15 1/5 1/10")[0].tolist()
    single = rows(*PQ)
    blind = law_of(lambda chance: noise_again_by_chance(chance, *single))
    assert [blind[token] for token in range(3)] == single[0].tolist()


def test_p25_a_grammar_holds_inside_a_block():
    suspect = LOOPS["grammar not advanced inside the block"]
    assert suspect.wanted() == {(0, 1): 1}
    assert suspect.law()[(0, 0)] == Fraction(1, 3)
    for drafted in ((0, 2), (0, 1, 1)):
        done = generate(
            Dice(0), Table(masked), Says(drafted, 3), TOKEN_WISE, (), k=3,
            limits=Limits(max_tokens=2),
        )  # fmt: skip
        assert done.tokens == (0, 1)


def first_matching_path(p, q, rng):
    """Four candidate paths a, a, a, e; the target draws anew for each, the first match wins."""
    own = 0
    for candidate in (0, 0, 0, 1):
        own = int(rng.choice(2, p=p))
        if own == candidate:
            return own
    return own


def test_p26_a_draw_for_each_path_favours_the_candidate_that_comes_first():
    p, q = rows("1/2 1/2", "3/4 1/4")
    assert law_of_step(first_matching_path, p, q) == [Fraction(15, 16), Fraction(1, 16)]
