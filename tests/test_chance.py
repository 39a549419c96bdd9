"""Luck: keyed independent draws, and the enumeration of everything luck can do."""

from fractions import Fraction as F
from itertools import count, product

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from draftproof.chance import Dice, law, outcomes, shared_race
from draftproof.errors import InvalidInput, LuckReused, NotADistribution
from worlds import ALMOST_ONE, Loaded

LEVEL = 1e-6
"""Probability that independent uniforms fail one of the chi-square tests below."""

BINS = 8
PURPOSES = ("draft", "coin", "residual", "bonus")

# ---------------------------------------------------------------- keys


def test_one_key_one_draw_whatever_was_asked_before():
    lone = Dice(5).after(3).at("coin", 1).uniform()
    busy = Dice(5)
    for length, purpose, node in product(range(5), PURPOSES, range(3)):
        busy.after(length).at(purpose, node).uniform()
        busy.uniform()
    assert busy.after(3).at("coin", 1).uniform() == lone


def test_a_stream_goes_on_and_peeking_does_not_move_it():
    stream, again = Dice(5).at("coin", 0), Dice(5).at("coin", 0)
    assert stream.peek() == stream.peek()
    assert [stream.uniform() for _ in range(3)] == [again.uniform() for _ in range(3)]
    assert len({stream.uniform() for _ in range(100)}) == 100


def test_every_key_and_every_seed_has_its_own_draw():
    draws = [
        Dice(seed).after(length).at(purpose, node).uniform()
        for seed, length, purpose, node in product(range(4), range(12), PURPOSES, range(12))
    ]
    draws += [Dice(seed).own(offset).uniform() for seed, offset in product(range(4), range(12))]
    assert len(set(draws)) == len(draws)


def test_keys_of_several_parts_do_not_run_together():
    dice = Dice(0)
    keys = [("a", 1, 11), ("a", 11, 1), ("a", 111), ("a1", 11), ("a", 1, 1, 1)]
    assert len({dice.at(*key).uniform() for key in keys}) == len(keys)
    assert dice.at("a", 1).at("b", 2).uniform() != dice.at("b", 2).at("a", 1).uniform()


def test_integers_of_any_type_are_one_key():
    dice, two = Dice(3), np.int64(2)
    assert dice.at("coin", two).uniform() == dice.at("coin", 2).uniform()
    assert dice.after(two).at("coin", 0).uniform() == dice.after(2).at("coin", 0).uniform()
    assert dice.after(two).own(two).uniform() == dice.own(4).uniform()


@pytest.mark.parametrize("index", [0.5, 1.0, "0", None])
def test_a_key_that_is_no_integer_is_refused_by_dice_and_proof_alike(index):
    with pytest.raises(InvalidInput, match="a purpose is followed by integers"):
        Dice(1).at("coin", index)
    with pytest.raises(InvalidInput, match="a purpose is followed by integers"):
        law(lambda luck: luck.at("coin", index).accepts(F(1, 2)))


def test_the_target_s_own_luck_depends_on_the_absolute_position_only():
    dice = Dice(9)
    assert dice.after(3).own(4).uniform() == dice.after(6).own(1).uniform() == dice.own(7).uniform()
    assert dice.after(3).own(4).uniform() != dice.after(3).own(5).uniform()


def test_luck_of_rounds_differs_from_round_to_round():
    dice = Dice(9)
    assert dice.after(3).at("coin", 0).uniform() != dice.after(4).at("coin", 0).uniform()


def test_noise_over_a_vocabulary_is_keyed_too():
    noise = [Dice(1).at("noise", node).generator().random(4).tolist() for node in (0, 0, 1)]
    assert noise[0] == noise[1] != noise[2]


@pytest.mark.parametrize("seed", [-1, 2.5, True, None, "7", float("nan")])
def test_a_seed_that_is_no_count_is_refused(seed):
    with pytest.raises(InvalidInput, match=r"seed is .*non-negative integer") as refusal:
        Dice(seed)
    assert repr(seed) in str(refusal.value)


def test_seeds_of_any_size_and_integer_type():
    assert Dice(np.int64(7)).uniform() == Dice(7).uniform()
    assert Dice(2**300).uniform() != Dice(2**300 + 1).uniform()


# ---------------------------------------------------------------- independence


