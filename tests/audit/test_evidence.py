"""Evidence: false alarms, coverage, sample sizes, and mutants of the process that must fail."""

import itertools
import math

import numpy as np
import pytest

from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.evidence import (
    OPEN,
    EProcess,
    RowsEProcess,
    StreamEProcess,
    partition,
    total_variation_bound,
)
from draftproof.audit.pairs import PAIRS, WORKED_PAIR
from draftproof.audit.power import (
    Growth,
    exact_test,
    g_test,
    growth,
    sample_sizes,
    smallest_detectable,
)
from draftproof.audit.suspects import laws_of, same_law
from draftproof.dist import naive_distribution
from draftproof.errors import InvalidInput

P = WORKED_PAIR.p.astype(np.float64)
NAIVE = naive_distribution(P, WORKED_PAIR.q.astype(np.float64))


def bets_on(pair):
    laws = laws_of(STEP_SUSPECTS, pair.p, pair.q)
    seen = {}
    for name, law in laws.items():
        new = not any(same_law(law, other) for other in seen.values())
        if new and not same_law(law, pair.p):
            seen[name] = law
    return seen


BETS = bets_on(WORKED_PAIR)


def alarms(make, law, seeds, samples):
    """In how many of the fixed seeds a sampler of this law is refuted."""
    count = 0
    for seed in range(seeds):
        process = make()
        process.update(np.random.default_rng(seed).choice(len(law), size=samples, p=law))
        count += process.refuted
    return count


def test_a_correct_sampler_is_refuted_in_at_most_8_of_2000_seeds_at_level_1e_3():
    assert alarms(lambda: EProcess(P, BETS, level=1e-3), P, 2_000, 1_000) <= 8


class SumOfBets(EProcess):
    """A mutant: the wealth of all bets is added up instead of averaged."""

    def _note_crossing(self, together):
        super()._note_crossing(together + math.log(len(self.names)))


class LooksAhead(EProcess):
    """A mutant: the open bet already knows the chunk it bets on."""

    def update(self, tokens):
        self._rows[0].counts += np.bincount(tokens, minlength=self._rows[0].p.size)
        super().update(tokens)


EVEN = np.full(50, 1 / 50)


@pytest.mark.parametrize(
    ("mutant", "row", "bets"), [(SumOfBets, P, BETS), (LooksAhead, EVEN, {})], ids=["sum", "ahead"]
)
def test_a_process_that_cheats_raises_too_many_alarms(mutant, row, bets):
    """400 seeds at level 1e-2: the honest process stays below 4 + 4 standard deviations."""
    assert alarms(lambda: mutant(row, bets, level=1e-2), row, 400, 1_000) > 20
    assert alarms(lambda: EProcess(row, bets, level=1e-2), row, 400, 1_000) <= 12


def test_the_naive_resample_is_refuted_in_a_mean_of_at_most_700_samples_over_200_seeds():
    crossed = []
    for seed in range(200):
        process = EProcess(P, BETS, level=1e-6)
        process.update(np.random.default_rng(seed).choice(3, size=4_000, p=NAIVE))
        assert process.crossed_at is not None
        crossed.append(process.crossed_at)
    assert np.mean(crossed) <= 700
    size = next(s for s in sample_sizes([P], [BETS], 1e-6) if s.suspect == "resample from p")
    assert abs(np.mean(crossed) - size.mean) < 0.2 * size.mean
    assert np.mean(np.array(crossed) <= size.most) >= 0.97


def test_a_bug_nobody_wrote_down_is_caught_by_the_open_bet():
    process = EProcess(P, BETS, level=1e-6)
    odd = np.array([0.5, 0.15, 0.35])
    process.update(np.random.default_rng(1).choice(3, size=3_000, p=odd))
    assert process.refuted
    assert process.named() == OPEN


