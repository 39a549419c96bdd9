"""From a function to a verdict: method, verdict, the name of the bug, and what would tell."""

import math
import re
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from draftproof.audit import Diagnosis, audit, diagnose, prepare
from draftproof.audit.catalogue import find_suspect, speculative
from draftproof.audit.diagnosis import by_law, surprise_shared, telling_sentence, weighed
from draftproof.audit.evidence import OPEN
from draftproof.audit.pairs import PAIRS, WORKED_PAIR
from draftproof.audit.sequential import Budget
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS, TOKEN_WISE
from draftproof.dist import speculative_step
from draftproof.errors import InvalidInput

WORKED = (WORKED_PAIR.p, WORKED_PAIR.q)
WORKED_FLOATS = tuple(row.astype(np.float64) for row in WORKED)


def naive(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.random() < min(1, p[token] / q[token]):
        return token
    return rng.choice(len(p), p=p)


def opaque(step):
    """The same code behind a draw that no stand-in follows, so that it must be sampled."""

    def hidden(p, q, rng):
        rng.normal()
        return step(p, q, rng)

    return hidden


def test_the_naive_resample_is_refuted_by_enumeration_and_named():
    report = audit(naive, *WORKED)
    assert (report.verdict, report.method, report.samples) == ("refuted", "enumeration", 0)
    (finding,) = report.findings
    assert finding.seen == (Fraction(3, 8), Fraction(3, 8), Fraction(1, 4))
    assert report.gap == Fraction(1, 8)
    assert report.diagnosis.best == "resample from p"
    assert "1/8 too little" in report.counterexample


def test_it_is_refuted_by_evidence_and_named_where_it_cannot_be_enumerated():
    report = audit(opaque(naive), *WORKED, seed=1)
    assert (report.verdict, report.method) == ("refuted", "sequential")
    assert report.diagnosis.best == "resample from p"
    assert report.log10_e >= 6
    assert any("not enumerated" in remark for remark in report.remarks)


def test_a_right_step_is_consistent_and_never_just_passed():
    report = audit(speculative)
    assert (report.verdict, report.method, report.gap) == ("consistent", "enumeration", 0)
    assert "10 cases" in report.reason
    assert report.tv_bound.value == 0
    assert not report.diagnosis.suspects
    with pytest.raises(TypeError, match="not a yes or no"):
        bool(report)


def test_the_step_of_this_library_is_consistent():
    assert audit(speculative_step, *WORKED).verdict == "consistent"


def test_a_right_step_that_must_be_sampled_says_what_was_excluded():
    report = audit(opaque(speculative), *WORKED, detect=0.1)
    assert (report.verdict, report.method) == ("consistent", "sequential")
    assert 0 < report.tv_bound.value <= 0.1
    assert "3 tokens" in report.tv_bound.partition
    least = report.smallest_detectable
    assert 0 < least["resample from p"] < 0.125
    assert least["argmax of the residual"] is None, "it does not show on this pair"


def test_a_budget_too_small_is_inconclusive():
    report = audit(opaque(speculative), *WORKED, max_samples=100, detect=0.01)
    assert report.verdict == "inconclusive"
    assert "samples ran out" in report.reason


def test_sizes_are_announced_before_the_run():
    ready = prepare(naive, *WORKED)
    sizes = {size.suspect: size for size in ready.announced}
    assert 400 < sizes["resample from p"].mean < 700
    assert sizes["resample from p"].most > sizes["resample from p"].mean
    assert ready.run().announced == ready.announced


# ---------------------------------------------------------------- misbehaviour


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (lambda p, q, rng: {}["key"], "it raised KeyError"),
        (lambda p, q, rng: len(p), "outside the vocabulary"),
        (lambda p, q, rng: 1.0, "a float"),
        (lambda p, q, rng: None, "it returned nothing"),
        (lambda p, q: 0, "it raised TypeError"),
    ],
    ids=["raises", "id outside", "float", "nothing", "other arguments"],
)
def test_misbehaviour_has_a_verdict_of_its_own_and_the_audit_goes_on(fn, what):
    report = audit(fn)
    assert report.verdict == "faulty"
    assert len(report.findings) == len(PAIRS)
    assert any(what in said for said in report.faults)


