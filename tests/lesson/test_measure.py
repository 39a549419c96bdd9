"""Frequencies, intervals and verdicts, against exact binomial sums done here in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from draftproof.errors import InvalidInput, NotADistribution
from draftproof.lesson.measure import LEVEL, draws_until_visible, intervals, judge, measure

P, Q = ["1/2", "3/10", "1/5"], ["1/4", "1/2", "1/4"]


def tail(n, at_least, x):
    """P(Binomial(n, x) >= at_least), exactly."""
    x = Fraction(x)
    return sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(at_least, n + 1))


@pytest.mark.parametrize("counts", [(3, 17), (1, 19), (10, 10)])
def test_interval_ends_are_where_the_exact_tail_has_its_share_of_the_error(counts):
    level, n = 0.02, sum(counts)
    share = level / (2 * len(counts))
    low, high = intervals(np.array(counts), level)
    for cell, count in enumerate(counts):
        assert float(tail(n, count, low[cell])) == pytest.approx(share, rel=1e-9)
        assert float(1 - tail(n, count + 1, high[cell])) == pytest.approx(share, rel=1e-9)


def test_coverage_is_at_least_what_is_promised_by_full_enumeration():
    level, n, x = 0.1, 25, Fraction(3, 10)
    missed = Fraction(0)
    for k in range(n + 1):
        low, high = intervals(np.array([k, n - k]), level)
        if not (low[0] <= x <= high[0] and low[1] <= 1 - x <= high[1]):
            missed += math.comb(n, k) * x**k * (1 - x) ** (n - k)
    assert 0 < missed <= level


def test_the_worked_pair_at_twenty_thousand_draws():
    found = measure(P, Q, 20_000, 1)
    assert found["rejection_probability"] == "1/4"
    exact, naive = found["methods"]["exact"], found["methods"]["naive"]
    assert exact["law"] == ["1/2", "3/10", "1/5"]
    assert naive["law"] == ["3/8", "3/8", "1/4"]
    assert (exact["verdict"], exact["outside"]) == ("consistent", [])
    assert (naive["verdict"], naive["outside"]) == ("refuted", [0, 1, 2])
    assert sum(exact["counts"]) == sum(naive["counts"]) == 20_000


def test_the_same_seed_gives_the_same_counts_and_another_seed_others():
    assert measure(P, Q, 1000, 5) == measure(P, Q, 1000, 5)
    assert measure(P, Q, 1000, 5)["methods"] != measure(P, Q, 1000, 6)["methods"]


def test_draws_until_visible_is_the_log_ratio_over_the_information():
    law, p = [3 / 8, 3 / 8, 1 / 4], [1 / 2, 3 / 10, 1 / 5]
    information = sum(a * math.log(a / b) for a, b in zip(law, p, strict=True))
    assert measure(P, Q, 10, 0)["draws_until_visible"] == pytest.approx(
        math.log(1 / LEVEL) / information, rel=1e-12
    )


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (P, P),
        (["1", "0", "0"], ["0", "3/5", "2/5"]),
        (["3/5", "2/5", "0"], ["3/10", "1/5", "1/2"]),
    ],
    ids=["equal", "disjoint", "proportional on the support of p"],
)
def test_where_the_shortcut_is_right_nothing_is_ever_visible(p, q):
    found = measure(p, q, 5000, 3)
    assert found["draws_until_visible"] is None
    assert found["methods"]["naive"]["verdict"] == "consistent"


def test_a_token_that_p_forbids_refutes_at_the_first_sight():
    counts = np.array([999_999, 1])
    assert judge(counts, np.array([Fraction(1), Fraction(0)]))["verdict"] == "refuted"


def test_equal_laws_are_never_told_apart():
    row = np.array([Fraction(1, 3), Fraction(2, 3)])
    assert draws_until_visible(row, row) is None


@pytest.mark.parametrize(
    ("p", "trials", "seed", "said"),
    [
        ("1", 10, 0, "p must be a list"),
        ([], 10, 0, "p must be a list"),
        (["1/2"] * 33, 10, 0, "p must be a list"),
        (["1/0", "1"], 10, 0, r"p\[0\] is '1/0'"),
        (["1e999999999", "0"], 10, 0, r"p\[0\]"),
        (["9" * 5000, "0"], 10, 0, r"p\[0\]"),
        (["-1/2", "3/2"], 10, 0, r"p\[0\]"),
        ([0.5, 0.5], 10, 0, r"p\[0\]"),
        (["1/2", "1/4"], 10, 0, "p sums to 3/4"),
        (["1/2", "1/2"], 0, 0, "trials is 0"),
        (["1/2", "1/2"], 10**9, 0, "trials"),
        (["1/2", "1/2"], True, 0, "trials is True"),
        (["1/2", "1/2"], 10, -1, "seed is -1"),
        (["1/2", "1/2"], 10, "1", "seed"),
    ],
)
def test_bad_input_is_one_sentence_naming_the_argument(p, trials, seed, said):
    with pytest.raises((InvalidInput, NotADistribution), match=said):
        measure(p, ["1/2", "1/2"], trials, seed)
