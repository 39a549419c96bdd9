"""Running a sampler against evidence: cases in turn, until enough is known or the budget is spent.

Sampling ends when the evidence has reached 1 / level and the leading suspect is clear of the
others, when a total variation of the size asked for has been excluded in every case, or when the
samples or the time run out. Whatever the sampler does beside emitting tokens is counted, and the
audit goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from draftproof.audit.cases import Case
from draftproof.audit.evidence import RowsEProcess, check_level, partition, total_variation_bound
from draftproof.audit.foreign import Fault, many_calls
from draftproof.audit.power import SampleSize, sample_sizes, smallest_detectable
from draftproof.audit.suspects import grouped
from draftproof.dist import Row
from draftproof.errors import InvalidInput

FIRST_BATCH, LARGEST_BATCH = 16, 4096
CLEAR_LEAD = 0.9
"""Share of the evidence at which a suspect counts as named."""

NAMING, NAMING_LEAST = 2, 500
"""Sampling goes on for a name until so many times the samples that refuted, and some more."""

PATIENCE = 3
"""Calls that may run out of time before the function is given up on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an audit may spend, and what it is asked for.

    Parameters
    ----------
    level
        Error level: a correct sampler is refuted with at most this probability.
    detect
        Total variation to exclude; sampling ends when it is.
    max_samples
        Most samples, over all cases together.
    seconds
        Most seconds, over everything.
    seed
        Seed of the generator handed to the function.
    """

    level: float = 1e-6
    detect: float = 0.05
    max_samples: int = 200_000
    seconds: float = 120.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        if not 0 < self.detect < 1:
            raise InvalidInput(
                f"detect is {self.detect}; a total variation to exclude lies between 0 and 1."
            )
        if isinstance(self.max_samples, bool) or self.max_samples < 1:
            raise InvalidInput(f"max_samples is {self.max_samples!r}; it must be 1 or more.")
        if not self.seconds > 0:
            raise InvalidInput(f"time_limit is {self.seconds}; it must be more than 0 seconds.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidInput(f"seed is {self.seed!r}; it must be a non-negative integer.")


@dataclass(frozen=True, slots=True)
class Bets:
    """What is bet on in some cases: one law for each group of suspects that agree everywhere."""

    rows: list[Row]
    laws: list[dict[str, Row]]
    twins: dict[str, tuple[str, ...]]
    unseen: tuple[str, ...]

    @classmethod
    def on(cls, cases: Sequence[Case]) -> Bets:
        """Group the suspects by their laws in these cases."""
        names = dict.fromkeys(name for case in cases for name in case.laws)
        shown = [case.visible() for case in cases]
        groups = grouped([(name, [laws.get(name) for laws in shown]) for name in names])
        visible = [group for group in groups if any(group[0] in laws for laws in shown)]
        twins = {group[0]: group for group in visible}
        return cls(
            rows=[case.wanted for case in cases],
            laws=[{n: law for n, law in laws.items() if n in twins} for laws in shown],
            twins=twins,
            unseen=tuple(n for group in groups if group not in visible for n in group),
        )

    def announced(self, level: float) -> list[SampleSize]:
        """Give the sample size of every suspect, before sampling."""
        sizes = sample_sizes(self.rows, self.laws, level)
        return [
            SampleSize(name, size.mean, size.most, size.named)
            for size in sizes
            for name in self.twins[size.suspect]
        ]

    def detectable(self, samples: int, level: float) -> dict[str, float | None]:
        """Give the smallest detectable total variation of every suspect, after sampling."""
        sizes = smallest_detectable(self.rows, self.laws, max(samples, 1), level)
        seen = {name: sizes[first] for first, group in self.twins.items() for name in group}
        return seen | dict.fromkeys(self.unseen)


@dataclass(slots=True)
class Gathered:
    """What sampling brought: the evidence, its course, what else happened, and why it ended."""

    process: RowsEProcess
    bets: Bets
    trail: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    faults: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    ended: str = ""
    bounds: list[float | None] = field(default_factory=list)

    @property
    def bound(self) -> float | None:
        """Largest bound on total variation over the cases; None where some case has none."""
        known = [bound for bound in self.bounds if bound is not None]
        return max(known) if known and len(known) == len(self.bounds) else None


def informative(case: Case) -> bool:
    """Say whether a bound over few cells says something about this case.

    With one cell for half of the target's mass or more, it would not.
    """
    cells = partition(case.wanted)
    every = len(case.wanted) == cells.count
    return every or float(cells.pooled(case.wanted)[-1]) <= 0.5


def bound_of(case: Case, process: RowsEProcess, at: int, level: float) -> float | None:
    """Bound the total variation in one case, if that says something."""
    if not informative(case):
        return None
    return total_variation_bound(process.counts(at), case.wanted, partition(case.wanted), level)


class Gathering:
    """Samples cases in turn until something ends it.

    Examples
    --------
    >>> from draftproof.audit.cases import cases_for
    >>> from draftproof.audit.catalogue import find_suspect
    >>> from draftproof.audit.pairs import WORKED_PAIR
    >>> step = find_suspect("resample from p").step
    >>> cases = cases_for(step, WORKED_PAIR.p, WORKED_PAIR.q, "step")
    >>> found = Gathering(cases, Budget(seed=1)).run()
    >>> found.process.refuted, found.process.named(), found.ended
    (True, 'resample from p', 'the evidence reached 1 / level')
    """

    def __init__(
        self,
        cases: Sequence[Case],
        budget: Budget,
        *,
        deadline: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cases, self._budget, self._deadline, self._clock = cases, budget, deadline, clock
        bets = Bets.on(cases)
        process = RowsEProcess(bets.rows, bets.laws, level=budget.level)
        self._found = Gathered(process, bets)
        self._rng = np.random.default_rng(budget.seed)
        self._slow = 0

    def run(self) -> Gathered:
        """Sample until something ends it."""
        found, batch = self._found, FIRST_BATCH
        while not found.ended:
            for at, case in enumerate(self._cases):
                self._draw(at, case, batch)
                found.trail.append((found.process.samples, found.process.log10_now))
                found.ended = self._hard_end()
                if found.ended:
                    break
            found.ended = found.ended or self._soft_end()
            batch = min(2 * batch, LARGEST_BATCH)
        self._bound()
        return found

    def _draw(self, at: int, case: Case, batch: int) -> None:
        left = min(batch, self._budget.max_samples - self._found.calls)
        tokens = []
        with many_calls():
            for _ in range(left):
                seen = case.sample(self._rng)
                self._found.calls += 1
                if isinstance(seen, Fault):
                    self._note(seen)
                else:
                    tokens.append(seen)
                if self._slow >= PATIENCE or self._clock() > self._deadline:
                    break
        self._found.process.take(at, tokens)

    def _note(self, fault: Fault) -> None:
        self._found.faults[fault.what] = self._found.faults.get(fault.what, 0) + 1
        self._slow += fault.late

    def _hard_end(self) -> str:
        if self._slow >= PATIENCE:
            late = next(what for what in self._found.faults if "did not return within" in what)
            return f"{late}, {PATIENCE} times"
        if self._clock() > self._deadline:
            return "the time ran out"
        if self._found.calls >= self._budget.max_samples:
            return "the samples ran out"
        return ""

    def _soft_end(self) -> str:
        process = self._found.process
        if process.crossed_at is not None:
            clear = next(iter(process.weights().values())) >= CLEAR_LEAD
            enough = process.samples >= NAMING * process.crossed_at + NAMING_LEAST
            return "the evidence reached 1 / level" if clear or enough else ""
        self._bound()
        bound = self._found.bound
        if bound is not None and bound <= self._budget.detect:
            return f"a total variation of {self._budget.detect:g} was excluded"
        return ""

    def _bound(self) -> None:
        share = self._budget.level / len(self._cases)
        process = self._found.process
        self._found.bounds = [
            bound_of(case, process, at, share) for at, case in enumerate(self._cases)
        ]