def test_a_function_that_fails_at_times_is_faulty_and_one_that_is_wrong_too_is_refuted():
    def fails(p, q, rng):
        if rng.random() < 0.25:
            raise OSError("disk")
        return speculative(p, q, rng)

    report = audit(fails, *WORKED)
    assert report.verdict == "faulty"
    assert list(report.faults.values()) == ["with probability 0.25"]

    def fails_and_errs(p, q, rng):
        if rng.random() < 0.01:
            raise OSError("disk")
        return naive(p, q, rng)

    assert audit(fails_and_errs, *WORKED).verdict == "refuted"


def test_a_function_that_hangs_is_given_up_on(monkeypatch):
    monkeypatch.setattr("draftproof.audit.cases.CALL_SECONDS", 0.05)

    def hangs(p, q, rng):
        while True:
            pass

    began = time.monotonic()
    report = audit(hangs, *WORKED)
    assert report.verdict == "faulty"
    assert any("did not return" in said for said in report.faults)
    assert time.monotonic() - began < 10


def test_input_changed_in_place_is_found():
    def spoils(p, q, rng):
        token = speculative(p.copy(), q.copy(), rng)
        q[0] = 0
        return token

    report = audit(spoils, *WORKED)
    assert report.verdict == "faulty"
    assert "input q in place" in report.reason


def unseen(rng):
    """The same luck through the bit generator, which no stand-in follows: it must be sampled."""
    return np.random.Generator(rng.bit_generator)


def spoils_what_it_rejects(p, q, rng):
    rng = unseen(rng)
    token = int(rng.choice(len(q), p=q))
    if rng.random() * q[token] < p[token]:
        return token
    np.subtract(p, q, out=p)
    np.maximum(p, 0, out=p)
    p /= p.sum()
    return int(rng.choice(len(p), p=p))


def test_input_changed_in_place_is_found_where_the_law_is_sampled():
    """Chance to miss it: a rejection in 2,000 calls on the worked pair, below 1e-200."""
    report = audit(spoils_what_it_rejects, *WORKED, detect=0.1)
    assert (report.verdict, report.method) == ("faulty", "sequential")
    assert report.reason == "no token speaks against it, but it changes its input p in place"
    (said,) = [remark for remark in report.remarks if "changes" in remark]
    assert said == "it changes its input p in place: on the rows given"


def test_input_changed_in_place_is_found_in_tensors_and_in_batches():
    """Sampled with seed 0; each spoils on every call, so nothing is left to luck."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def divides(p, q, generator):
        torch.randperm(3)
        token = int(torch.multinomial(p, 1))
        q.div_(2)
        return token

    budget = {"max_samples": 200, "detect": 0.5}
    assert "input q in place" in audit(divides, *WORKED, luck="torch", **budget).reason

    def overwrites(target_rows, draft_rows, draft_tokens, rng):
        rng = unseen(rng)
        requests = zip(target_rows, draft_rows, draft_tokens, strict=True)
        found = [TOKEN_WISE.judge(*request, rng) for request in requests]
        draft_rows[1][0] = 0
        return found

    batch = audit(overwrites, *TWO, signature="batch", **budget)
    assert (batch.verdict, "input draft_rows in place" in batch.reason) == ("faulty", True)


def test_a_sampled_report_says_which_checks_were_made_otherwise():
    report = audit(opaque(speculative), *WORKED, max_samples=100)
    assert any("looked for in its first 2,000 calls" in remark for remark in report.remarks)
    assert not any("first 2,000" in remark for remark in audit(speculative, *WORKED).remarks)


def test_nothing_would_have_shown_where_nothing_but_faults_came_out():
    report = audit(lambda p, q, rng: 1 / 0, *WORKED)
    assert report.smallest_detectable
    assert set(report.smallest_detectable.values()) == {None}


# ---------------------------------------------------------------- what consistent means


def test_suspects_that_do_not_show_leave_a_large_row_inconclusive():
    """A total variation of 0.0997 over 2,000 tokens, which no bound and no open bet sees."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(2_000)), rng.dirichlet(np.ones(2_000))
    tilt = np.where(np.arange(2_000) % 2 == 0, 0.8, 1.2)

    def tilted(p, q, rng):
        law = p * tilt
        return int(np.searchsorted(np.cumsum(law / law.sum()), unseen(rng).random()))

    report = audit(tilted, p, q, max_samples=20_000, detect=0.3)
    assert report.verdict == "inconclusive"
    assert max(filter(None, report.smallest_detectable.values())) < 0.3
    assert "no total variation can be bounded" in report.reason
    some, of = re.search(r"(\d+) of (\d+) suspects", report.reason).groups()
    assert int(some) < int(of) == len(report.smallest_detectable)


