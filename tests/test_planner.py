"""The simple speed model: the worked example, its ends, and what is refused."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftproof.errors import InvalidInput
from draftproof.planner import expected_tokens, speedup, throughput

TIMES = {"t_verify": F(12, 1000), "t_draft": F(1, 1000)}


def accepted_only(a, k):
    """Counts kept draft tokens and forgets the one the target adds."""
    return sum(a**i for i in range(1, k + 1))


def closed_form(a, k):
    """Divides by zero at a = 1."""
    return (1 - a ** (k + 1)) / (1 - a)


# ---------------------------------------------------------------- values


def test_the_worked_example_in_fractions():
    a = F(4, 5)
    assert expected_tokens(a, 4) == F(33616, 10000)
    assert throughput(a, 4, **TIMES) == F(2101, 10)
    assert speedup(a, 4, t_target=F(1, 100), **TIMES) == F(2101, 1000)


def test_the_worked_example_in_floats():
    assert expected_tokens(0.8, 4) == pytest.approx(3.3616, rel=1e-15)
    assert throughput(0.8, 4, t_verify=0.012, t_draft=0.001) == pytest.approx(210.1, rel=1e-15)
    double = speedup(0.8, 4, t_target=0.010, t_verify=0.012, t_draft=0.001)
    assert double == pytest.approx(2.101, rel=1e-15)


def test_the_mistakes_people_make_give_other_numbers():
    assert accepted_only(F(4, 5), 4) != expected_tokens(F(4, 5), 4)
    with pytest.raises(ZeroDivisionError):
        closed_form(F(1), 4)


@pytest.mark.parametrize("one", [1, 1.0, F(1), np.float64(1)])
def test_at_certain_acceptance_a_round_gives_k_plus_1(one):
    assert [expected_tokens(one, k) for k in range(6)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("a", [0, 0.3, F(1, 3), 1])
def test_without_a_draft_a_round_gives_one_token(a):
    assert expected_tokens(a, 0) == 1
    assert throughput(a, 0, t_verify=0.5, t_draft=7.0) == 2


def test_a_draft_that_is_never_kept_gives_one_token():
    assert expected_tokens(0, 5) == 1


@given(st.fractions(0, 1, max_denominator=50).filter(lambda a: a < 1), st.integers(0, 8))
def test_the_sum_is_the_closed_form_where_that_exists(a, k):
    value = expected_tokens(a, k)
    assert isinstance(value, F)
    assert value == closed_form(a, k) == 1 + accepted_only(a, k)


@given(st.floats(0, 1), st.integers(0, 30))
def test_floats_near_1_lose_nothing_to_cancellation(a, k):
    assert expected_tokens(a, k) == pytest.approx(float(expected_tokens(F(a), k)), rel=1e-14)
    assert 1 <= expected_tokens(a, k) <= k + 1


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "acceptance",
    [-0.1, 1.1, F(-1, 9), F(10, 9), math.nan, math.inf, "0.8", None, True, 1j, [0.8], 10**400],
)
def test_an_acceptance_that_is_no_probability_is_refused(acceptance):
    with pytest.raises(InvalidInput, match=r"^acceptance is "):
        expected_tokens(acceptance, 4)


@pytest.mark.parametrize("k", [-1, 2.5, True, "4", None, 4.0])
def test_a_k_that_is_no_count_is_refused_by_every_function(k):
    for function, times in (
        (expected_tokens, {}),
        (throughput, {"t_verify": 0.1, "t_draft": 0.1}),
        (speedup, {"t_target": 0.1, "t_verify": 0.1, "t_draft": 0.1}),
    ):
        with pytest.raises(InvalidInput, match=r"^k is ") as refusal:
            function(0.5, k, **times)
        assert repr(k) in str(refusal.value)


@pytest.mark.parametrize("name", ["t_target", "t_verify", "t_draft"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "0.01", None, F(-1, 2), True])
def test_a_time_that_is_none_is_refused_by_name(name, value):
    times = {"t_target": 0.010, "t_verify": 0.012, "t_draft": 0.001} | {name: value}
    with pytest.raises(InvalidInput, match=f"^{name} is "):
        speedup(0.8, 4, **times)


@pytest.mark.parametrize("name", ["t_target", "t_verify"])
def test_only_drafting_may_be_free(name):
    times = {"t_target": 0.010, "t_verify": 0.012, "t_draft": 0.0}
    assert speedup(0.5, 1, **times) == pytest.approx(1.25)
    with pytest.raises(InvalidInput, match=f"^{name} is 0.0.*above 0"):
        speedup(0.5, 1, **times | {name: 0.0})
