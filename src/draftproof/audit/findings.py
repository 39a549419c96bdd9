"""What an audit hands back: a report of plain values, and the parts it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from draftproof.audit.diagnosis import Diagnosis
from draftproof.audit.power import SampleSize
from draftproof.audit.sequential import Budget


@dataclass(frozen=True, slots=True)
class Finding:
    """What one case showed: the law wanted, and the law found or the counts sampled."""

    name: str
    rows: str
    labels: tuple[str, ...]
    wanted: tuple[Any, ...]
    seen: tuple[Any, ...]
    method: str
    verdict: str
    counterexample: str | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """An upper bound on total variation, and over which partition of the outcomes it holds."""

    value: float
    partition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an audit found.

    Parameters
    ----------
    verdict
        "consistent", "refuted", "faulty" or "inconclusive"; `reason` says why in one sentence.
    method
        "enumeration" when every case was enumerated or an enumerated one decided, else
        "sequential".
    samples, log10_e
        Samples drawn, and the largest evidence as a power of ten; None without sampling, and
        for an outcome that the target cannot emit, which no power of ten measures.
    gap
        Largest difference between an enumerated law and the one wanted; None without one.
    tv_bound
        With confidence 1 - level, total variation is below this in every case.
    smallest_detectable
        For each suspect, the smallest total variation that would have been seen; None for one
        that does not show on these inputs.
    announced
        The sample size of each suspect, computed before the run.
    trail
        Evidence over samples: (samples, log10 of the evidence at that moment).
    facts
        What only this kind of source has, by name; a server's are in `draftproof.audit.server`.
    """

    target: str
    signature: str
    verdict: str
    reason: str
    method: str
    samples: int
    log10_e: float | None
    gap: Fraction | None
    tv_bound: Bound | None
    smallest_detectable: dict[str, float | None]
    diagnosis: Diagnosis
    findings: tuple[Finding, ...]
    faults: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    announced: tuple[SampleSize, ...] = ()
    trail: tuple[tuple[int, float], ...] = ()
    budget: Budget = field(default_factory=Budget)
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counterexample(self) -> str | None:
        """The first case that shows the law is wrong, in words."""
        for finding in self.findings:
            if finding.counterexample:
                return f"{finding.name} ({finding.rows}): {finding.counterexample}"
        return None

    def __bool__(self) -> bool:
        raise TypeError("a Report is not a yes or no; read .verdict, .reason and .counterexample")
