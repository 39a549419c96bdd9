"""Plain runs beside a law that was found, to see whether the code does what its law says.

A law found with stand-ins for random numbers is a law of the code *with stand-ins*. Code can tell
the difference without meaning to: it draws from a source of its own, remembers earlier calls,
checks its arguments, or catches the exception that ends an attempt. So the same code is run on
ordinary luck as well, and a law that these runs contradict is not reported, whatever it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import kl_div

from draftproof.audit.explore import Explored, Play
from draftproof.audit.foreign import Fault, Foreign, is_late, parts_of
from draftproof.audit.shapes import Examiner, Law, Rows, Text
from draftproof.audit.symbols import NeedsNumbers
from draftproof.laws import total_variation

LEVEL = 1e-7
"""Probability that plain runs contradict a law that is right."""

FEWEST, MOST = 100, 500
"""Plain runs beside a law: at the least, and where a small difference has to be confirmed."""

ASSUMED = 10_000
"""The same beside a bisected law; half as many, or twice, if it is not the target's."""

SEED = 20_261_130
FAULT = "a fault"
"""Every fault is one outcome here: its words may depend on what the random numbers are."""


def runs_for(gap: Fraction, *, bisected: bool) -> int:
    """How many plain runs should tell two laws apart that differ by `gap` in one outcome."""
    if gap == 0:
        return ASSUMED if bisected else FEWEST
    least, most = (ASSUMED // 2, 2 * ASSUMED) if bisected else (FEWEST, MOST)
    return min(max(math.ceil(30 / gap**2), least), most)


@dataclass(frozen=True, slots=True)
class Witness:
    """The frequencies of plain runs, mixed like the law they stand beside."""

    seen: Law
    runs: int

    def contradicts(self, law: Mapping[Hashable, Fraction]) -> str | None:
        """Say where these frequencies cannot come from `law`; None where they can.

        By Chernoff's bound ``exp(-runs (s ln(s / l) - s + l))`` for a share s of runs where l is
        likely, over all outcomes at once, at `LEVEL`. It holds for a mixture whose parts are run
        in proportion to their weights, and an outcome of probability 0 must not come up at all.
        """
        known = merged(law)
        outcomes = {**known, **self.seen}
        allowed = math.log(2 * len(outcomes) / LEVEL) / self.runs
        for outcome in outcomes:
            likely, seen = float(known.get(outcome, 0)), float(self.seen.get(outcome, 0))
            if kl_div(seen, likely) > allowed:
                return f"{outcome} came out in {seen:.1%} of {self.runs} plain runs"
        return None

    @property
    def faults(self) -> float:
        """Share of faults among what was seen."""
        faulty = sum(weight for o, weight in self.seen.items() if FAULT in parts_of(o))
        return float(faulty / sum(self.seen.values(), Fraction(0)))

    def distance(self, law: Mapping[Hashable, Fraction]) -> float:
        """Total variation between `law` and the law of the code, at most, at `LEVEL`.

        The distance to the frequencies, plus what these may be off: by McDiarmid's inequality,
        and on average by at most ``sqrt(outcomes / runs) / 2``.
        """
        known = merged(law)
        usual = math.sqrt(len({**known, **self.seen}) / self.runs) / 2
        beyond = math.sqrt(math.log(1 / LEVEL) / (2 * self.runs))
        return float(total_variation(known, self.seen)) + usual + beyond


def merged(law: Mapping[Hashable, Fraction]) -> Law:
    """Give the law with every fault as one outcome."""
    found: Law = {}
    for outcome, weight in law.items():
        name = _without_words(outcome)
        found[name] = found.get(name, Fraction(0)) + weight
    return {outcome: weight for outcome, weight in found.items() if weight > 0}


def _without_words(outcome: Hashable) -> Hashable:
    if isinstance(outcome, Fault):
        return FAULT
    return tuple(map(_without_words, outcome)) if isinstance(outcome, tuple) else outcome


def witness(
    examine: Examiner, foreign: Foreign, rows: Rows, lengths: Sequence[int], runs: int
) -> Witness:
    """Run the code plainly, about `runs` times, each part of a mixture as often as it is likely.

    Raises
    ------
    NeedsNumbers
        If the code does not come back in time.
    """
    examined = examine(foreign, rows.as_floats(), tuple(lengths), _frequencies(runs))
    return Witness(merged(examined.law), runs)


def _frequencies(runs: int) -> Callable[[Play, Sequence[Text], Fraction], Explored]:
    rng = np.random.default_rng(SEED)

    def explore(play: Play, _: Sequence[Text], share: Fraction) -> Explored:
        counts: dict[Hashable, int] = {}
        times = math.ceil(share * runs)
        for _turn in range(times):
            outcome = play(rng)
            if is_late(outcome):
                raise NeedsNumbers("on plain luck it did not come back in time")
            counts[outcome] = counts.get(outcome, 0) + 1
        return Explored({o: Fraction(count, times) for o, count in counts.items()}, times)

    return explore
