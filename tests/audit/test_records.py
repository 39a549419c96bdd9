"""Recorded traces: decisions replayed, evidence weighed, files that are no traces refused."""

import copy
import json
import math

import numpy as np
import pytest

from draftproof.audit import records
from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.evidence import OPEN
from draftproof.audit.recordings import read_recording
from draftproof.audit.records import ALONE, PLACES, audit_records
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

STEP = {"p": [0.5, 0.3, 0.2], "q": [0.25, 0.5, 0.25], "draft": 1, "coin": 0.7, "kept": False,
        "token": 0}  # fmt: skip
TRACE_HEADER = json.dumps({"type": "header", "format": FORMAT}).encode() + b"\n"
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
        ([STEP | {"coin": "abc"}], None, "line 2: coin is 'abc'; a coin is a uniform number"),
        ([STEP | {"coin": 1.5}], None, "coin is 1.5"),
        ([STEP | {"coin": 1}], None, "coin is 1;"),
        ([STEP | {"coin": -1}], None, "coin is -1"),
        ([STEP | {"coin": math.nan}], None, "coin is nan"),
        ([STEP | {"coin": True}], None, "coin is True"),
        ([STEP | {"kept": "false"}], None, "kept is 'false'; write true or false"),
        ([STEP | {"kept": 0}], None, "kept is 0"),
        ([STEP | {"draft": 7}], None, "draft is 7"),
        ([STEP | {"p": [10**400, 0, 0]}], None, "a number that a float holds"),
        ([STEP | {"p": [True, False, False]}], None, "p has True"),
        ([STEP | {"p": {"0": 1}}], None, "must be a list of probabilities"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_by_its_line(written, lines, header, word):
    with pytest.raises(InvalidInput, match=word):
        audit_records(written(lines, header))


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"[" * 100_000, b"1" * 5_000, b'{"p": [0.5', b""],
    ids=["not UTF-8", "too deep", "too long", "cut", "empty"],
)
@pytest.mark.parametrize("header", [b'{"format": "draftproof-steps/1"}\n', TRACE_HEADER, b""])
def test_bytes_that_are_no_trace_are_refused_in_a_sentence(tmp_path, header, data):
    file = tmp_path / "bytes.jsonl"
    file.write_bytes(header + data + b"\n")
    if header and not data:
        data = b"{"
        file.write_bytes(header + data)
    with pytest.raises(InvalidInput, match=r"bytes\.jsonl"):
        audit_records(file)


ODD = (
    None, True, "abc", "", "kept", 0, -1, -2, 7, 2**63, 10**400, 1.5, 1e308, 5e-324, math.nan,
    math.inf, [], {}, [[]], [0.5, 0.5], [[0, "x", 0.5]], [1e-310, 1.0, 0.0], [True, False, False],
    "\ud800",
)  # fmt: skip