def test_chunks_of_any_size_give_one_evidence():
    tokens = np.random.default_rng(2).choice(3, size=20_000, p=P)
    whole, parts = EProcess(P, BETS), EProcess(P, BETS)
    whole.update(tokens)
    for part in np.array_split(tokens, 37):
        parts.update(part)
    assert parts.log10_now == pytest.approx(whole.log10_now, abs=1e-6)
    assert parts.counts(0).tolist() == whole.counts(0).tolist()


def test_an_impossible_token_refutes_at_once_and_is_counted():
    process = EProcess(np.array([0.5, 0.5, 0.0]), {})
    process.update([0, 1, 2, 0])
    assert (process.refuted, process.crossed_at, process.samples) == (True, 3, 4)
    assert math.isinf(process.log10_e)


def test_impossible_tokens_say_which_suspect_it_was():
    p = np.array([0.5, 0.5, 0.0, 0.0])
    bets = {"says 2": np.array([0.4, 0.4, 0.2, 0.0]), "says 3": np.array([0.4, 0.4, 0.0, 0.2])}
    process = RowsEProcess([p], [bets])
    process.take(0, [0, 1, 3, 0])
    assert process.named() == "says 3"


def test_a_token_outside_the_vocabulary_is_refused():
    with pytest.raises(InvalidInput, match="token 3 is outside"):
        EProcess(P, {}).update([0, 3])


def test_rows_taken_in_turn_gather_one_evidence():
    """A little on each of two rows is enough together where neither is alone."""
    bets = bets_on(PAIRS[1])
    both = RowsEProcess([PAIRS[0].p, PAIRS[1].p], [BETS, bets], level=1e-6)
    laws = [naive_distribution(pair.p, pair.q).astype(np.float64) for pair in PAIRS[:2]]
    rng = np.random.default_rng(4)
    alone = [EProcess(PAIRS[at].p, (BETS, bets)[at], level=1e-6) for at in range(2)]
    while not both.refuted:
        for at in range(2):
            tokens = rng.choice(len(laws[at]), size=20, p=laws[at])
            both.take(at, tokens)
            alone[at].update(tokens)
    assert not any(process.refuted for process in alone)
    assert both.named() == "resample from p"


# ---------------------------------------------------------------- one row per token


def stream(law_of_row, *, level, seed, tokens):
    rng = np.random.default_rng(seed)
    process = StreamEProcess(("naive",), level=level)
    for _ in range(tokens):
        p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
        law = law_of_row(p, q)
        token = int(rng.choice(5, p=law / law.sum()))
        process.update(p, token, (naive_distribution(p, q),), v=float(rng.random()))
    return process


def test_rows_that_never_repeat_refute_the_naive_resample_and_spare_the_right_one():
    assert stream(naive_distribution, level=1e-6, seed=1, tokens=2_500).refuted
    spared = [stream(lambda p, q: p, level=1e-3, seed=s, tokens=200) for s in range(40)]
    assert sum(process.refuted for process in spared) <= 1


def test_an_impossible_token_speaks_for_the_bet_that_held_it_possible():
    process = StreamEProcess(("holds it", "holds it not", "abstains"))
    p, other = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    process.update(p, 1, (other, p, None), v=0.5)
    weights = process.weights()
    assert process.refuted
    assert process.named() == "holds it"
    assert (weights["holds it not"], weights["abstains"]) == (0, 0)
    assert process.silent == {"abstains"}


def test_only_a_bet_far_behind_is_hopeless():
    process = StreamEProcess(("impossible", "slowly losing", "abstains"))
    fair = np.array([0.5, 0.5])
    sure, tilted = np.array([0.0, 1.0]), np.array([0.4, 0.6])
    for turn in range(100):
        process.update(fair, 0, (sure, tilted, None), v=(0.618 * turn) % 1)
    assert process.hopeless == {"impossible"}


