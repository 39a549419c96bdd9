"""The audit of a Python callable: proof by enumeration where it can be had, evidence elsewhere.

The verdict is one of four. "refuted": the law is not the target's. "faulty": something other than
a token came out. "consistent": the law was found exactly and is the target's on every input
tried, or a total variation of the size asked for has been excluded. "inconclusive": anything
else. There is no verdict that says an implementation is right on inputs that were not tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.cases import WATCHED_CALLS, Case, Source, cases_for
from draftproof.audit.coins import CoinFinding, check_coins, edge_remarks, wrong_edges
from draftproof.audit.diagnosis import Diagnosis, by_law, surprise_shared, weighed
from draftproof.audit.enumerate import Enumeration, TooManyBranches
from draftproof.audit.evidence import partition
from draftproof.audit.findings import Bound, Finding, Report
from draftproof.audit.foreign import Fault, OutOfTime
from draftproof.audit.power import SampleSize
from draftproof.audit.sequential import (
    CLEAR_LEAD,
    PATIENCE,
    Bets,
    Budget,
    Gathered,
    Gathering,
    informative,
)
from draftproof.audit.symbols import HiddenLuck, NeedsNumbers
from draftproof.dist import Row, RowLike
from draftproof.errors import InvalidInput
from draftproof.laws import total_variation

ENUMERATION_SHARE = 0.5
"""Part of the time limit that enumeration may take before sampling begins."""

EDGE_SECONDS = 0.5
"""Time one call on a scripted coin may take."""


class _Watch:
    """Watches the calls of what is audited; ends its enumeration when time or patience is over."""

    def __init__(self) -> None:
        self._until, self._slow = math.inf, 0

    def give_until(self, moment: float) -> None:
        """Let enumeration go on until a moment of the monotonic clock; infinity lifts it."""
        self._until, self._slow = moment, 0

    @property
    def over(self) -> bool:
        """True when enumeration should not be tried any more."""
        return self._slow >= PATIENCE or time.monotonic() > self._until

    def over_calls(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function with its calls watched."""

        def watched(*arguments: Any) -> Any:
            if self.over and self._until < math.inf:
                raise TooManyBranches("it took too long")
            try:
                return fn(*arguments)
            except OutOfTime:
                self._slow += 1
                raise

        return watched


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit that is ready to run: its cases are known, and what it will cost.

    Examples
    --------
    >>> from draftproof.audit.catalogue import find_suspect
    >>> ready = prepare(find_suspect("always accept").step)
    >>> size = next(s for s in ready.announced if s.suspect == "always accept")
    >>> size.mean < 2000
    True
    """

    name: str
    signature: str
    cases: tuple[Case, ...]
    budget: Budget
    watch: _Watch
    announced: tuple[SampleSize, ...]
    edges: Callable[[], list[CoinFinding]] | None = None

    def run(self, progress: Callable[[str], None] = lambda what: None) -> Report:
        """Enumerate what can be enumerated, sample the rest, and report."""
        began = time.monotonic()
        self.watch.give_until(began + ENUMERATION_SHARE * self.budget.seconds)
        laws: dict[int, Enumeration] = {}
        refused: dict[str, list[str]] = {}
        for at, case in enumerate(self.cases):
            progress(f"enumerating {case.name}")
            try:
                laws[at] = self._enumerated(case)
            except HiddenLuck as refusal:
                laws.clear()  # what has luck of its own in one case has it in the others
                refused = {str(refusal): [each.name for each in self.cases]}
                break
            except (NeedsNumbers, TooManyBranches) as refusal:
                refused.setdefault(str(refusal).rstrip("."), []).append(case.name)
            if self.watch.over:
                break
        self.watch.give_until(math.inf)
        rest = [case for at, case in enumerate(self.cases) if at not in laws]
        sampled = tuple(one for case in rest for one in (case, *case.companions))
        gathered = None
        if rest and not any(_wrong(found) for found in laws.values()):
            progress("sampling")
            gathered = Gathering(sampled, self.budget, deadline=began + self.budget.seconds).run()
        remarks = tuple(_not_enumerated(*item, len(self.cases)) for item in refused.items())
        reporter = _Reporter(self, laws, sampled, gathered, remarks)
        return reporter.report(lambda: time.monotonic() - began)

    def _enumerated(self, case: Case) -> Enumeration:
        found = case.enumerate()
        if found.sound and (found.known_to or 0) > self.budget.detect:
            raise NeedsNumbers(
                f"its law was found under an assumption, and plain runs bear it out to a total "
                f"variation of {found.known_to:.2g} only"
            )
        return found


def _not_enumerated(reason: str, names: Sequence[str], of: int) -> str:
    """Say once for all inputs why their luck could not be followed."""
    if len(names) == of > 1:
        return f"none of the {of} inputs was enumerated, because {reason}"
    return f"not enumerated, because {reason}: {', '.join(names)}"


def _wrong(found: Enumeration) -> bool:
    return not found.agrees or bool(found.findings)


def prepare(
    fn: Callable[..., Any],
    p: RowLike | None = None,
    q: RowLike | None = None,
    *,
    signature: str = "step",
    source: Source | None = None,
    budget: Budget | None = None,
    name: str | None = None,
) -> Audit:
    """Get an audit ready, so that its cost is known before it runs.

    Parameters
    ----------
    fn
        The function, called as `signature` says.
    p, q
        Target and draft rows; by default a battery of pairs.
    signature
        ``"step"``: ``fn(p, q, rng) -> token``. ``"block"``: ``fn(target_rows, draft_rows,
        draft_tokens, rng) -> (accepted, token)``. ``"batch"``: the same over lists.
    source
        Where its luck comes from: a NumPy Generator by default, PyTorch, or uniforms as its last
        argument.
    budget
        Error level, size to exclude, samples, seconds, seed.
    name
        What to call the function in the report.
    """
    if not callable(fn):
        raise InvalidInput(f"fn is {fn!r}, which cannot be called; give a function.")
    called = name or str(getattr(fn, "__qualname__", type(fn).__name__))
    luck = source or Source()

    def cases(watched: Watched) -> Sequence[Case]:
        return cases_for(watched(fn), p, q, signature, luck)

    ready = prepared(cases, signature=signature, budget=budget, name=called)
    scripted = signature == "step" and luck == Source()
    return (
        replace(ready, edges=partial(check_coins, fn, seconds=EDGE_SECONDS)) if scripted else ready
    )


Watched: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def prepared(
    cases: Callable[[Watched], Sequence[Case]],
    *,
    signature: str,
    budget: Budget | None,
    name: str,
) -> Audit:
    """Get an audit of any cases ready; they are made with the functions under audit watched."""
    spent, watch = budget or Budget(), _Watch()
    made = tuple(cases(watch.over_calls))
    announced = tuple(Bets.on(made).announced(spent.level))
    return Audit(name, signature, made, spent, watch, announced)


def audit(  # noqa: PLR0913
    fn: Callable[..., Any],
    p: RowLike | None = None,
    q: RowLike | None = None,
    *,
    signature: str = "step",
    luck: str = "numpy",
    uniforms: int | None = None,
    level: float = 1e-6,
    detect: float = 0.05,
    max_samples: int = 200_000,
    seed: int = 0,
    time_limit: float = 120.0,
) -> Report:
    """Say whether a sampler follows the target, with an error level, and which bug it has if not.

    Parameters
    ----------
    fn, p, q, signature
        As for `prepare`.
    luck
        ``"numpy"``: its last argument is a NumPy Generator. ``"torch"``: a `torch.Generator`,
        rows are tensors, and PyTorch's global generator may be drawn from as well.
    uniforms
        How many uniforms it takes as its last argument instead of a generator.
    level
        A correct sampler is refuted with at most this probability, however long the audit.
    detect
        Total variation to exclude where the law cannot be enumerated.
    max_samples, time_limit
        Most samples drawn, most seconds spent.
    seed
        Seed of the generator handed to `fn` while sampling.

    Examples
    --------
    >>> from draftproof.dist import speculative_step
    >>> def naive(p, q, rng):
    ...     token = rng.choice(len(q), p=q)
    ...     if rng.random() < min(1, p[token] / q[token]):
    ...         return token
    ...     return rng.choice(len(p), p=p)
    >>> report = audit(naive)
    >>> report.verdict, report.diagnosis.best
    ('refuted', 'resample from p')
    """
    budget = Budget(
        level=level, detect=detect, max_samples=max_samples, seed=seed, seconds=time_limit
    )
    source = Source(luck, uniforms)
    return prepare(fn, p, q, signature=signature, source=source, budget=budget).run()


@dataclass(frozen=True, slots=True)
class _Reporter:
    """Puts laws and evidence together."""

    audit: Audit
    laws: Mapping[int, Enumeration]
    sampled: Sequence[Case]
    gathered: Gathered | None
    remarks: tuple[str, ...]

    def report(self, seconds: Callable[[], float]) -> Report:
        verdict, reason = self._verdict()
        gathered = self.gathered
        decided = not self.sampled or (verdict == "refuted" and gathered is None)
        edges = self._edges(verdict)
        wrong = len(wrong_edges(edges))
        return Report(
            target=self.audit.name,
            signature=self.audit.signature,
            verdict=verdict,
            reason=f"{reason}; edge coins: {wrong} wrong" if wrong else reason,
            method="enumeration" if decided else "sequential",
            samples=gathered.process.samples if gathered else 0,
            log10_e=_finite(gathered.process.log10_e) if gathered else None,
            gap=max((found.gap for found in self.laws.values()), default=None),
            tv_bound=self._bound(verdict),
            smallest_detectable=self._detectable(),
            diagnosis=self._diagnosis() if verdict == "refuted" else Diagnosis(),
            findings=tuple(self._findings()),
            faults=self._faults(),
            remarks=(*edge_remarks(edges), *self.remarks, *self._notes(), *self._not_checked()),
            announced=self.audit.announced,
            trail=tuple(gathered.trail) if gathered else (),
            budget=self.audit.budget,
            seconds=seconds(),
        )

    def _edges(self, verdict: str) -> list[CoinFinding]:
        """Script the coins, where nothing worse was found."""
        if self.audit.edges is None or verdict in ("refuted", "faulty"):
            return []
        return self.audit.edges()

    def _verdict(self) -> tuple[str, str]:
        wrong = [at for at, found in self.laws.items() if not _right_tokens(found)]
        level = self.audit.budget.level
        if wrong:
            return "refuted", f"its law was found, and is not the target's in {len(wrong)} cases"
        if self.gathered is not None and self.gathered.process.refuted:
            at = self.gathered.process.crossed_at
            return "refuted", f"the evidence reached {1 / level:,.0f} to 1 after {at:,} samples"
        if self._faults():
            return "faulty", f"something else than a token came out: {next(iter(self._faults()))}"
        notes = [note for found in self.laws.values() for note in found.findings]
        if notes:
            return "faulty", f"every law is the target's, but {notes[0]}"
        noticed = [note for case in self.sampled for note in case.noticed]
        if noticed:
            return "faulty", f"no token speaks against it, but {noticed[0]}"
        return self._coarse() or (self._proved() if self.gathered is None else self._sampled())

    def _coarse(self) -> tuple[str, str] | None:
        """Say so where a law was found, but too coarsely to exclude the size asked for."""
        detect = self.audit.budget.detect
        laws = self.laws.values()
        off = max((float(_total_variation(found)) for found in laws), default=0.0)
        slack = max((float(found.tolerance) for found in laws), default=0.0)
        if max(off, slack) <= detect:
            return None
        return "inconclusive", (
            f"its law was found, but only as finely as its arithmetic: probabilities to within "
            f"{slack:.2g}, a total variation of {off:.2g} seen, so that {detect:g} is not excluded"
        )

    def _proved(self) -> tuple[str, str]:
        cases = f"{len(self.laws)} cases" if len(self.laws) > 1 else "the case tried"
        if all(found.exact for found in self.laws.values()):
            return "consistent", f"its law was found, and equals the target's exactly in {cases}"
        return "consistent", f"its law was found, and is the target's up to rounding in {cases}"

    def _sampled(self) -> tuple[str, str]:
        gathered, detect = self.gathered, self.audit.budget.detect
        assert gathered is not None
        if gathered.bound is not None and gathered.bound <= detect:
            return "consistent", f"a total variation of {detect:g} or more was excluded"
        if gathered.bound is not None:
            return "inconclusive", f"{gathered.ended}, before a bug of size {detect:g} was excluded"
        sizes = self._detectable().values()
        shown = [size for size in sizes if size is not None and size <= detect]
        if shown and len(shown) == len(sizes):
            return "consistent", f"every suspect of total variation {detect:g} would have shown"
        return "inconclusive", (
            f"{gathered.ended}, and no total variation can be bounded over so many outcomes; "
            f"{len(shown)} of {len(sizes)} suspects would have shown at {detect:g} or less"
        )

    def _bound(self, verdict: str) -> Bound | None:
        if verdict in ("refuted", "faulty"):
            return None
        gap = max((float(_total_variation(found)) for found in self.laws.values()), default=0.0)
        if self.gathered is None:
            return Bound(gap, "each outcome, from the law itself")
        if self.gathered.bound is None:
            return None
        labels = {partition(case.wanted).label for case in self.sampled}
        return Bound(max(gap, self.gathered.bound), "; ".join(sorted(labels)))

    def _detectable(self) -> dict[str, float | None]:
        level = self.audit.budget.level
        if self.gathered is not None:
            return self.gathered.bets.detectable(self.gathered.process.samples, level)
        spoke = [at for at, found in self.laws.items() if not _only_faults(found)]
        bets = Bets.on([self.audit.cases[at] for at in spoke])
        seen = [name for group in bets.twins.values() for name in group]
        tolerance = max((float(self.laws[at].tolerance) for at in spoke), default=0.0)
        every = dict.fromkeys(name for at in self.laws for name in self.audit.cases[at].laws)
        return dict.fromkeys(seen, tolerance) | {n: None for n in every if n not in seen}

    def _diagnosis(self) -> Diagnosis:
        if self.gathered is not None and self.gathered.process.refuted:
            process = self.gathered.process
            seen = [(case.wanted, process.counts(at)) for at, case in enumerate(self.sampled)]
            weights = surprise_shared(process.weights(), seen)
            return weighed(weights, self.gathered.bets.twins, enough=CLEAR_LEAD)
        cases = [self.audit.cases[at] for at in self.laws]
        slack = max(float(found.tolerance) for found in self.laws.values())
        return by_law(cases, [found.law for found in self.laws.values()], slack)

    def _findings(self) -> list[Finding]:
        found = [_enumerated(self.audit.cases[at], law) for at, law in self.laws.items()]
        if self.gathered is None:
            return found
        counts = self.gathered.process.counts
        return found + [_counted(c, counts(at), self.gathered) for at, c in enumerate(self.sampled)]

    def _faults(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for law in self.laws.values():
            for outcome, weight in law.law.items():
                if isinstance(outcome, Fault):
                    found[outcome.what] = f"with probability {float(weight):.4g}"
        for what, times in (self.gathered.faults if self.gathered else {}).items():
            found[what] = f"in {times:,} of {self.gathered.calls if self.gathered else 0:,} calls"
        return found

    def _notes(self) -> list[str]:
        laws = [
            f"{self.audit.cases[at].name}: {note}"
            for at, law in self.laws.items()
            for note in (*law.findings, *law.remarks)
        ]
        noticed: dict[str, list[str]] = {}
        for case in self.sampled:
            for note in case.noticed:
                noticed.setdefault(note, []).append(case.name)
        return [*laws, *(f"{note}: on {', '.join(names)}" for note, names in noticed.items())]

    def _not_checked(self) -> list[str]:
        """Say which checks of the enumeration were not made, or made otherwise."""
        if self.gathered is None or self.audit.signature not in SAMPLED_ONLY:
            return []
        return [f"where it was sampled, {SAMPLED_ONLY[self.audit.signature]}"]


_INPUTS = f"inputs changed in place were looked for in its first {WATCHED_CALLS:,} calls on each"

SAMPLED_ONLY = {
    "step": f"{_INPUTS} input",
    "block": f"{_INPUTS} input; whether rows after the end are read was not looked at",
    "batch": (
        f"{_INPUTS} input; each request stood in either slot beside the other, never alone or "
        f"beside one of its own length; shared luck was looked for in the first token of each"
    ),
}
"""For each signature, how sampling looks for what enumeration checks beside the law."""


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _right_tokens(found: Enumeration) -> bool:
    """Say whether the law is right but for faults: no outcome comes too often."""
    over = [
        seen - found.wanted.get(outcome, Fraction(0))
        for outcome, seen in found.law.items()
        if not isinstance(outcome, Fault)
    ]
    return found.agrees or (
        any(isinstance(outcome, Fault) for outcome in found.law)
        and max(over, default=Fraction(0)) <= found.tolerance
    )


def _only_faults(found: Enumeration) -> bool:
    return all(isinstance(outcome, Fault) for outcome in found.law)


def _case_verdict(found: Enumeration) -> str:
    if not _right_tokens(found):
        return "refuted"
    if not found.agrees:
        return "faulty"
    return "exact" if found.exact else "up to rounding"


def _total_variation(found: Enumeration) -> Fraction:
    """Total variation of a law from the target, at most: what plain runs leave open counts too."""
    apart: Fraction = total_variation(found.law, found.wanted)
    return apart + Fraction(found.known_to or 0)


def _enumerated(case: Case, found: Enumeration) -> Finding:
    how = "with fractions" if found.arithmetic == "fractions" else "with floats"
    return Finding(
        name=case.name,
        rows=case.rows,
        labels=tuple(case.label(at) for at in range(len(case.outcomes))),
        wanted=tuple(case.wanted),
        seen=tuple(case.as_row(found.law)),
        method=f"{found.method}, {how}, {found.runs} runs",
        verdict=_case_verdict(found),
        counterexample=found.counterexample(),
    )


SHOWN_OUTCOMES = 32


def _counted(case: Case, counts: Row, gathered: Gathered) -> Finding:
    total = int(counts.sum())
    shown = np.argsort(-case.wanted.astype(np.float64), kind="stable")[:SHOWN_OUTCOMES]
    impossible = np.flatnonzero((counts > 0) & (case.wanted == 0))
    counterexample = None
    if impossible.size:
        label = case.label(int(impossible[0]))
        counterexample = f"{label} came out, which the target cannot emit"
    return Finding(
        name=case.name,
        rows=case.rows,
        labels=tuple(case.label(int(at)) for at in shown),
        wanted=tuple(case.wanted[shown]),
        seen=tuple(float(counts[at]) / max(total, 1) for at in shown),
        method=f"{total} samples",
        verdict="sampled" if informative(case) else "sampled, no bound",
        counterexample=counterexample,
    )


__all__ = ["Audit", "Bound", "Finding", "Report", "audit", "prepare"]