@pytest.mark.parametrize(("rounding", "verdict"), [(0, "consistent"), (1, "inconclusive")])
def test_a_law_found_too_coarsely_is_not_consistent(rounding, verdict):
    """The tolerance is rounding times 7: 0.07 with a hundredth, more than 0.05."""
    ready = prepare(speculative, *WORKED)
    found = replace(ready.cases[0].enumerate(), rounding=Fraction(rounding, 100))
    coarse = replace(ready.cases[0], enumerate=lambda: found)
    report = replace(ready, cases=(coarse,)).run()
    assert report.verdict == verdict
    assert ("to within 0.07" in report.reason) == bool(rounding)


def test_a_law_as_far_off_as_its_coarse_arithmetic_allows_is_not_consistent():
    ready = prepare(speculative, *WORKED)
    case, near = ready.cases[0], Fraction(3, 100)
    law = {0: Fraction(1, 2) + near, 1: Fraction(3, 10) + near, 2: Fraction(1, 5) - 2 * near}
    found = replace(case.enumerate(), law=law, rounding=Fraction(1, 100))
    report = replace(
        ready,
        cases=(replace(case, enumerate=lambda: found),),
        budget=Budget(detect=0.0599),
    ).run()
    assert report.verdict == "inconclusive"
    assert report.tv_bound.value == pytest.approx(0.06)


# ---------------------------------------------------------------- blocks and batches

TWO = tuple(np.array([Fraction(x), 1 - Fraction(x)], dtype=object) for x in ("2/3", "1/3"))


def rejected(p, q):
    under = np.maximum(p - q, 0)
    return under / under.sum() if under.sum() > 0 else p


def one_request(p, q, drafted, coins, rng, bonus=None):
    kept = 0
    while kept < len(drafted) and coins[kept] * q[kept, drafted[kept]] < p[kept, drafted[kept]]:
        kept += 1
    row = p[kept] if kept == len(drafted) else rejected(p[kept], q[kept])
    return kept, int(rng.choice(len(row), p=row if bonus is None else bonus))


def shares_coins(target_rows, draft_rows, draft_tokens, rng):
    rng = unseen(rng)
    coins = rng.random(2)
    requests = zip(target_rows, draft_rows, draft_tokens, strict=True)
    return [one_request(*request, coins, rng) for request in requests]


def minds_its_neighbour(slot_of_it, drafts_beside):
    """One slot ends with token 0 for certain, but only beside a neighbour of so many drafts."""

    def batch(target_rows, draft_rows, draft_tokens, rng):
        rng, found = unseen(rng), []
        for slot, request in enumerate(zip(target_rows, draft_rows, draft_tokens, strict=True)):
            wrong = slot == slot_of_it and len(draft_tokens[1 - slot]) == drafts_beside
            row = np.array([1.0, 0.0]) if wrong else None
            found.append(one_request(*request, rng.random(len(request[2])), rng, row))
        return found

    return batch


