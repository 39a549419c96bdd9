"""Random numbers of the stand-in: the part of ``numpy.random`` that the exercises need.

The same seed gives the same stream, but not the stream that NumPy gives for it.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random as _random
from collections.abc import Callable
from typing import Any

from .array import FLAT, as_array, ndarray, spread
from .scalars import float64, int64, lacks

__all__ = ["Generator", "default_rng"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "seed":
        raise lacks(
            "`np.random.seed` and the one generator that everybody shares (make your own: "
            "`rng = np.random.default_rng(seed)`)"
        )
    raise lacks(f"`np.random.{name}` (make a generator: `rng = np.random.default_rng(seed)`)")


def _seeded(seed: Any) -> _random.Random:
    if seed is None:
        return _random.Random()
    if isinstance(seed, int):
        if seed < 0:
            raise ValueError(f"expected non-negative integer, got the seed {int(seed)}")
        return _random.Random(int(seed))
    if isinstance(seed, (list, tuple, ndarray)):
        return _random.Random(repr([int(_whole(item)) for item in seed]))
    raise TypeError(f"a seed is None or a non-negative integer, got {seed!r}")


def _whole(seed: Any) -> int:
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"expected non-negative integers, got the seed {seed!r}")
    return seed


class Generator:
    """Draws numbers; ``np.random.default_rng(seed)`` makes one."""

    def __init__(self, source: _random.Random) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"`Generator.{name}`")

    def random(self, size: Any = None) -> Any:
        """Draw uniformly from [0, 1)."""
        draw = self._source.random
        if size is None:
            return float64(draw())
        sizes = _sizes(size)
        return ndarray.of([draw() for _ in range(math.prod(sizes))], "f").reshape(sizes)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Draw uniformly from [low, high)."""
        return self.random(size) * (high - low) + low

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        *,
        endpoint: bool = False,
    ) -> Any:
        """Draw integers from [low, high), or from [0, low) without high."""
        start, stop = (0, low) if high is None else (low, high)
        stop = int(stop) + bool(endpoint)
        if start >= stop:
            raise ValueError("low >= high")
        draw = self._source.randrange
        return _sized(lambda: draw(int(start), stop), size)

    def choice(self, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:  # noqa: FBT002
        """Draw from range(a), or from the elements of a, with the probabilities p."""
        count = int(a) if isinstance(a, int) else len(a)
        if count < 1:
            raise ValueError("a must be a positive integer unless no samples are taken")
        if not replace and size is not None:
            raise lacks("`choice` with replace=False")
        if p is None:
            picked = _sized(lambda: self._source.randrange(count), size)
        else:
            cdf, draw = cumulative(p, count), self._source.random
            picked = _sized(lambda: bisect.bisect_right(cdf, draw()), size)
        if isinstance(a, int):
            return picked
        if getattr(picked, "ndim", 0) == 2:
            return as_array(a)[picked.flatten()].reshape(picked.shape)
        return as_array(a)[picked]

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:
        """Count how often each outcome comes in n draws."""
        if size is not None:
            raise lacks("`multinomial` with a size")
        weights = [float(x) for x in pvals]
        if min(weights) < 0 or sum(weights[:-1]) > 1 + 1e-12:
            raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
        weights[-1] = max(0.0, 1 - sum(weights[:-1]))
        counts = [0] * len(weights)
        for token in self.choice(len(weights), size=int(n), p=weights).tolist():
            counts[token] += 1
        return ndarray.of(counts, "i")

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Count the successes in n trials that succeed with the probability p each."""
        many = [len(one) for one in (n, p) if isinstance(one, (list, tuple, ndarray))]
        if many and size is not None:
            raise lacks("`binomial` with rows and a size")
        if many:
            pairs = zip(spread(n, max(many)), spread(p, max(many)), strict=True)
            return ndarray.of([self._successes(*pair) for pair in pairs], "i")
        return _sized(lambda: self._successes(n, p), size)

    def _successes(self, n: Any, p: Any) -> int:
        if n < 0 or not 0 <= p <= 1:
            raise ValueError("n < 0, p < 0, p > 1 or p is NaN")
        draw = self._source.random
        return sum(draw() < p for _ in range(int(n)))

    def shuffle(self, x: Any) -> None:
        """Put the elements in random order, in place."""
        order = list(range(len(x)))
        self._source.shuffle(order)
        items = [x[index] for index in order]
        if getattr(x, "ndim", 1) == 2:
            items = [item.copy() for item in items]
        for index, item in enumerate(items):
            x[index] = item

    def permutation(self, x: Any) -> ndarray:
        """Return the elements, or range(x), in random order."""
        values = list(range(x)) if isinstance(x, int) else as_array(x).tolist()
        self._source.shuffle(values)
        return as_array(values)


def cumulative(p: Any, count: int) -> list[float]:
    """Return the running sums of probabilities, or refuse them in NumPy's words."""
    weights = [float(x) for x in p]
    if len(weights) != count:
        raise ValueError("a and p must have same size")
    if any(math.isnan(x) for x in weights):
        raise ValueError("probabilities contain NaN")
    if min(weights) < 0:
        raise ValueError("probabilities are not non-negative")
    if abs(math.fsum(weights) - 1) > 1.5e-8:
        raise ValueError("probabilities do not sum to 1")
    cdf = list(itertools.accumulate(weights))
    return [x / cdf[-1] for x in cdf]


def _sizes(size: Any) -> list[int]:
    sizes = [int(one) for one in ([size] if isinstance(size, int) else size)]
    if not 1 <= len(sizes) <= 2:
        raise lacks(FLAT if sizes else "draws without dimensions")
    return sizes


def _sized(draw: Callable[[], int], size: Any) -> Any:
    if size is None:
        return int64(draw())
    sizes = _sizes(size)
    return ndarray.of([draw() for _ in range(math.prod(sizes))], "i").reshape(sizes)


def default_rng(seed: Any = None) -> Generator:
    """Make a generator; the same seed gives the same draws."""
    return seed if isinstance(seed, Generator) else Generator(_seeded(seed))