def dependence(pairs):
    """P-value of Pearson's chi-square for uniformity of pairs on a fixed grid of cells."""
    cells = (np.array(pairs) * BINS).astype(int)
    counts = np.bincount(cells[:, 0] * BINS + cells[:, 1], minlength=BINS**2)
    expected = len(pairs) / BINS**2
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), BINS**2 - 1)


def pairs_of(dice_at):
    """Draws under keys that a decoder uses together, over many rounds and seeds."""
    neighbours = {
        "draft and coin": lambda n: (dice_at(n, "draft", 0), dice_at(n, "coin", 0)),
        "coin and residual": lambda n: (dice_at(n, "coin", 0), dice_at(n, "residual", 0)),
        "coins of two nodes": lambda n: (dice_at(n, "coin", 0), dice_at(n, "coin", 1)),
        "two rounds": lambda n: (dice_at(n, "coin", 0), dice_at(n + 1, "coin", 0)),
    }
    return {name: [pair(n) for n in range(6400)] for name, pair in neighbours.items()}


def test_draws_under_different_keys_are_independent():
    dice = Dice(2024)
    seen = pairs_of(lambda n, purpose, node: dice.after(n).at(purpose, node).uniform())
    seen["two seeds"] = [(Dice(n).uniform(), Dice(n + 1).uniform()) for n in range(6400)]
    seen["two turns"] = []
    for n in range(6400):
        stream = dice.at("turns", n)
        seen["two turns"].append((stream.uniform(), stream.uniform()))
    seen["own and coin"] = [
        (dice.own(n).uniform(), dice.after(n).at("coin", 0).uniform()) for n in range(6400)
    ]
    values = {name: dependence(pairs) for name, pairs in seen.items()}
    assert min(values.values()) > LEVEL, values


@pytest.mark.parametrize(
    ("forgets", "fails"),
    [
        (lambda n, purpose, node: (n, node), "draft and coin"),
        (lambda n, purpose, node: (n, purpose), "coins of two nodes"),
        (lambda n, purpose, node: (purpose, node), "two rounds"),
    ],
    ids=["the purpose", "the node", "the round"],
)
def test_luck_that_forgets_part_of_its_key_is_caught(forgets, fails):
    dice = Dice(2024)
    seen = pairs_of(lambda *key: dice.at(str(forgets(*key))).uniform())
    assert dependence(seen[fails]) < LEVEL


# ---------------------------------------------------------------- coins and picks


@pytest.mark.parametrize(
    ("uniform", "p", "q", "kept"),
    [
        (0.0, 0.0, 0.5, False),
        (0.0, 1e-300, 0.5, True),
        (0.5, 0.25, 0.5, False),
        (ALMOST_ONE, 0.5, 0.5, True),
        (ALMOST_ONE, 0.4999, 0.5, False),
    ],
)
def test_dice_decide_coins_by_the_contract(uniform, p, q, kept):
    assert Loaded(uniform).accepts(p, q) is kept


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 1), (0.49, 1), (0.5, 3), (ALMOST_ONE, 3)])
def test_dice_never_pick_a_weight_of_zero(uniform, token):
    assert Loaded(uniform).pick(np.array([0.0, 0.5, 0.0, 0.5, 0.0])) == token


def test_uniforms_have_53_bits_in_0_to_1():
    draws = [Dice(0).at("u", n).uniform() for n in range(2000)]
    assert all(0 <= draw < 1 and (draw * 2**53).is_integer() for draw in draws)
    assert any(int(draw * 2**53) & 1 for draw in draws)


# ---------------------------------------------------------------- going through all luck

THIRDS = np.array([F(1, 6), F(1, 3), F(1, 2)], dtype=object)


def test_every_outcome_once_with_its_exact_weight():
    seen = list(outcomes(lambda luck: (luck.at("a").pick(THIRDS), luck.at("b").accepts(F(1, 4)))))
    assert len(seen) == 6
    assert dict(seen) == {
        (token, yes): THIRDS[token] * (F(1, 4) if yes else F(3, 4))
        for token, yes in product(range(3), (True, False))
    }
    assert sum(weight for _, weight in seen) == 1


def test_branches_may_depend_on_what_came_before():
    def play(luck):
        steps = 0
        while steps < 3 and luck.at("go", steps).accepts(F(1, 2)):
            steps += 1
        return steps

    assert law(play) == {0: F(1, 2), 1: F(1, 4), 2: F(1, 8), 3: F(1, 8)}


