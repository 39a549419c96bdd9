"""The speed model beyond one constant: positions, variance, batches, latency, published tables."""

import itertools
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.errors import InvalidInput
from draftproof.planner import (
    Costs,
    Curve,
    LinearTime,
    acceptance_of_length,
    batch_costs,
    best_choice,
    choices,
    conditionals,
    expected_tokens,
    length_law,
    operations,
    oracle_tokens,
    seconds_for,
    speedup,
    survivals,
    variance_of_tokens,
)

FREE = Costs(t_target=1, t_verify=1)
PER_POSITION = (F(9, 10), F(1, 2), F(1, 10))
ACCEPTANCES = st.fractions(0, 1, max_denominator=20)

# ---------------------------------------------------------------- the law of the tokens of a round


def counted(acceptances):
    """Law of the tokens of a round, by going through every way its coins can fall."""
    law = [F(0)] * (len(acceptances) + 1)
    for coins in itertools.product((True, False), repeat=len(acceptances)):
        weight = F(1)
        for coin, a in zip(coins, acceptances, strict=True):
            weight *= a if coin else 1 - a
        law[sum(1 for _ in itertools.takewhile(bool, coins))] += weight
    return law


@given(st.lists(ACCEPTANCES, min_size=1, max_size=5))
def test_law_mean_and_variance_are_those_of_the_coins(acceptances):
    law = counted(acceptances)
    mean = sum(share * (at + 1) for at, share in enumerate(law))
    k = len(acceptances)
    assert length_law(acceptances, k) == tuple(law)
    assert expected_tokens(acceptances, k) == mean
    assert variance_of_tokens(acceptances, k) == sum(
        share * (at + 1 - mean) ** 2 for at, share in enumerate(law)
    )


@given(ACCEPTANCES, st.integers(0, 6))
def test_one_number_is_the_same_number_at_every_position(a, k):
    assert expected_tokens(a, k) == expected_tokens((a,) * k, k)
    assert length_law(a, k) == length_law((a,) * k, k)


def test_acceptances_that_fall_with_the_position():
    """Issue 169 of SafeAILab/EAGLE: the mean of the acceptances is not what the length shows."""
    mean = sum(PER_POSITION) / 3
    assert expected_tokens(PER_POSITION, 3) == F(2395, 1000)
    assert expected_tokens(mean, 3) == F(1875, 1000)


@pytest.mark.parametrize(
    ("a", "k", "mean", "variance"),
    [(".8", 5, 3.68928, 3.86409), (".7", 5, 2.94117, 3.31019), (".9", 7, 5.69533, 6.89972),
     (".6", 4, 2.3056, 1.96261)],
)  # fmt: skip
def test_mean_and_variance_of_known_cases(a, k, mean, variance):
    assert round(float(expected_tokens(F(a), k)), 5) == mean
    assert round(float(variance_of_tokens(F(a), k)), 5) == variance


@given(st.lists(ACCEPTANCES.filter(bool), max_size=5))
def test_conditional_and_unconditional_acceptances_convert_both_ways(acceptances):
    assert conditionals(survivals(acceptances, len(acceptances))) == tuple(acceptances)


def test_a_position_that_is_never_reached_has_no_conditional_acceptance():
    assert conditionals((F(1, 2), 0, 0)) == (F(1, 2), 0)


def test_a_position_kept_more_often_than_the_one_before_is_refused():
    with pytest.raises(InvalidInput, match=r"survival\[1\] is 0.5.*before it has 0.25"):
        conditionals((0.25, 0.5))


@given(ACCEPTANCES, st.integers(1, 6))
def test_a_mean_length_gives_its_constant_acceptance_back(a, k):
    assert acceptance_of_length(expected_tokens(a, k), k) == pytest.approx(float(a), abs=1e-9)


@pytest.mark.parametrize("length", [0.9, 5.1])
def test_a_length_that_no_round_can_have_is_refused(length):
    with pytest.raises(InvalidInput, match=f"^length is {length}.*between 1 and 5"):
        acceptance_of_length(length, 4)


