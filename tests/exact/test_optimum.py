"""The closed forms of the best acceptance, held to maximum flows and linear programs."""

import random
from fractions import Fraction as F
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from draftproof import optimal_acceptance, overlap
from draftproof.backends.table import Table, fractions
from draftproof.errors import InvalidInput, NotADistribution, UnsupportedDraft
from draftproof.proposers.branching import SCHEMES
from draftproof.rules import optimum, transport
from draftproof.rules.optimum import OPTIMA, most_accepted
from worlds import random_row

DRAWN = ("iid", "without-replacement")


def pair(seed, size):
    generator = random.Random(f"pair {seed}")
    return random_row(generator, size), random_row(generator, size)


def sets_of(q, n, scheme):
    """Law of the candidate set, by going through everything the proposer can draw."""
    law = {}

    def grow(drawn, left, weight):
        rest = left.copy()
        if len(drawn) == n or not left.any():
            key = frozenset(drawn)
            law[key] = law.get(key, 0) + weight
            return
        total = left.sum()
        for token in np.flatnonzero(left).tolist():
            rest = left.copy()
            if scheme == "without-replacement":
                rest[token] = 0
            grow((*drawn, token), rest, weight * left[token] / total)

    grow((), q, F(1))
    return law


# ---------------------------------------------------------------- against the flow


@pytest.mark.parametrize("scheme", DRAWN)
@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_closed_form_is_the_maximum_flow(scheme, drafts):
    for seed in range(100):
        p, q = pair(seed, 2 + seed % 4)
        best = transport.plan(p, sets_of(q, drafts, scheme)).value
        assert optimal_acceptance(p, q, drafts, scheme) == best


def test_greedy_draft_and_deterministic_are_the_maximum_flow_too():
    for seed in range(100):
        p, q = pair(seed, 2 + seed % 4)
        for n in (1, 2, 3):
            chosen = sorted(np.flatnonzero(q).tolist(), key=lambda v: (-q[v], v))
            first, rest = chosen[: n - 1], chosen[n - 1 :]
            left = sum(q[v] for v in rest)
            sets = {frozenset([*first, v]): q[v] / left for v in rest} or {frozenset(first): F(1)}
            best = transport.plan(p, sets).value
            assert optimal_acceptance(p, q, n, "greedy-draft") == best
            certain = transport.plan(p, {frozenset(chosen[:n]): F(1)}).value
            assert optimal_acceptance(p, q, n, "deterministic") == certain


@pytest.mark.parametrize("scheme", DRAWN)
def test_the_flow_is_the_minimum_over_all_cuts(scheme):
    for seed in range(40):
        p, q = pair(seed, 4)
        sets = sets_of(q, 2, scheme)
        tokens = range(4)
        cuts = [
            sum((p[v] for v in inside), F(0))
            + sum((w for drafted, w in sets.items() if not drafted <= set(inside)), F(0))
            for size in range(5)
            for inside in combinations(tokens, size)
        ]
        assert transport.plan(p, sets).value == min(cuts)


def test_the_flow_is_the_value_of_the_linear_program():
    for seed in range(40):
        p, q = pair(seed, 3 + seed % 3)
        sets = transport.iid_sets(q, 2)
        value = transport.plan(p, sets).value
        assert float(value) == pytest.approx(linear_program(p, sets), abs=1e-9)


def linear_program(p, sets):
    """Largest mass a coupling of sets and tokens can put on pairs where the token is a member."""
    drafted = list(sets)
    edges = [(row, v) for row in range(len(drafted)) for v in range(len(p))]
    cost = [-float(v in drafted[row]) for row, v in edges]
    equal = [[float(row == at) for row, _ in edges] for at in range(len(drafted))]
    equal += [[float(v == token) for _, v in edges] for token in range(len(p))]
    totals = [float(sets[key]) for key in drafted] + [float(value) for value in p]
    return -linprog(cost, A_eq=equal, b_eq=totals).fun


def test_a_plan_is_a_coupling():
    for seed in range(40):
        p, q = pair(seed, 4)
        plan = transport.plan_iid(p, q, 2)
        law = np.array([F(0)] * len(p), dtype=object)
        left = plan.leftover(object)
        for drafted, weight in plan.sets.items():
            shares = plan.shares(drafted, len(p), object)
            assert shares.sum() == weight
            assert not any(shares[v] for v in range(len(p)) if v not in drafted)
            law += shares[:-1] + (shares[-1] * left / left.sum() if left.sum() else 0)
        assert (law == p).all()


def test_iid_sets_are_what_going_through_the_draws_gives():
    for seed in range(20):
        _, q = pair(seed, 4)
        for n in (1, 2, 3):
            assert transport.iid_sets(q, n) == {
                key: weight for key, weight in sets_of(q, n, "iid").items() if weight
            }


def test_too_many_sets_are_refused():
    row = np.full(200, F(1, 200), dtype=object)
    with pytest.raises(UnsupportedDraft, match="2 drafts over 200 tokens can form more than 5000"):
        transport.plan_iid(row, row, 2)


# ---------------------------------------------------------------- floats


