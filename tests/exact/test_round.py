"""Exact laws of one round: the token-wise rule proved, wrong rules refuted in words."""

import random
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.backends.table import Table, fractions
from draftproof.battery import WORLDS, constant_world, instance
from draftproof.contracts import Draft, Guarantee, Source
from draftproof.decode import Limits
from draftproof.errors import LuckReused
from draftproof.laws import largest_difference, plain_law, round_leaves, total_variation
from draftproof.proof import Instance, Proof, prove, prove_instance, varied
from draftproof.proposers import DraftModel
from draftproof.rules.chain import TOKEN_WISE
from suspects import rules as suspects
from worlds import Loaded, random_row, random_table

WORKED_P, WORKED_Q = fractions("1/2", "3/10", "1/5"), fractions("1/4", "1/2", "1/4")


def worked(k=1):
    return instance(constant_world(WORKED_P, WORKED_Q, "the worked pair"), TOKEN_WISE, k=k)


def battery(k):
    return [instance(world, TOKEN_WISE, k=k) for world in WORLDS]


def random_instance(seed, size, k):
    return Instance(
        name=f"random world {seed}",
        target=random_table(f"p{seed}", size),
        proposer=DraftModel(random_table(f"q{seed}", size)),
        k=k,
        text=(seed % size,),
    )


# ---------------------------------------------------------------- the rule that is right


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_token_wise_is_exact_on_the_battery(k):
    proof = prove(TOKEN_WISE, battery(k))
    assert proof.exact
    assert proof.kept
    assert proof.gap == 0
    assert proof.counterexample is None
    assert proof.instances == len(WORLDS)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 4), st.integers(0, 2))
def test_token_wise_is_exact_on_random_rational_worlds(seed, size, k):
    assert prove_instance(TOKEN_WISE, random_instance(seed, size, k)).exact


@pytest.mark.parametrize("seed", range(4))
def test_token_wise_is_exact_at_k_3_over_four_tokens(seed):
    assert prove_instance(TOKEN_WISE, random_instance(seed, 4, 3)).exact


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_the_suspects_are_made_of_are_right(seed):
    assert prove_instance(suspects.NO_MISTAKE, random_instance(seed, 3, 2)).exact


def test_the_worked_pair_in_numbers():
    proof = prove_instance(TOKEN_WISE, worked())
    assert proof.law == (F(1, 2), F(3, 10), F(1, 5))
    assert proof.acceptance == proof.optimal_acceptance == F(3, 4)
    assert proof.expected_accepted == F(3, 4)
    sure, either = 3, 3 + 1
    assert proof.branches == sure + either + either, "bonus tokens, and one residual each"


@pytest.mark.parametrize(("k", "expected"), [(2, F(21, 16)), (3, F(111, 64)), (4, F(525, 256))])
def test_expected_accepted_of_constant_rows_is_the_geometric_sum(k, expected):
    leaves = round_leaves(TOKEN_WISE, Table(WORKED_P), DraftModel(Table(WORKED_Q)), (), k)
    assert sum(leaf.weight * leaf.verdict.accepted for leaf in leaves) == expected
    assert sum(leaf.weight for leaf in leaves) == 1


def test_where_each_token_comes_from():
    leaves = round_leaves(TOKEN_WISE, Table(WORKED_P), DraftModel(Table(WORKED_Q)), (), 2)
    for leaf in leaves:
        accepted = leaf.verdict.accepted
        assert leaf.verdict.emitted[:accepted] == leaf.draft.tokens[:accepted]
        ending = Source.BONUS if accepted == 2 else Source.RESIDUAL
        assert leaf.verdict.sources == (*(Source.DRAFT,) * accepted, ending)
        assert len(leaf.verdict.trials) == min(accepted + 1, 2)
    plain = round_leaves(TOKEN_WISE, Table(WORKED_P), DraftModel(Table(WORKED_Q)), (), 0)
    assert {leaf.verdict.sources for leaf in plain} == {(Source.TARGET,)}