def test_certain_choices_are_no_branches():
    def play(luck):
        pairs = (
            (F(1, 2), F(1, 3)),
            (F(1, 2), F(1, 2)),
            (F(1, 2), F(0)),
            (F(0), F(1, 2)),
            (F(0), F(0)),
        )
        sure = [luck.at("coin", node).accepts(p, q) for node, (p, q) in enumerate(pairs)]
        return sure, luck.at("bonus").pick(np.array([F(0), F(1), F(0)], dtype=object))

    assert list(outcomes(play)) == [(([True, True, True, False, False], 1), 1)]


def test_weights_stay_fractions_for_whole_numbers():
    weights = [weight for _, weight in outcomes(lambda luck: luck.at("a").accepts(1, 3))]
    assert weights == [F(1, 3), F(2, 3)]
    assert all(isinstance(weight, F) for weight in weights)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, object])
@pytest.mark.parametrize("ask", ["pick", "race"])
def test_whole_numbers_are_weights_of_fractions_whatever_their_type(ask, kind):
    weights = np.array([1, 0, 3], dtype=kind)
    found = law(lambda luck: getattr(luck.at("x"), ask)(weights))
    assert found == {0: F(1, 4), 2: F(3, 4)}
    assert all(isinstance(weight, F) for weight in found.values())


def test_picks_divide_by_the_sum():
    assert law(lambda luck: luck.pick(np.array([F(1), F(3)]))) == {0: F(1, 4), 1: F(3, 4)}


@pytest.mark.parametrize("weights", [[F(0), F(0)], []])
def test_a_pick_from_nothing_is_refused(weights):
    with pytest.raises(NotADistribution, match="weights to draw from sum to 0"):
        list(outcomes(lambda luck: luck.pick(np.array(weights, dtype=object))))


def test_a_key_used_twice_is_refused_by_name():
    def play(luck):
        return luck.at("coin", 2).accepts(F(1, 2)), luck.at("coin", 2).pick(THIRDS)

    with pytest.raises(LuckReused, match=r"'coin', 2.*used twice"):
        list(outcomes(play))


def test_the_same_own_luck_reached_from_two_rounds_counts_as_used_twice():
    def play(luck):
        return luck.after(2).own(3).pick(THIRDS), luck.after(4).own(1).pick(THIRDS)

    with pytest.raises(LuckReused):
        list(outcomes(play))


def another_key(luck, turn):
    luck.at("even" if turn % 2 else "odd").accepts(F(1, 2))
    luck.at("last").accepts(F(1, 2))


def fewer_options(luck, turn):
    luck.at("x").pick(np.array([1] * (3 if turn else 4)))
    luck.at("last").accepts(F(1, 2))


def fewer_draws(luck, turn):
    if turn == 0:
        luck.at("x").accepts(F(1, 2))


def other_weights(luck, turn):
    luck.at("x").pick(np.array([1, 3 if turn else 2]))
    luck.at("last").accepts(F(1, 2))


def another_coin(luck, turn):
    luck.at("x").accepts(F(1, 3 if turn else 2))
    luck.at("last").accepts(F(1, 2))


def other_speeds(luck, turn):
    luck.at("x").race(np.array([1, 3 if turn else 2]))
    luck.at("last").accepts(F(1, 2))


PLAYS = [another_key, fewer_options, fewer_draws, other_weights, another_coin, other_speeds]


@pytest.mark.parametrize("play", PLAYS)
def test_code_with_luck_or_memory_of_its_own_is_refused(play):
    turns = count()
    with pytest.raises(LuckReused, match="takes luck from elsewhere"):
        list(outcomes(lambda luck: play(luck, next(turns))))


def test_two_turns_of_one_stream_are_two_choices():
    def play(luck):
        stream = luck.at("coin", 0)
        return stream.accepts(F(1, 2)), stream.accepts(F(1, 2))

    assert set(law(play).values()) == {F(1, 4)}


def test_dice_and_enumeration_tell_the_same_story():
    def play(luck):
        token = luck.at("draft").pick(THIRDS)
        return token, luck.at("coin").accepts(F(1, 2), THIRDS[token])

    possible = law(play)
    seen = {play(Dice(seed)) for seed in range(400)}
    assert seen == set(possible)


