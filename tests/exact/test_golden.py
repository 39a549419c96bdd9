"""Golden values of the field, as equal fractions: acceptance and expected length on three pairs."""

from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.backends.table import Table, fractions
from draftproof.battery import constant_world, instance
from draftproof.chance import shared_race
from draftproof.proof import prove_instance
from draftproof.rules import find_rule
from draftproof.rules.lossy import lenience
from draftproof.rules.optimum import most_accepted, optimal_acceptance
from draftproof.rules.selection import k_seq_factor

G1 = fractions("1/2", "3/10", "1/5"), fractions("1/5", "3/10", "1/2")
G2 = fractions("1/2", "3/10", "1/5"), fractions("1/4", "9/20", "3/10")
G3 = fractions("2/5", "3/10", "1/5", "1/10"), fractions("1/10", "1/5", "3/10", "2/5")
PAIRS = {"G1": G1, "G2": G2, "G3": G3}


def proved(rule, pair, k=1, drafts=2):
    rule = find_rule(rule) if isinstance(rule, str) else rule
    proof = prove_instance(rule, instance(constant_world(*PAIRS[pair]), rule, k=k, drafts=drafts))
    assert proof.kept
    return proof


@pytest.mark.parametrize(
    ("rule", "pair", "drafts", "acceptance"),
    [
        ("token-wise", "G1", 1, F(7, 10)),
        ("token-wise", "G2", 1, F(3, 4)),
        ("token-wise", "G3", 1, F(3, 5)),
        ("exact-match", "G1", 1, F(29, 100)),
        ("exact-match", "G2", 1, F(8, 25)),
        ("point-mass", "G1", 1, F(29, 100)),
        ("gumbel", "G1", 1, F(41, 65)),
        ("gumbel", "G2", 1, F(3, 4)),
        ("rrs", "G1", 2, F(19, 25)),
        ("rrs", "G1", 3, F(101, 125)),
        ("rrs", "G2", 2, F(13, 16)),
        ("rrs", "G2", 3, F(55, 64)),
        ("rrs-without-replacement", "G1", 2, F(41, 50)),
        ("rrs-without-replacement", "G2", 2, F(263, 308)),
        ("greedy-draft", "G1", 2, F(9, 10)),
        ("greedy-draft", "G2", 2, F(21, 22)),
        ("max-ratio", "G1", 2, F(43, 50)),
        ("max-ratio", "G2", 2, F(21, 25)),
        ("optimal-transport", "G1", 2, F(43, 50)),
        ("optimal-transport", "G1", 3, F(247, 250)),
        ("optimal-transport", "G2", 2, F(15, 16)),
        ("optimal-transport", "G2", 3, F(1)),
    ],
)
def test_acceptance(rule, pair, drafts, acceptance):
    assert proved(rule, pair, drafts=drafts).acceptance == acceptance


@pytest.mark.parametrize(
    ("rule", "pair", "lengths"),
    [
        ("token-wise", "G1", (F(119, 100), F(1533, 1000), F(17731, 10000))),
        ("token-wise", "G2", (F(21, 16), F(111, 64), F(525, 256))),
        ("block", "G1", (F(5, 4), F(339, 200), F(4127, 2000))),
        ("block", "G2", (F(11, 8), F(123, 64), F(307, 128))),
    ],
)
def test_expected_accepted_of_chains(rule, pair, lengths):
    for k, length in zip((2, 3, 4), lengths, strict=True):
        if k < 4:
            assert proved(rule, pair, k=k).expected_accepted == length
        if rule == "block":
            p, q = (Table(row) for row in PAIRS[pair])
            assert most_accepted(p, q, (), k) == length
        else:
            alpha = proved(rule, pair).acceptance
            assert sum(alpha**i for i in range(1, k + 1)) == length


@pytest.mark.parametrize(
    ("pair", "drafts", "rho", "acceptance"),
    [
        ("G1", 2, 1.456776, 0.791355),
        ("G1", 3, 1.792593, 0.858519),
        ("G2", 2, 1.390388, 0.847597),
        ("G2", 3, 1.645012, 0.911253),
    ],
)
def test_k_seq_within_a_millionth(pair, drafts, rho, acceptance):
    p, q = PAIRS[pair]
    assert float(k_seq_factor(p, q, drafts)) == pytest.approx(rho, abs=1e-6)
    assert float(proved("k-seq", pair, drafts=drafts).acceptance) == pytest.approx(
        acceptance, abs=1e-6
    )


