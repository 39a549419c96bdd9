"""The six functions, the checks on what they are given, and the numerics contract."""

import inspect
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from draftproof import dist
from draftproof.errors import InvalidInput, NotADistribution
from worlds import ALMOST_ONE

P, Q = [0.5, 0.3, 0.2], [0.25, 0.5, 0.25]
EXACT_P, EXACT_Q = [F(1, 2), F(3, 10), F(1, 5)], [F(1, 4), F(1, 2), F(1, 4)]
WIDE_P, WIDE_Q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
LEVEL = 1e-9
"""Probability that a right sampler fails one of the random tests below."""

OF_TWO_ROWS = [
    dist.overlap,
    dist.acceptance,
    dist.residual,
    dist.rejection_probability,
    dist.exact_distribution,
    dist.naive_distribution,
    lambda p, q: dist.speculative_step(p, q, np.random.default_rng(0)),
    lambda p, q: dist.empirical(p, q, 10, 0),
]
ROWS_OF_TWO_ROWS = OF_TWO_ROWS[1:3] + OF_TWO_ROWS[4:6] + OF_TWO_ROWS[7:]


# ---------------------------------------------------------------- golden values


def test_the_worked_table_in_fractions():
    assert dist.residual(EXACT_P, EXACT_Q).tolist() == [1, 0, 0]
    assert dist.rejection_probability(EXACT_P, EXACT_Q) == F(1, 4)
    assert dist.acceptance(EXACT_P, EXACT_Q).tolist() == [1, F(3, 5), F(4, 5)]
    assert dist.exact_distribution(EXACT_P, EXACT_Q).tolist() == EXACT_P
    naive = dist.naive_distribution(EXACT_P, EXACT_Q).tolist()
    assert naive == [F(3, 8), F(3, 8), F(1, 4)]
    assert [a - b for a, b in zip(naive, EXACT_P, strict=True)] == [F(-1, 8), F(3, 40), F(1, 20)]


def test_the_worked_table_in_floats():
    assert dist.residual(P, Q).tolist() == [1.0, 0.0, 0.0]
    assert dist.rejection_probability(P, Q) == 0.25
    assert dist.exact_distribution(P, Q) == pytest.approx(P, abs=1e-15)
    assert dist.naive_distribution(P, Q) == pytest.approx([0.375, 0.375, 0.25], abs=1e-15)


def test_a_residual_of_two_tokens():
    p, q = [F(2, 5), F(3, 10), F(1, 5), F(1, 10)], [F(1, 10), F(1, 5), F(3, 10), F(2, 5)]
    assert dist.residual(p, q).tolist() == [F(3, 4), F(1, 4), 0, 0]
    assert dist.rejection_probability(p, q) == F(2, 5)
    assert dist.exact_distribution(p, q).tolist() == p


def test_fractions_in_fractions_out():
    for function in (dist.residual, dist.exact_distribution, dist.naive_distribution):
        assert all(isinstance(entry, F) for entry in function(EXACT_P, EXACT_Q))
    assert isinstance(dist.overlap(EXACT_P, EXACT_Q), F)
    assert isinstance(dist.overlap(P, Q), float)


def test_equal_rows_have_themselves_as_residual_and_give_a_new_array():
    row = np.array(P)
    answer = dist.residual(row, row)
    assert answer.tolist() == P
    assert answer is not row
    assert dist.rejection_probability(P, P) == 0


def test_disjoint_supports_reject_always_and_the_shortcut_is_then_right():
    p, q = [F(1, 3), F(2, 3), F(0)], [F(0), F(0), F(1)]
    assert dist.rejection_probability(p, q) == 1
    assert dist.residual(p, q).tolist() == p
    assert dist.naive_distribution(p, q).tolist() == p


def test_a_token_the_draft_never_offers_adds_nothing_to_the_first_term():
    p, q = [F(1, 2), F(1, 2)], [F(0), F(1)]
    assert dist.acceptance(p, q).tolist() == [1, F(1, 2)]
    assert dist.exact_distribution(p, q).tolist() == p


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=5))
def test_the_identity_holds_for_every_pair_of_fractions(weights):
    p, q = zip(*weights, strict=True)
    if not sum(p) or not sum(q):
        return
    p, q = [F(x, sum(p)) for x in p], [F(x, sum(q)) for x in q]
    assert dist.exact_distribution(p, q).tolist() == p
    assert sum(dist.naive_distribution(p, q)) == 1
    assert dist.overlap(p, q) == 1 - sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    ratios = {b / a for a, b in zip(p, q, strict=True) if a}
    assert (dist.naive_distribution(p, q).tolist() == p) == (len(ratios) == 1)


