"""The audit of a recorded trace: its decisions replayed, and evidence from what came out.

How a file is read, and what may be in it: `draftproof.audit.recordings`. Suspects whose law needs
the target's row alone bet on every token whose row is whole; the others where the draft's row was
written too. A temperature that one side does not apply is bet on at several strengths, which
count as one suspect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.diagnosis import Diagnosis, weighed
from draftproof.audit.evidence import OPEN, StreamEProcess, partition, total_variation_bound
from draftproof.audit.findings import Bound, Finding, Report
from draftproof.audit.power import sample_sizes, smallest_detectable
from draftproof.audit.recordings import Emission, Recording, read_recording
from draftproof.audit.sequential import Budget
from draftproof.audit.suspects import grouped, laws_of
from draftproof.dist import Row, normalised

PLACES = "the place of each token in its own row, likeliest first, in 8 equal bins, rows pooled"
MOST_SHOWN = 20
ROWS_FOR_POWER = 32
"""So many different rows, the first ones, stand for all when sizes are computed."""

READING_SHARE = 0.5
"""Part of the time limit that reading the file may take; weighing has the rest."""

REMEMBERED = 256
"""Rows whose laws are kept, in case they come again."""

DROP_EVERY = 64
"""After so many tokens it is looked up which bets are hopeless."""

TEMPERATURE = "target temperature ignored"
ALONE = (
    TEMPERATURE,
    "softmax applied twice",
    "argmax of the target",
    "target cut once more",
    "last token id lost",
)
"""Suspects whose law needs the target's row alone."""

STRENGTHS = (0.5, 0.7, 0.85, 1.2, 1.5)
"""Temperatures asked for and not applied, beside the 2 of the catalogue: the law is p**T."""

VARIANTS = tuple(f"{TEMPERATURE} at {strength:g}" for strength in STRENGTHS)


def audit_records(
    path: Path, budget: Budget | None = None, clock: Callable[[], float] = time.monotonic
) -> Report:
    """Audit a recorded trace: replay its decisions, and weigh what came out.

    Parameters
    ----------
    path
        The file.
    budget
        Error level, size to exclude, most tokens and most seconds, reading included.
    clock
        Tells the time in seconds.

    Raises
    ------
    InvalidInput
        If the file is not a trace.
    """
    began, spent = clock(), budget or Budget()
    recording = read_recording(path, deadline=began + READING_SHARE * spent.seconds, clock=clock)
    process, trail = _evidence(recording, spent, lambda: clock() - began > spent.seconds)
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
        seconds=clock() - began,
    )


def _evidence(
    recording: Recording, budget: Budget, late: Callable[[], bool]
) -> tuple[StreamEProcess, list[tuple[int, float]]]:
    """Weigh the tokens in order, as many as the samples and the time allow."""
    bets = _Bets()
    process = StreamEProcess(bets.names, level=budget.level)
    rng = np.random.default_rng(budget.seed)
    trail = [(0, 0.0)]
    wanted = recording.emissions[: budget.max_samples]
    for one in wanted:
        if late():
            break
        if process.samples % DROP_EVERY == 0:
            bets.drop(process.hopeless)
        process.update(one.p, one.token, bets.laws(one), v=float(rng.random()))
        trail.append((process.samples, process.log10_now))
    if recording.cut is not None or process.samples < len(wanted):
        recording.remarks.append(_cut_short(recording, process.samples))
    return process, trail


def _cut_short(recording: Recording, judged: int) -> str:
    read = f"{judged:,} of {len(recording.emissions):,} tokens were weighed"
    unread = "" if recording.cut is None else f", and nothing was read from line {recording.cut} on"
    return f"the time ran out: {read}{unread}; give more with --time-limit"


class _Bets:
    """The laws bet on step by step: remembered for rows that repeat, and none that is hopeless."""

    def __init__(self) -> None:
        self.names = (*(suspect.name for suspect in STEP_SUSPECTS), *VARIANTS)
        self._gone: frozenset[str] = frozenset()
        self._known: dict[bytes, Sequence[Row | None]] = {}

    def drop(self, names: frozenset[str]) -> None:
        """Work out the laws of some no longer."""
        if names - self._gone:
            self._gone |= names
            self._known.clear()

    def laws(self, one: Emission) -> Sequence[Row | None]:
        """Give the law of every bet in one step; None abstains."""
        key = _key(one)
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            laws = _suspected(one, self._gone) | _at_strengths(one, self._gone)
            self._known[key] = [laws.get(name) for name in self.names]
        return self._known[key]


def _key(one: Emission) -> bytes:
    return one.p.tobytes() + (b"" if one.q is None else one.q.tobytes()) + bytes([one.whole])


def _suspected(one: Emission, gone: frozenset[str] = frozenset()) -> dict[str, Row]:
    """Give the law of every suspect that can tell it from this step."""
    if not one.whole:
        return {}
    able = [
        s for s in STEP_SUSPECTS if s.name not in gone and (one.q is not None or s.name in ALONE)
    ]
    return laws_of(able, one.p, one.p if one.q is None else one.q)


def _at_strengths(one: Emission, gone: frozenset[str]) -> dict[str, Row]:
    if not one.whole:
        return {}
    steep = one.p / one.p.max()  # so that a power of tiny numbers does not vanish altogether
    alive = [(n, t) for n, t in zip(VARIANTS, STRENGTHS, strict=True) if n not in gone]
    return {name: normalised(steep**strength) for name, strength in alive}


def _rows_for_power(emissions: Sequence[Emission]) -> tuple[list[Row], list[dict[str, Row]]]:
    rows: dict[bytes, Emission] = {}
    for one in emissions:
        if one.whole and len(rows) < ROWS_FOR_POWER:
            rows.setdefault(_key(one), one)
    return [one.p for one in rows.values()], [_suspected(one) for one in rows.values()]


def _diagnosis(process: StreamEProcess, laws: Sequence[Mapping[str, Row]]) -> Diagnosis:
    """Weigh the suspects that bet at all, those with one law on these rows together."""
    weights = _by_suspect(process)
    seen = [name for name in weights if any(name in law for law in laws)]
    groups = grouped([(name, [law.get(name) for law in laws]) for name in seen])
    groups += [(name,) for name in weights if name not in seen]
    together = {group[0]: sum(weights[name] for name in group) for group in groups}
    return weighed(together, {group[0]: group for group in groups})


def _by_suspect(process: StreamEProcess) -> dict[str, float]:
    """Share out the evidence: a suspect has that of all its strengths, one that is silent none."""
    shares: dict[str, float] = {}
    for name, weight in process.weights().items():
        if name not in process.silent:
            suspect = TEMPERATURE if name in VARIANTS else name
            shares[suspect] = shares.get(suspect, 0.0) + weight
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()} if total else {OPEN: 1.0}


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
        return "consistent", (
            f"{replayed}, and a total variation of {budget.detect:g} was excluded over {PLACES}"
        )
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
