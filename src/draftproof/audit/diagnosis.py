"""Which bug is it? Suspects weighed by what was seen, and what would tell the leaders apart.

An exact law is compared with the law of every suspect: those that equal it everywhere share the
weight. Sampled evidence weighs a suspect by its share of the wealth, which is its likelihood.
Suspects that give one law on every input tried are named together, with an input of the battery
on which they differ, if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from draftproof.audit.blocks import BLOCK_WORLDS
from draftproof.audit.cases import Case, block_laws
from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.evidence import OPEN, SURPRISE, Counts, EProcess
from draftproof.audit.foreign import Fault
from draftproof.audit.loop_bugs import LOOP_BUGS, LOOP_WORLDS, LoopBug, loop_laws
from draftproof.audit.pairs import PAIRS
from draftproof.audit.sequential import CLEAR_LEAD
from draftproof.audit.suspects import SAME, Suspect, grouped, laws_of, same_law
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS, BlockSuspect
from draftproof.dist import Row, RowLike, check_pair, check_row
from draftproof.errors import InvalidInput

KNOWN: dict[str, Suspect | BlockSuspect | LoopBug] = {
    **{bug.name: bug for bug in LOOP_BUGS},
    **{suspect.name: suspect for suspect in STEP_SUSPECTS},
    **{suspect.name: suspect for suspect in BLOCK_SUSPECTS},
}

IN_A_LOOP = frozenset(bug.name for bug in LOOP_BUGS)


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
    agreement
        Where the law found is that bug's but for the order of ties: on which inputs, in words.
    """

    suspects: tuple[Named, ...] = ()
    best: str | None = None
    twins: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    agreement: str = ""

    def sentences(self) -> list[str]:
        """Say it in words."""
        if self.best is None:
            return [self._unnamed()] if self.suspects else []
        known = next(one for one in self.suspects if one.name == self.best)
        said = [f"Likeliest cause: {self.best} ({known.about})."]
        if known.references:
            said.append(f"Reported in {', '.join(known.references)}.")
        return [*said, *([self.agreement] if self.agreement else []), *self.telling]

    def _unnamed(self) -> str:
        if [one.name for one in self.suspects] == [OPEN] or self.suspects[0].weight >= CLEAR_LEAD:
            return "It matches no suspect in the catalogue."
        possible = [f"{one.name} ({one.weight:.0%})" for one in self.suspects if one.weight >= 0.01]
        return f"Too little was seen to name the bug. Still possible: {', '.join(possible)}."


LEAST_SHOWN = 1e-3
"""Suspects with less weight are not listed."""


def _named(name: str, weight: float) -> Named:
    known = KNOWN.get(name)
    about = known.about if known else "none of the known bugs"
    return Named(name, weight, about, known.references if known else ())


def weighed(
    weights: Mapping[str, float], twins: Mapping[str, Sequence[str]], *, enough: float = 0.0
) -> Diagnosis:
    """Make a diagnosis of weights by name, where `twins` holds every name's group.

    A group shares its weight evenly, and its first member is the best; none is named where the
    leading group holds less than `enough`.
    """
    shares = {
        name: weight / len(twins.get(first, (first,)))
        for first, weight in weights.items()
        for name in twins.get(first, (first,))
        if weight >= LEAST_SHOWN
    }
    first = max(weights, key=lambda name: weights[name])
    suspects = sorted((_named(*item) for item in shares.items()), key=lambda one: -one.weight)
    if first == OPEN or weights[first] < enough:
        return Diagnosis(tuple(suspects))
    others = tuple(name for name in twins.get(first, ()) if name != first)
    telling = tuple(telling_sentence(first, other) for other in others)
    return Diagnosis(tuple(suspects), first, others, telling)


