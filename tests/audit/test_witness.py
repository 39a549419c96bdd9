"""Laws found with stand-ins for random numbers, held against plain runs of the same code.

Right code must never be called refuted or faulty for the way it is written, and no law is reported
that ordinary luck contradicts. Plain runs have a fixed seed; they contradict a right law with
probability 1e-7 (`witness.LEVEL`).
"""

import random
import time
from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.audit import audit
from draftproof.audit.enumerate import HiddenLuck, NeedsNumbers, enumerate_sampler
from draftproof.audit.explore import explore_symbols
from draftproof.audit.witness import FEWEST, LEVEL, Witness, merged, runs_for

P, Q = [0.5, 0.3, 0.2], [0.25, 0.5, 0.25]
RARE_P, RARE_Q = [0.99, 0.01], [0.05, 0.95]


def drawn(weights, u):
    weights = np.asarray(weights, dtype=float)
    return min(int(np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right")),
               len(weights) - 1)  # fmt: skip


def speculate(p, q, uniforms):
    """Give the right step, written with three plain numbers."""
    token = drawn(q, uniforms[0])
    if uniforms[1] * q[token] < p[token]:
        return token
    return drawn(np.maximum(np.asarray(p - q, dtype=float), 0), uniforms[2])


def own_module(p, q, _):
    return speculate(p, q, [random.random() for _ in range(3)])


def global_numpy(p, q, _):
    return speculate(p, q, np.random.random(3))  # noqa: NPY002


class Buffer:
    """Draws many uniforms at once and keeps those it does not need for later calls."""

    def __init__(self):
        self.left = []

    def __call__(self, p, q, rng):
        if len(self.left) < 3:
            self.left = list(rng.random(64))
        three, self.left = self.left[:3], self.left[3:]
        token = next((t for t in range(len(q) - 1) if three[0] < q[: t + 1].sum()), len(q) - 1)
        if three[1] * q[token] < p[token]:
            return token
        under = np.maximum(p - q, 0)
        under = under / under.sum()
        last = len(q) - 1
        return next((t for t in range(last) if three[2] < under[: t + 1].sum()), last)


def at_once(p, q, rng):
    return speculate(p, q, [float(u) for u in rng.random(3)])


def alias(p, _, rng):
    """Vose's table: the law changes more often than the probes lie apart."""
    size = len(p)
    keep, other = [float(x) * size for x in p], list(range(size))
    small = [i for i in range(size) if keep[i] < 1]
    large = [i for i in range(size) if keep[i] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        other[low] = high
        keep[high] -= 1 - keep[low]
        (small if keep[high] < 1 else large).append(high)
    x = float(rng.random()) * size
    at = int(x)
    return at if x - at < keep[at] else other[at]


def checks_its_uniform(p, q, rng):
    three = rng.random(3)
    if any(np.isnan(u) for u in three):
        raise ValueError
    return speculate(p, q, three)


def checks_its_type(p, q, rng):
    u = rng.random()
    assert isinstance(u, float)
    return speculate(p, q, [u, *rng.random(2)])


def prints(p, q, rng):
    u = rng.random()
    f"{u:.3f}"
    return speculate(p, q, [u, *rng.random(2)])


def squares(p, q, rng):
    return speculate(p, q, [np.sqrt(rng.random() ** 2), rng.random() % 1, abs(rng.random())])


def catches_everything(p, q, rng):
    try:
        return speculate(p, q, [float(rng.random()) for _ in range(3)])
    except Exception:  # noqa: BLE001
        return int(np.argmax(p))


def derives_a_seed(p, q, rng):
    inner = np.random.default_rng(int(rng.integers(2**31)))
    return speculate(p, q, inner.random(3))


def single_precision(p, q, rng):
    p, q = p.astype(np.float32), q.astype(np.float32)
    token = drawn(q, float(rng.random()))
    if float(rng.random()) * float(q[token]) < float(p[token]):
        return token
    return drawn(np.maximum(p - q, 0), float(rng.random()))


RIGHT = [
    own_module, global_numpy, at_once, alias, checks_its_uniform, checks_its_type, prints, squares,
    catches_everything, derives_a_seed, single_precision,
]  # fmt: skip


@pytest.fixture(autouse=True)
def fixed_luck():
    random.seed(20_261_130)
    np.random.seed(20_261_130)  # noqa: NPY002


@pytest.mark.parametrize(
    ("fn", "pair"),
    [
        *(pytest.param(fn, (P, Q), id=fn.__name__) for fn in RIGHT),
        *(
            pytest.param(fn, (RARE_P, RARE_Q), id=f"{fn.__name__}, rare")
            for fn in (own_module, at_once, catches_everything)
        ),
    ],
)
def test_right_code_is_never_refuted_for_the_way_it_is_written(fn, pair):
    try:
        found = enumerate_sampler(fn, *pair)
    except NeedsNumbers:
        return  # it is sampled then
    assert found.agrees, found.counterexample()


@pytest.mark.parametrize("pair", [(P, Q), (RARE_P, RARE_Q)], ids=["worked", "rare"])
def test_uniforms_kept_from_an_earlier_call_are_noticed(pair):
    with pytest.raises(HiddenLuck):
        enumerate_sampler(Buffer(), *pair)


def test_a_long_row_by_inverse_transform_in_sorted_order_is_not_refuted():
    luck = np.random.default_rng(5)
    p, q = luck.dirichlet(np.ones(40) * 2), luck.dirichlet(np.ones(40) * 2)

    def fn(p, q, rng):
        order = np.argsort(-p)
        return int(order[drawn(p[order], float(rng.random()))])

    try:
        assert enumerate_sampler(fn, p, q).agrees
    except NeedsNumbers as refused:
        assert "plain runs contradict" in str(refused)  # noqa: PT017


# ---------------------------------------------------------------- wrong code


def one_bad_slot(p, _, rng):
    u = float(rng.random())
    return 0 if int(u * 64) == 35 else drawn(p, u)


def test_a_bisected_law_claims_no_more_than_plain_runs_bear_out():
    found = enumerate_sampler(one_bad_slot, P, Q)
    assert found.method == "bisection"
    gap = F(1, 64)  # what the assumption of bisection hides here
    assert found.known_to > gap
    assert any("plain runs for each law" in remark for remark in found.remarks)
    assert enumerate_sampler(lambda p, q, rng: rng.choice(3, p=p), P, Q).known_to is None


def test_the_bound_of_an_audit_is_no_smaller_than_what_plain_runs_bear_out():
    found = audit(one_bad_slot, P, Q)
    assert found.verdict == "consistent"  # a total variation of 0.05 is excluded, and no less
    assert 1 / 64 < found.tv_bound.value <= 0.05
    assert audit(one_bad_slot, P, Q, detect=0.01, time_limit=2).verdict != "consistent"


def test_luck_of_its_own_in_one_case_discards_the_laws_of_all():
    def fn(p, q, rng):
        return speculate(p, q, rng.random(3) if len(p) == 4 else np.random.random(3))  # noqa: NPY002

    report = audit(fn, max_samples=2_000, time_limit=20)
    assert report.method != "enumeration"
    assert report.verdict in ("consistent", "inconclusive")


def test_a_ratio_rounded_to_bfloat16_is_not_the_target_up_to_rounding():
    torch = pytest.importorskip("torch", reason="needs PyTorch")

    def fn(p, q, _):
        token = torch.multinomial(q, 1)[0]
        if torch.rand(1) < (p[token] / q[token]).bfloat16():
            return token
        return torch.multinomial(p, 1)[0]

    found = enumerate_sampler(fn, P, Q, luck="torch")
    assert not found.agrees
    assert found.tolerance < F(1, 10_000)


def exits(p, q, rng):
    raise SystemExit(0)


def test_a_function_that_ends_the_program_is_faulty():
    found = enumerate_sampler(exits, P, Q)
    assert found.counterexample() == "with probability 1 it raised SystemExit: '0'"
    assert audit(exits, P, Q).verdict == "faulty"


def test_a_function_that_catches_its_interruption_is_interrupted_all_the_same():
    def fn(p, q, rng):
        while True:
            try:  # noqa: SIM105
                time.sleep(0.01)
            except Exception:  # noqa: BLE001
                pass

    found = enumerate_sampler(fn, P, Q, seconds=0.2)
    assert "did not return within 0.2 s" in found.counterexample()


def test_a_fault_that_only_stand_ins_meet_is_not_the_codes():
    def fn(p, q, rng):
        u = rng.random()
        if not isinstance(u, float):
            raise ValueError("no number")
        return drawn(p, u)

    assert enumerate_sampler(fn, P, Q).agrees


def test_a_fault_of_plain_runs_too_keeps_its_exact_probability():
    def fn(p, q, rng):
        if rng.random() < F(1, 4):
            raise ValueError("now and then")
        return rng.choice(3, p=p)

    found = enumerate_sampler(fn, P, Q)
    assert found.counterexample() == "with probability 1/4 it raised ValueError: 'now and then'"


def test_code_that_asks_for_no_luck_is_refuted_only_where_plain_runs_say_so():
    found = enumerate_sampler(lambda p, q, rng: int(np.argmax(q)), P, Q)
    assert found.law == {1: 1}
    with pytest.raises(NeedsNumbers, match="plain runs do not confirm"):
        enumerate_sampler(lambda p, q, rng: 0, [0.9999, 0.0001], [0.5, 0.5])


# ---------------------------------------------------------------- the bounds


def frequencies(**counts):
    runs = sum(counts.values())
    return Witness({name: F(count, runs) for name, count in counts.items()}, runs)


def test_an_outcome_of_probability_zero_must_not_come_up_at_all():
    assert (
        frequencies(a=999, b=1).contradicts({"a": F(1)}) == "b came out in 0.1% of 1000 plain runs"
    )
    assert frequencies(a=1000).contradicts({"a": F(1)}) is None


def test_right_laws_are_not_contradicted_and_wrong_ones_are():
    """1,000 witnesses of a right law, each contradicting it with probability 1e-7 at most."""
    luck = np.random.default_rng(1)
    law = {"a": F(1, 2), "b": F(2, 5), "c": F(1, 10)}
    for _ in range(1_000):
        counts = luck.multinomial(FEWEST, [0.5, 0.4, 0.1])
        seen = frequencies(**dict(zip(law, counts.tolist(), strict=True)))
        assert seen.contradicts(law) is None
        assert seen.distance(law) > 0
    other = {"a": F(1, 5), "b": F(7, 10), "c": F(1, 10)}
    assert frequencies(a=150, b=120, c=30).contradicts(other)


def test_the_distance_bounds_the_true_one():
    luck = np.random.default_rng(2)
    law = {"a": F(1, 2), "b": F(2, 5), "c": F(1, 10)}
    for runs in (300, 10_000):
        counts = luck.multinomial(runs, [0.4, 0.4, 0.2], size=200)
        found = [frequencies(**dict(zip(law, row.tolist(), strict=True))).distance(law)
                 for row in counts]  # fmt: skip
        assert min(found) >= 0.1
    assert max(found) < 0.1 + 2 * 0.05  # twice what 10,000 runs may be off


def test_small_differences_are_given_more_runs():
    assert runs_for(F(0), bisected=False) == FEWEST
    assert runs_for(F(1, 4), bisected=False) == 480
    assert runs_for(F(0), bisected=True) == 10_000
    assert runs_for(F(1, 2), bisected=True) == 5_000
    assert runs_for(F(1, 20), bisected=True) == 12_000
    assert runs_for(F(1, 1000), bisected=True) == 20_000
    assert LEVEL == 1e-7


def test_faults_are_one_outcome_whatever_their_words():
    law = explore_symbols(lambda rng: 1 if rng.random() < F(1, 2) else 2).law
    assert merged(law) == {1: F(1, 2), 2: F(1, 2)}