def places(value, path=()):
    """Give the path of everything within a value."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield (*path, key)
        yield from places(one, (*path, key))


@pytest.mark.parametrize("kind", ["steps", "trace"])
def test_a_trace_with_any_one_field_exchanged_is_read_or_refused(tmp_path, kind):
    """Every place of a small file with odd values in turn, or with the place left out."""
    file = tmp_path / "odd.jsonl"
    whole = [{"format": "draftproof-steps/1"}, *steps(1)]
    if kind == "trace":
        lines = traced(tmp_path, "token-wise").read_text().splitlines()[:2]
        whole = list(map(json.loads, lines))
    refused, every = 0, 1 if kind == "steps" else 4
    for at, (*path, last) in enumerate(places(whole)):
        for odd in (*ODD, "leave out")[at % every :: every]:
            changed = copy.deepcopy(whole)
            inner = changed
            for key in path:
                inner = inner[key]
            if odd == "leave out":
                del inner[last]
            else:
                inner[last] = odd
            file.write_text("\n".join(map(json.dumps, changed)) + "\n")
            try:
                read_recording(file)
            except InvalidInput as error:
                assert "odd.jsonl" in str(error)  # noqa: PT017
                refused += 1
    assert refused > 100


def test_a_deadline_ends_reading_and_weighing_and_is_said(written):
    moments = iter(range(10_000))
    report = audit_records(
        written(steps(300)), Budget(seconds=100), clock=lambda: float(next(moments))
    )
    assert 0 < report.samples < 100
    (said,) = [remark for remark in report.remarks if "the time ran out" in remark]
    assert "nothing was read from line" in said


def test_a_bet_that_is_hopeless_stops_and_its_law_is_worked_out_no_longer(written, monkeypatch):
    asked = []
    whole = records.laws_of

    def laws_of(suspects, p, q):
        asked.append(len(suspects))
        return whole(suspects, p, q)

    monkeypatch.setattr(records, "laws_of", laws_of)
    monkeypatch.setattr(records, "REMEMBERED", 1)
    rng = np.random.default_rng(5)
    rows = [(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))) for _ in range(900)]
    lines = [{"p": p.tolist(), "q": q.tolist(), "token": int(rng.choice(3, p=p))} for p, q in rows]
    assert audit_records(written(lines)).verdict != "refuted"
    weighed = asked[:900]
    assert weighed[0] > 30
    assert weighed[-1] < weighed[0] / 2


# ---------------------------------------------------------------- without the draft's row


def at_temperature(count, size, temperature, seed):
    """Record tokens drawn from rows that another temperature has changed."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = rng.dirichlet(np.full(size, 0.3)) + 1e-6
        p /= p.sum()
        drawn = p ** (1 / temperature)
        yield {"p": p.tolist(), "token": int(rng.choice(size, p=drawn / drawn.sum()))}


@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.3])
def test_a_temperature_ignored_is_named_though_the_draft_is_not_told(written, temperature):
    """Seed 0; the level is 1e-6, so a right trace would be refuted once in a million."""
    report = audit_records(written(at_temperature(1_500, 20, temperature, 0)))
    assert report.verdict == "refuted"
    assert report.diagnosis.best == "target temperature ignored"


def test_without_any_bet_the_places_alone_refute_what_is_too_flat(written, monkeypatch):
    """The bins go by likelihood; in the order of the ids this trace was consistent. Level 1e-6."""
    monkeypatch.setattr(records, "ALONE", ())
    monkeypatch.setattr(records, "_at_strengths", lambda one, gone: {})
    report = audit_records(written(at_temperature(3_000, 20, 1.3, 0)))
    assert report.verdict == "refuted"
    (only,) = report.diagnosis.suspects
    assert (only.name, only.weight) == (OPEN, pytest.approx(1.0))


def test_suspects_that_abstain_are_not_listed(written):
    """The last token id is made twice as likely: none of the suspects; seed 3, level 1e-6."""
    rng = np.random.default_rng(3)
    law = P * np.array([1.0, 1.0, 3.0])
    lines = [
        {"p": P.tolist(), "token": int(rng.choice(3, p=law / law.sum()))} for _ in range(2_000)
    ]
    report = audit_records(written(lines))
    assert report.verdict == "refuted"
    assert {one.name for one in report.diagnosis.suspects} <= {*ALONE, OPEN}


def test_the_suspects_that_need_the_targets_row_alone_are_all_that_do():
    rng = np.random.default_rng(1)
    p, *others = rng.dirichlet(np.ones(6), size=6)
    free = [
        one.name
        for one in STEP_SUSPECTS
        if all(np.allclose(one.law(p, q), one.law(p, p), atol=1e-12) for q in others)
    ]
    assert free == [*ALONE]


def test_the_reason_names_the_partition(written):
    report = audit_records(written(at_temperature(2_000, 5, 1.0, 4)), Budget(detect=0.15))
    assert report.verdict == "consistent"
    assert PLACES in report.reason
    assert "likeliest first" in PLACES


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        audit_records(tmp_path / "none.jsonl")