@pytest.mark.parametrize(
    ("pair", "drafts", "scheme", "best"),
    [
        ("G1", 1, "iid", F(7, 10)),
        ("G2", 1, "iid", F(3, 4)),
        ("G1", 2, "iid", F(43, 50)),
        ("G1", 3, "iid", F(247, 250)),
        ("G2", 2, "iid", F(15, 16)),
        ("G2", 3, "iid", F(1)),
        ("G1", 2, "without-replacement", F(69, 70)),
        ("G2", 2, "without-replacement", F(1)),
        ("G1", 2, "greedy-draft", F(9, 10)),
        ("G2", 2, "greedy-draft", F(21, 22)),
    ],
)
def test_optimal_acceptance(pair, drafts, scheme, best):
    assert optimal_acceptance(*PAIRS[pair], drafts, scheme) == best


def test_the_motivating_example_of_block_verification():
    """Sun et al. 2025: p = (1/3, 2/3), q = (2/3, 1/3), two drafts."""
    world = constant_world(fractions("1/3", "2/3"), fractions("2/3", "1/3"))
    lengths = [
        prove_instance(find_rule(name), instance(world, find_rule(name), k=2)).expected_accepted
        for name in ("token-wise", "block")
    ]
    assert lengths == [F(10, 9), F(11, 9)]


def test_rejection_with_replacement_does_not_cover():
    """Chen et al. 2024 (Sequoia): p certain, q even over two tokens, two drafts."""
    world = constant_world(fractions(1, 0), fractions("1/2", "1/2"))
    for name, acceptance in (("rrs", F(3, 4)), ("rrs-without-replacement", F(1))):
        rule = find_rule(name)
        assert prove_instance(rule, instance(world, rule, k=1)).acceptance == acceptance


@pytest.mark.parametrize(
    ("factor", "acceptance", "law"),
    [
        (F(1), F(7, 10), (F(1, 2), F(3, 10), F(1, 5))),
        (F(1, 2), F(9, 10), (F(3, 10), F(3, 10), F(2, 5))),
        (F(3, 10), F(1), (F(1, 5), F(3, 10), F(1, 2))),
    ],
)
def test_lenience_worked_by_hand(factor, acceptance, law):
    proof = proved(lenience(factor), "G1")
    assert (proof.acceptance, proof.law) == (acceptance, law)


# ---------------------------------------------------------------- two races on one noise


def test_a_race_shared_by_both_laws_has_them_as_margins():
    for p, q in PAIRS.values():
        joint = shared_race(q, p)
        assert [sum(row) for row in joint] == list(q)
        assert [sum(column) for column in zip(*joint, strict=True)] == list(p)


def test_the_diagonal_is_the_published_sum_and_meets_its_bound():
    for p, q in PAIRS.values():
        tokens = range(len(p))
        match = sum(shared_race(q, p)[x][x] for x in tokens)
        assert match == sum(1 / sum(max(p[y] / p[x], q[y] / q[x]) for y in tokens) for x in tokens)
        distance = 1 - sum(np.minimum(p, q))
        assert match >= (1 - distance) / (1 + distance)


def test_the_joint_law_agrees_with_numeric_integration():
    """P(x, y) as an integral over the two winning times, on a fine grid of their ratio."""
    p, q = (row.astype(float) for row in G3)
    joint = np.array(shared_race(*(row for row in reversed(G3))), dtype=float)
    for x in range(4):
        for y in range(4):
            if x != y:
                low, high = q[y] / p[y], q[x] / p[x]
                t = np.linspace(low, max(low, high), 200_001)
                steepness = np.maximum(q[:, None], p[:, None] * t).sum(axis=0)
                integral = q[x] * p[y] * np.trapezoid(steepness**-2.0, t)
                assert joint[x, y] == pytest.approx(integral, abs=1e-8)


def test_the_joint_law_with_zeros_on_either_side():
    p, q = fractions("1/2", "1/2", 0, 0), fractions(0, "1/3", 0, "2/3")
    joint = shared_race(q, p)
    assert [sum(row) for row in joint] == list(q)
    assert [sum(column) for column in zip(*joint, strict=True)] == list(p)
    assert joint[0] == [0, 0, 0, 0]
