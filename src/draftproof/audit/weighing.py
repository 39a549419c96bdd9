"""Tokens of a server held against its rows and their ceiling, and the bug they speak for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draftproof.audit.diagnosis import KNOWN, Diagnosis, Named
from draftproof.audit.evidence import OPEN
from draftproof.audit.numerics import SERVER_SUSPECTS, VARIANTS, CeilingEProcess, Step

NAMES = [f"{suspect}: {guess}" if guess else suspect for suspect, guess in VARIANTS]
SUSPECTS = [suspect for suspect, _ in VARIANTS]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The same tokens, held against the rows themselves and against their ceiling."""

    strict: CeilingEProcess
    tolerant: CeilingEProcess

    @classmethod
    def at(cls, level: float) -> Evidence:
        """Begin."""
        return cls(CeilingEProcess(NAMES, level=level), CeilingEProcess(NAMES, level=level))

    def take(self, step: Step, v: float) -> None:
        """Take in one token."""
        self.strict.update(step.p, step.p, step.token, step.laws, v=v)
        self.tolerant.update(step.p, step.top, step.token, step.laws, v=v)

    def summary(self) -> dict[str, Any]:
        """Give samples and evidence."""
        return {
            "samples": self.strict.samples,
            "log10_e": self.strict.log10_e,
            "log10_e_beyond_numerics": self.tolerant.log10_e,
            "refuted": self.tolerant.refuted,
        }


def diagnosis(process: CeilingEProcess) -> Diagnosis:
    """Name the suspect that holds most of the evidence."""
    shares = process.by_suspect(SUSPECTS)
    named = tuple(_named(name, share) for name, share in shares.items() if share >= 1e-3)
    return Diagnosis(named, None if named[0].name == OPEN else named[0].name)


def _named(name: str, weight: float) -> Named:
    if name in SERVER_SUSPECTS:
        about, references = SERVER_SUSPECTS[name]
        return Named(name, weight, about, references)
    known = KNOWN.get(name)
    about = known.about if known else "none of the known bugs"
    return Named(name, weight, about, known.references if known else ())