def test_rows_behind_a_rejection_are_not_looked_at():
    p, q = fractions("1", "0"), fractions("0", "1")
    looked = []

    def row_after(text):
        looked.append(text)
        return p

    rows = Table(row_after).rows((), Draft.chain([1, 1], [q, q]))
    TOKEN_WISE.verify(Loaded(0.5, 0.5), Draft.chain([1, 1], [q, q]), rows)
    assert looked == [()]


@pytest.mark.parametrize(
    ("coin", "p", "q", "kept"),
    [
        (0.0, [1.0, 0.0], [0.5, 0.5], False),
        (1 - 2**-53, [0.5, 0.5], [0.5, 0.5], True),
        (1 - 2**-53, [0.4, 0.6], [0.5, 0.5], True),
        (0.5, [0.75, 0.25], [0.5, 0.5], False),
        (0.5 - 2**-54, [0.75, 0.25], [0.5, 0.5], True),
    ],
)
def test_scripted_coins_follow_the_numerics_contract(coin, p, q, kept):
    rows = [np.array(p), np.array(p)]
    before = [row.copy() for row in rows]
    verdict = TOKEN_WISE.verify(Loaded(coin, 0.3), Draft.chain([1], [np.array(q)]), rows)
    assert bool(verdict.accepted) is kept
    assert all((row == old).all() for row, old in zip(rows, before, strict=True))


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_an_impossible_token_is_never_emitted_at_the_ends_of_the_coin(uniform):
    p, q = np.array([0.0, 0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.25, 0.25])
    for token in range(4):
        draft = Draft.chain([token], [q])
        verdict = TOKEN_WISE.verify(Loaded(uniform, uniform), draft, [p, p])
        assert all(p[one] > 0 for one in verdict.emitted)


def test_a_rejection_where_nothing_is_under_covered_draws_from_p():
    p, q = np.array([0.5, 0.5 - 9e-7]), np.array([0.5, 0.5])
    verdict = TOKEN_WISE.verify(Loaded(1 - 2**-53, 0.6), Draft.chain([1], [q]), [p, p])
    assert verdict.sources == (Source.RESIDUAL,)
    assert verdict.emitted == (1,)


# ---------------------------------------------------------------- the rules that are wrong


@pytest.mark.parametrize("rule", suspects.WRONG_LAW, ids=lambda rule: rule.name)
def test_a_wrong_rule_is_refuted_by_the_battery(rule):
    proof = prove(rule, battery(2))
    assert not proof.exact
    assert not proof.kept
    assert proof.gap > 0
    assert proof.total_variation >= proof.gap
    assert "too much" in proof.counterexample or "too little" in proof.counterexample


def test_resampling_from_p_gives_the_law_of_the_lesson():
    proof = prove_instance(suspects.RESAMPLE_FROM_P, worked())
    assert proof.law == (F(3, 8), F(3, 8), F(1, 4))
    assert proof.acceptance == F(3, 4)


def test_the_counterexample_of_resampling_from_p_can_be_read():
    plain = Instance(
        name="the worked pair",
        target=Table(WORKED_P),
        proposer=DraftModel(Table(WORKED_Q)),
        k=1,
    )
    told = prove_instance(suspects.RESAMPLE_FROM_P, plain).counterexample.splitlines()
    assert told == [
        "In the worked pair, after []: the text [1] comes out with probability 3/8; the target "
        "gives it 3/10: 3/40 too much.",
        "  with probability 3/10: drafted [1], token 1 kept (coin below 3/5)",
        "  with probability 3/50: drafted [1], token 1 rejected (coin from 3/5 up), then 1 from "
        "the residual",
        "  with probability 3/200: drafted [2], token 2 rejected (coin from 4/5 up), then 1 from "
        "the residual",
    ]


@pytest.mark.parametrize(
    "rule", [suspects.LIKELIEST_RESIDUAL, suspects.ROW_TOO_LATE, suspects.WRONG_BONUS_ROW]
)
def test_some_mistakes_do_not_show_where_the_rows_are_constant_and_the_residual_is_one_token(rule):
    assert prove_instance(rule, worked(k=2)).exact
    assert not prove(rule, battery(2)).exact


