"""A random generator that follows a script, so that a step can be run through every branch.

``law`` runs a step again and again. Each draw of the step is answered from a script; when all of
its answers have been tried in combination, the probabilities of the runs that emitted a token are
the exact law of that token, whatever style the step draws in:

* ``choice``, ``integers``, ``binomial(1, p)`` and ``multinomial(1, p)`` branch over their outcomes
  with the probabilities they were given;
* ``random`` and ``uniform`` branch over the midpoints of ``grid`` equal parts of [0, 1). A step is
  a piecewise constant function of such a draw; where its breakpoints (p/q and the running sums of
  the rows) are multiples of 1/grid, the midpoints give the exact probability. The lesson file
  chooses pairs and grids for which that holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

MAX_RUNS = 5_000
GLIMPSE = 400
MAX_DRAWS = 60


class Unscripted(BaseException):
    """The step draws in a way, or so often, that its branches cannot be enumerated.

    The enumeration gives up early when its first runs show that there would be too many.
    """

    passes_through = True


class Script:
    """One path through the choices of a step, and how to get to the next."""

    def __init__(self, grid: int) -> None:
        self.grid = grid
        self.weight = 1.0
        self.log: list[str] = []
        self._path: list[int] = []
        self._sizes: list[int] = []
        self._depth = 0

    @property
    def asked(self) -> bool:
        """Tell whether the present run has drawn anything."""
        return self._depth > 0

    def start(self) -> None:
        """Begin the next run."""
        self.weight, self.log, self._depth = 1.0, [], 0

    def pick(self, weights: Sequence[float]) -> int:
        """Answer one draw: the outcome that this path takes."""
        options = [index for index, weight in enumerate(weights) if weight > 0]
        chosen = options[self._turn(len(options))]
        self.weight *= weights[chosen]
        return chosen

    def coin(self) -> float:
        """Answer one uniform draw: a midpoint of the grid."""
        part = self._turn(self.grid)
        self.weight *= 1 / self.grid
        return (part + 0.5) / self.grid

    def _turn(self, ways: int) -> int:
        """Give the way that this path takes at its next draw; the first one where it ends."""
        if self._depth >= MAX_DRAWS:
            raise Unscripted
        if self._depth == len(self._path):
            self._path.append(0)
            self._sizes.append(ways)
        way = self._path[self._depth]
        if way >= ways:
            raise Unscripted  # with the same answers it asked something else before
        self._depth += 1
        return way

    def advance(self) -> bool:
        """Move on to the next path; False when there is none."""
        del self._path[self._depth :], self._sizes[self._depth :]
        while self._path and self._path[-1] + 1 == self._sizes[-1]:
            self._path.pop()
            self._sizes.pop()
        if self._path:
            self._path[-1] += 1
        return bool(self._path)


def _weights(p: Any, count: int) -> list[float]:
    """Check the probabilities of a ``choice`` as NumPy does, in its words."""
    weights = [float(item) for item in p]
    if len(weights) != count:
        raise ValueError("a and p must have same size")
    if min(weights) >= 0 and abs(sum(weights) - 1) <= 1.5e-8:
        return weights
    if any(math.isnan(item) for item in weights):
        raise ValueError("probabilities contain NaN")
    if min(weights) < 0:
        raise ValueError("probabilities are not non-negative")
    raise ValueError("probabilities do not sum to 1")


def _pvals(pvals: Any) -> list[float]:
    """Check the probabilities of a ``multinomial``; the last outcome gets what the others leave."""
    weights = [float(item) for item in pvals]
    if not all(0 <= item <= 1 for item in weights):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if sum(weights[:-1]) > 1 + 1e-12:
        raise ValueError("sum(pvals[:-1]) > 1.0")
    return [*weights[:-1], max(0.0, 1 - sum(weights[:-1]))]


class Answers:
    """The methods of a NumPy ``Generator`` that the script can answer."""

    script: Script
    asarray: Callable[[Any], Any]
    whole: Callable[[Any], Any]

    def _sized(self, draw: Callable[[], Any], size: Any) -> Any:
        if size is None:
            return draw()
        if isinstance(size, tuple):
            if len(size) != 1:
                raise Unscripted
            (size,) = size
        if size > MAX_DRAWS:
            raise Unscripted
        return self.asarray([draw() for _ in range(int(size))])

    def random(self, size: Any = None, **_: Any) -> Any:
        """Answer a uniform draw."""
        out = self._sized(self.script.coin, size)
        self.script.log.append(f"random -> {out}")
        return out

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Answer a uniform draw from [low, high)."""
        return self.random(size) * (high - low) + low

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,  # noqa: FBT002 - NumPy's signature
        p: Any = None,
        **_: Any,
    ) -> Any:
        """Answer a choice among tokens."""
        items = range(int(a)) if not hasattr(a, "__len__") else a
        if len(items) == 0:
            raise ValueError("a must be a positive integer, or not be empty")
        if not replace and size is not None:
            raise Unscripted
        weights = [1 / len(items)] * len(items) if p is None else _weights(p, len(items))
        picked = self._sized(lambda: self.script.pick(weights), size)
        out = self.whole(picked) if size is None else picked
        if hasattr(a, "__len__"):
            out = self.asarray(a)[out]
        self.script.log.append(f"choice -> {out}")
        return out

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = None,
        endpoint: Any = False,  # noqa: FBT002 - NumPy's signature
    ) -> Any:
        """Answer a draw of an integer."""
        start, stop = (0, int(low)) if high is None else (int(low), int(high))
        count = stop + bool(endpoint) - start
        if not 1 <= count <= 1000:
            raise Unscripted
        draw = self._sized(lambda: start + self.script.pick([1 / count] * count), size)
        return self.whole(draw) if size is None else draw

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Answer the coin ``binomial(1, p)``."""
        if n != 1 or hasattr(p, "__len__"):
            raise Unscripted
        if not 0 <= p <= 1:
            raise ValueError("p < 0, p > 1 or p is NaN")
        draw = self._sized(lambda: self.script.pick([1 - float(p), float(p)]), size)
        return self.whole(draw) if size is None else draw

    def multinomial(self, n: Any, pvals: Any, size: Any = None, **_: Any) -> Any:
        """Answer the one-token draw ``multinomial(1, p)``."""
        if n != 1 or size is not None:
            raise Unscripted
        weights = _pvals(pvals)
        hit = self.script.pick(weights)
        return self.asarray([int(index == hit) for index in range(len(weights))])


def generator(script: Script) -> Any:
    """Make a Generator that answers from the script and has no other source of luck."""
    import numpy as np

    base: Any = np.random.Generator
    refused = property(lambda self: _refuse())
    names = {name: refused for name in dir(base) if not name.startswith("_")}
    own = {name: item for name, item in vars(Answers).items() if not name.startswith("__")}
    made: Any = type("Generator", (base,), names | own | {"script": script})
    made.asarray, made.whole = staticmethod(np.asarray), staticmethod(np.int64)
    return made(getattr(np.random.default_rng(0), "bit_generator", None))


def _refuse() -> Any:
    raise Unscripted


def branches(step: Callable[[Any], int], grid: int) -> list[tuple[int, float]]:
    """Return the token that ``step(rng)`` gives on each of its branches, and its probability.

    A step that never asks ``rng`` has a single branch, of probability 1.

    Raises
    ------
    Unscripted
        There are too many branches, or the step uses another part of the Generator.
    """
    script = Script(grid)
    rng = generator(script)
    found: list[tuple[int, float]] = []
    for run in range(1, MAX_RUNS + 1):
        script.start()
        token = step(rng)
        found.append((token, script.weight))
        if not script.advance():
            return found
        if run == GLIMPSE and math.fsum(weight for _, weight in found) < GLIMPSE / MAX_RUNS:
            break
    raise Unscripted


def asks(step: Callable[[Any], int], grid: int) -> bool:
    """Tell whether ``step(rng)`` asks its generator for anything at all."""
    script = Script(grid)
    try:
        step(generator(script))
    except Unscripted:
        return True
    return script.asked


def law(step: Callable[[Any], int], size: int, grid: int) -> list[float]:
    """Return the exact law of ``step(rng)``, a token below ``size``, over all its branches.

    Raises
    ------
    Unscripted
        As :func:`branches` does.
    """
    return law_of(branches(step, grid), size)


def law_of(found: Sequence[tuple[int, float]], size: int) -> list[float]:
    """Add up the probabilities of the branches that gave each token below ``size``."""
    return [math.fsum(weight for one, weight in found if one == token) for token in range(size)]
