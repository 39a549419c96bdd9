"""Exact laws of the whole decoding loop: several rounds, stop ids, budgets, changing k."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.backends.table import Table, fractions
from draftproof.battery import WORLDS
from draftproof.chance import Dice, law
from draftproof.contracts import Draft
from draftproof.decode import Limits, generate, rounds
from draftproof.errors import LuckReused
from draftproof.laws import largest_difference, loop_law, plain_law
from draftproof.proof import prove_loop
from draftproof.proposers import DraftModel
from draftproof.rules.chain import TOKEN_WISE
from draftproof.warp import Warp, Warped
from suspects import loops
from suspects import rules as suspects
from worlds import random_table

STOP = frozenset({1})
THREE = Limits(max_tokens=3)


def pair(seed, size):
    return random_table(f"p{seed}", size), random_table(f"q{seed}", size)


def gap(play, target, text, limits):
    """Largest difference between the law of `play` and that of plain decoding."""
    return largest_difference(law(play), plain_law(target, text, limits)).gap


# ---------------------------------------------------------------- the loop that is right


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("stop", [frozenset(), STOP], ids=["no stop", "stop"])
def test_the_loop_is_exact_on_the_battery(world, stop):
    limits = Limits(max_tokens=3, stop=stop)
    proof = prove_loop(TOKEN_WISE, world.target, DraftModel(world.draft), k=2, limits=limits)
    assert proof.exact
    assert proof.gap == 0
    assert proof.counterexample is None
    assert sum(proof.law.values()) == 1


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    size=st.integers(2, 3),
    k=st.integers(0, 3),
    budget=st.integers(0, 3),
    stop=st.sets(st.integers(0, 2), max_size=2),
    start=st.lists(st.integers(0, 1), max_size=2),
)
def test_the_loop_is_exact_on_random_rational_worlds(seed, size, k, budget, stop, start):
    target, draft = pair(seed, size)
    limits = Limits(max_tokens=budget, stop=frozenset(stop))
    proof = prove_loop(TOKEN_WISE, target, DraftModel(draft), tuple(start), k=k, limits=limits)
    assert proof.exact, proof.counterexample


@pytest.mark.parametrize(
    ("size", "k", "budget"), [(2, 3, 5), (2, 1, 5), (3, 3, 4), (3, 1, 4), (4, 2, 3), (4, 3, 3)]
)
def test_the_loop_is_exact_over_several_rounds_of_every_length(size, k, budget):
    target, draft = pair(17, size)
    limits = Limits(max_tokens=budget, stop=frozenset({size - 1}))
    assert prove_loop(TOKEN_WISE, target, DraftModel(draft), k=k, limits=limits).exact


@pytest.mark.parametrize("budget", range(1, 6))
def test_every_budget_from_1_to_k_plus_2(budget):
    target, draft = pair(5, 2)
    proof = prove_loop(TOKEN_WISE, target, DraftModel(draft), k=3, limits=Limits(max_tokens=budget))
    assert proof.exact
    assert {len(text) for text in proof.law} == {budget}


SCHEDULES = {
    "by the text": lambda text, last: len(text) % 3,
    "by the last round": lambda text, last: 2 if last is None or last.accepted else 0,
    "growing": lambda text, last: 0 if last is None else last.k + 1,
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", range(5))
def test_k_may_change_between_rounds_with_what_is_known(schedule, seed):
    target, draft = pair(seed, 2)
    limits = Limits(max_tokens=4, stop=STOP)
    proof = prove_loop(TOKEN_WISE, target, DraftModel(draft), k=SCHEDULES[schedule], limits=limits)
    assert proof.exact, proof.counterexample


def test_a_draft_that_ends_after_a_stop_id_keeps_the_law():
    target, draft = pair(3, 3)
    limits = Limits(max_tokens=3, stop=STOP)
    assert prove_loop(TOKEN_WISE, target, DraftModel(draft, eos=(1,)), k=2, limits=limits).exact


def test_the_end_of_the_context_keeps_the_law_of_the_shorter_text():
    target, draft = pair(4, 2)
    limits = Limits(max_tokens=9, context_limit=4)
    proof = prove_loop(TOKEN_WISE, target, DraftModel(draft), (0, 1), k=3, limits=limits)
    assert proof.exact
    assert {len(text) for text in proof.law} == {3}


def test_with_k_0_the_loop_is_plain_decoding():
    target, draft = pair(6, 3)
    seen, branches = loop_law(TOKEN_WISE, target, DraftModel(draft), (), k=0, limits=THREE)
    assert seen == plain_law(target, (), THREE)
    assert branches == len(seen)


# ---------------------------------------------------------------- rules that are wrong


@pytest.mark.parametrize("rule", suspects.WRONG_LAW, ids=lambda rule: rule.name)
def test_a_wrong_rule_is_refuted_by_the_loop(rule):
    gaps = [
        prove_loop(rule, world.target, DraftModel(world.draft), k=2, limits=THREE).gap
        for world in WORLDS
    ]
    assert max(gaps) > 0


def test_the_counterexample_of_a_loop_can_be_read():
    target, draft = Table(fractions("1/2", "1/2")), Table(fractions("1/4", "3/4"))
    proof = prove_loop(
        suspects.ALWAYS_ACCEPT, target, DraftModel(draft), (0,), k=1, limits=Limits(max_tokens=2)
    )
    assert proof.counterexample == (
        "After [0], the text [0 0] comes out with probability 1/8; the target gives it 1/4: "
        "1/8 too little."
    )


# ---------------------------------------------------------------- loops that are wrong


@pytest.fixture(params=range(3))
def world(request):
    return pair(request.param, 3)


def test_a_row_off_by_one_is_refuted(world):
    target, draft = world
    late = loops.OffByOne(target)
    seen, _ = loop_law(TOKEN_WISE, late, DraftModel(draft), (), k=2, limits=THREE)
    assert largest_difference(seen, plain_law(target, (), THREE)).gap > 0


@pytest.mark.parametrize(("stale", "right"), [(0, True), (1, False), (2, False)])
def test_a_rollback_off_by_one_is_refuted(world, stale, right):
    target, draft = world

    def play(chance):
        cached = loops.Cached(target, stale=stale)
        return generate(chance, cached, DraftModel(draft), TOKEN_WISE, (), k=2, limits=THREE).tokens

    assert (gap(play, target, (), THREE) == 0) is right


def test_a_penalty_that_is_stale_inside_the_block_is_refuted(world):
    target, draft = world
    right, stale = loops.Penalised(target), loops.StalePenalty(target)
    assert prove_loop(TOKEN_WISE, right, DraftModel(draft), (0,), k=2, limits=THREE).exact
    seen, _ = loop_law(TOKEN_WISE, stale, DraftModel(draft), (0,), k=2, limits=THREE)
    assert largest_difference(seen, plain_law(right, (0,), THREE)).gap > 0


def test_a_draft_that_hands_over_another_row_than_it_drew_from_is_refuted(world):
    target, draft = world
    assert not prove_loop(TOKEN_WISE, target, loops.Misreporting(draft), k=2, limits=THREE).exact


@pytest.mark.parametrize("limits", [THREE, Limits(max_tokens=3, stop=STOP)], ids=["", "stop"])
def test_a_draft_that_drops_a_sampled_stop_id_is_refuted(limits):
    target, draft = Table(fractions("1/2", "1/2")), Table(fractions("1/3", "2/3"))
    choosy = loops.Choosy(draft, drops=STOP)
    assert not prove_loop(TOKEN_WISE, target, choosy, k=2, limits=limits).exact


def test_a_draft_that_stops_before_an_unlikely_token_is_refuted():
    target, draft = Table(fractions("1/2", "1/2")), Table(fractions("1/4", "3/4"))
    assert not prove_loop(TOKEN_WISE, target, loops.Lookahead(draft), k=2, limits=THREE).exact


@pytest.mark.parametrize("loop", [loops.past_the_stop, loops.stop_thrown_away])
def test_a_stop_id_in_the_middle_of_a_block_that_is_not_committed_is_refuted(loop):
    target, draft = pair(1, 3)
    limits = Limits(max_tokens=3, stop=STOP)

    def play(chance):
        return loop(chance, target, DraftModel(draft), TOKEN_WISE, (), k=2, limits=limits)

    assert gap(play, target, (), limits) > 0


def test_rounds_that_share_their_luck_are_refused():
    target, draft = pair(1, 3)

    def play(chance):
        return loops.same_luck_every_round(
            chance, target, DraftModel(draft), TOKEN_WISE, (), k=1, limits=THREE
        )

    with pytest.raises(LuckReused, match="used twice"):
        law(play)


# ---------------------------------------------------------------- how many tokens a round gives


def rounds_taken(rule, tokens, k):
    """Rounds until `tokens` are out, where target and draft agree on every token."""
    sure = Table(lambda text: fractions(*(int(token == len(text) % 3) for token in range(3))))
    done = rounds(Dice(0), sure, DraftModel(sure), rule, (), k=k, limits=Limits(max_tokens=tokens))
    return [len(one.emitted) for one in done]


def test_a_fully_kept_draft_gives_k_plus_1_tokens_and_a_missing_bonus_token_is_seen():
    assert rounds_taken(TOKEN_WISE, 12, 3) == [4, 4, 4]
    assert rounds_taken(suspects.MISSING_BONUS, 12, 3) == [3, 3, 3, 2, 1]


# ---------------------------------------------------------------- the warp inside a block


class Scores:
    """A back end over three tokens whose logits depend on the last token."""

    name, vocab_size, context_limit = "scores", 3, 64

    def logits(self, text, draft):
        texts = [text, *(text + draft.prefix(node) for node in range(len(draft)))]
        return [np.array([0.0, 0.7 * (one[-1] + 1), 1.1], dtype=np.float32) for one in texts]


class StaleWarped(Warped):
    """A warp that penalises every row of the block for the text before the block only."""

    def rows(self, text, draft):
        logits = self.backend.logits(text, draft)
        return [self.warp.row(one, text, prompt=self.prompt) for one in logits]


PENALTIES = {
    "repetition": Warp(repetition_penalty=1.7),
    "presence": Warp(presence_penalty=0.9),
    "frequency": Warp(frequency_penalty=0.6),
    "min-tokens": Warp(min_tokens=2, eos=(1,)),
}


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_warp_whose_penalty_is_stale_inside_the_block_is_refuted(penalty):
    warp, text = PENALTIES[penalty], (0,)
    right = Warped(Scores(), warp, prompt=1)
    draft = DraftModel(Warped(Scores(), Warp(temperature=1.5), prompt=1))
    wanted = plain_law(right, text, THREE)
    gaps = {}
    for kind in (Warped, StaleWarped):
        target = kind(Scores(), warp, prompt=1)
        seen, _ = loop_law(TOKEN_WISE, target, draft, text, k=2, limits=THREE)
        gaps[kind] = largest_difference(seen, wanted).gap
    assert gaps[Warped] < 1e-14, "floats: a few dozen roundings of 1e-16"
    assert gaps[StaleWarped] > 1e-3


def test_rows_of_a_block_are_those_of_the_texts_it_drafts():
    warped = Warped(Scores(), PENALTIES["repetition"], prompt=1)
    row = np.array([0.2, 0.3, 0.5])
    draft = Draft.chain([2, 1], [row, row])
    rows = warped.rows((0,), draft)
    for node, text in enumerate([(0,), (0, 2), (0, 2, 1)]):
        assert (rows[node] == warped.rows(text, Draft.empty())[0]).all()


def test_probabilities_of_the_law_are_fractions():
    target, draft = pair(0, 2)
    proof = prove_loop(TOKEN_WISE, target, DraftModel(draft), k=1, limits=THREE)
    assert all(isinstance(weight, F) for weight in proof.law.values())