# ---------------------------------------------------------------- races on shared noise

RACE_P = np.array([F(1, 2), F(3, 10), F(1, 5), F(0)], dtype=object)
RACE_Q = np.array([F(0), F(1, 5), F(3, 10), F(1, 2)], dtype=object)


def two_races(luck):
    noise = luck.at("noise")
    return noise.race(RACE_Q), noise.race(RACE_P)


def twice_the_same_noise_as_if_independent(luck):
    return luck.at("one").pick(RACE_Q), luck.at("two").pick(RACE_P)


def refuted(play, wanted, count=4000):
    """Exact binomial test of every pair of winners, Bonferroni, at LEVEL."""
    seen = [play(Dice(seed)) for seed in range(count)]
    values = [binomtest(seen.count(pair), count, float(wanted(pair))).pvalue for pair in PAIRS]
    return min(values) * len(values) < LEVEL


PAIRS = list(product(range(4), repeat=2))


def test_each_of_two_races_alone_follows_its_weights():
    joint = shared_race(RACE_Q, RACE_P)
    assert [sum(row) for row in joint] == RACE_Q.tolist()
    assert [sum(column) for column in zip(*joint, strict=True)] == RACE_P.tolist()


def test_enumeration_gives_the_joint_law_of_two_races():
    joint = shared_race(RACE_Q, RACE_P)
    seen = law(two_races)
    assert seen == {(x, y): joint[x][y] for x, y in PAIRS if joint[x][y]}
    independent = law(twice_the_same_noise_as_if_independent)
    assert seen != independent


def test_dice_race_by_the_same_joint_law_and_independent_draws_do_not():
    joint = shared_race(RACE_Q, RACE_P)
    assert not refuted(two_races, lambda pair: joint[pair[0]][pair[1]])
    assert refuted(twice_the_same_noise_as_if_independent, lambda pair: joint[pair[0]][pair[1]])


def test_equal_weights_on_one_noise_field_have_equal_winners():
    def play(luck):
        return luck.at("noise").race(RACE_P), luck.at("noise").race(RACE_P)

    assert all(len(set(play(Dice(seed)))) == 1 for seed in range(200))
    assert law(play) == {(token, token): RACE_P[token] for token in range(3)}


def test_a_race_does_not_take_from_the_stream_of_its_key():
    stream = Dice(1).at("own", 3)
    before = stream.peek()
    stream.race(RACE_P)
    assert stream.uniform() == before


def test_a_third_race_on_one_noise_field_is_refused():
    with pytest.raises(LuckReused, match="three races share the noise"):
        law(lambda luck: [luck.at("noise").race(RACE_P) for _ in range(3)])


def test_two_races_over_different_vocabularies_are_refused():
    def play(luck):
        return luck.at("noise").race(RACE_P), luck.at("noise").race(RACE_P[:2])

    with pytest.raises(InvalidInput, match="over 4 and 2 tokens"):
        law(play)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [float("nan"), 1.0]])
def test_nobody_wins_a_race_without_mass(weights):
    with pytest.raises(NotADistribution, match="weights to draw from sum to"):
        Dice(0).race(np.array(weights))


def test_a_row_that_changes_after_its_race_does_not_change_the_race():
    half, other = np.array([F(1, 2), F(1, 2)]), np.array([F(1, 4), F(3, 4)])

    def play(luck):
        row = half.copy()
        first = luck.at("noise").race(row)
        row[:] = other
        return first, luck.at("noise").race(row)

    assert law(play) == {(0, 0): F(1, 4), (0, 1): F(1, 4), (1, 1): F(1, 2)}


def test_whole_numbers_that_sum_to_one_stay_exact():
    row = np.array([0, 1])
    found = law(lambda luck: (luck.at("noise").race(row), luck.at("noise").race(row)))
    assert found == {(1, 1): 1}
    assert type(found[1, 1]) is F


def test_other_weights_with_the_same_shares_and_other_roundings_are_the_same_choice():
    turns = count()

    def play(luck):
        turn = next(turns)
        scale = 2 if turn else 1
        luck.at("whole").pick(np.array([scale, scale]))
        luck.at("float").pick(np.array([0.1 + 0.2, 0.7]) if turn else np.array([0.3, 0.7]))
        return luck.at("last").accepts(F(1, 2))

    assert float(law(play)[True]) == pytest.approx(0.5)
