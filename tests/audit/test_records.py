"""Recorded traces: decisions replayed, evidence weighed, files that are no traces refused."""

import json

import numpy as np
import pytest

from draftproof.audit.records import audit_records, read_recording
from draftproof.audit.sequential import Budget
from draftproof.backends.table import Table
from draftproof.battery import WORKED_P, WORKED_Q
from draftproof.chance import Dice
from draftproof.decode import Limits, rounds
from draftproof.dist import residual
from draftproof.errors import InvalidInput
from draftproof.proposers import DraftModel
from draftproof.rules import find_rule
from draftproof.trace import FORMAT, Glass, TraceWriter, Witness, round_record

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.5, 0.25])


def steps(count, *, seed=1, after_rejection=None, lie_at=None):
    """Record speculative steps; a rejection draws from `after_rejection` if it is given."""
    rng = np.random.default_rng(seed)
    rest = residual(P, Q) if after_rejection is None else after_rejection
    for at in range(count):
        draft, coin = int(rng.choice(3, p=Q)), float(rng.random())
        kept = bool(coin * Q[draft] < P[draft])
        token = draft if kept else int(rng.choice(3, p=rest))
        yield {
            "p": P.tolist(), "q": Q.tolist(), "draft": draft, "coin": coin,
            "kept": kept != (at == lie_at), "token": token,
        }  # fmt: skip


@pytest.fixture
def written(tmp_path):
    def write(lines, header=None):
        file = tmp_path / "record.jsonl"
        head = {"format": "draftproof-steps/1"} if header is None else header
        file.write_text("\n".join(json.dumps(line) for line in (head, *lines)) + "\n")
        return file

    return write


def test_a_right_recording_contradicts_nothing(written):
    report = audit_records(written(steps(300)))
    assert report.verdict == "inconclusive"
    assert "300 decisions agree" in report.reason
    assert report.samples == 300
    assert "8 equal bins" in report.tv_bound.partition
    assert report.smallest_detectable


def test_enough_tokens_exclude_a_size(written):
    report = audit_records(written(steps(1_200)), Budget(detect=0.2))
    assert report.verdict == "consistent"
    assert report.tv_bound.value <= 0.2


def test_a_decision_that_contradicts_its_numbers_is_found_by_its_line(written):
    report = audit_records(written(steps(50, lie_at=20)))
    assert report.verdict == "refuted"
    assert "1 of 50 decisions" in report.reason
    assert "line 22" in report.counterexample


def test_a_residual_that_is_not_the_residual_contradicts_its_numbers(written):
    report = audit_records(written(steps(200, after_rejection=P)))
    assert report.verdict == "refuted"
    assert "residual gives nothing" in report.counterexample


def test_what_came_out_is_evidence_without_any_coin(written):
    lines = [
        {name: step[name] for name in ("p", "q", "token")}
        for step in steps(3_000, after_rejection=P, seed=2)
    ]
    report = audit_records(written(lines))
    assert report.verdict == "refuted"
    assert report.diagnosis.best == "resample from p"
    assert "siblings not renewed" in report.diagnosis.twins


def traced(tmp_path, rule, *, lie=False):
    """Write the trace of a run on tables, as `draftproof run --trace` does."""
    file = tmp_path / "run.jsonl"
    witness, glass = Witness(Dice(5)), Glass(Table(WORKED_P.astype(float)))
    with file.open("w") as stream:
        writer = TraceWriter(stream)
        writer.write({"type": "header", "format": FORMAT})
        for one in rounds(
            witness, glass, DraftModel(Table(WORKED_Q.astype(float))), find_rule(rule), (0,), k=3,
            limits=Limits(max_tokens=120),
        ):  # fmt: skip
            record = round_record(one, glass.last, witness.coins(one.start))
            if lie and one.index == 2:
                drafted = record["draft"][0]
                drafted["verdict"] = {"kept": "rejected", "rejected": "kept"}[drafted["verdict"]]
            writer.write(record)
    return file


@pytest.mark.parametrize("rule", ["token-wise", "point-mass", "exact-match"])
def test_a_trace_of_ours_is_replayed_token_by_token(tmp_path, rule):
    recording = read_recording(traced(tmp_path, rule))
    assert len(recording.emissions) == 120
    assert not recording.conflicts
    assert all(one.p[one.token] > 0 for one in recording.emissions)


def test_a_changed_verdict_in_a_trace_is_found(tmp_path):
    report = audit_records(traced(tmp_path, "token-wise", lie=True), Budget())
    assert report.verdict == "refuted"
    assert "round 2" in report.counterexample


@pytest.mark.parametrize(
    ("lines", "header", "word"),
    [
        ([], {"format": "other"}, "line 1 must be a header"),
        ([{"p": [0.5, 0.5]}], None, "line 2 has no 'token'"),
        ([{"p": [0.5, 0.6], "token": 0}], None, "sums to"),
        ([{"p": [0.5, 0.5], "token": 2}], None, "token is 2"),
        ([{"p": [0.5, 0.5], "q": [1.0], "token": 0}], None, "p has 2 entries and q has 1"),
        ([[1, 2]], None, "must be a JSON object"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_by_its_line(written, lines, header, word):
    with pytest.raises(InvalidInput, match=word):
        audit_records(written(lines, header))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        audit_records(tmp_path / "none.jsonl")