def test_the_oracle_is_the_limit_of_long_drafts():
    assert oracle_tokens(F(4, 5)) == 5
    assert expected_tokens(F(4, 5), 200) < 5
    with pytest.raises(InvalidInput, match="acceptance is 1"):
        oracle_tokens(1)


def test_more_positions_than_are_known_is_refused():
    with pytest.raises(InvalidInput, match="acceptance is known at 3 positions and k is 4"):
        expected_tokens(PER_POSITION, 4)


# ---------------------------------------------------------------- Leviathan et al. 2023


@pytest.mark.parametrize(
    ("a", "k", "work", "speed"),
    [(".6", 2, 1.53, 1.96), (".7", 3, 1.58, 2.53), (".8", 2, 1.23, 2.44), (".8", 5, 1.63, 3.69),
     (".9", 2, 1.11, 2.71), (".9", 10, 1.60, 6.86)],
)  # fmt: skip
def test_table_1(a, k, work, speed):
    assert round(float(operations(F(a), k)), 2) == work
    assert round(float(speedup(F(a), k, t_target=1, t_verify=1, t_draft=0)), 2) == speed


TABLE_4 = [
    (".75", ".02", 7, 3.2), (".80", ".04", 7, 3.3), (".82", ".11", 7, 2.5), (".62", ".02", 7, 2.3),
    (".68", ".04", 5, 2.4), (".71", ".11", 3, 2.0), (".65", ".02", 5, 2.4), (".73", ".04", 5, 2.6),
    (".74", ".11", 3, 2.0), (".53", ".02", 5, 1.9), (".55", ".04", 3, 1.8), (".56", ".11", 3, 1.6),
]  # fmt: skip


@pytest.mark.parametrize(("a", "c", "k", "printed"), TABLE_4)
def test_table_4_to_the_rounding_of_its_own_inputs(a, c, k, printed):
    found = speedup(F(a), k, t_target=1, t_verify=1, t_draft=F(c))
    assert abs(float(found) - printed) <= 0.07


BEST = {
    "1/50": [(3, 1.337), (4, 1.794), (6, 2.170), (8, 2.758), (11, 3.817), (19, 6.365),
             (31, 9.954)],
    "1/20": [(2, 1.264), (3, 1.630), (4, 1.921), (6, 2.353), (8, 3.092), (13, 4.674),
             (21, 6.600)],
}  # fmt: skip


@pytest.mark.parametrize("cost", BEST)
def test_the_best_k_for_constant_acceptance_and_relative_draft_cost(cost):
    costs = Costs(t_target=1, t_verify=1, t_draft=F(cost))
    found = [best_choice(F(a), costs, 60) for a in (".3", ".5", ".6", ".7", ".8", ".9", ".95")]
    assert [(one.k, round(float(one.speedup), 3)) for one in found] == BEST[cost]


# ---------------------------------------------------------------- costs


H100 = LinearTime(fixed=5.88590713e-3, per_token=2.10103129e-5, per_context=3.92645679e-8)
EAGLE = LinearTime(fixed=2.13526175e-3, per_context=2.37768493e-9)
"""Its fit has a term for drafted tokens too, of one sequence: under 0.5 % of a draft, left out."""

BATCHES = (1, 8, 32, 64, 128, 256, 512)


def served(draft, batch, max_k=12):
    """Llama 3.1 8B on one H100, as fitted by the authors of arXiv 2601.11580."""
    return batch_costs(H100, draft, batch=batch, context=1000, overhead=1.20683946e-3, max_k=max_k)


@pytest.mark.parametrize(
    ("a", "k", "draft", "speeds"),
    [(".7", 3, EAGLE, (1.94, 1.87, 1.72, 1.61, 1.48, 1.38, 1.31)),
     (".7", 5, EAGLE, (2.24, 2.11, 1.82, 1.61, 1.42, 1.27, 1.17)),
     (".5", 5, EAGLE, (1.50, 1.41, 1.22, 1.08, .95, .85, .79)),
     (".5", 3, .005875, (1.85, 1.75, 1.52, 1.36, 1.21, 1.09, 1.01))],
)  # fmt: skip
def test_the_speed_up_falls_with_the_batch(a, k, draft, speeds):
    found = [choices(float(F(a)), served(draft, batch), k)[k].speedup for batch in BATCHES]
    assert [round(one, 2) for one in found] == list(speeds)


