"""Recorded traces: every decision replayed on its own numbers, and evidence from what came out.

Two formats, told apart by their first line. ``draftproof-trace/1`` is what ``draftproof run
--trace`` writes. ``draftproof-steps/1`` is for others to write, one speculative step per line::

    {"format": "draftproof-steps/1", "source": "my engine 1.2"}
    {"p": [0.5, 0.3, 0.2], "q": [0.25, 0.5, 0.25], "draft": 1, "coin": 0.7, "kept": false,
     "token": 0}

`p` and `token` are needed; `q` lets the suspects bet, and with `draft`, `coin` and `kept` the
decision itself is replayed. Nothing in a file is executed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.diagnosis import Diagnosis, weighed
from draftproof.audit.evidence import StreamEProcess, partition, total_variation_bound
from draftproof.audit.findings import Bound, Finding, Report
from draftproof.audit.power import sample_sizes, smallest_detectable
from draftproof.audit.sequential import Budget
from draftproof.audit.suspects import grouped, laws_of
from draftproof.dist import Row, check_row, excess, keeps
from draftproof.errors import InvalidInput
from draftproof.trace import FORMAT as TRACE_FORMAT
from draftproof.trace import read_trace, replay

FORMAT = "draftproof-steps/1"
PLACES = "the place of each token in its own row, in 8 equal bins"
MOST_SHOWN = 20
ROWS_FOR_POWER = 32
"""So many different rows, the first ones, stand for all when sizes are computed."""


@dataclass(frozen=True, slots=True)
class Emission:
    """One token that came out, and the row it should follow; `q` is None where unknown."""

    p: Row
    q: Row | None
    token: int


@dataclass(slots=True)
class Recording:
    """What a file holds: emissions in order, and decisions that contradict their numbers."""

    emissions: list[Emission] = field(default_factory=list)
    decisions: int = 0
    conflicts: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read_recording(path: Path) -> Recording:
    """Read a recorded trace of either format.

    Raises
    ------
    InvalidInput
        Names the file and the line that cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            first = stream.readline()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}); check the path.") from None
    header = _object(first, path, 1)
    if header.get("format") == TRACE_FORMAT:
        return _from_trace(path)
    if header.get("format") == FORMAT:
        return _from_steps(path)
    raise InvalidInput(
        f"{path}, line 1 must be a header with the format {FORMAT!r} or {TRACE_FORMAT!r}; it is "
        f"{first.strip()!r:.80}."
    )


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}, line {number} is not JSON ({error.msg}).") from None
    if not isinstance(record, dict):
        raise InvalidInput(f"{path}, line {number} must be a JSON object.")
    return record


# ---------------------------------------------------------------- steps of others


def _from_steps(path: Path) -> Recording:
    recording = Recording()
    with path.open(encoding="utf-8") as stream:
        next(stream)
        for number, line in enumerate(stream, start=2):
            if line.strip():
                _take_step(recording, _object(line, path, number), f"{path}, line {number}")
    return recording


def _take_step(recording: Recording, record: dict[str, Any], where: str) -> None:
    missing = [name for name in ("p", "token") if name not in record]
    if missing:
        raise InvalidInput(f"{where} has no {missing[0]!r}; every step needs p and token.")
    p = check_row(record["p"], name=f"{where}: p")
    q = check_row(record["q"], name=f"{where}: q") if record.get("q") is not None else None
    if q is not None and len(q) != len(p):
        raise InvalidInput(f"{where}: p has {len(p)} entries and q has {len(q)}.")
    token = _token(record["token"], len(p), f"{where}: token")
    recording.emissions.append(Emission(p, q, token))
    if q is not None and record.get("draft") is not None and record.get("kept") is not None:
        draft = _token(record["draft"], len(p), f"{where}: draft")
        recording.decisions += 1
        conflict = _conflict(p, q, token, draft, record)
        if conflict:
            recording.conflicts.append(f"{where}: {conflict}")


