"""The exact law of somebody else's verifier, compared with the law it should have.

Three attempts, the most exact first: rows of fractions with random numbers that are not drawn
yet (an exact law); rows of floats with the same (exact but for the rounding inside the code); and
rows and random numbers as plain floats, with the points of change found by bisection (right to
within 2**-50 under a stated assumption, and cross-checked with random draws).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.audit.explore import (
    ASSUMPTION,
    Explored,
    TooManyBranches,
    explore_symbols,
    explore_tape,
)
from draftproof.audit.foreign import Fault, Inputs, guarded, read_token, time_limit
from draftproof.audit.symbols import NeedsNumbers
from draftproof.dist import Row, RowLike, check_pair

ROUNDING = Fraction(1, 2**50)
"""A law found with floats may differ from the exact one by this much for each edge."""

CROSS_CHECK_DRAWS = 4_000
CROSS_CHECK_LEVEL = 1e-9


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The law of a foreign function, and how it was found.

    Parameters
    ----------
    law
        Probability of each outcome: a token id, or a `Fault`.
    wanted
        The law it should have.
    method
        ``"symbols"`` (exact intervals) or ``"bisection"``.
    arithmetic
        ``"fractions"`` or ``"floats"``: what the rows were.
    runs
        How often the function was called.
    remarks
        What else was noticed: inputs changed in place, a uniform used twice, assumptions.
    """

    law: dict[Hashable, Fraction]
    wanted: dict[Hashable, Fraction]
    method: str
    arithmetic: str
    runs: int
    remarks: tuple[str, ...] = field(default=())

    @property
    def tolerance(self) -> Fraction:
        """How far the law may be off for reasons of arithmetic; 0 with fractions."""
        if self.arithmetic == "fractions" and self.method == "symbols":
            return Fraction(0)
        return ROUNDING * (4 + len(self.law))

    @property
    def gap(self) -> Fraction:
        """Largest absolute difference between the law seen and the law wanted."""
        return max(abs(self._difference(outcome)) for outcome in {**self.wanted, **self.law})

    @property
    def exact(self) -> bool:
        """True when the law is the wanted one, up to `tolerance`."""
        return self.gap <= self.tolerance

    def _difference(self, outcome: Hashable) -> Fraction:
        zero = Fraction(0)
        return self.law.get(outcome, zero) - self.wanted.get(outcome, zero)

    def counterexample(self) -> str | None:
        """Put the worst outcome into words; None when the law is right."""
        if self.exact:
            return None
        worst = max({**self.wanted, **self.law}, key=lambda outcome: abs(self._difference(outcome)))
        seen, wanted = self.law.get(worst, Fraction(0)), self.wanted.get(worst, Fraction(0))
        if isinstance(worst, Fault):
            return f"with probability {_show(seen)} {worst}"
        amount = f"{_show(abs(seen - wanted))} too {'much' if seen > wanted else 'little'}"
        return f"{worst} comes out with probability {_show(seen)}, not {_show(wanted)}: {amount}"


def _show(value: Fraction) -> str:
    near = value.limit_denominator(10_000)
    return str(near) if abs(near - value) < ROUNDING * 64 else f"{float(value):.9g}"