# ---------------------------------------------------------------- what may be given


@pytest.mark.parametrize(
    "kind",
    [list, tuple, np.array, lambda row: np.array(row, dtype=np.float32)],
    ids=["list", "tuple", "float64", "float32"],
)
def test_sequences_and_arrays_of_any_number_type(kind):
    p, q = kind([0.5, 0.25, 0.25]), kind([0.25, 0.5, 0.25])
    assert dist.residual(p, q).tolist() == [1.0, 0.0, 0.0]
    assert dist.exact_distribution(p, q).dtype == np.float64


def test_whole_numbers_are_probabilities_too():
    assert dist.exact_distribution([1, 0], [0, 1]).tolist() == [1.0, 0.0]
    exact = dist.check_row(np.array([1, 0], dtype=object))
    assert [type(entry) for entry in exact] == [F, F]
    assert dist.overlap([F(1), 0], [0, F(1)]) == 0


def test_a_fraction_row_beside_a_float_row_gives_floats():
    assert dist.residual(EXACT_P, Q).dtype == np.float64


@pytest.mark.parametrize("function", OF_TWO_ROWS)
def test_inputs_are_left_as_they_were(function):
    for p, q in ((np.array(P), np.array(Q)), (np.array(EXACT_P), np.array(EXACT_Q))):
        before = p.copy(), q.copy()
        function(p, q)
        assert (p == before[0]).all()
        assert (q == before[1]).all()


@pytest.mark.parametrize("function", ROWS_OF_TWO_ROWS)
def test_answers_are_new_arrays(function):
    p, q = np.array(P), np.array(P)
    function(p, q)[:] = 0
    assert p.tolist() == q.tolist() == P


# ---------------------------------------------------------------- what is refused

