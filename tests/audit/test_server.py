"""Servers with planted bugs are refuted and named, honest ones are not, and nothing is lost.

The toy server draws with the seeds it is sent, so every audit here comes out the same each time.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from audit.fake_server import BUGS, Behaviour, serving
from draftproof.audit.asking import PER_ANSWER, Journal
from draftproof.audit.auditing import Report
from draftproof.audit.client import Client, Patience, listing
from draftproof.audit.numerics import (
    PLAIN,
    CeilingEProcess,
    Setting,
    bug_laws,
    ceiling,
    judged,
    law,
)
from draftproof.audit.report import as_html, as_json
from draftproof.audit.sequential import Budget
from draftproof.audit.server import ServerOptions, audit_server
from draftproof.audit.server_options import read_prompts
from draftproof.errors import InvalidInput, ServerError

HASTY = Patience(timeout=5, tries=3, pause=0.001)
NAMES = {
    "temperature on the draft only": "target temperature ignored",
    "resample from p": "resample from p",
    "min-p skipped on drafts": "min-p skipped on drafted positions",
    "top-k on the draft only": "top-k skipped on drafted positions",
}


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.txt"
    path.write_text("\n".join(f"w{at} w{at + 1}" for at in range(0, 24, 3)))
    return path


def run(
    behaviour: Behaviour, prompts: Path, *, samples: int = 400, detect: float = 0.03, **more: object
) -> Report:
    budget = Budget(max_samples=samples, detect=detect, seconds=120, seed=3)
    options = {"prompts": prompts, "budget": budget, "patience": HASTY} | more
    with serving(behaviour) as url:
        return audit_server(url, ServerOptions(**options))


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_refuted_and_named(bug: str, prompts: Path):
    greedy = bug == "resample from p"
    report = run(Behaviour(bug=bug, greedy=greedy), prompts, samples=4000)
    assert report.verdict == "refuted", report.reason
    assert report.diagnosis.best == NAMES[bug]
    assert report.diagnosis.sentences()
    assert report.facts["drafts_verified"]["drafted"] > 0


@pytest.mark.parametrize("greedy", [False, True])
def test_an_honest_server_is_not_refuted_and_a_bound_is_stated(greedy: bool, prompts: Path):
    report = run(Behaviour(greedy=greedy), prompts, samples=1500, detect=0.15)
    assert report.verdict == "consistent"
    assert report.tv_bound is not None
    assert report.tv_bound.value <= 0.15
    assert report.log10_e < 6


def test_too_few_samples_are_inconclusive_with_a_bound(prompts: Path):
    report = run(Behaviour(), prompts)
    assert (report.verdict, "samples ran out" in report.reason) == ("inconclusive", True)
    assert report.tv_bound is not None


def test_other_arithmetic_is_numerics_and_not_a_bug(prompts: Path):
    with serving(Behaviour(speculates=False)) as control:
        report = run(Behaviour(noise=0.4), prompts, samples=600, control=control)
    assert report.verdict == "inconclusive"
    assert report.reason.startswith("numerics")
    assert report.log10_e >= 6
    assert report.facts["numerics"]["row_gap"] > 0.1
    assert not report.facts["control"]["refuted"]


def test_a_bug_is_seen_through_other_arithmetic(prompts: Path):
    bad = Behaviour(noise=0.05, bug="min-p skipped on drafts")
    with serving(Behaviour(speculates=False)) as control:
        report = run(bad, prompts, samples=2000, control=control)
    assert (report.verdict, report.diagnosis.best) == ("refuted", NAMES[bad.bug or ""])


def test_a_control_that_fails_alike_acquits_speculation(prompts: Path):
    bug = "top-k on the draft only"
    with serving(Behaviour(bug=bug)) as control:
        report = run(Behaviour(bug=bug), prompts, samples=800, control=control)
    assert report.verdict == "inconclusive"
    assert "control is refuted" in report.reason


def test_without_a_draft_nothing_is_said(prompts: Path):
    report = run(Behaviour(speculates=False), prompts, samples=1500, detect=0.3)
    assert report.verdict == "inconclusive"
    assert report.reason.startswith("no draft was seen")


# ---------------------------------------------------------------- rows that are not told


def test_a_logprob_of_zero_is_absent_and_the_row_is_asked_for_again(prompts: Path):
    open_, hidden = Behaviour(), Behaviour(lists="not drafted")
    seen, asked = run(open_, prompts), run(hidden, prompts)
    assert asked.samples == seen.samples
    assert asked.log10_e == seen.log10_e
    assert len(hidden.asked) > 2 * len(open_.asked)


def test_a_bug_is_found_behind_hidden_rows(prompts: Path):
    report = run(Behaviour(bug="min-p skipped on drafts", lists="not drafted"), prompts)
    assert (report.verdict, report.diagnosis.best) == ("refuted", NAMES["min-p skipped on drafts"])


def test_no_logprobs_and_no_ids_leave_no_law(prompts: Path):
    report = run(Behaviour(lists="none", ids=False), prompts)
    assert report.verdict == "inconclusive"
    assert report.samples == 0
    assert "no target law" in report.reason
    assert "nothing was sampled" in as_html(report)


def test_a_control_lends_its_rows_to_a_server_without_logprobs(prompts: Path):
    with serving(Behaviour(speculates=False)) as control:
        bad = Behaviour(lists="none", bug="min-p skipped on drafts")
        assert run(bad, prompts, control=control).diagnosis.best == NAMES[bad.bug or ""]


def test_the_old_form_and_a_strict_api_do(prompts: Path):
    old = Behaviour(old_form=True, ids=False, strict_api=True)
    report = run(old, prompts)
    assert report.samples >= 400
    assert any("top-k and min-p are not taken" in remark for remark in report.remarks)


# ---------------------------------------------------------------- nothing is lost


def test_failures_lose_nothing(prompts: Path):
    calm, stormy = Behaviour(), Behaviour()
    expected = run(calm, prompts, concurrency=1)
    stormy.mishaps = [429, 500, None, 0, 503, None] * 5
    report = run(stormy, prompts, concurrency=1)
    assert report.samples == expected.samples
    assert not any("given up" in remark for remark in report.remarks)


def test_a_server_that_goes_down_ends_the_audit_with_what_there_is(prompts: Path):
    behaviour = Behaviour()
    with serving(behaviour) as url:
        options = ServerOptions(
            prompts=prompts, patience=HASTY, budget=Budget(max_samples=2000), concurrency=2
        )

        def fail(what: str) -> None:
            if what.startswith("112"):
                behaviour.mishaps = [500] * 10_000

        report = audit_server(url, options, fail)
    assert report.verdict == "inconclusive"
    assert "stopped answering" in report.reason
    assert report.samples >= 112


def test_an_interrupted_audit_goes_on_where_it_was(prompts: Path, tmp_path: Path):
    whole = run(Behaviour(), prompts)
    kept = tmp_path / "kept.jsonl"
    behaviour = Behaviour()
    with serving(behaviour) as url:
        options = ServerOptions(
            prompts=prompts, resume=kept, budget=Budget(max_samples=400, detect=0.03, seed=3)
        )

        def stop(what: str) -> None:
            if what.startswith("168"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            audit_server(url, options, stop)
        kept.write_bytes(kept.read_bytes() + b'{"who": "server", "ask')
        before = len(behaviour.asked)
        report = audit_server(url, options)
        fresh = [body for body in behaviour.asked[before:] if body["max_tokens"] == PER_ANSWER]
    answers = [json.loads(line) for line in kept.read_text().splitlines()[1:]]
    assert report.log10_e == whole.log10_e
    assert report.samples == whole.samples
    assert len(fresh) < len([one for one in answers if "ask" in one])


def test_a_file_of_another_audit_is_refused(tmp_path: Path):
    path = tmp_path / "kept.jsonl"
    Journal(path, {"url": "http://one"}).close()
    with pytest.raises(InvalidInput, match="name a new file"):
        Journal(path, {"url": "http://other"})


def test_concurrency_is_kept(prompts: Path):
    behaviour = Behaviour()
    run(behaviour, prompts, concurrency=2)
    assert behaviour.most_busy <= 2


def test_the_cost_is_told_before_it_begins(prompts: Path):
    behaviour, told = Behaviour(), []
    with serving(behaviour) as url:
        options = ServerOptions(prompts=prompts, budget=Budget(max_samples=400, detect=0.03))
        report = audit_server(url, options, lambda what: told.append((what, len(behaviour.asked))))
    assert "requests" in told[0][0]
    assert told[0][1] < 40
    cost = report.facts["cost_estimate"]
    assert cost["requests"] >= math.ceil(400 / (PER_ANSWER - 1)) - 1
    assert report.announced


# ---------------------------------------------------------------- mistakes and reports


def test_nobody_there_is_one_sentence(prompts: Path):
    with pytest.raises(ServerError, match="did not answer"):
        audit_server("http://127.0.0.1:9", ServerOptions(patience=HASTY))


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://x", "http://"])
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(InvalidInput, match="give an address"):
        Client(url)


def test_prompts_need_a_line(tmp_path: Path):
    empty = tmp_path / "none.txt"
    empty.write_text("\n")
    with pytest.raises(InvalidInput, match="one per line"):
        read_prompts(empty)


def test_the_report_has_what_a_server_needs(prompts: Path):
    report = run(Behaviour(), prompts)
    found = as_json(report)
    assert {"drafts_verified", "control", "cost_estimate", "tv_bound", "suspects"} <= set(found)
    json.dumps(found, allow_nan=False)
    assert "Audit of" in as_html(report)


# ---------------------------------------------------------------- the statistics


def test_laws_of_bugs_are_laws():
    listed = listing({at: -0.3 - 0.4 * at for at in range(10)})
    assert listed is not None
    for setting in (PLAIN, Setting(temperature=1.5, top_k=8), Setting(top_k=4), Setting(top_k=8)):
        for one in bug_laws(listed, setting, [*listed], 2):
            assert one.min() >= 0
            assert abs(one.sum() - 1) < 1e-9


def test_a_law_below_the_ceiling_is_seldom_refuted():
    """At level 0.05, 60 runs: more than 11 refutations would have probability below 1e-4."""
    rng = np.random.default_rng(11)
    refuted = 0
    for _ in range(60):
        mine = rng.normal(0, 1, 6)
        theirs = mine + rng.normal(0, 0.3, 6)
        rows = [
            {at: float(v) for at, v in enumerate(x - np.logaddexp.reduce(x))}
            for x in (mine, theirs)
        ]
        setting = Setting(top_k=6)
        true = law(rows[1], setting, range(6))
        process = CeilingEProcess([str(at) for at in range(9)], level=0.05)
        for token in rng.choice(7, size=80, p=true):
            step = judged(int(token), rows[0], rows[1:], setting, 0.0)
            process.update(step.p, step.top, step.token, step.laws, v=float(rng.random()))
        refuted += process.refuted
    assert refuted <= 11


def test_without_the_ceiling_the_same_law_is_refuted():
    """The mutant of the test above: the row alone, without what the other row allows."""
    mine, theirs = np.log([0.6, 0.3, 0.1]), np.log([0.4, 0.3, 0.3])
    rows = [dict(enumerate(map(float, x))) for x in (mine, theirs)]
    rng, strict = np.random.default_rng(5), CeilingEProcess(["x"] * 9, level=1e-3)
    tolerant = CeilingEProcess(["x"] * 9, level=1e-3)
    for token in rng.choice(3, size=300, p=np.exp(theirs)):
        step = judged(int(token), rows[0], rows[1:], Setting(top_k=3), 0.0)
        strict.update(step.p, step.p, step.token, step.laws, v=float(rng.random()))
        tolerant.update(step.p, step.top, step.token, step.laws, v=float(rng.random()))
    assert (strict.refuted, tolerant.refuted) == (True, False)


def test_a_tie_at_the_cut_is_no_bug():
    listed = {0: math.log(0.5), 1: math.log(0.2), 2: math.log(0.2 - 1e-5), 3: math.log(0.1)}
    top = ceiling([listed], Setting(top_k=2), [*listed], 0.0)
    assert top[2] > 0.2
    assert top[3] == 0
