"""The exact law of somebody else's verifier, compared with the law it should have.

Three attempts, the most exact first: rows of fractions with random numbers that are not drawn
yet (an exact law); rows of floats with the same (exact but for the rounding inside the code); and
rows and random numbers as plain floats, with the points of change found by bisection (right to
within the rounding under a stated assumption).

Whatever was found is held against plain runs of the code (`witness`) before it is reported: a law
they contradict is dropped for the next attempt.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from draftproof.audit.explore import (
    ASSUMPTION,
    REPEATS,
    Explored,
    HiddenLuck,
    Play,
    TooManyBranches,
    explore_symbols,
    explore_tape,
)
from draftproof.audit.foreign import (
    LUCK,
    SIGNATURES,
    Fault,
    Foreign,
    check_choice,
    is_late,
    parts_of,
)
from draftproof.audit.shapes import EXAMINERS, Examined, Examiner, Explore, Rows, Text
from draftproof.audit.symbols import DOUBLE, SINGLE, NeedsNumbers
from draftproof.audit.witness import LEVEL, Witness, runs_for, witness
from draftproof.backends.table import Table
from draftproof.dist import RowLike
from draftproof.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The law of a foreign function, and how it was found.

    Parameters
    ----------
    law
        Probability of each outcome: a token id (step), a tuple of tokens (block, round), a pair
        of request and tuple (batch, one law per request), or a `Fault`.
    wanted
        The law it should have.
    method
        ``"symbols"`` (intervals) or ``"bisection"``.
    arithmetic
        ``"fractions"`` if every number compared was one, else ``"floats"``.
    runs
        How often the function was called.
    rounding
        How far one edge may be off; 0 with fractions, 2**-50 with 64-bit floats, 2**-21 with
        32-bit ones.
    findings
        What is wrong beside the law: inputs changed in place, a request that depends on its slot.
    remarks
        How the law was found, and what is only worth a look.
    known_to
        Total variation between this law and the code's, at most, as far as plain runs tell: None
        where the law needs no assumption.
    """

    law: dict[Hashable, Fraction]
    wanted: dict[Hashable, Fraction]
    method: str
    arithmetic: str
    runs: int
    rounding: Fraction = Fraction(0)
    findings: tuple[str, ...] = field(default=())
    remarks: tuple[str, ...] = field(default=())
    known_to: float | None = None

    @property
    def tolerance(self) -> Fraction:
        """How far the law may be off for reasons of arithmetic; 0 with fractions."""
        return self.rounding * (4 + len(self.law))

    @property
    def gap(self) -> Fraction:
        """Largest absolute difference between the law seen and the law wanted."""
        return max(abs(self._difference(outcome)) for outcome in {**self.wanted, **self.law})

    @property
    def agrees(self) -> bool:
        """True when the law is the wanted one, up to `tolerance`."""
        return self.gap <= self.tolerance

    @property
    def sound(self) -> bool:
        """True when the law agrees and nothing else was found wrong."""
        return self.agrees and not self.findings

    @property
    def exact(self) -> bool:
        """True when the law is the wanted one and no rounding enters: a proof."""
        return self.agrees and self.rounding == 0

    @property
    def verdict(self) -> str:
        """Say in a few words what was found.

        Examples
        --------
        >>> half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
        >>> Enumeration(half, half, "symbols", "fractions", 1).verdict
        'exact'
        """
        if not self.agrees:
            return "not the target's law"
        if self.exact:
            return "exact"
        gap, allowed = float(self.gap), float(self.tolerance)
        return f"the target's law up to rounding (off by {gap:.0e}, allowed {allowed:.0e})"

    def _difference(self, outcome: Hashable) -> Fraction:
        zero = Fraction(0)
        return self.law.get(outcome, zero) - self.wanted.get(outcome, zero)

    def _weight_of_evidence(self, outcome: Hashable) -> tuple[Fraction, bool]:
        """Rank outcomes by their difference; what is no token goes before what is."""
        return abs(self._difference(outcome)), any(isinstance(o, Fault) for o in parts_of(outcome))

    def counterexample(self) -> str | None:
        """Put the worst outcome into words; None when the law is right."""
        if self.agrees:
            return None
        worst = max({**self.wanted, **self.law}, key=self._weight_of_evidence)
        seen, wanted = self.law.get(worst, Fraction(0)), self.wanted.get(worst, Fraction(0))
        fault = next((part for part in parts_of(worst) if isinstance(part, Fault)), None)
        if fault is not None:
            return f"with probability {show(seen)} {fault}"
        amount = f"{show(abs(seen - wanted))} too {'much' if seen > wanted else 'little'}"
        return (
            f"{_worded(worst)} comes out with probability {show(seen)}, not {show(wanted)}: "
            f"{amount}"
        )