BAD_ROWS = {
    "negative": ([1.2, -0.2, 0.0], "-0.2"),
    "negative fraction": ([F(6, 5), F(-1, 5), F(0)], "-1/5"),
    "NaN": ([math.nan, 0.5, 0.5], "nan"),
    "infinite": ([math.inf, 0.5, 0.5], "inf"),
    "minus infinity": ([-math.inf, 0.5, 0.5], "-inf"),
    "sum above 1": ([0.5, 0.25, 0.2500012], "1.0000012"),
    "sum below 1": ([0.5, 0.25, 0.2499988], "0.9999988"),
    "fractions that miss 1 by little": ([F(1, 2), F(1, 2), F(1, 10**9)], "1000000001/1000000000"),
    "huge": ([1e308, 1e308, 1e308], "inf"),
    "two-dimensional": ([[0.5, 0.3, 0.2]], "(1, 3)"),
    "scalar": (0.5, "0.5"),
    "empty": ([], "empty"),
    "ragged": ([[0.5], [0.25, 0.25], [1]], "[[0.5], [0.25, 0.25], [1]]"),
    "text": ("0.5 0.5", "'0.5 0.5'"),
    "texts": (["0.5", "0.3", "0.2"], "['0.5', '0.3', '0.2']"),
    "text among fractions": ([F(1, 2), "0.3", F(1, 5)], "'0.3'"),
    "nothing": (None, "None"),
    "nothing inside": ([None, 0.5, 0.5], "None"),
    "booleans": ([True, False, False], "[True, False, False]"),
    "boolean among fractions": ([True, F(0), F(0)], "True"),
    "complex": ([1 + 0j, 0, 0], "(1+0j)"),
    "dictionary": ({0: 1.0}, "{0: 1.0}"),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
@pytest.mark.parametrize("name", ["p", "q"])
@pytest.mark.parametrize("function", OF_TWO_ROWS)
def test_a_bad_row_is_refused_by_name_and_value(function, name, bad):
    row, shown = BAD_ROWS[bad]
    rows = {"p": P, "q": Q} | {name: row}
    with pytest.raises(NotADistribution) as refusal:
        function(rows["p"], rows["q"])
    message = str(refusal.value)
    assert isinstance(refusal.value, ValueError)
    assert message.startswith((f"{name} ", f"{name}[")), message
    assert shown in message


@pytest.mark.parametrize("function", OF_TWO_ROWS)
def test_unequal_lengths_are_refused_with_both(function):
    with pytest.raises(NotADistribution, match="p has 3 entries and q has 2"):
        function(P, [0.5, 0.5])


@pytest.mark.parametrize("off", [9e-7, -9e-7])
@pytest.mark.parametrize("function", OF_TWO_ROWS)
def test_a_sum_within_the_slack_is_accepted(function, off):
    function([0.5, 0.3, 0.2 + off], Q)
    function(P, [0.25, 0.5, 0.25 + off])


@pytest.mark.parametrize("trials", [0, -1, 2.5, True, "10", None, 10**30, math.nan])
def test_trials_that_are_no_count_are_refused(trials):
    with pytest.raises(InvalidInput, match="trials is ") as refusal:
        dist.empirical(P, Q, trials, 0)
    assert repr(trials)[:20] in str(refusal.value)


@pytest.mark.parametrize("method", ["Exact", "", None, 3, ["exact"], np.array(["exact", "naive"])])
def test_an_unknown_method_is_refused(method):
    with pytest.raises(InvalidInput, match=r"method is .*choose 'exact' or 'naive'"):
        dist.empirical(P, Q, 10, 0, method)


@pytest.mark.parametrize("seed", [-1, 2.5, "seven", [1, -2], math.nan])
def test_a_seed_numpy_refuses_is_refused_with_its_value(seed):
    with pytest.raises(InvalidInput, match="seed is ") as refusal:
        dist.empirical(P, Q, 10, seed)
    assert repr(seed) in str(refusal.value)


@pytest.mark.parametrize("rng", [None, 7, np.random.RandomState(0), np.random])
def test_a_step_needs_a_generator(rng):
    with pytest.raises(InvalidInput, match=r"rng is .*numpy\.random.default_rng"):
        dist.speculative_step(P, Q, rng)


def test_a_long_value_is_shown_shortened():
    with pytest.raises(NotADistribution) as refusal:
        dist.check_row(["x"] * 1000, name="p")
    assert len(str(refusal.value)) < 300


def test_signatures_are_the_lesson_s():
    wanted = {
        "residual": "(p, q)",
        "rejection_probability": "(p, q)",
        "exact_distribution": "(p, q)",
        "naive_distribution": "(p, q)",
        "speculative_step": "(p, q, rng)",
        "empirical": "(p, q, trials, seed, method='exact')",
    }
    for name, signature in wanted.items():
        parameters = inspect.signature(getattr(dist, name)).parameters.values()
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
        assert str(inspect.Signature(bare)) == signature


# ---------------------------------------------------------------- each from its own definition


def wrong_residual(p, q):
    """A deliberately wrong residual: the other way round."""
    return np.asarray([F(0), F(0), F(1)] if np.asarray(p).dtype == object else [0.0, 0.0, 1.0])


def test_a_wrong_residual_changes_both_the_law_and_the_simulation(monkeypatch):
    law = dist.exact_distribution(EXACT_P, EXACT_Q).tolist()
    seen = dist.empirical(P, Q, 1000, 5).tolist()
    naive = dist.empirical(P, Q, 1000, 5, "naive").tolist()
    monkeypatch.setattr(dist, "residual", wrong_residual)
    assert dist.exact_distribution(EXACT_P, EXACT_Q).tolist() == [F(1, 4), F(3, 10), F(9, 20)]
    assert dist.exact_distribution(EXACT_P, EXACT_Q).tolist() != law
    assert dist.empirical(P, Q, 1000, 5).tolist() != seen
    assert dist.empirical(P, Q, 1000, 5, "naive").tolist() == naive


def test_a_wrong_residual_changes_the_single_step(monkeypatch):
    script = [0.5, ALMOST_ONE, 0.0]
    assert dist.speculative_step(P, Q, Scripted(script)) == 0
    monkeypatch.setattr(dist, "residual", wrong_residual)
    assert dist.speculative_step(P, Q, Scripted(script)) == 2


# ---------------------------------------------------------------- the single step


class Scripted(np.random.Generator):
    """A NumPy generator that gives the uniforms it was told to."""

    def __init__(self, script):
        super().__init__(np.random.PCG64(0))
        self.left = list(script)

    def random(self, *_):
        return self.left.pop(0)


@pytest.mark.parametrize("uniforms", [(0.0, ALMOST_ONE), (0.5, 0.1), (0.9, 0.0)])
def test_a_kept_draft_takes_two_uniforms(uniforms):
    rng = Scripted([*uniforms, 0.7])
    dist.speculative_step(P, Q, rng)
    assert rng.left == [0.7]


def test_a_rejection_takes_a_third_uniform_in_the_order_draft_coin_residual():
    rng = Scripted([0.999, 0.3, 0.74, 0.1])
    assert dist.speculative_step(WIDE_P, WIDE_Q, rng) == 0
    assert rng.left == [0.1]
    assert dist.speculative_step(WIDE_P, WIDE_Q, Scripted([0.999, 0.3, 0.76])) == 1


def law_on_grid(step, p, q, cells):
    """Exact law of a step whose thresholds all lie on a grid: one uniform per cell."""
    grid = [(cell + 0.5) / cells for cell in range(cells)]
    counts = [0] * len(p)
    for script in itertools.product(grid, repeat=3):
        counts[step(p, q, Scripted(script))] += 1
    return [F(count, cells**3) for count in counts]


def step_resampling_from_p(p, q, rng):
    token = dist.quantile(np.array(q), rng.random())
    if rng.random() * q[token] < p[token]:
        return token
    return dist.quantile(np.array(p), rng.random())


def step_reusing_the_coin(p, q, rng):
    token, coin = dist.quantile(np.array(q), rng.random()), rng.random()
    if coin * q[token] < p[token]:
        return token
    return dist.quantile(dist.residual(p, q), coin)


def step_taking_the_likeliest_residual(p, q, rng):
    token = dist.quantile(np.array(q), rng.random())
    if rng.random() * q[token] < p[token]:
        return token
    return int(dist.residual(p, q).argmax())


GRID_P, GRID_Q = [0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.5, 0.25]
"""Acceptances 1, 1/2 and 0, residual (1/2, 1/2, 0, 0): every threshold is a quarter."""


def test_the_law_of_a_step_is_p_for_every_cell_of_its_luck():
    law = law_on_grid(dist.speculative_step, GRID_P, GRID_Q, 4)
    assert law == [F(x) for x in GRID_P]
    worked = law_on_grid(dist.speculative_step, P, Q, 20)
    assert worked == EXACT_P


@pytest.mark.parametrize(
    "wrong", [step_resampling_from_p, step_reusing_the_coin, step_taking_the_likeliest_residual]
)
def test_wrong_steps_have_another_law(wrong):
    assert law_on_grid(wrong, GRID_P, GRID_Q, 4) != [F(x) for x in GRID_P]


def test_the_step_gives_a_plain_integer():
    assert type(dist.speculative_step(P, Q, np.random.default_rng(3))) is int


def test_rows_are_divided_by_their_sum_where_they_are_drawn_from():
    wide = [0.5 * (1 + 2**-21), 0.5 * (1 + 2**-21)]
    rng = Scripted([0.2, ALMOST_ONE, 0.7])
    assert dist.speculative_step([0.5, 0.5], wide, rng) == 0
    assert rng.left == [0.7], "the rows agree once divided, so nothing is rejected"


# ---------------------------------------------------------------- the simulation


def agrees(counts, law):
    """Exact binomial test of every count, Bonferroni over the tokens, at LEVEL."""
    total = sum(counts)
    values = [
        binomtest(int(count), total, float(probability)).pvalue
        for count, probability in zip(counts, law, strict=True)
    ]
    return bool(min(values) * len(values) > LEVEL)


def simulate(p, q, method, trials=200_000, seed=11):
    return (dist.empirical(p, q, trials, seed, method) * trials).round().astype(int)


@pytest.mark.parametrize(("p", "q"), [(P, Q), (WIDE_P, WIDE_Q), (GRID_P, GRID_Q)])
def test_the_simulation_agrees_with_p_and_the_shortcut_does_not(p, q):
    assert agrees(simulate(p, q, "exact"), p)
    assert not agrees(simulate(p, q, "naive"), p)
    assert agrees(simulate(p, q, "naive"), dist.naive_distribution(p, q))


def test_repeated_single_steps_agree_with_p_and_a_wrong_step_does_not():
    rng, trials = np.random.default_rng(13), 20_000
    for step, right in ((dist.speculative_step, True), (step_resampling_from_p, False)):
        counts = np.bincount([step(P, Q, rng) for _ in range(trials)], minlength=3)
        assert agrees(counts, P) is right


def test_the_spread_of_the_simulation_is_that_of_independent_steps():
    trials, repeats = 1000, 400
    seen = [dist.empirical(WIDE_P, WIDE_Q, trials, seed)[0] * trials for seed in range(repeats)]
    spread = np.var(seen) / (trials * 0.4 * 0.6)
    assert 0.65 < spread < 1.4, "outside has probability below 1e-5 for 400 binomial counts"


def test_one_seed_one_answer():
    first, again, other = (dist.empirical(P, Q, 500, seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert dist.empirical(P, Q, np.int64(500), 1).tolist() == first


def test_frequencies_sum_to_1_and_impossible_tokens_never_come():
    p, q = [0.5, 0.5, 0.0, 0.0], [0.0, 0.25, 0.75, 0.0]
    for method in dist.METHODS:
        seen = dist.empirical(p, q, 12_345, 3, method)
        assert seen.sum() == pytest.approx(1, abs=1e-15)
        assert seen[2:].tolist() == [0.0, 0.0]


def test_simulation_memory_is_a_few_vectors_over_the_tokens():
    import tracemalloc

    size = 50_000
    p, q = np.full(size, 1 / size), np.arange(1.0, size + 1)
    q /= q.sum()
    tracemalloc.start()
    dist.empirical(p, q, 10_000_000, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * size * 8, "trials x tokens would be a million times more"


# ---------------------------------------------------------------- adversarial floats

ENTRY = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e-16, 2**-53, 0.5, 1.0]),
)


@st.composite
def float_rows(draw, size):
    weights = draw(st.lists(ENTRY, min_size=size, max_size=size))
    weights[draw(st.integers(0, size - 1))] += 1.0
    off = draw(st.sampled_from([0.0, 9e-7, -9e-7]))
    row = np.array(weights)
    return row / row.sum() * (1 + off)


@st.composite
def float_pairs(draw):
    size = draw(st.integers(1, 6))
    return draw(float_rows(size)), draw(float_rows(size))


@settings(max_examples=300)
@given(float_pairs(), st.integers(0, 2**32))
def test_probabilities_lie_in_0_to_1_whatever_the_floats(pair, seed):
    p, q = pair
    for function in ROWS_OF_TWO_ROWS:
        answer = function(p, q)
        assert answer.min() >= 0
        assert answer.max() <= 1
    assert 0 <= dist.overlap(p, q) <= 1
    assert 0 <= dist.rejection_probability(p, q) <= 1
    assert dist.residual(p, q).sum() == pytest.approx(1, abs=2e-6)
    assert dist.exact_distribution(p, q) == pytest.approx(p, abs=3e-6)
    assert p[dist.speculative_step(p, q, np.random.default_rng(seed))] > 0


def test_a_tiny_draft_entry_is_accepted_surely_without_overflow():
    assert dist.acceptance([0.5, 0.5], [5e-324, 1.0]).tolist() == [1.0, 0.5]
    assert dist.acceptance([1e-300, 1.0], [0.5, 0.5]).tolist() == [2e-300, 1.0]


# ---------------------------------------------------------------- the numerics contract

P32, Q32 = np.float32(0.1), np.float32(0.3)
BELOW = float(P32) / float(Q32) * (1 - 2**-50)
"""A coin just below p / q: the product is below p in float64 and rounds to p in float32."""

COINS = [
    (0.0, 0.0, 0.5, False, "p = 0 is never kept, not even at u = 0"),
    (0.0, -0.0, 0.5, False, "a negative zero is a zero"),
    (0.0, 5e-324, 0.5, True, "the smallest p is kept at u = 0"),
    (0.5, 0.25, 0.5, False, "equality rejects"),
    (math.nextafter(0.5, 0), 0.25, 0.5, True, "just below equality keeps"),
    (ALMOST_ONE, 0.5, 0.5, True, "p = q is kept at the largest coin"),
    (ALMOST_ONE, 0.6, 0.5, True, "p > q is kept at the largest coin"),
    (ALMOST_ONE, 0.5, math.nextafter(0.5, 1), False, "p one step below q is rejected there"),
    (ALMOST_ONE, 0.3, 0.0, True, "q = 0 < p is kept"),
    (ALMOST_ONE, 0.0, 0.0, False, "p = q = 0 is not"),
    (BELOW, P32, Q32, True, "float32 is widened before it is multiplied"),
    (0.5, F(1, 4), F(1, 2), False, "fractions: equality rejects"),
    (math.nextafter(0.5, 0), F(1, 4), F(1, 2), True, "fractions: just below keeps"),
]


def broken_promises(keeps):
    return [why for u, p, q, wanted, why in COINS if bool(keeps(u, p, q)) is not wanted]


def keeps_in_float32(u, p, q):
    return p > 0 and (p >= q or np.float32(u) * np.float32(q) < np.float32(p))


WRONG_KEEPS = {
    "not strict": (lambda u, p, q: p > 0 and (p >= q or u * float(q) <= p), "equality rejects"),
    "no branch for p = 0": (lambda u, p, q: p >= q or u * float(q) < p, "p = q = 0 is not"),
    "at most, zero forgotten": (
        lambda u, p, q: u * float(q) <= p,
        "p = 0 is never kept, not even at u = 0",
    ),
    "float32": (keeps_in_float32, "float32 is widened before it is multiplied"),
    "the quotient": (lambda u, p, q: q > 0 and p > 0 and u < p / q, "q = 0 < p is kept"),
}


def test_coins_follow_the_numerics_contract():
    assert broken_promises(dist.keeps) == []


@pytest.mark.parametrize("wrong", WRONG_KEEPS)
def test_wrong_coins_break_a_promise(wrong):
    keeps, promise = WRONG_KEEPS[wrong]
    assert promise in broken_promises(keeps)


TENTHS = np.full(10, 0.1)
"""Their running sum ends at 0.9999999999999999."""

PICKS = [
    ([0.0, 0.5, 0.5, 0.0], 0.0, 1, "u = 0 skips a leading zero"),
    ([0.0, 0.5, 0.5, 0.0], ALMOST_ONE, 2, "the largest u stops before a trailing zero"),
    ([0.5, 0.5], 0.5, 1, "an edge belongs to the token above it"),
    ([0.5, 0.0, 0.5], 0.5, 2, "an edge skips a token of weight 0"),
    (TENTHS, ALMOST_ONE, 9, "sums that end below 1"),
    ([*TENTHS, 0.0], ALMOST_ONE, 9, "sums that end below 1, a zero behind"),
    ([0.7, 0.2, 0.1 + 1e-7], ALMOST_ONE, 2, "sums that end above 1"),
    ([1.0, 1.0, 2.0], 0.5, 2, "weights need not be normalised"),
    ([3.0, 1.0], 0.7, 0, "weights are divided by their sum"),
    ([5e-324, 0.0], ALMOST_ONE, 0, "a denormal total"),
    ([F(1, 3), F(2, 3), F(0)], ALMOST_ONE, 1, "fractions"),
]


def broken_picks(quantile):
    return [why for weights, u, wanted, why in PICKS if quantile(np.array(weights), u) != wanted]


WRONG_QUANTILES = {
    "edge to the left": lambda w, u: int(np.cumsum(w).searchsorted(u * np.sum(w))),
    "sum not used": lambda w, u: min(int(np.cumsum(w).searchsorted(u, "right")), len(w) - 1),
    "last index where it falls off": lambda w, u: (
        int((np.cumsum(w) > u).argmax()) if (np.cumsum(w) > u).any() else len(w) - 1
    ),
}


def test_picks_follow_the_numerics_contract():
    assert broken_picks(dist.quantile) == []


@pytest.mark.parametrize("wrong", WRONG_QUANTILES)
def test_wrong_picks_break_a_promise(wrong):
    assert broken_picks(WRONG_QUANTILES[wrong])


@pytest.mark.parametrize("weights", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_nothing_is_drawn_from_weights_without_a_positive_finite_sum(weights):
    with pytest.raises(NotADistribution, match="weights to draw from sum to"):
        dist.quantile(np.array(weights), 0.5)