def independent(target_rows, draft_rows, draft_tokens, rng):
    rng = unseen(rng)
    requests = zip(target_rows, draft_rows, draft_tokens, strict=True)
    return [one_request(*one, rng.random(len(one[2])), rng) for one in requests]


@pytest.mark.parametrize(
    ("batch", "verdict"),
    [
        (shares_coins, "refuted"),
        (minds_its_neighbour(1, 2), "refuted"),
        (minds_its_neighbour(0, 1), "refuted"),
        (independent, "consistent"),
    ],
    ids=["shared coins", "beside two drafts", "beside one draft", "right"],
)
def test_a_batch_that_must_be_sampled_is_watched_beside_neighbours_that_draft(batch, verdict):
    """Seed 0, level 1e-6 for the right one."""
    report = audit(batch, *TWO, signature="batch", detect=0.2)
    assert (report.verdict, report.method) == (verdict, "sequential")
    names = [finding.name for finding in report.findings]
    assert any("in the other slot" in name for name in names)
    assert any("both requests together" in name for name in names)


def test_a_block_verifier_is_proved_over_its_joint_law():
    assert audit(TOKEN_WISE.judge, signature="block").verdict == "consistent"
    report = audit(BLOCK_SUSPECTS[7].judge, signature="block")
    assert (report.verdict, report.diagnosis.best) == ("refuted", "one coin for the block")


def each(judge):
    def batch(target_rows, draft_rows, draft_tokens, rng):
        requests = zip(target_rows, draft_rows, draft_tokens, strict=True)
        return [judge(*request, rng) for request in requests]

    return batch


def test_a_batch_is_proved_request_by_request():
    p, q = (np.array([Fraction(x), 1 - Fraction(x)], dtype=object) for x in ("2/3", "1/3"))
    assert audit(each(TOKEN_WISE.judge), p, q, signature="batch").verdict == "consistent"
    report = audit(each(BLOCK_SUSPECTS[0].judge), p, q, signature="batch")
    assert report.verdict == "refuted"
    assert report.diagnosis.best == "everything accepted"


# ---------------------------------------------------------------- which bug, and what would tell


def test_a_bug_that_nobody_wrote_down_matches_no_suspect():
    report = audit(lambda p, q, rng: int(rng.integers(len(p))), *WORKED)
    assert report.verdict == "refuted"
    assert report.diagnosis.best is None
    assert report.diagnosis.suspects[0].name == OPEN
    assert "no suspect" in report.diagnosis.sentences()[0]


def test_twins_are_listed_with_the_input_that_would_tell_them_apart():
    report = audit(find_suspect("always accept").step, *WORKED)
    assert report.diagnosis.best == "always accept"
    assert "coin stuck at zero" in report.diagnosis.twins
    told = telling_sentence("always accept", "coin stuck at zero")
    assert told in report.diagnosis.telling
    assert "would tell" in told
    everywhere = audit(find_suspect("always accept").step)
    assert "coin stuck at zero" not in everywhere.diagnosis.twins


def test_two_bugs_of_one_law_are_said_to_be_so():
    report = audit(find_suspect("match, then redraw").step)
    assert {report.diagnosis.best, *report.diagnosis.twins} == {
        "match, then redraw",
        "one-hot draft, resampled from p",
    }
    assert "No input of the battery" in report.diagnosis.telling[0]


def test_the_public_reports_of_a_bug_come_with_its_name():
    report = audit(find_suspect("siblings not rescaled").step)
    assert report.diagnosis.suspects[0].references == ("SafeAILab/EAGLE#74",)