def _token(value: Any, size: int, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise InvalidInput(f"{where} is {value!r}; it must be a token id from 0 to {size - 1}.")
    return value


def _conflict(p: Row, q: Row, token: int, draft: int, record: dict[str, Any]) -> str | None:
    """Say what contradicts the rule in one step; None where nothing does."""
    kept, coin = bool(record["kept"]), record.get("coin")
    if not q[draft] > 0:
        return f"token {draft} was drafted, to which q gives nothing"
    if coin is not None and keeps(float(coin), p[draft], q[draft]) != kept:
        said = "kept" if kept else "rejected"
        return f"coin {coin} with p = {p[draft]:g} and q = {q[draft]:g}: token {draft} was {said}"
    if kept and token != draft:
        return f"token {draft} was kept and {token} came out"
    if not kept and excess(p, q).any() and not excess(p, q)[token] > 0:
        return f"after a rejection {token} came out, to which the residual gives nothing"
    return None


# ---------------------------------------------------------------- traces of ours


def _from_trace(path: Path) -> Recording:
    records = read_trace(path)
    rounds = [record for record in records if record["type"] == "round"]
    recording = Recording()
    recording.conflicts = replay(records)
    recording.decisions = sum(
        drafted["coin"] is not None for record in rounds for drafted in record["draft"]
    )
    emissions = [list(_emissions(record)) for record in rounds]
    if all(
        len(found) == len(record["emitted"])
        for found, record in zip(emissions, rounds, strict=True)
    ):
        recording.emissions = [one for found in emissions for one in found]
    else:
        recording.remarks.append(
            "the trace does not hold the target's row of every emitted token, and leaving tokens "
            "out because of what came out would bias the evidence: only the coins were replayed"
        )
    return recording


def _emissions(record: dict[str, Any]) -> Iterator[Emission]:
    """Give the emitted tokens of a round with the target's row, as far as rows were written."""
    at = -1
    for emitted in record["emitted"]:
        drafted = record["draft"]
        children = [n for n, one in enumerate(drafted) if one["parent"] == at]
        looked: list[int | None] = [*children] or [None]
        rows = [row for row in record["rows"] if row["node"] in looked]
        if not rows:
            return
        yield _listed(rows[0], emitted["token"])
        kept = [n for n in children if drafted[n]["token"] == emitted["token"]]
        if not kept or emitted["source"] in ("residual", "bonus"):
            return
        at = kept[0]


def _listed(row: dict[str, Any], token: int) -> Emission:
    """Give a row by its listed tokens and one cell for all the others."""
    tokens = [entry[0] for entry in row["p_top"]]
    weights = np.array([*(entry[2] for entry in row["p_top"]), row["p_rest"]])
    place = tokens.index(token) if token in tokens else len(tokens)
    return Emission(weights / weights.sum(), None, place)


# ---------------------------------------------------------------- the audit


def audit_records(path: Path, budget: Budget | None = None) -> Report:
    """Audit a recorded trace: replay its decisions, and weigh what came out.

    Raises
    ------
    InvalidInput
        If the file is not a trace.
    """
    began, spent = time.monotonic(), budget or Budget()
    recording = read_recording(path)
    process, trail = _evidence(recording, spent)
    bound = total_variation_bound(
        process.places, process.uniform, partition(process.uniform), spent.level
    )
    verdict, reason = _verdict(recording, process, bound, spent)
    rows, laws = _rows_for_power(recording.emissions)
    refuted = verdict == "refuted"
    return Report(
        target=str(path),
        signature="trace",
        verdict=verdict,
        reason=reason,
        method="sequential",
        samples=process.samples,
        log10_e=None if process.impossible is not None else process.log10_e,
        gap=None,
        tv_bound=None if refuted or not process.samples else Bound(bound, PLACES),
        smallest_detectable=smallest_detectable(rows, laws, process.samples, spent.level)
        if rows
        else {},
        diagnosis=_diagnosis(process, laws) if process.refuted else Diagnosis(),
        findings=(_finding(process, recording),),
        remarks=(*recording.remarks, *recording.conflicts[:MOST_SHOWN]),
        announced=tuple(sample_sizes(rows, laws, spent.level)) if rows else (),
        trail=tuple(trail),
        budget=spent,
        seconds=time.monotonic() - began,
    )


def _evidence(
    recording: Recording, budget: Budget
) -> tuple[StreamEProcess, list[tuple[int, float]]]:
    names = [suspect.name for suspect in STEP_SUSPECTS]
    process = StreamEProcess(names, level=budget.level)
    rng = np.random.default_rng(budget.seed)
    trail = [(0, 0.0)]
    known: dict[bytes, Sequence[Row | None]] = {}
    for one in recording.emissions[: budget.max_samples]:
        process.update(one.p, one.token, _laws(one, names, known), v=float(rng.random()))
        trail.append((process.samples, process.log10_now))
    return process, trail


def _laws(
    one: Emission, names: Sequence[str], known: dict[bytes, Sequence[Row | None]]
) -> Sequence[Row | None]:
    """Give the suspects' laws on the rows of one step, remembered for rows that repeat."""
    if one.q is None:
        return [None] * len(names)
    key = one.p.tobytes() + one.q.tobytes()
    if key not in known:
        if len(known) >= 256:
            known.clear()
        laws = laws_of(STEP_SUSPECTS, one.p, one.q)
        known[key] = [laws.get(name) for name in names]
    return known[key]


def _rows_for_power(emissions: Sequence[Emission]) -> tuple[list[Row], list[dict[str, Row]]]:
    rows: dict[bytes, tuple[Row, Row]] = {}
    for one in emissions:
        if one.q is not None and len(rows) < ROWS_FOR_POWER:
            rows.setdefault(one.p.tobytes() + one.q.tobytes(), (one.p, one.q))
    laws = [laws_of(STEP_SUSPECTS, p, q) for p, q in rows.values()]
    return [p for p, _ in rows.values()], laws


def _diagnosis(process: StreamEProcess, laws: Sequence[dict[str, Row]]) -> Diagnosis:
    """Weigh the suspects, those with one law on these rows together."""
    weights = process.weights()
    groups = grouped([(name, [law.get(name) for law in laws]) for name in weights])
    together = {group[0]: sum(weights[name] for name in group) for group in groups}
    return weighed(together, {group[0]: group for group in groups})


def _verdict(
    recording: Recording, process: StreamEProcess, bound: float, budget: Budget
) -> tuple[str, str]:
    wrong, decisions = len(recording.conflicts), recording.decisions
    if wrong:
        return "refuted", f"{wrong} of {decisions} decisions contradict their own numbers"
    if process.refuted:
        odds = f"{1 / budget.level:,.0f} to 1"
        return "refuted", f"the evidence reached {odds} after {process.crossed_at:,} tokens"
    replayed = f"{decisions:,} decisions agree with their numbers"
    if bound <= budget.detect:
        return "consistent", f"{replayed}, and a total variation of {budget.detect:g} was excluded"
    return "inconclusive", f"{replayed}, and {process.samples:,} tokens are too few to say more"


def _finding(process: StreamEProcess, recording: Recording) -> Finding:
    bins = len(process.uniform)
    total = max(int(process.places.sum()), 1)
    return Finding(
        name="the recording",
        rows=f"{len(recording.emissions):,} tokens; {PLACES}",
        labels=tuple(f"{at}/{bins} to {at + 1}/{bins}" for at in range(bins)),
        wanted=tuple(process.uniform),
        seen=tuple(process.places / total),
        method=f"{process.samples} tokens, {recording.decisions} decisions replayed",
        verdict="refuted" if recording.conflicts or process.refuted else "sampled",
        counterexample=recording.conflicts[0] if recording.conflicts else None,
    )