def surprise_shared(
    weights: Mapping[str, float], seen: Sequence[tuple[Row, Counts]]
) -> dict[str, float]:
    """Weigh the open bet anew after tokens that the target cannot emit.

    While evidence is gathered it holds them all but impossible (`evidence.SURPRISE`), so one such
    token would name whichever suspect emits them at all. Here it bets on their frequency: the
    Beta(1/2, 1/2) mixture over the rows that have such tokens, evenly among them.

    Parameters
    ----------
    weights
        Share of the evidence by name, `evidence.OPEN` among them.
    seen
        For each row the target's law, and how often each token came out.
    """
    rows = [(wanted == 0, counts) for wanted, counts in seen if (wanted == 0).any()]
    beyond = [(int(counts[none].sum()), int(none.sum()), none.size) for none, counts in rows]
    met, total = sum(times for times, _, _ in beyond), sum(int(c.sum()) for _, c in rows)
    if met == 0:
        return dict(weights)
    fair = special.betaln(met + 0.5, total - met + 0.5) - special.betaln(0.5, 0.5)
    fair -= sum(times * math.log(among) for times, among, _ in beyond)
    counted = sum(times * math.log(SURPRISE / size) for times, _, size in beyond)
    logs = {name: math.log(share) if share > 0 else -math.inf for name, share in weights.items()}
    logs[OPEN] += float(fair) - counted
    top = max(logs.values())
    shares = {name: math.exp(log - top) for name, log in logs.items()}
    return {name: share / sum(shares.values()) for name, share in shares.items()}


ENOUGH_INPUTS = 2
"""Inputs without ties that must tell before a suspect is named by these alone."""


def by_law(
    cases: Sequence[Case], laws: Sequence[Mapping[Hashable, Fraction]], slack: float = SAME
) -> Diagnosis:
    """Diagnose laws that were found, each probability to within `slack`.

    Cases in which a fault came out say nothing here. Of the others those are compared in which
    the law seen or a suspect's is not the target's. A suspect that agrees in all of them is
    named, with all others that do; without one, a suspect that agrees in all whose rows have no
    ties, because the order of tokens that are equally likely is the code's own affair.
    """
    clean = [
        (case, case.as_row(law))
        for case, law in zip(cases, laws, strict=True)
        if not any(isinstance(outcome, Fault) for outcome in law)
    ]
    untied = [(case, row) for case, row in clean if not case.tied]
    for some, least in ((clean, 1), (untied, ENOUGH_INPUTS)):
        same = _matching(some, max(slack, SAME), least)
        if same:
            found = weighed({same[0]: 1.0}, {same[0]: same})
            other = [case.name for case, row in clean if not _agrees(same[0], case, row, slack)]
            return replace(found, agreement=_but_for_ties(other)) if other else found
    return weighed({OPEN: 1.0}, {})


def _matching(seen: Sequence[tuple[Case, Row]], slack: float, least: int) -> list[str]:
    """Name the suspects whose law is the law seen in every case, and that tell in enough."""
    wrong = sum(not same_law(row, case.wanted) for case, row in seen)
    names = dict.fromkeys(name for case, _ in seen for name in case.laws)
    if wrong < least:
        return []
    return [n for n in names if all(_agrees(n, case, row, slack) for case, row in seen)]


def _agrees(name: str, case: Case, seen: Row, slack: float) -> bool:
    return name in case.laws and _distance(case.laws[name], seen) < max(slack, SAME)


def _but_for_ties(other: Sequence[str]) -> str:
    return (
        f"Its law was found on every input without ties; where tokens are equally likely the code "
        f"takes another than the suspect does: {', '.join(other)}."
    )


DIAGNOSIS_LEVEL = 1e-3


