"""Stand-ins for a NumPy Generator whose every draw is under our control.

Both are real subclasses of `numpy.random.Generator`, so code that checks the type is satisfied.
`SymbolicGenerator` hands out random numbers that are not drawn yet (`symbols`); `TapeGenerator`
plays floats and indices from a tape and writes down what was asked for. A method neither can
follow raises `NeedsNumbers`, which ends the attempt, never the audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.audit.symbols import (
    DOUBLE,
    Exponential,
    Interval,
    Ledger,
    NeedsNumbers,
    Symbol,
    Uniform,
    exactly,
    rounding_of,
)
from draftproof.chance import Branch

MOST_INTEGERS = 4_096
"""An integer below more than this is not branched over: it is a uniform, cut."""

FOLLOWED = (
    "random",
    "uniform",
    "choice",
    "multinomial",
    "integers",
    "binomial",
    "exponential",
    "standard_exponential",
)


class Controlled(np.random.Generator):
    """What the two stand-ins share: the public methods, in terms of three primitives."""

    symbolic: bool

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self._ledger = Ledger()

    def _uniform(self, bits: int = 53) -> Any:
        """Give one uniform on [0, 1), of `bits` bits where it is a number."""
        raise NotImplementedError

    def _exponential(self) -> Any:
        raise NotImplementedError

    def _pick(self, weights: list[Fraction]) -> int:
        raise NotImplementedError

    def __getattribute__(self, name: str) -> Any:
        if name in _PUBLIC and name not in FOLLOWED:
            raise NeedsNumbers(f"the code called .{name} of the generator")
        return super().__getattribute__(name)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Uniforms on [0, 1)."""
        single = np.dtype(dtype) == np.float32
        if single:
            self._ledger.note(rounding_of(np.dtype(np.float32)))
        bits = 24 if single else 53
        if out is None:
            return _filled(size, lambda: self._uniform(bits))
        if self.symbolic:
            raise NeedsNumbers("the code asked for random numbers in an array of its own")
        out[...] = _filled(out.shape, lambda: self._uniform(bits))
        return out

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniforms on [low, high), for numbers `low` and `high`."""
        if np.ndim(low) or np.ndim(high):
            raise NeedsNumbers("uniform was asked for arrays of bounds")
        if low == 0 and high == 1:
            return self.random(size)
        return low + (high - low) * self.random(size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential noise of scale 1."""
        if scale != 1:
            raise NeedsNumbers(f"exponential noise of scale {scale!r} was asked for")
        return _filled(size, self._exponential)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: Any = "zig", out: Any = None
    ) -> Any:
        """Exponential noise of scale 1."""
        return _filled(size, self._exponential)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: Any = False,
    ) -> Any:
        """Integers, each as likely as the others."""
        start, end = (0, low) if high is None else (low, high)
        count = int(end) - int(start) + bool(endpoint)
        return _filled(size, lambda: int(start) + self._below(count))

    def _below(self, count: int) -> int:
        """Give one integer below `count`; a branch for each, while there are not too many."""
        if count <= MOST_INTEGERS:
            return self._pick([Fraction(1, count)] * count)
        if self.symbolic:
            raise NeedsNumbers(f"an integer below {count} was asked for")
        return int(self._uniform() * count)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,
        p: Any = None,
        axis: Any = 0,
        shuffle: Any = True,
    ) -> Any:
        """Items with given probabilities, with replacement."""
        items = range(int(a)) if np.ndim(a) == 0 else a
        if not replace and size is not None and np.prod(size) > 1:
            raise NeedsNumbers("choice without replacement was asked for")
        weights = self._probabilities(p, len(items))
        return _filled(size, lambda: items[self._pick(weights)])

    def _probabilities(self, p: Any, count: int) -> list[Fraction]:
        """Give probabilities as fractions, refused like NumPy refuses them."""
        if p is None:
            return [Fraction(1, count)] * count
        given = np.asarray(p)
        if len(given) != count:
            raise ValueError("'a' and 'p' must have same size")
        if any(weight != weight for weight in given):
            raise ValueError("Probabilities contain NaN")
        if any(weight in (math.inf, -math.inf) for weight in given):
            raise ValueError("Probabilities do not sum to 1. See Notes section of docstring.")
        weights = [self._ledger.exactly(weight) for weight in given]
        if min(weights) < 0:
            raise ValueError("Probabilities are not non-negative")
        total = sum(weights, Fraction(0))
        if abs(total - 1) > (SINGLE_SLACK if given.dtype == np.float32 else DOUBLE_SLACK):
            raise ValueError("Probabilities do not sum to 1. See Notes section of docstring.")
        return [weight / total for weight in weights]

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Counts of n draws from one row, or from each of several."""
        if np.ndim(n):
            raise NeedsNumbers("multinomial was asked for an array of sample sizes")
        if np.ndim(pvals) > 1 and size is None:
            return np.stack([self.multinomial(n, row) for row in pvals])
        if np.ndim(pvals) != 1 or np.ndim(size) > 1:
            raise NeedsNumbers("multinomial was asked for an array of arrays")
        if size is not None:
            times = int(size if np.ndim(size) == 0 else size[0])
            return np.stack([self.multinomial(n, pvals) for _ in range(times)])
        weights = self._remainder_last(pvals)
        counts = np.zeros(len(weights), dtype=np.int64)
        for _ in range(int(n)):
            counts[self._pick(weights)] += 1
        return counts

    def _remainder_last(self, pvals: Any) -> list[Fraction]:
        """Give the probabilities as NumPy's multinomial reads them: the last is what is left."""
        if any(weight != weight or not 0 <= weight <= 1 for weight in pvals):
            raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
        weights = [self._ledger.exactly(weight) for weight in pvals]
        left = 1 - sum(weights[:-1], Fraction(0))
        if left < -Fraction(1, 10**12):
            raise ValueError("sum(pvals[:-1]) > 1.0")
        return [*weights[:-1], max(left, Fraction(0))]

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Number of successes of n coins."""
        yes = self._ledger.exactly(p)
        coin = [1 - yes, yes]
        return _filled(size, lambda: sum(self._pick(coin) for _ in range(int(n))))


_PUBLIC = frozenset(name for name in dir(np.random.Generator) if not name.startswith("_"))

DOUBLE_SLACK = Fraction(1, 2**26)
SINGLE_SLACK = Fraction(1, 2**11)
"""How far from 1 `choice` lets probabilities sum: the square root of their epsilon."""


def _filled(size: Any, draw: Callable[[], Any]) -> Any:
    """Draw once for None, else fill an array of that shape, in order."""
    if size is None:
        return draw()
    shape = (int(size),) if np.ndim(size) == 0 else tuple(int(side) for side in size)
    items = [draw() for _ in range(int(np.prod(shape)))]
    if not any(isinstance(item, Symbol) for item in items):
        return np.asarray(items, dtype=None if items else np.float64).reshape(shape)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


class SymbolicGenerator(Controlled):
    """Hands out random numbers that are narrowed by comparison, and picks that branch."""

    symbolic = True

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self._branch = branch

    def _uniform(self, bits: int = 53) -> Uniform:
        drawn = self._ledger.drawn
        drawn.append(Interval(self._branch, self._ledger, f"uniform {len(drawn) + 1}"))
        return Uniform(drawn[-1])

    def _exponential(self) -> Exponential:
        return Exponential(self._branch, self._ledger)

    def _pick(self, weights: list[Fraction]) -> int:
        return self._branch.choose(list(enumerate(weights)))


@dataclass(slots=True)
class Tape:
    """Draws to play back, and the requests that were made: None for a uniform, else weights.

    Beyond its end the tape goes on with `probe`: a number in [0, 1) for the i-th draw, read as a
    quantile where an index was asked for.
    """

    played: tuple[float | int, ...]
    probe: Callable[[int], float]
    requests: list[tuple[Fraction, ...] | None] = field(default_factory=list)

    def uniform(self) -> float:
        """Give the next uniform."""
        at = len(self.requests)
        self.requests.append(None)
        return float(self.played[at]) if at < len(self.played) else self.probe(at)

    def pick(self, weights: list[Fraction]) -> int:
        """Give the next index."""
        at = len(self.requests)
        self.requests.append(tuple(weights))
        if at < len(self.played):
            return int(self.played[at])
        left = exactly(self.probe(at))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)


class TapeGenerator(Controlled):
    """Plays a tape of floats and indices, the floats cut to the bits that were asked for."""

    symbolic = False

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._ledger.note(DOUBLE)
        self._tape = tape

    def _uniform(self, bits: int = 53) -> float:
        return math.floor(self._tape.uniform() * 2.0**bits) * 2.0**-bits

    def _exponential(self) -> Any:
        raise NeedsNumbers("exponential noise was drawn as plain numbers")

    def _pick(self, weights: list[Fraction]) -> int:
        return self._tape.pick(weights)