@pytest.mark.parametrize(
    ("a", "ks"), [(0.8, (12, 12, 7, 6, 5, 4, 3)), (0.6, (10, 6, 4, 3, 2, 2, 2))]
)
def test_the_best_k_falls_with_the_batch(a, ks):
    found = [best_choice(a, served(EAGLE, batch), 12).k for batch in BATCHES]
    assert found == list(ks)


def test_one_curve_for_a_whole_parallel_draft():
    draft = Curve(((1, F(2)), (4, F(3))), "t_draft")
    costs = Costs(t_target=F(10), t_verify=F(10), t_draft=draft)
    assert [costs.round_seconds(k) for k in (0, 1, 4)] == [10, 12, 13]
    one_by_one = Costs(t_target=F(10), t_verify=F(10), t_draft=F(2))
    assert one_by_one.round_seconds(4) == 18
    assert not costs.knows(5)


def test_an_overhead_is_paid_once_a_round_that_drafts():
    costs = Costs(t_target=F(10), t_verify=F(12), t_draft=F(1), t_overhead=F(1, 2))
    assert [costs.round_seconds(k) for k in (0, 1, 2)] == [10, F(27, 2), F(29, 2)]


@pytest.mark.parametrize("name", ["t_target", "t_verify", "t_draft", "t_overhead"])
@pytest.mark.parametrize("value", [-1, float("nan"), "1"])
def test_a_cost_that_is_no_time_is_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=f"^{name} is "):
        Costs(**{"t_target": 1.0, "t_verify": 1.0} | {name: value})


@pytest.mark.parametrize("points", [(), ((0, 1.0),), ((2, 1.0), (2, 1.0)), ((1, 0.0),)])
def test_a_curve_that_is_none_is_refused(points):
    with pytest.raises(InvalidInput, match=r"^t_verify"):
        Curve(points)


# ---------------------------------------------------------------- latency


def test_latency_is_the_other_side_of_throughput():
    lesson = Costs(t_target=F(10, 1000), t_verify=F(12, 1000), t_draft=F(1, 1000))
    one = choices(F(4, 5), lesson, 4)[4]
    assert one.latency == F(16, 1000) / F(33616, 10000)
    assert one.round_latency == F(16, 1000)


def simulated(tokens, acceptances, k, costs):
    """Expected seconds by going through every way every round can fall."""
    if tokens == 0:
        return F(0)
    depth = min(k, tokens - 1)
    return costs.round_seconds(depth) + sum(
        share * simulated(tokens - at - 1, acceptances, k, costs)
        for at, share in enumerate(counted(acceptances[:depth]))
    )


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("tokens", range(6))
def test_seconds_for_a_text_are_those_of_all_its_rounds(tokens, k):
    costs = Costs(t_target=F(10), t_verify=F(12), t_draft=F(1))
    wanted = simulated(tokens, list(PER_POSITION), k, costs)
    assert seconds_for(tokens, PER_POSITION, k, costs) == wanted


def test_short_answers_gain_less():
    lesson = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    gain = [n * 0.010 / seconds_for(n, 0.8, 6, lesson) for n in (1, 8, 512)]
    assert gain[0] == 1
    assert gain[0] < gain[1] < gain[2] < best_choice(0.8, lesson).speedup


def test_a_plan_from_positions_ends_where_they_end():
    assert [one.k for one in choices(PER_POSITION, FREE, 16)] == [0, 1, 2, 3]
    assert best_choice(PER_POSITION, FREE).k == 3
    lesson = Costs(t_target=1.0, t_verify=1.0, t_draft=0.2)
    assert best_choice(tuple(map(float, PER_POSITION)), lesson).k == 2