def _worded(outcome: Hashable) -> str:
    if isinstance(outcome, tuple) and outcome and isinstance(outcome[-1], tuple):
        return f"for request {outcome[0]} of the batch, {outcome[1]}"
    return str(outcome)


def show(value: Fraction) -> str:
    """Write a probability as a small fraction where it is one, up to the rounding of floats."""
    near = value.limit_denominator(10_000)
    return str(near) if abs(near - value) < DOUBLE * 64 else f"{float(value):.9g}"


def enumerate_sampler(
    fn: Callable[..., Any],
    p: RowLike | Table,
    q: RowLike | Table,
    *,
    signature: str = "step",
    k: int | Sequence[int] | None = None,
    luck: str = "numpy",
    uniforms: int | None = None,
    seconds: float | None = 5.0,
    max_runs: int = 200_000,
) -> Enumeration:
    """Find the exact law of a foreign sampler, whatever way its luck can fall.

    Parameters
    ----------
    fn
        The function, of the form `signature` says (see `draftproof.audit.foreign`).
    p, q
        Target and draft: rows of fractions or floats, or tables with a row for each text.
    signature
        ``"step"`` fn(p, q, rng); ``"block"`` fn(target_rows, draft_rows, draft_tokens, rng);
        ``"batch"`` the same over lists; ``"round"`` fn(rng), with the models inside.
    k
        Tokens drafted: 2 by default for a block or round (a whole round may emit k + 1), one
        number for each request of a batch, (1, 2) by default.
    luck
        ``"numpy"`` or ``"torch"``: where its random numbers come from.
    uniforms
        How many uniforms `fn` takes as its last argument instead of a generator.
    seconds
        Time one call may take.
    max_runs
        Most calls of `fn` for one law.

    Returns
    -------
    An `Enumeration`. For blocks, rounds and batches the law is the joint one of k + 1 tokens:
    what was emitted, completed by ordinary draws from the target.

    Raises
    ------
    NeedsNumbers
        If its luck cannot be followed by any of the three attempts (then gather evidence by
        sampling instead).

    Examples
    --------
    >>> def resample_from_p(p, q, rng):
    ...     token = rng.choice(len(q), p=q)
    ...     if rng.random() < min(1, p[token] / q[token]):
    ...         return token
    ...     return rng.choice(len(p), p=p)
    >>> found = enumerate_sampler(resample_from_p, [Fraction(1, 2), Fraction(3, 10),
    ...     Fraction(1, 5)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    >>> [str(found.law[token]) for token in range(3)]
    ['3/8', '3/8', '1/4']
    >>> found.counterexample()
    '0 comes out with probability 3/8, not 1/2: 1/8 too little'
    """
    examine = EXAMINERS[check_choice("signature", signature, SIGNATURES)]
    foreign = Foreign(fn, check_choice("luck", luck, LUCK), uniforms, seconds)
    return enumerated(
        examine, foreign, Rows.of(p, q), lengths=_lengths(signature, k), max_runs=max_runs
    )


def enumerated(
    examine: Examiner,
    foreign: Foreign,
    rows: Rows,
    *,
    lengths: tuple[int, ...] = (),
    max_runs: int = 200_000,
) -> Enumeration:
    """Find the law of foreign code as `examine` looks at it; see `enumerate_sampler`."""
    search = _Search(examine, foreign, rows, lengths)
    refusals: list[str] = []
    for attempt in _attempts(rows, foreign.luck, max_runs):
        try:
            found = search.found(attempt)
        except HiddenLuck:
            raise
        except NeedsNumbers as refused:
            refusals.append(str(refused).rstrip("."))
            continue
        if found is not None:
            return found
    raise NeedsNumbers("; then ".join(dict.fromkeys(refusals)) or "no attempt could follow it")