def test_a_row_too_flat_fills_the_last_places_whatever_the_ids():
    """Seed 2; 5 standard deviations of an even spread are 0.125 + 0.026."""
    rng = np.random.default_rng(2)
    process = StreamEProcess(())
    for _ in range(4_000):
        p = rng.dirichlet(np.full(12, 0.5))
        law = p**0.6
        process.update(p, int(rng.choice(12, p=law / law.sum())), (), v=float(rng.random()))
    assert process.places[-1] / 4_000 > 0.151


def test_a_chance_below_any_number_needs_no_end_of_samples():
    assert Growth(0.0, 0.0, escape=1e-310).samples(1.0, 0.9) == math.inf


# ---------------------------------------------------------------- bounds


def test_the_bound_on_total_variation_covers_at_every_moment():
    """200 fixed seeds, level 0.05: at most 10 + 4 standard deviations may miss."""
    law = np.array([0.42, 0.36, 0.22])
    true = float(np.abs(law - P).sum() / 2)
    cells = partition(P)
    misses = 0
    for seed in range(200):
        tokens = np.random.default_rng(seed).choice(3, size=2_000, p=law)
        counts = [np.bincount(tokens[:n], minlength=3) for n in (50, 200, 800, 2_000)]
        misses += any(total_variation_bound(c, P, cells, 0.05) < true for c in counts)
    assert misses <= 22


def test_a_bound_that_forgets_the_other_sets_would_be_smaller():
    counts, cells = [500, 300, 200], partition(P)
    assert total_variation_bound(counts, P, cells, 0.05 * 6) < total_variation_bound(
        counts, P, cells, 0.05
    )


def test_the_bound_shrinks_like_the_root_of_the_samples():
    bounds = [
        total_variation_bound((P * n).round(), P, partition(P), 1e-6) for n in (10**3, 10**5, 10**7)
    ]
    for wide, narrow in itertools.pairwise(bounds):
        assert 5 < wide / narrow < 20


def test_a_large_vocabulary_is_pooled_by_its_row_alone():
    row = np.random.default_rng(0).dirichlet(np.ones(1_000))
    cells = partition(row)
    assert cells.count == 8
    assert cells.pooled(row).sum() == pytest.approx(1)
    assert "7 likeliest" in cells.label


# ---------------------------------------------------------------- sizes, fixed tests


def test_growth_counts_what_the_target_cannot_emit():
    speed = growth(np.array([0.8, 0.0, 0.2]), np.array([0.5, 0.5, 0.0]))
    assert speed.escape == pytest.approx(0.2)
    assert speed.expected(14.0) == pytest.approx(5.0)
    assert growth(P, P).expected(14.0) == math.inf


def test_smaller_bugs_become_detectable_with_more_samples():
    sizes = [
        smallest_detectable([P], [BETS], n, 1e-6)["resample from p"] for n in (500, 5_000, 500_000)
    ]
    assert sizes[0] is None
    assert 0.125 > sizes[1] > 5 * sizes[2] > 0


def test_what_is_called_detectable_is_detected():
    """A bug of the stated size, in 20 fixed seeds: 90 in 100 promised, 15 required."""
    size = smallest_detectable([P], [BETS], 5_000, 1e-6)["resample from p"]
    share = size / 0.125
    law = (1 - share) * P + share * NAIVE
    assert alarms(lambda: EProcess(P, BETS, level=1e-6), law, 20, 5_000) >= 15


def test_fixed_size_tests_agree_with_the_worked_example():
    """Figures of the G statistic for counts at their expectation: 2 n KL."""
    counts = np.array([375, 375, 250]) * 4
    assert g_test(counts, P).statistic == pytest.approx(2 * 4_000 * 0.0315839, rel=1e-4)
    assert g_test(P * 1_000, P).p_value == pytest.approx(1)
    assert g_test([1, 0, 1], np.array([0.5, 0.5, 0.0])).p_value == 0
    assert exact_test([375, 375, 250], P, [0]).p_value < 1e-12
