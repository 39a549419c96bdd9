"""Measuring: what every k would have done, timings on a clock of our own, intervals."""

from itertools import count

import numpy as np
import pytest

from draftproof.backends.table import Table
from draftproof.chance import Dice
from draftproof.decode import Limits, generate
from draftproof.errors import InvalidInput
from draftproof.planner.replay import Spot, acceptance_per_position, look, predict, replay
from draftproof.planner.timing import SETTLE, Timings, time_drafts, time_parts
from draftproof.proposers import DraftModel, PromptLookup, Suffix
from draftproof.rules.chain import TOKEN_WISE

CYCLE = Table(lambda text: [np.eye(3)[(len(text) * 7 // 5) % 3]][0])
"""A certain target that copies itself only now and then."""


class Ticking:
    """A model whose passes take 10 + n milliseconds on its own clock, and rows 1."""

    def __init__(self, table):
        self.table, self.now = table, 0.0

    def clock(self):
        return self.now

    def rows(self, text, draft):
        self.now += 0.010 + 0.001 * (len(draft) + 1)
        return Slow(self, self.table.rows(text, draft))


class Slow:
    """Rows that take a millisecond to look at."""

    def __init__(self, owner, rows):
        self.owner, self.rows = owner, rows

    def __getitem__(self, at):
        self.owner.now += 0.001
        return self.rows[at]


class Drafting:
    """A proposer that takes 2 milliseconds per token on the clock of a model."""

    name = "slow"

    def __init__(self, owner, inner):
        self.owner, self.inner = owner, inner

    def propose(self, chance, text, k):
        draft = self.inner.propose(chance, text, k)
        self.owner.now += 0.002 * len(draft)
        return draft


def flat(**changes):
    return Timings(**{"passes": dict.fromkeys(range(1, 18), (1.0, 1.0))} | changes)


# ---------------------------------------------------------------- replay


@pytest.mark.parametrize("proposer", [PromptLookup(3), Suffix(3)], ids=["lookup", "suffix"])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 8])
def test_where_nothing_is_left_to_luck_the_replay_is_the_run(proposer, k):
    text, length = (0, 1, 2, 0), 80
    seen = look(Dice(0), CYCLE, proposer, [TOKEN_WISE], text, k=8, places=length)
    done = generate(
        Dice(0), CYCLE, proposer, TOKEN_WISE, text, k=k, limits=Limits(max_tokens=length)
    )
    replayed = list(replay(seen["token-wise"], k))
    assert len(replayed) == done.tally.rounds
    assert sum(one.kept for one in replayed) == done.tally.accepted
    assert sum(one.drafted for one in replayed) == done.tally.drafted


def test_rounds_that_begin_anywhere_would_give_another_answer():
    """Averaging over all places favours the middle of copied runs; a run jumps over them."""
    spots = tuple(Spot(4, max(0, 4 - at % 8)) for at in range(80))
    everywhere = sum(spot.kept + 1 for spot in spots) / len(spots)
    rounds = list(replay(spots, 4))
    assert sum(one.kept + 1 for one in rounds) / len(rounds) != pytest.approx(everywhere, rel=0.05)


def test_acceptance_per_position_is_conditional():
    texts = [(Spot(3, 3), Spot(3, 1)), (Spot(3, 0), Spot(1, 1), Spot(0, 0))]
    assert acceptance_per_position(texts) == (3 / 4, 1 / 2, 1.0)


def test_looking_stops_at_a_stop_and_at_a_limit_of_time():
    seen = look(
        Dice(0), CYCLE, PromptLookup(3), [TOKEN_WISE], (0,), k=2, places=50, stop=frozenset({0})
    )  # fmt: skip
    assert 0 < len(seen["token-wise"]) < 50
    left = count(3, -1)
    seen = look(
        Dice(0), CYCLE, PromptLookup(3), [TOKEN_WISE], (0,), k=2, places=50,
        more=lambda: next(left) > 0,
    )  # fmt: skip
    assert len(seen["token-wise"]) == 3


# ---------------------------------------------------------------- timing


def test_every_part_is_timed_by_itself():
    model = Ticking(Table([0.5, 0.5]))
    draft = Drafting(model, DraftModel(Table([0.5, 0.5])))
    timed = time_parts(model, draft, (0, 1), repeats=3, counts=(1, 2, 5), clock=model.clock)
    assert {n: len(each) for n, each in timed.passes.items()} == {1: 3, 2: 3, 5: 3}
    for n, each in timed.passes.items():
        assert each == pytest.approx([0.010 + 0.001 * n] * 3)
    assert list(timed.draft) == pytest.approx([0.002] * 3)
    assert list(timed.row) == pytest.approx([0.001] * 9)
    assert timed.window == SETTLE
    costs = timed.costs()
    assert costs.round_seconds(0) == pytest.approx(0.012)
    assert costs.round_seconds(4) == pytest.approx(0.015 + 4 * 0.002 + 0.001)


def test_a_draft_that_is_never_made_costs_nothing():
    assert time_drafts(PromptLookup(9), (1, 2, 3), 4) == (0.0,)


def test_passes_are_interleaved_not_timed_in_blocks():
    order = []

    class Noting:
        def rows(self, text, draft):
            order.append(len(draft) + 1)
            return [None]

    nothing = PromptLookup(9)
    time_parts(Noting(), nothing, (1, 2), repeats=4, counts=(1, 2, 3), settle=2)
    runs = [order[at : at + 3] for at in range(1, len(order), 3)]
    assert all(len(set(run)) == 1 for run in runs), "each timed pass follows its like"
    after_warming = [run[0] for run in runs]
    for at in range(0, 12, 3):
        assert sorted(after_warming[at : at + 3]) == [1, 2, 3]
    assert len({tuple(after_warming[at : at + 3]) for at in range(0, 12, 3)}) > 1


def test_a_limit_of_time_ends_the_timing_after_three_samples_of_each_part():
    model, asked = Ticking(Table([0.5, 0.5])), []
    draft = Drafting(model, DraftModel(Table([0.5, 0.5])))
    timed = time_parts(
        model, draft, (0, 1), repeats=9, counts=(1, 2), clock=model.clock,
        tick=lambda: asked.append(1), more=lambda: False,
    )  # fmt: skip
    assert {len(each) for each in timed.passes.values()} == {3}
    assert len(asked) == 9


# ---------------------------------------------------------------- predictions


def test_a_prediction_is_tokens_over_seconds():
    spots = tuple(Spot(2, 1) for _ in range(40))
    found = predict([spots], flat(draft=(0.25,), row=(0.5,)), 2)
    assert found.expected_tokens == 2
    assert found.throughput == pytest.approx(2 / (1 + 0.5 + 2 * 0.5), rel=0.02)
    assert found.speedup == pytest.approx(1.5 * 2 / 2.5, rel=0.02)


def test_k_0_is_plain_decoding():
    found = predict([(Spot(4, 4),) * 10], flat(), 0)
    assert (found.speedup, found.interval) == (1, (1, 1))


@pytest.mark.parametrize(
    ("passes", "verdict"), [(1.0, "pays"), (6.0, "does not pay"), (2.9, "cannot tell")]
)
def test_the_verdict_is_that_of_the_interval(passes, verdict):
    luck = np.random.default_rng(1)
    spots = tuple(Spot(4, int(luck.integers(0, 5))) for _ in range(60))
    slow = {n: (1.0,) if n == 1 else (passes,) for n in range(1, 6)}
    found = predict([spots], Timings(passes=slow), 4)
    assert found.interval[0] <= found.speedup <= found.interval[1]
    assert found.verdict == verdict


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """Coverage of 95 % intervals in 100 repetitions: under 87 is a 1e-3 event."""
    flat_costs, covered = flat(), 0
    for seed in range(100):
        luck = np.random.default_rng(seed)
        spots = tuple(Spot(1, int(luck.random() < 0.6)) for _ in range(200))
        low, high = predict([spots], flat_costs, 1, seed=seed).interval
        covered += low <= 1.6 <= high
    assert covered >= 87


def test_noise_of_the_clock_widens_the_interval():
    spots = tuple(Spot(4, 4) for _ in range(50))
    noisy = dict.fromkeys(range(1, 6), (0.5, 1.0, 1.5))
    calm = predict([spots], flat(), 4).interval
    wide = predict([spots], Timings(passes=noisy), 4).interval
    assert calm[0] == calm[1]
    assert wide[1] - wide[0] > 1


def test_no_text_is_refused():
    with pytest.raises(InvalidInput, match=r"^texts hold no place"):
        predict([], flat(), 2)