def test_weights_of_twins_are_shared_and_the_leader_comes_first():
    found = weighed({"a": 0.9, "always accept": 0.0996, OPEN: 0.0004}, {})
    assert [one.name for one in found.suspects] == ["a", "always accept"]
    shared = weighed(
        {"always accept": 1.0}, {"always accept": ("always accept", "coin stuck at zero")}
    )
    assert [one.weight for one in shared.suspects] == [0.5, 0.5]


def test_an_exact_law_that_is_only_near_a_suspect_is_not_that_suspect():
    cases = prepare(naive, *WORKED).cases
    near = {0: Fraction(3, 8), 1: Fraction(3, 8) + Fraction(1, 10**6), 2: Fraction(1, 4)}
    assert by_law(cases, [near]).best is None
    right = {0: Fraction(3, 8), 1: Fraction(3, 8), 2: Fraction(1, 4)}
    assert by_law(cases, [right]).best == "resample from p"


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: audit(3), "cannot be called"),
        (lambda: audit(naive, WORKED[0]), "q is missing"),
        (lambda: audit(naive, signature="tree"), "signature"),
        (lambda: audit(naive, level=2.0), "level"),
        (lambda: audit(naive, [0.5, 0.6], [0.5, 0.5]), "sums to"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()


def test_a_large_vocabulary_is_audited_in_floats():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(400)), rng.dirichlet(np.ones(400))
    report = prepare(opaque(naive), p, q, budget=Budget(max_samples=20_000)).run()
    assert report.verdict == "refuted"


# ---------------------------------------------------------------- names of laws that were found


def test_a_bug_is_named_though_the_code_breaks_ties_otherwise():
    def better_beam(p, q, rng):
        one, other = (int(rng.choice(len(q), p=q)) for _ in range(2))
        token = one if q[one] >= q[other] else other
        if rng.random() * q[token] < p[token]:
            return token
        return int(rng.choice(len(p), p=rejected(p, q)))

    found = audit(better_beam).diagnosis
    assert found.best == "best of two drafts"
    assert "the worked pair" in found.agreement
    assert found.agreement in found.sentences()


def test_a_bug_is_named_though_some_inputs_only_give_a_fault():
    def mixed_rules(p, q, rng):
        token = int(rng.choice(len(q), p=q))
        if rng.random() < p[token]:
            return token
        under = np.maximum(p - q, 0)
        return int(rng.choice(len(p), p=under * (1 / under.sum())))

    report = audit(mixed_rules)
    assert any(finding.verdict == "faulty" for finding in report.findings)
    assert report.diagnosis.best == "coin of a one-hot draft, residual of q"


def test_one_impossible_token_is_not_enough_for_a_name():
    """Seed 0: refuted after 47 samples, by a token of probability 0 that a coarse coin keeps."""

    def generous(p, q, rng):
        rng = unseen(rng)
        token = int(rng.choice(len(q), p=q))
        if rng.random() < (p[token] + 0.05) / (q[token] + 0.05):
            return token
        return int(rng.choice(len(p), p=rejected(p, q)))

    found = audit(generous).diagnosis
    assert found.best is None
    (said,) = found.sentences()
    assert "Still possible: " in said
    assert "coarse coin (" in said


def test_a_surprise_counts_by_how_often_it_came():
    """2 of 48: Beta(1/2, 1/2) gives B(5/2, 93/2) / B(1/2, 1/2), against (1e-4 / 3)**2 before."""
    seen = [(np.array([0.5, 0.5, 0.0]), np.array([26, 20, 2]))]
    found = surprise_shared({"a": 0.5, OPEN: 0.5}, seen)
    fair = math.exp(math.lgamma(2.5) + math.lgamma(46.5) - math.lgamma(49)) / math.pi
    assert found[OPEN] / found["a"] == pytest.approx(fair / (1e-4 / 3) ** 2)
    none = [(np.array([0.5, 0.5, 0.0]), np.array([26, 20, 0]))]
    assert surprise_shared({"a": 0.5, OPEN: 0.5}, none) == {"a": 0.5, OPEN: 0.5}