def test_a_bonus_from_the_wrong_row_does_not_show_in_the_first_k_tokens():
    world = random_instance(3, 3, 1)
    leaves = round_leaves(suspects.WRONG_BONUS_ROW, world.target, world.proposer, world.text, 1)
    first = [F(0)] * 3
    for leaf in leaves:
        first[leaf.verdict.emitted[0]] += leaf.weight
    assert first == world.target.row(world.text).tolist()
    assert not prove_instance(suspects.WRONG_BONUS_ROW, world).exact


def test_a_coin_used_again_for_the_residual_is_refused():
    with pytest.raises(LuckReused, match=r"'coin', 0\).* used twice"):
        prove_instance(suspects.COIN_REUSED, worked())


def test_a_missing_bonus_token_leaves_the_law_unchanged():
    assert prove(suspects.MISSING_BONUS, battery(2)).exact


# ---------------------------------------------------------------- the tools of the proof


def test_a_lossy_rule_keeps_what_it_declares():
    lossy = replace(suspects.ALWAYS_ACCEPT, guarantee=Guarantee.LOSSY)
    proof = prove_instance(lossy, worked())
    assert proof.kept
    assert not proof.exact


def test_a_proof_is_no_yes_or_no():
    proof = prove_instance(TOKEN_WISE, worked())
    assert isinstance(proof, Proof)
    with pytest.raises(TypeError, match=r"ask \.exact or \.kept"):
        bool(proof)


def test_the_worst_world_tells_the_counterexample():
    mild, severe = worked(), instance(WORLDS[5], TOKEN_WISE, k=1)
    proof = prove(suspects.ALWAYS_ACCEPT, [mild, severe])
    alone = prove_instance(suspects.ALWAYS_ACCEPT, severe)
    assert proof.gap == alone.gap > prove_instance(suspects.ALWAYS_ACCEPT, mild).gap
    assert proof.counterexample == alone.counterexample
    assert proof.law == prove_instance(suspects.ALWAYS_ACCEPT, mild).law


def test_plain_law_multiplies_rows_and_ends_at_stops():
    table = Table({(): fractions("1/2", "1/2"), (0,): fractions("1/4", "3/4")})
    plain = plain_law(table, (), Limits(max_tokens=2, stop=frozenset({1})))
    assert plain == {(1,): F(1, 2), (0, 0): F(1, 8), (0, 1): F(3, 8)}
    assert plain_law(table, (), Limits(max_tokens=0)) == {(): 1}


def test_differences_between_laws_see_texts_on_either_side():
    seen, wanted = {(0,): F(1)}, {(1,): F(1)}
    assert largest_difference(seen, wanted).gap == 1
    assert total_variation(seen, wanted) == 1
    assert total_variation(seen, seen) == 0


def test_varied_rows_depend_on_the_whole_text():
    follow = varied(["a", "b", "c"])
    texts = list(product(range(3), repeat=3))
    assert {follow(text) for text in texts} == {"a", "b", "c"}
    assert any(follow(text) != follow((0, *text[1:])) for text in texts)


def test_the_battery_covers_what_it_says():
    pairs = [
        (world.target.row(text), world.draft.row(text))
        for world in WORLDS
        for text in [(), (0,), (1,), (0, 1), (1, 1)]
    ]
    support = [(int((p > q).sum()), (p == q).all()) for p, q in pairs]
    assert any(size == 1 for size, _ in support)
    assert any(size >= 2 for size, _ in support)
    assert any(same for _, same in support)
    assert any(((p == 0) & (q > 0)).any() for p, q in pairs)
    assert any(((q == 0) & (p > 0)).any() for p, q in pairs)
    assert any((p == 1).any() for p, _ in pairs)
    assert any((q == 1).any() for _, q in pairs)
    assert any(not np.minimum(p, q).any() for p, q in pairs)


def test_random_worlds_cover_zeros_and_one_hot_rows():
    generator = random.Random(0)
    rows = [random_row(generator, 3) for _ in range(300)]
    assert all(row.sum() == 1 for row in rows)
    assert any((row == 1).any() for row in rows)
    assert any((row == 0).any() for row in rows)
