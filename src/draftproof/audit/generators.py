"""Stand-ins for a NumPy Generator whose every draw is under our control.

Both are real subclasses of `numpy.random.Generator`, so code that checks the type is satisfied.
`SymbolicGenerator` hands out random numbers that are not drawn yet (`symbols`); `TapeGenerator`
plays floats and indices from a tape and writes down what was asked for. A method neither can
follow raises `NeedsNumbers`, which ends the attempt, never the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.audit.symbols import Exponential, Interval, NeedsNumbers, Uniform, exactly
from draftproof.chance import Branch

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


class _Controlled(np.random.Generator):
    """What the two stand-ins share: the public methods, in terms of three primitives."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def _uniform(self) -> Any:
        raise NotImplementedError

    def _exponential(self) -> Any:
        raise NotImplementedError

    def _pick(self, weights: list[Fraction]) -> int:
        raise NotImplementedError

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name not in FOLLOWED and name not in ("bit_generator",):
            raise NeedsNumbers(f"the code called .{name} of the generator")
        return super().__getattribute__(name)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Uniforms on [0, 1)."""
        if out is None:
            return _filled(size, self._uniform)
        out[...] = _filled(out.shape, self._uniform)
        return out

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniforms on [low, high), scalars only."""
        if low == 0 and high == 1:
            return self.random(size)
        return low + (exactly(high) - exactly(low)) * self.random(size)

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
        even = [Fraction(1, count)] * count
        return _filled(size, lambda: int(start) + self._pick(even))

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
        if not replace and size is not None:
            raise NeedsNumbers("choice without replacement was asked for")
        weights = _weights(p, len(items))
        return _filled(size, lambda: items[self._pick(weights)])

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Counts of n draws."""
        if size is not None or np.ndim(pvals) != 1:
            raise NeedsNumbers("multinomial over several rows was asked for")
        weights = _weights(pvals, len(pvals))
        counts = np.zeros(len(weights), dtype=np.int64)
        for _ in range(int(n)):
            counts[self._pick(weights)] += 1
        return counts

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Number of successes of n coins."""
        coin = [1 - exactly(p), exactly(p)]
        return _filled(size, lambda: sum(self._pick(coin) for _ in range(int(n))))


def _weights(p: Any, count: int) -> list[Fraction]:
    """Give probabilities as fractions, refused like NumPy refuses them."""
    if p is None:
        return [Fraction(1, count)] * count
    weights = [exactly(item) for item in p]
    if len(weights) != count:
        raise ValueError("'a' and 'p' must have same size")
    if any(weight < 0 for weight in weights):
        raise ValueError("Probabilities are not non-negative")
    if abs(sum(weights, Fraction(0)) - 1) > Fraction(1, 10**7):
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring.")
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def _filled(size: Any, draw: Callable[[], Any]) -> Any:
    """Draw once for None, else fill an array of that shape, in order."""
    if size is None:
        return draw()
    shape = (int(size),) if np.ndim(size) == 0 else tuple(int(side) for side in size)
    items = [draw() for _ in range(int(np.prod(shape)))]
    plain = all(isinstance(item, int | float | np.number) for item in items)
    array = np.empty(len(items), dtype=None if plain else object)
    if plain:
        array = np.asarray(items)
    else:
        array[:] = items
    return array.reshape(shape)


class SymbolicGenerator(_Controlled):
    """Hands out random numbers that are narrowed by comparison, and picks that branch."""

    def __init__(self, branch: Branch) -> None:
        super().__init__()
        self._branch = branch
        self._drawn: list[Interval] = []

    def _uniform(self) -> Uniform:
        name = f"uniform {len(self._drawn) + 1}"
        known = Interval(self._branch, name, Fraction(0), Fraction(1))
        self._drawn.append(known)
        return Uniform(known)

    def _exponential(self) -> Exponential:
        return Exponential(self._branch)

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


class TapeGenerator(_Controlled):
    """Plays a tape of floats and indices."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape

    def _uniform(self) -> float:
        return self._tape.uniform()

    def _exponential(self) -> Any:
        raise NeedsNumbers("exponential noise was drawn as plain numbers")

    def _pick(self, weights: list[Fraction]) -> int:
        return self._tape.pick(weights)
