"""Races: noise that belongs to a key, shared by two laws, drawn by dice or gone through."""

from fractions import Fraction as F

import numpy as np
import pytest
from scipy.stats import chi2

from draftproof.backends.table import fractions
from draftproof.chance import Dice, law, shared_race
from draftproof.errors import InvalidInput, LuckReused, NotADistribution

P, Q = fractions("1/2", "3/10", "1/5"), fractions("1/5", "3/10", "1/2")


def test_a_single_race_follows_its_weights():
    assert law(lambda luck: luck.own(0).race(P)) == dict(enumerate(P))


def test_two_races_at_one_key_follow_the_joint_law():
    joint = shared_race(Q, P)
    seen = law(lambda luck: (luck.own(0).race(Q), luck.own(0).race(P)))
    assert seen == {(x, y): joint[x][y] for x in range(3) for y in range(3) if joint[x][y]}


def test_the_order_of_the_two_races_does_not_matter():
    forward = law(lambda luck: (luck.own(0).race(Q), luck.own(0).race(P)))
    backward = law(lambda luck: (luck.own(0).race(P), luck.own(0).race(Q))[::-1])
    assert forward == backward


def test_equal_weights_give_equal_winners_and_scale_does_not_matter():
    assert law(lambda luck: luck.own(0).race(P) == luck.own(0).race(P * 3)) == {True: F(1)}


def test_races_at_different_keys_are_independent():
    seen = law(lambda luck: (luck.own(0).race(Q), luck.own(1).race(P)))
    assert seen == {(x, y): Q[x] * P[y] for x in range(3) for y in range(3)}


def test_a_race_and_a_pick_at_one_key_are_independent():
    seen = law(lambda luck: (luck.own(0).pick(Q), luck.own(0).race(P)))
    assert seen == {(x, y): Q[x] * P[y] for x in range(3) for y in range(3)}


def test_the_noise_follows_the_absolute_position():
    def play(luck):
        return luck.after(4).own(1).race(P) == luck.after(5).own(0).race(P)

    assert law(play) == {True: F(1)}
    assert play(Dice(3))


def test_a_third_race_on_one_noise_is_refused():
    def play(luck):
        return [luck.own(0).race(row) for row in (P, Q, P)]

    with pytest.raises(LuckReused, match="three races share the noise"):
        law(play)


def test_races_over_different_vocabularies_are_refused():
    with pytest.raises(InvalidInput, match="over 3 and 2 tokens"):
        law(lambda luck: (luck.own(0).race(P), luck.own(0).race(fractions("1/2", "1/2"))))


@pytest.mark.parametrize("weights", [np.array([0.0, 0.0]), np.array([np.nan, 1.0])])
def test_weights_without_a_positive_finite_sum_are_refused(weights):
    with pytest.raises(NotADistribution, match="the weights to draw from sum to"):
        Dice(0).own(0).race(weights)
    with pytest.raises(NotADistribution, match="the weights to draw from sum to"):
        law(lambda luck: luck.own(0).race(weights))


def test_dice_never_let_weight_zero_win_and_repeat_themselves():
    weights = np.array([0.0, 1e-300, 0.0])
    for seed in range(50):
        assert Dice(seed).own(0).race(weights) == 1
        assert Dice(seed).own(7).race(P) == Dice(seed).own(7).race(P)


def test_dice_race_like_the_joint_law():
    """Pearson's test on 20,000 keys; error level 1e-6, and the seed is fixed."""
    p, q, trials = P.astype(float), Q.astype(float), 20_000
    joint = np.array(shared_race(Q, P), dtype=float)
    dice, seen = Dice(20), np.zeros((3, 3))
    for at in range(trials):
        own = dice.own(at)
        seen[own.race(q), own.race(p)] += 1
    possible = joint > 0
    assert seen[~possible].sum() == 0
    expected = trials * joint[possible]
    statistic = ((seen[possible] - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-6, possible.sum() - 1)


def test_independent_noise_fails_the_same_test():
    p, q, trials = P.astype(float), Q.astype(float), 20_000
    joint = np.array(shared_race(Q, P), dtype=float)
    dice, seen = Dice(20), np.zeros((3, 3))
    for at in range(trials):
        seen[dice.at("draft", at).race(q), dice.own(at).race(p)] += 1
    assert seen[joint == 0].sum() > 0
