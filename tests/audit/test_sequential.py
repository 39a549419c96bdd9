"""Running a sampler against evidence: when it ends, and what it does about misbehaviour."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest

from draftproof.audit.cases import cases_for
from draftproof.audit.catalogue import find_suspect, speculative
from draftproof.audit.foreign import Foreign, Inputs, many_calls
from draftproof.audit.pairs import PAIRS, WORKED_PAIR
from draftproof.audit.sequential import Budget, Gathering, informative
from draftproof.audit.symbols import NeedsNumbers
from draftproof.errors import InvalidInput

INPUTS = Inputs({"p": np.array([0.5, 0.5]), "q": np.array([0.5, 0.5])})

ROWS = (WORKED_PAIR.p, WORKED_PAIR.q)


def gather(fn, *, rows=ROWS, signature="step", **budget):
    return Gathering(cases_for(fn, *rows, signature), Budget(**budget)).run()


def draws_from(name):
    """A fast sampler with the law of a suspect."""
    law_of = find_suspect(name).law

    def sample(p, q, rng):
        return int(rng.choice(len(p), p=law_of(p, q)))

    return sample


def test_it_ends_when_the_size_asked_for_is_excluded():
    found = gather(lambda p, q, rng: int(rng.choice(3, p=p)), detect=0.1)
    assert found.ended == "a total variation of 0.1 was excluded"
    assert 0 < found.bound <= 0.1
    assert not found.process.refuted


def test_it_ends_when_the_evidence_is_enough_and_the_leader_is_clear():
    found = gather(draws_from("always accept"))
    assert found.ended == "the evidence reached 1 / level"
    assert found.process.named() == "always accept"
    assert found.process.crossed_at <= found.process.samples < 3_000


def test_it_ends_at_the_samples_and_at_the_time():
    found = gather(speculative, max_samples=100, detect=0.01)
    assert (found.calls, found.ended) == (100, "the samples ran out")
    now = iter(range(10**6))
    cases = cases_for(speculative, *ROWS, "step")
    late = Gathering(cases, Budget(), deadline=20, clock=lambda: next(now)).run()
    assert late.ended == "the time ran out"
    assert late.calls <= 21


def test_one_seed_gives_one_audit():
    some, same = (gather(draws_from("resample from p"), seed=3) for _ in range(2))
    assert some.trail == same.trail
    assert some.trail != gather(draws_from("resample from p"), seed=4).trail


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (lambda p, q, rng: 1 / 0, "it raised ZeroDivisionError"),
        (lambda p, q, rng: 7, "outside the vocabulary of 3"),
        (lambda p, q, rng: 1.0, "a float"),
        (lambda p, q, rng: None, "it returned nothing"),
    ],
    ids=["raises", "id outside", "float", "nothing"],
)
def test_a_fault_is_counted_and_sampling_goes_on(fn, what):
    def sometimes(p, q, rng):
        return fn(p, q, rng) if rng.random() < 0.5 else int(rng.choice(3, p=p))

    found = gather(sometimes, max_samples=400)
    assert found.calls == 400
    assert 100 < found.process.samples < 300
    (said,) = found.faults
    assert what in said
    assert found.faults[said] == 400 - found.process.samples


def test_a_function_that_hangs_is_given_up_on(monkeypatch):
    monkeypatch.setattr("draftproof.audit.cases.CALL_SECONDS", 0.05)
    began = time.monotonic()

    def hangs(p, q, rng):
        while True:
            pass

    found = gather(hangs)
    assert found.calls == 3
    assert "did not return" in found.ended
    assert time.monotonic() - began < 5


def test_the_inputs_are_fresh_for_every_call():
    def spoils(p, q, rng):
        token = int(rng.choice(3, p=p))
        p[:] = 0
        return token

    assert not gather(spoils, max_samples=200).faults


def test_a_joint_law_of_a_block_is_sampled_too():
    def everything(target, draft, tokens, rng):
        return len(tokens), int(rng.choice(3, p=target[-1]))

    found = gather(everything, signature="block")
    assert found.process.refuted
    assert found.process.named() == "everything accepted"


def test_a_bound_is_left_out_where_it_would_say_nothing():
    wide = np.full(1_000, 1 / 1_000)
    (case,) = cases_for(speculative, wide, wide, "step")
    assert not informative(case)
    found = Gathering([case], Budget(max_samples=50)).run()
    assert found.bound is None
    assert all(informative(case) for case in cases_for(speculative, None, None, "step"))
    assert len(PAIRS) > 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0},
        {"detect": 1.0},
        {"max_samples": 0},
        {"seconds": 0},
        {"seed": -1},
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidInput):
        Budget(**wrong)


def test_a_call_that_hangs_among_many_is_interrupted_and_the_others_are_not(monkeypatch):
    monkeypatch.setattr("draftproof.audit.cases.CALL_SECONDS", 0.2)
    calls = itertools.count()

    def sometimes(p, q, rng):
        if next(calls) == 7:
            time.sleep(60)
        return int(rng.choice(len(p), p=p))

    found = gather(sometimes, max_samples=200)
    assert found.calls == 200
    assert list(found.faults.values()) == [1]
    assert "did not return within" in next(iter(found.faults))


def test_the_timer_is_put_back_after_sampling():
    before = signal.getsignal(signal.SIGALRM)
    gather(lambda p, q, rng: 0, max_samples=20)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_call_that_was_refused_leaves_no_limit_for_what_comes_after():
    """Here a tick would find the deadline of the refused call long past."""

    def refused(p, q, rng):
        raise NeedsNumbers("this cannot be followed")

    with many_calls():
        with pytest.raises(NeedsNumbers):
            Foreign(refused, seconds=0.01)(np.random.default_rng(1), INPUTS)
        ends = time.monotonic() + 0.3
        while time.monotonic() < ends:
            pass


def test_code_that_takes_the_timer_for_itself_is_limited_all_the_same():
    def takes(p, q, rng):
        signal.setitimer(signal.ITIMER_REAL, 0)
        return 0

    def hangs(p, q, rng):
        time.sleep(60)

    with many_calls():
        rng = np.random.default_rng(1)
        assert Foreign(takes, seconds=0.2)(rng, INPUTS) == 0
        assert "did not return within" in Foreign(hangs, seconds=0.2)(rng, INPUTS).what


def test_another_thread_does_not_take_the_limit_away():
    def hangs(p, q, rng):
        other = threading.Thread(target=lambda: Foreign(quick)(np.random.default_rng(2), INPUTS))
        other.start()
        other.join()
        time.sleep(60)

    def quick(p, q, rng):
        return 0

    with many_calls():
        found = Foreign(hangs, seconds=0.3)(np.random.default_rng(1), INPUTS)
    assert "did not return within" in found.what