# ---------------------------------------------------------------- the law alone, or counts


def test_counts_are_weighed_by_likelihood_and_twins_share():
    rng = np.random.default_rng(0)
    counts = np.bincount([naive(*WORKED_FLOATS, rng) for _ in range(4_000)], minlength=3)
    found = diagnose(counts, *WORKED)
    assert found.best == "resample from p"
    assert "NJUNLP/MCSD#5 (suspected there)" in found.suspects[0].references
    assert "siblings not renewed" in found.twins
    assert len(found.telling) == len(found.twins)
    assert any("the two give one law" in said for said in found.telling)
    assert any("would tell" in said for said in found.telling)
    assert diagnose(dict(enumerate(counts.tolist())), *WORKED) == found


def test_an_exact_law_is_diagnosed_without_samples():
    found = diagnose([Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)], *WORKED)
    assert found.best == "resample from p"
    assert diagnose(WORKED[0], *WORKED) == Diagnosis()
    nobody = diagnose([Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)], *WORKED)
    assert nobody.best is None
    assert [one.name for one in nobody.suspects] == [OPEN]


@pytest.mark.parametrize("seed", range(20))
def test_counts_of_a_right_step_are_not_diagnosed(seed):
    """Level 1e-3: the chance that any of the twenty is diagnosed is at most 0.02."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(5_000, WORKED_FLOATS[0])
    assert diagnose(counts, *WORKED) == Diagnosis()


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        ([1, 2], "one entry for each of 3"),
        ([1, -1, 2], "none below 0"),
        ([0, 0, 0], "not all 0"),
        ({3: 1}, "ids go from 0 to 2"),
        ([0.5, 0.5, 0.5], "seen"),
    ],
)
def test_what_is_neither_counts_nor_a_law_is_refused(seen, word):
    with pytest.raises(InvalidInput, match=word):
        diagnose(seen, *WORKED)


# ---------------------------------------------------------------- luck from elsewhere


def test_uniforms_may_be_an_argument_of_what_is_audited():
    def from_uniforms(p, q, u):
        edges = np.cumsum(q)
        token = next(at for at in range(len(q)) if u[0] < edges[at])
        if u[1] * q[token] < p[token]:
            return token
        left = np.cumsum(np.maximum(p - q, 0))
        return next(at for at in range(len(p)) if u[2] * left[-1] < left[at])

    report = audit(from_uniforms, *WORKED, uniforms=3)
    assert (report.verdict, report.method, report.gap) == ("consistent", "enumeration", 0)
    sampled = audit(lambda p, q, u: math.floor(u[0] * 2) * 2, *WORKED, uniforms=1)
    assert sampled.verdict == "refuted"


def test_luck_of_pytorch_is_enumerated_and_sampled_too():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def naive_torch(p, q, generator):
        token = int(torch.multinomial(q, 1, generator=generator))
        if torch.rand(1, generator=generator) < p[token] / q[token]:
            return token
        return int(torch.multinomial(p, 1))

    def hidden(p, q, generator):
        torch.randperm(3)
        return naive_torch(p, q, generator)

    proved = audit(naive_torch, *WORKED, luck="torch")
    assert (proved.verdict, proved.method) == ("refuted", "enumeration")
    assert proved.diagnosis.best == "resample from p"
    gathered = audit(hidden, *WORKED, luck="torch")
    assert (gathered.verdict, gathered.method) == ("refuted", "sequential")
    assert gathered.diagnosis.best == "resample from p"


@pytest.mark.parametrize(("option", "word"), [({"luck": "dice"}, "luck"), ({"uniforms": 0}, "1")])
def test_a_source_of_luck_that_is_none_is_refused(option, word):
    with pytest.raises(InvalidInput, match=word):
        audit(naive, **option)