@pytest.mark.parametrize("scheme", OPTIMA)
@pytest.mark.parametrize("drafts", [1, 2, 3, 4])
def test_floats_give_what_fractions_give(scheme, drafts):
    for seed in range(20):
        p, q = pair(seed, 5)
        exact = optimal_acceptance(p, q, drafts, scheme)
        fast = optimal_acceptance(p.astype(float), q.astype(float), drafts, scheme)
        assert fast == pytest.approx(float(exact), abs=1e-9)


@pytest.mark.parametrize("digits", [3, 8, 12, 15])
def test_two_drafts_lose_no_digits_where_one_token_has_nearly_all_of_the_draft(digits):
    small = F(1, 10**digits)
    p, q = fractions("1/100", "1/10", "89/100"), fractions(1 - small, 2 * small / 3, small / 3)
    exact = optimal_acceptance(p, q, 2, "without-replacement")
    assert isinstance(exact, F)
    floats = optimal_acceptance(p.astype(float), q.astype(float), 2, "without-replacement")
    assert floats == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("n", [3, 4])
def test_quadrature_agrees_with_every_order_of_drawing(n):
    generator = np.random.default_rng(5)
    rows = [generator.dirichlet(np.full(size, 0.3)) for size in (5, 6, 7)]
    rows += [np.array([0.9, 0.09999, 5e-6, 3e-6, 2e-6]), np.full(6, 1 / 6)]
    for q in rows:
        fast = optimum._by_quadrature(q, n)
        slow = optimum._by_going_through(q, n)
        assert np.abs(fast - slow).max() < 1e-9


def test_large_times_are_handled_as_logarithms():
    q = np.array([0.5, 0.3, 0.15, 0.05])
    for t in (0.1, 3.0, 40.0):
        plain, logged = (f(q, 3, t) for f in (optimum._density, optimum._density_by_logarithms))
        assert np.allclose(plain, logged, rtol=1e-10, atol=1e-300)


def test_many_tokens_without_replacement_lie_between_their_bounds():
    generator = np.random.default_rng(2)
    p, q = generator.dirichlet(np.full(3_000, 0.1), size=2)
    found = [optimal_acceptance(p, q, n, "without-replacement") for n in (1, 2, 3, 4)]
    assert found == sorted(found)
    assert all(found[n - 1] >= optimal_acceptance(p, q, n) for n in (1, 2, 3, 4))


# ---------------------------------------------------------------- what must hold in general


@pytest.mark.parametrize("scheme", OPTIMA)
def test_more_drafts_never_keep_less_and_one_is_the_overlap(scheme):
    for seed in range(30):
        p, q = pair(seed, 4)
        best = [optimal_acceptance(p, q, n, scheme) for n in (1, 2, 3, 4)]
        assert best == sorted(best)
        assert all(0 <= value <= 1 for value in best)
        if scheme != "deterministic":
            assert best[0] == overlap(p, q)


@pytest.mark.parametrize("scheme", ["without-replacement", "greedy-draft", "deterministic"])
def test_enough_distinct_drafts_keep_all_that_can_be_drafted(scheme):
    p, q = fractions("1/2", "1/4", "1/4", 0), fractions("1/3", "1/3", 0, "1/3")
    assert optimal_acceptance(p, q, 3, scheme) == F(3, 4)


def test_every_scheme_of_the_proposers_has_an_optimum():
    assert set(OPTIMA) == set(SCHEMES)


def test_the_answer_is_a_fraction_for_fractions_and_a_float_for_floats():
    p, q = fractions("1/2", "1/2"), fractions("1/4", "3/4")
    assert isinstance(optimal_acceptance(p, q, 2), F)
    assert isinstance(optimal_acceptance([0.5, 0.5], [0.25, 0.75], 2), float)


def test_a_long_row_of_fractions_without_replacement_is_answered_in_floats():
    row = np.full(60, F(1, 60), dtype=object)
    assert optimal_acceptance(row, row, 3, "without-replacement") == pytest.approx(1, abs=1e-9)


def test_the_longest_expected_draft_is_the_sum_over_all_paths():
    p, q = pair(3, 3)
    by_hand = F(0)
    for tokens in ((a, b) for a in range(3) for b in range(3)):
        weight, reach = F(1), F(1)
        for token in tokens[:1]:
            if q[token] == 0:
                break
            weight = min(F(1), weight * p[token] / q[token])
            reach *= q[token]
            by_hand += reach * weight / 3
    assert most_accepted(Table(p), Table(q), (), 1) == by_hand == overlap(p, q)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"drafts": 0}, "drafts is 0"),
        ({"drafts": True}, "drafts is True"),
        ({"drafts": 1.5}, "drafts is 1.5"),
        ({"scheme": ["iid"]}, r"scheme is \['iid'\]"),
        ({"scheme": "beam"}, "scheme is 'beam'; choose one of iid, without-replacement"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        optimal_acceptance([0.5, 0.5], [0.5, 0.5], **arguments)


def test_bad_rows_are_refused():
    with pytest.raises(NotADistribution, match="q sums to"):
        optimal_acceptance([0.5, 0.5], [0.5, 0.6], 2)


def test_every_order_of_drawing_is_counted_once():
    q = fractions("1/2", "1/3", "1/6")
    total = sum(q[a] * q[b] / (1 - q[a]) for a, b in permutations(range(3), 2))
    assert total == optimum._by_going_through(q, 2)[-1] == 1