def enumerate_sampler(
    fn: Callable[..., Any],
    p: RowLike,
    q: RowLike,
    *,
    uniforms: int | None = None,
    seconds: float | None = 5.0,
    max_runs: int = 200_000,
) -> Enumeration:
    """Find the exact law of one foreign speculative step.

    Parameters
    ----------
    fn
        ``fn(p, q, rng)`` with a NumPy Generator, or, if `uniforms` is given, ``fn(p, q, u)``
        with that many uniforms in an array; it returns one token id.
    p, q
        Target and draft rows, fractions or floats.
    uniforms
        How many uniforms `fn` takes as its third argument instead of a generator.
    seconds
        Time one call may take.
    max_runs
        Most calls of `fn`.

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
    target, draft = check_pair(p, q)
    wanted: dict[Hashable, Fraction] = {
        token: Fraction(weight) for token, weight in enumerate(target) if weight > 0
    }
    size = len(target)
    attempts: list[tuple[str, Row, Row]] = []
    if target.dtype == object:
        attempts.append(("fractions", target, draft))
    attempts.append(("floats", target.astype(np.float64), draft.astype(np.float64)))

    def player(inputs: Inputs) -> Callable[[Any], Hashable]:
        def play(rng: Any) -> Hashable:
            rows = inputs.fresh()
            luck = rng if uniforms is None else rng.random(uniforms)
            with time_limit(seconds):
                value = guarded(lambda: fn(rows["p"], rows["q"], luck))
            return value if isinstance(value, Fault) else read_token(value, size)

        return play

    for arithmetic, p_row, q_row in attempts:
        inputs = Inputs(p=p_row, q=q_row)
        try:
            explored = explore_symbols(player(inputs), max_runs=max_runs)
        except NeedsNumbers:
            continue
        if arithmetic == "fractions" and any(isinstance(o, Fault) for o in explored.law):
            continue  # the code may only be refusing fractions; floats will tell
        return _report(explored, wanted, "symbols", arithmetic, inputs)
    inputs = Inputs(p=attempts[-1][1], q=attempts[-1][2])
    play = player(inputs)
    explored = explore_tape(play, points=_likely_edges(*attempts[-1][1:]), max_runs=10 * max_runs)
    remarks = (f"assumed: {ASSUMPTION}", _cross_check(play, explored))
    return _report(explored, wanted, "bisection", "floats", inputs, remarks)


def _report(
    explored: Explored,
    wanted: dict[Hashable, Fraction],
    method: str,
    arithmetic: str,
    inputs: Inputs,
    remarks: tuple[str, ...] = (),
) -> Enumeration:
    changed = tuple(f"it changes its input {name} in place" for name in inputs.changed())
    return Enumeration(
        law=explored.law,
        wanted=wanted,
        method=method,
        arithmetic=arithmetic,
        runs=explored.runs,
        remarks=(*remarks, *changed, *explored.reused),
    )


def _likely_edges(p: Row, q: Row) -> Iterable[float]:
    """Where a uniform is likely to be compared: cumulative sums and acceptance ratios."""
    yield from np.cumsum(q)
    yield from np.cumsum(p)
    yield from (p[q > 0] / q[q > 0]).tolist()
    under = np.maximum(p - q, 0)
    if under.sum() > 0:
        yield from np.cumsum(under / under.sum())


def _cross_check(play: Callable[[Any], Hashable], explored: Explored) -> str:
    """Draw at random and compare; Hoeffding's bound over every outcome at once."""
    counts: dict[Hashable, int] = {}
    rng = np.random.default_rng(20_261_130)
    for _ in range(CROSS_CHECK_DRAWS):
        outcome = play(rng)
        counts[outcome] = counts.get(outcome, 0) + 1
    outcomes = {**explored.law, **counts}
    allowed = math.sqrt(math.log(2 * len(outcomes) / CROSS_CHECK_LEVEL) / (2 * CROSS_CHECK_DRAWS))
    worst = max(
        abs(counts.get(o, 0) / CROSS_CHECK_DRAWS - float(explored.law.get(o, 0))) for o in outcomes
    )
    if worst > allowed:
        raise NeedsNumbers(
            f"the bisected law and {CROSS_CHECK_DRAWS} random draws differ by {worst:.3f}, more "
            f"than {allowed:.3f}: the code changes more often than was assumed"
        )
    return (
        f"cross-checked with {CROSS_CHECK_DRAWS} random draws: largest difference {worst:.4f}, "
        f"allowed {allowed:.4f} at level {CROSS_CHECK_LEVEL:g}"
    )


__all__ = ["Enumeration", "TooManyBranches", "enumerate_sampler"]