def diagnose(
    seen: RowLike | Mapping[int, Any], p: RowLike, q: RowLike, *, level: float = DIAGNOSIS_LEVEL
) -> Diagnosis:
    """Say which known bug explains best what a speculative step emitted.

    Counts are weighed by likelihood: the weight of a suspect with the law r is proportional to
    the product of ``r(x)`` over the tokens x that came out, and an open bet on the frequencies
    themselves stands for bugs that nobody wrote down. A law that is known exactly is compared.

    Parameters
    ----------
    seen
        How often each token came out, as integers; or the law itself, as fractions or floats
        that sum to 1.
    p, q
        The target's row and the draft's.
    level
        Counts that a correct step would give with more than this probability are not diagnosed.

    Returns
    -------
    The suspects by weight, the best by name, its public reports, the suspects that this input
    cannot tell from it, and the input that would. Empty where nothing is wrong.

    Raises
    ------
    NotADistribution, InvalidInput
        If a row is none, or `seen` has another length.

    Examples
    --------
    >>> worked = [0.5, 0.3, 0.2], [0.25, 0.5, 0.25]
    >>> found = diagnose([3_741, 3_752, 2_507], *worked)
    >>> found.best, found.suspects[0].weight > 0.3
    ('resample from p', True)
    >>> found.twins
    ('drafted stop token dropped', 'siblings not renewed')
    >>> print(found.telling[1])
    No input of the battery tells it from 'siblings not renewed': the two give one law.
    >>> telling_input(found.best, found.twins[0]).rows
    'p = (1/2, 1/2, 0), q = (0, 1/2, 1/2)'
    >>> law = [Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)]
    >>> diagnose(law, *worked).suspects[0].name
    'resample from p'
    >>> diagnose([5_010, 2_990, 2_000], *worked).best is None
    True
    """
    target, draft = check_pair(p, q)
    laws = laws_of(STEP_SUSPECTS, target, draft)
    shown = {name: law for name, law in laws.items() if not same_law(law, target)}
    groups = grouped([(name, [law]) for name, law in shown.items()])
    twins = {group[0]: group for group in groups}
    row = _as_row(seen, len(target))
    if _is_law(row):
        return _of_law(row, target, shown, twins)
    process = EProcess(target, {name: shown[name] for name in twins}, level=level)
    process.update(np.repeat(np.arange(len(row)), row.astype(np.int64)))
    wrong = process.log10_now >= -math.log10(level)  # at the end: counts have no order
    return weighed(process.weights(), twins) if wrong else Diagnosis()


def _of_law(
    row: Row, target: Row, shown: Mapping[str, Row], twins: Mapping[str, Sequence[str]]
) -> Diagnosis:
    if same_law(row, target):
        return Diagnosis()
    best = next((name for name in twins if same_law(shown[name], row)), OPEN)
    return weighed({best: 1.0}, twins)


def _as_row(seen: RowLike | Mapping[int, Any], size: int) -> Row:
    """Give counts or a law as an array over the vocabulary."""
    if isinstance(seen, Mapping):
        strange = [token for token in seen if token not in range(size)]
        if strange:
            raise InvalidInput(f"seen has token {strange[0]!r}; ids go from 0 to {size - 1}.")
        seen = [seen.get(token, 0) for token in range(size)]
    row = np.asarray(seen)
    if row.shape != (size,):
        raise InvalidInput(f"seen has the shape {row.shape}; give one entry for each of {size}.")
    if any(entry < 0 for entry in row) or not any(row):
        raise InvalidInput("seen must hold counts or probabilities: none below 0, not all 0.")
    return row


def _is_law(row: Row) -> bool:
    """Tell a law from counts, which are integers."""
    if np.issubdtype(row.dtype, np.integer):
        return False
    check_row(row, name="seen")
    return True


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
    best = max(found, key=lambda item: item.total_variation, default=None)
    return best if best is not None and best.total_variation > SAME else None


def _both(one: str, other: str) -> Iterable[tuple[str, Row, Row]]:
    some, others = KNOWN.get(one), KNOWN.get(other)
    if isinstance(some, Suspect) and isinstance(others, Suspect):
        return [(str(pair), some.law(pair.p, pair.q), others.law(pair.p, pair.q)) for pair in PAIRS]
    if isinstance(some, BlockSuspect) and isinstance(others, BlockSuspect):
        laws = [(world.name, block_laws(world)) for world in BLOCK_WORLDS]
        return [(name, known[one], known[other]) for name, known in laws]
    if one in IN_A_LOOP and other in IN_A_LOOP:
        loops = [(f"a loop with {world.name}", loop_laws(world)) for world in LOOP_WORLDS]
        return [(name, ran[one], ran[other]) for name, ran in loops if {one, other} <= ran.keys()]
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
