"""Going through all the luck of code that was written by somebody else.

Two ways. `explore_symbols` runs the code on random numbers that are not drawn yet and gets an
exact law. `explore_tape` runs it on plain floats and finds, for each uniform in turn, the points
where the behaviour changes, by probing and bisection; the law it gives is right to within 2**-50
under the assumption stated in `ASSUMPTION`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from draftproof.audit.generators import SymbolicGenerator, Tape, TapeGenerator
from draftproof.audit.symbols import HiddenLuck, Interval, NeedsNumbers, exactly
from draftproof.chance import Branch, Key
from draftproof.errors import InvalidInput

ASSUMPTION = (
    "between two neighbouring probe points the behaviour of the code changes at most once as one "
    "uniform grows"
)

OFTEN, ONCE = 4, 32
"""The first runs are repeated with the same luck: so many `REPEATS` times, so many once."""
REPEATS = 6

T = TypeVar("T")
Law = dict[Hashable, Fraction]
Luck = SymbolicGenerator | TapeGenerator | np.random.Generator
"""What stands for random numbers, or ordinary luck."""
Play = Callable[[Luck], Hashable]


class TooManyBranches(InvalidInput):
    """The code has more ways to fall than the budget allows."""


@dataclass(frozen=True, slots=True)
class Explored:
    """A law, the runs it took, the rounding met, and uniforms that served several decisions.

    `asked` is False where no run asked for any luck.
    """

    law: Law
    runs: int
    rounding: Fraction = Fraction(0)
    reused: tuple[str, ...] = ()
    asked: bool = True


class _Replay(Branch):
    """A branch that notices when its script does not fit the run."""

    def choose(self, options: list[tuple[T, Any]], key: Key = ()) -> T:
        turn = len(self.turns)
        if turn < len(self.script) and self.script[turn] >= sum(
            weight > 0 for _, weight in options
        ):
            raise HiddenLuck
        return super().choose(options, key)


def _follow(play: Play, script: list[int]) -> tuple[_Replay, SymbolicGenerator, Hashable]:
    branch = _Replay(script)
    generator = SymbolicGenerator(branch)
    outcome = play(generator)
    branch.over = True
    if len(branch.turns) < len(script):
        raise HiddenLuck
    return branch, generator, outcome


def _require_repeat(play: Play, branch: _Replay, outcome: Hashable) -> None:
    again, _, result = _follow(play, list(branch.script))
    if again.sizes != branch.sizes or again.weight != branch.weight or result != outcome:
        raise HiddenLuck


def explore_symbols(play: Play, *, max_runs: int = 200_000, repeats: int = REPEATS) -> Explored:
    """Enumerate code through comparisons with symbolic uniforms: an exact law.

    The first runs are repeated, to see whether the luck handed over is all of it: the first
    `OFTEN` of them `repeats` times, those up to `ONCE` one time; none where `repeats` is 0.

    Raises
    ------
    NeedsNumbers
        When the code does something with a random number that symbols cannot follow.
    TooManyBranches
        After `max_runs` runs.

    Examples
    --------
    >>> explore_symbols(lambda rng: rng.random() < Fraction(1, 3)).law
    {True: Fraction(1, 3), False: Fraction(2, 3)}
    """
    law: Law = {}
    reused: dict[str, None] = {}
    script: list[int] = []
    rounding = Fraction(0)
    runs = 0
    while True:
        branch, generator, outcome = _follow(play, script)
        law[outcome] = law.get(outcome, Fraction(0)) + branch.weight
        rounding = max(rounding, generator._ledger.rounding)
        reused.update(dict.fromkeys(map(_twice, generator._ledger.drawn)))
        runs += 1
        if runs <= ONCE and not getattr(outcome, "late", False):
            for _ in range(repeats if runs <= OFTEN else min(repeats, 1)):
                _require_repeat(play, branch, outcome)
        while script and script[-1] + 1 == len(branch.turns[len(script) - 1].options):
            script.pop()
        if not script:
            asked = bool(generator._ledger.drawn or branch.turns)
            return Explored(law, runs, rounding, tuple(filter(None, reused)), asked)
        if runs >= max_runs:
            raise TooManyBranches(f"the code has more than {max_runs} branches; use smaller rows.")
        script[-1] += 1


def _twice(known: Interval) -> str:
    """Say where a uniform served two decisions; empty if it served one."""
    return f"{known.name} is used in {' and in '.join(known.lines)}" if len(known.lines) > 1 else ""


PROBES: tuple[Callable[[int], float], ...] = (
    lambda at: 0.5,
    lambda at: 0.03,
    lambda at: 0.97,
    lambda at: (0.618034 * (at + 1)) % 1.0,
    lambda at: (0.754878 * (at + 1)) % 1.0,
    lambda at: (0.569840 * (at + 1) + 0.21) % 1.0,
    lambda at: 0.02 if at % 2 else 0.98,
    lambda at: 0.98 if at % 2 else 0.02,
)
GRID = tuple(index / 24 for index in range(24))
LAST = 1.0 - 2.0**-53


class _TapeExplorer:
    """Finds cells of constant behaviour, one random draw after another."""

    def __init__(self, play: Play, points: Iterable[float], max_runs: int) -> None:
        self._play, self.runs = play, 0
        self.rounding = Fraction(0)
        inside = {float(point) for point in points if 0 < float(point) < 1}
        beside = {max(point - 2.0**-30, 0.0) for point in inside}
        self._grid = sorted({*GRID, *inside, *beside, LAST})
        self._max_runs = max_runs

    def run(self, played: tuple[float | int, ...], probe: Callable[[int], float]) -> Tape:
        tape = Tape(played, probe)
        if self.runs >= self._max_runs:
            raise TooManyBranches(
                f"the code took more than {self._max_runs} runs to enumerate; use smaller rows."
            )
        self.runs += 1
        generator = TapeGenerator(tape)
        self.outcome = self._play(generator)
        self.rounding = max(self.rounding, generator._ledger.rounding)
        return tape

    def require_repeat(self) -> None:
        """Run each probe twice; the second run must do what the first did."""
        if self._signature(()) != self._signature(()):
            raise HiddenLuck

    def law(self, played: tuple[float | int, ...]) -> Law:
        tape = self.run(played, PROBES[0])
        outcome = self.outcome
        if len(tape.requests) <= len(played):
            return {outcome: Fraction(1)}
        request = tape.requests[len(played)]
        if request is not None:
            return self._mixture(
                (weight, (*played, index)) for index, weight in enumerate(request) if weight > 0
            )
        return self._mixture(
            (high - low, (*played, middle)) for low, high, middle in self._cells(played)
        )

    def _mixture(self, parts: Iterable[tuple[Fraction, tuple[float | int, ...]]]) -> Law:
        law: Law = {}
        for weight, played in parts:
            for outcome, share in self.law(played).items():
                law[outcome] = law.get(outcome, Fraction(0)) + weight * share
        return law

    def _signature(self, played: tuple[float | int, ...]) -> Hashable:
        """What can be told apart by trying each probe for the rest of the luck."""
        seen = []
        for probe in PROBES:
            tape = self.run(played, probe)
            seen.append((self.outcome, tuple(tape.requests)))
            if len(tape.requests) <= len(played):
                break
        return tuple(seen)

    def _cells(self, played: tuple[float | int, ...]) -> Sequence[tuple[Fraction, Fraction, float]]:
        """Split [0, 1) where the behaviour changes with the next uniform."""
        signatures = [self._signature((*played, point)) for point in self._grid]
        edges = [Fraction(0)]
        inside = [self._grid[0]]
        for at in range(len(self._grid) - 1):
            if signatures[at] != signatures[at + 1]:
                edge = self._edge(played, self._grid[at], self._grid[at + 1], signatures[at])
                edges.append(exactly(edge))
                inside.append(self._grid[at + 1])
        return list(zip(edges, [*edges[1:], Fraction(1)], inside, strict=True))

    def _edge(
        self, played: tuple[float | int, ...], low: float, high: float, below: Hashable
    ) -> float:
        """Bisect to the first float whose behaviour is no longer `below`."""
        while True:
            middle = low + (high - low) / 2
            if middle in (low, high) or high - low < 2.0**-54:
                return high
            if self._signature((*played, middle)) == below:
                low = middle
            else:
                high = middle


def explore_tape(
    play: Play, *, points: Iterable[float] = (), max_runs: int = 2_000_000
) -> Explored:
    """Enumerate code that wants plain floats, by probing and bisecting each uniform.

    Parameters
    ----------
    play
        The code, as a function of a generator.
    points
        Values where a change is likely (cumulative sums, ratios): probed on both sides.
    max_runs
        Budget of runs.

    Returns
    -------
    A law right to within 2**-50 for each edge, if ``ASSUMPTION`` holds.

    Examples
    --------
    >>> law = explore_tape(lambda rng: float(rng.random()) < 0.3).law
    >>> abs(law[True] - Fraction(3, 10)) < Fraction(1, 2**50)
    True
    """
    explorer = _TapeExplorer(play, points, max_runs)
    explorer.require_repeat()
    law = explorer.law(())
    return Explored(law, explorer.runs, explorer.rounding)


__all__ = [
    "ASSUMPTION",
    "Explored",
    "HiddenLuck",
    "Luck",
    "NeedsNumbers",
    "TooManyBranches",
    "explore_symbols",
    "explore_tape",
]