CONFIRMATIONS, CONFIRMING_RUNS = 4, 1_000
"""A refutation is found again before it is reported: so many times, or in about so many runs."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for, by one attempt after another."""

    examine: Examiner
    foreign: Foreign
    rows: Rows
    lengths: tuple[int, ...]

    def found(self, attempt: _Attempt) -> Enumeration | None:
        """Give what one attempt finds and plain runs bear out; None where floats will tell.

        Raises
        ------
        NeedsNumbers
            If the attempt could not follow the code, or plain runs contradict what it found.
        """
        examined = self.examine(self.foreign, attempt.rows, self.lengths, attempt.explore)
        if attempt.rows.fractions and examined.faulty:
            return None  # the code may only be refusing fractions
        found = _report(examined, attempt)
        if any(map(is_late, found.law)):
            return found
        if not found.sound:
            again = partial(self.examine, self.foreign, attempt.rows, self.lengths, attempt.again)
            _confirm(examined, again)
        bisected = attempt.method == "bisection"
        gap = Fraction(0) if found.agrees else found.gap
        seen = self._borne_out(found, runs_for(gap, bisected=bisected))
        if examined.asked and not bisected:
            return found
        if not found.agrees and seen.contradicts(found.wanted) is None:
            raise NeedsNumbers(
                f"the law found for it is off by {float(found.gap):.2g}, which {seen.runs} plain "
                f"runs do not confirm"
            )
        return _stated(found, seen) if bisected else found

    def _borne_out(self, found: Enumeration, runs: int) -> Witness:
        """Give plain runs that do not contradict the law; refuse the law otherwise."""
        seen = witness(self.examine, self.foreign, self.rows, self.lengths, runs)
        faults = any(isinstance(part, Fault) for o in found.law for part in parts_of(o))
        if seen.faults == 1 and not faults and found.arithmetic == "fractions":
            return seen  # models of fractions inside it, from which NumPy cannot draw
        clash = seen.contradicts(found.law)
        if clash is None and faults and seen.faults == 0:
            clash = f"none of {seen.runs} plain runs ended in the fault that was found"
        if clash is not None:
            raise NeedsNumbers(
                f"plain runs contradict the law found for it ({clash}): it has luck or a memory "
                f"of its own, or treats what stands for random numbers otherwise than numbers"
            )
        return seen


def _stated(found: Enumeration, seen: Witness) -> Enumeration:
    """Say what a bisected law rests on."""
    known_to = seen.distance(found.law)
    remarks = (
        f"assumed: {ASSUMPTION}",
        f"cross-checked with {seen.runs} plain runs for each law: its total variation from the "
        f"code's is at most {known_to:.2g}, at level {LEVEL:g}",
    )
    return replace(found, remarks=(*found.remarks, *remarks), known_to=known_to)


def _confirm(first: Examined, again: Callable[[], Examined]) -> None:
    """Refuse a law that does not come out the same again: some luck was not handed over."""
    if any(map(is_late, first.law)):
        return
    for _ in range(min(max(CONFIRMING_RUNS // first.runs, 1), CONFIRMATIONS)):
        if again().law != first.law:
            raise HiddenLuck


def _lengths(signature: str, k: int | Sequence[int] | None) -> tuple[int, ...]:
    if k is None:
        return (1, 2) if signature == "batch" else (2,)
    lengths = (k,) if isinstance(k, int) else tuple(k)
    if not lengths or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in lengths):
        raise InvalidInput(f"k is {k!r}; it must be a number of drafted tokens, 0 or more.")
    if signature != "batch" and len(lengths) != 1:
        raise InvalidInput(f"k is {k!r}; only a batch takes one number for each request.")
    return lengths


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Rows in one arithmetic, a way to explore, and one to find a law again."""

    rows: Rows
    method: str
    explore: Explore
    again: Explore


def _attempts(rows: Rows, luck: str, max_runs: int) -> list[_Attempt]:
    often = itertools.chain([REPEATS], itertools.repeat(1))

    def by_symbols(play: Play, _texts: Sequence[Text], _share: Fraction) -> Explored:
        """Repeat runs often where the code is met first, once for every further chain."""
        return explore_symbols(play, max_runs=max_runs, repeats=next(often))

    def once_more(play: Play, _texts: Sequence[Text], _share: Fraction) -> Explored:
        return explore_symbols(play, max_runs=max_runs, repeats=0)

    floats = rows.as_floats()

    def by_bisection(play: Play, texts: Sequence[Text], _share: Fraction) -> Explored:
        points = [edge for text in texts for edge in floats.likely_edges(text)]
        return explore_tape(play, points=points, max_runs=10 * max_runs)

    attempts = [
        _Attempt(floats, "symbols", by_symbols, once_more),
        _Attempt(floats, "bisection", by_bisection, by_bisection),
    ]
    if rows.fractions and luck == "numpy":
        return [_Attempt(rows, "symbols", by_symbols, once_more), *attempts]
    return attempts


LEAST_SINGLE = Fraction(1, 2**32)
"""A law of floats that is off by less is off for no reason that single precision would give."""


def _report(examined: Examined, attempt: _Attempt) -> Enumeration:
    found = Enumeration(
        law=examined.law,
        wanted=examined.wanted,
        method=attempt.method,
        arithmetic="floats" if examined.rounding else "fractions",
        runs=examined.runs,
        rounding=examined.rounding,
        findings=tuple(examined.findings),
        remarks=tuple(examined.remarks),
    )
    single = replace(found, rounding=SINGLE)
    if found.agrees or not found.rounding or not LEAST_SINGLE <= found.gap <= single.tolerance:
        return found
    remark = f"off by {float(found.gap):.0e}, the size of single precision: it computes in 32 bits"
    return replace(single, remarks=(*found.remarks, remark))


__all__ = ["Enumeration", "HiddenLuck", "NeedsNumbers", "TooManyBranches", "enumerate_sampler"]
