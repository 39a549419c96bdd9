"""Which bug is it? Suspects weighed by what was seen, and what would tell the leaders apart.

An exact law is compared with the law of every suspect: those that equal it everywhere share the
weight. Sampled evidence weighs a suspect by its share of the wealth, which is its likelihood.
Suspects that give one law on every input tried are named together, with an input of the battery
on which they differ, if there is one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from draftproof.audit.blocks import BLOCK_WORLDS
from draftproof.audit.cases import Case, block_laws
from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.evidence import OPEN
from draftproof.audit.pairs import PAIRS
from draftproof.audit.suspects import SAME, Suspect
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS, BlockSuspect
from draftproof.dist import Row
from draftproof.errors import InvalidInput

KNOWN: dict[str, Suspect | BlockSuspect] = {
    **{suspect.name: suspect for suspect in STEP_SUSPECTS},
    **{suspect.name: suspect for suspect in BLOCK_SUSPECTS},
}


@dataclass(frozen=True, slots=True)
class Named:
    """A suspect, its share of the evidence, and the public reports of that bug."""

    name: str
    weight: float
    about: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Suspects by weight, the best first.

    Parameters
    ----------
    suspects
        Every suspect with a weight worth showing; `draftproof.audit.evidence.OPEN` stands for a
        bug that nobody wrote down.
    best
        The leading suspect; None when the leader is no known bug, or nothing was refuted.
    twins
        Suspects that no input tried can tell from the best one.
    telling
        For each twin, an input that would tell, in words.
    """

    suspects: tuple[Named, ...] = ()
    best: str | None = None
    twins: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Say it in words."""
        if self.best is None:
            return ["It matches no suspect in the catalogue."] if self.suspects else []
        known = next(one for one in self.suspects if one.name == self.best)
        said = [f"Likeliest cause: {self.best} ({known.about})."]
        if known.references:
            said.append(f"Reported in {', '.join(known.references)}.")
        return [*said, *self.telling]


LEAST_SHOWN = 1e-3
"""Suspects with less weight are not listed."""


def _named(name: str, weight: float) -> Named:
    known = KNOWN.get(name)
    about = known.about if known else "none of the known bugs"
    return Named(name, weight, about, known.references if known else ())


def weighed(weights: Mapping[str, float], twins: Mapping[str, Sequence[str]]) -> Diagnosis:
    """Make a diagnosis of weights by name, where `twins` holds every name's group.

    A group shares its weight evenly, and its first member is the best.
    """
    shares = {
        name: weight / len(twins.get(first, (first,)))
        for first, weight in weights.items()
        for name in twins.get(first, (first,))
        if weight >= LEAST_SHOWN
    }
    first = max(weights, key=lambda name: weights[name])
    suspects = sorted((_named(*item) for item in shares.items()), key=lambda one: -one.weight)
    if first == OPEN:
        return Diagnosis(tuple(suspects))
    others = tuple(name for name in twins.get(first, ()) if name != first)
    telling = tuple(telling_sentence(first, other) for other in others)
    return Diagnosis(tuple(suspects), first, others, telling)


def matching(cases: Sequence[Case], laws: Sequence[Mapping[Hashable, Fraction]]) -> list[str]:
    """Name the suspects whose law is the law seen, in every case; the most telling first."""
    seen = [case.as_row(law).astype(np.float64) for case, law in zip(cases, laws, strict=True)]
    names = dict.fromkeys(name for case in cases for name in case.laws)
    return [
        name
        for name in names
        if all(
            name in case.laws and _distance(case.laws[name], row) < SAME
            for case, row in zip(cases, seen, strict=True)
        )
    ]


def by_law(cases: Sequence[Case], laws: Sequence[Mapping[Hashable, Fraction]]) -> Diagnosis:
    """Diagnose laws that were found exactly."""
    same = matching(cases, laws)
    if not same:
        return weighed({OPEN: 1.0}, {})
    return weighed({same[0]: 1.0}, {same[0]: same})


def _distance(one: Row, other: Row) -> float:
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max())


@dataclass(frozen=True, slots=True)
class Telling:
    """An input on which two suspects differ, and by how much in total variation."""

    rows: str
    total_variation: float


def telling_input(one: str, other: str) -> Telling | None:
    """Find the input of the battery on which two suspects differ most.

    Returns
    -------
    None where they give one law on all of the battery.

    Examples
    --------
    >>> telling_input("always accept", "coin stuck at zero").rows
    'p = (1/3, 2/3, 0, 0), q = (0, 0, 1/4, 3/4)'
    >>> telling_input("resample from p", "siblings not renewed") is None
    True
    """
    found = [Telling(rows, _total_variation(a, b)) for rows, a, b in _both(one, other)]
    best = max(found, key=lambda item: item.total_variation)
    return best if best.total_variation > SAME else None


def _both(one: str, other: str) -> Iterable[tuple[str, Row, Row]]:
    some, others = KNOWN.get(one), KNOWN.get(other)
    if isinstance(some, Suspect) and isinstance(others, Suspect):
        return [(str(pair), some.law(pair.p, pair.q), others.law(pair.p, pair.q)) for pair in PAIRS]
    if isinstance(some, BlockSuspect) and isinstance(others, BlockSuspect):
        laws = [(world.name, block_laws(world)) for world in BLOCK_WORLDS]
        return [(name, known[one], known[other]) for name, known in laws]
    raise InvalidInput(f"{one!r} and {other!r} are not two suspects of one kind.")


def _total_variation(one: Row, other: Row) -> float:
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).sum() / 2)


def telling_sentence(one: str, other: str) -> str:
    """Say which input would tell two suspects apart."""
    found = telling_input(one, other)
    if found is None:
        return f"No input of the battery tells it from {other!r}: the two give one law."
    return (
        f"On this input it cannot be told from {other!r}; {found.rows} would tell (total "
        f"variation {found.total_variation:.3g})."
    )
