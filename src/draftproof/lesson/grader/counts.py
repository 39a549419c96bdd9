"""How far counts may stray: exact binomial bands, and intervals for the drawing.

**Error level.** A correct program is failed by a test of counts only if one of its cells falls
outside its band. All bands together are left with probability at most ``LEVEL``, shared equally (a
union bound, so it holds whatever the dependence between cells): each cell has a band
``[low, high]`` with ``P(count < low) <= LEVEL / (2 cells)`` and the same above. The bands come from
exact binomial tails, not from a normal approximation. What is left of 1e-6 is for the tests of seed
and method, which a correct program fails by coincidence only.

**Power.** How rarely the naive rule stays inside all bands depends on the pair and on ``trials``,
so the lesson file chooses those; the content tests compute that probability and demand at most
1e-6.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

LEVEL = 8e-7
RECOGNISE = 1e-3
DRAWN_LEVEL = 0.99


def log_pmf(count: int, trials: int, chance: float) -> float:
    """Return the log probability of ``count`` successes, for a chance strictly between 0 and 1."""
    return (
        math.lgamma(trials + 1)
        - math.lgamma(count + 1)
        - math.lgamma(trials - count + 1)
        + count * math.log(chance)
        + (trials - count) * math.log1p(-chance)
    )


def _lowest_kept(trials: int, chance: float, tail: float) -> int:
    """Return the smallest count whose lower tail, itself included, is more than ``tail``.

    Masses are followed down from just above the mode, each from the one above it, until what lies
    below them is bounded by a geometric series far smaller than ``tail``; then they are summed from
    below.
    """
    count, odds = min(trials, int((trials + 1) * chance) + 1), (1 - chance) / chance
    mass, ratio = math.exp(log_pmf(count, trials, chance)), 1.0
    masses: list[float] = []
    while count >= 0 and mass > tail * 1e-9:
        masses.append(mass)
        ratio = count / (trials - count + 1) * odds
        mass, count = mass * ratio, count - 1
    total = mass / (1 - ratio) if count >= 0 else 0.0
    while (total := total + masses.pop()) <= tail:
        count += 1
    return count + 1


@functools.cache
def band(trials: int, chance: float, level: float) -> tuple[int, int]:
    """Return the counts, both ends included, that are left with probability at most ``level``.

    >>> band(100, 0.5, 0.05)
    (40, 60)
    """
    if chance <= 0 or chance >= 1:
        return (round(chance) * trials, round(chance) * trials)
    low = _lowest_kept(trials, chance, level / 2)
    return low, trials - _lowest_kept(trials, 1 - chance, level / 2)


def inside(counts: Sequence[int], law: Sequence[float], level: float) -> bool:
    """Tell whether every count lies in its band; ``level`` is for each single cell."""
    trials = sum(counts)
    bands = [band(trials, min(1.0, max(0.0, chance)), level) for chance in law]
    return all(low <= count <= high for count, (low, high) in zip(counts, bands, strict=True))


def wilson(count: int, trials: int, z: float) -> tuple[float, float]:
    """Return the Wilson score interval of a frequency."""
    share, weight = count / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def drawing(
    p: Sequence[float], trials: int, series: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """Return frequencies with Wilson intervals that hold at once for all cells of all series.

    The level is shared over the cells (Bonferroni); being approximate, they are for the eye only.
    """
    from statistics import NormalDist

    cells = len(p) * len(series)
    z = NormalDist().inv_cdf(1 - (1 - DRAWN_LEVEL) / (2 * cells))
    drawn = []
    for method, frequencies in series.items():
        ends = [wilson(round(share * trials), trials, z) for share in frequencies]
        drawn.append(
            {
                "method": method,
                "frequencies": list(frequencies),
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "holds_p": [low <= x <= high for x, (low, high) in zip(p, ends, strict=True)],
            }
        )
    return {"p": list(p), "trials": trials, "level": DRAWN_LEVEL, "series": drawn}
