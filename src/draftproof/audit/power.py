"""How much evidence a bug costs, before and after sampling; and tests of a fixed size.

`sample_sizes` announces what each suspect needs, `smallest_detectable` says what would have been
seen with what was spent. `g_test` and `exact_test` are for those who fix their sample size first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from draftproof.audit.evidence import PRIOR_STRENGTH, Floats, check_level
from draftproof.dist import Row


@dataclass(frozen=True, slots=True)
class Growth:
    """How fast a bet on r grows when r is true.

    Mean and variance of ``log(r/p)`` per sample, and the chance per sample of a token that p
    cannot emit at all, which ends the matter at once.
    """

    mean: float
    variance: float
    escape: float = 0.0

    def expected(self, threshold: float) -> float:
        """Samples on average until the wealth exceeds ``exp(threshold)`` (Wald)."""
        slow = threshold / self.mean if self.mean > 0 else math.inf
        fast = 1 / self.escape if self.escape > 0 else math.inf
        return max(1.0, min(slow, fast))

    def samples(self, threshold: float, power: float) -> float:
        """Samples until the wealth exceeds ``exp(threshold)`` with about this probability."""
        return max(1.0, min(self._slowly(threshold, power), self._suddenly(power)))

    def _slowly(self, threshold: float, power: float) -> float:
        if self.mean <= 0:
            return math.inf
        z = float(special.ndtri(power)) * math.sqrt(self.variance)
        root = (z + math.sqrt(z * z + 4 * self.mean * threshold)) / (2 * self.mean)
        return _upwards(root * root)

    def _suddenly(self, power: float) -> float:
        if self.escape <= 0:
            return math.inf
        return _upwards(math.log(1 - power) / math.log1p(-min(self.escape, 1 - 1e-12)))


def _upwards(samples: float) -> float:
    """Round up to whole samples; what is beyond any number stays infinite."""
    return math.ceil(samples) if math.isfinite(samples) else math.inf


def growth(r: Row, p: Row) -> Growth:
    """Give the growth of a bet on r against p.

    Where p can emit all that r does, the mean is the Kullback-Leibler divergence of r from p, in
    nats per sample.

    Examples
    --------
    >>> round(growth(np.array([0.375, 0.375, 0.25]), np.array([0.5, 0.3, 0.2])).mean, 4)
    0.0316
    """
    true, null = np.asarray(r, dtype=np.float64), np.asarray(p, dtype=np.float64)
    at = (true > 0) & (null > 0)
    logs = np.log(true[at]) - np.log(null[at])
    mean = float((true[at] * logs).sum())
    variance = float((true[at] * (logs - mean) ** 2).sum())
    return Growth(max(mean, 0.0), variance, float(true[null == 0].sum()))


def in_turn(growths: Sequence[Growth]) -> Growth:
    """Growth per sample when several rows are sampled in turn.

    Examples
    --------
    >>> in_turn([Growth(0.2, 1.0), Growth(0.0, 0.0)]).mean
    0.1
    """
    means, variances, escapes = np.mean([(g.mean, g.variance, g.escape) for g in growths], axis=0)
    return Growth(float(means), float(variances), float(escapes))


def _growth_on(rows: Sequence[Row], bets: Sequence[Mapping[str, Row]], name: str) -> Growth:
    """Growth of one bet on rows sampled in turn; where it bets nothing it does not grow."""
    return in_turn([growth(some.get(name, row), row) for row, some in zip(rows, bets, strict=True)])


@dataclass(frozen=True, slots=True)
class SampleSize:
    """What one suspect costs to refute: samples on average, and for 99 in 100 runs.

    `named` is what it takes in 99 of 100 runs to be ahead of every other suspect as well.
    """

    suspect: str
    mean: float
    most: float
    named: float


def sample_sizes(
    rows: Sequence[Row], bets: Sequence[Mapping[str, Row]], level: float
) -> list[SampleSize]:
    """Announce, before sampling, how many samples each bug needs to be refuted at `level`.

    Wald's approximation for the mean and a normal one for the 99th percentile, with the price
    of spreading the stake over all the bets. Several rows are sampled in turn, and the numbers
    count the samples of all of them.

    Examples
    --------
    >>> worked, naive = np.array([0.5, 0.3, 0.2]), np.array([0.375, 0.375, 0.25])
    >>> round(sample_sizes([worked], [{"resample from p": naive}], 1e-6)[0].mean)
    459
    """
    names = dict.fromkeys(name for some in bets for name in some)
    threshold = math.log((len(names) + 1) / check_level(level))
    speeds = {name: _growth_on(rows, bets, name) for name in names}
    leads = naming_sizes(rows, bets, list(names))
    sizes = []
    for name, speed in speeds.items():
        most, lead = speed.samples(threshold, 0.99), leads[name]
        sizes.append(SampleSize(name, speed.expected(threshold), most, max(most, lead)))
    return sizes


LEAD = math.log(20)
"""Log of the factor by which the right suspect is to lead each other one."""


def naming_sizes(
    rows: Sequence[Row], bets: Sequence[Mapping[str, Row]], names: Sequence[str]
) -> dict[str, float]:
    """For each suspect, samples until it leads every other when it is the culprit.

    In 99 of 100 runs, rows taken in turn; all pairs of suspects at once, as matrix products.

    Examples
    --------
    >>> worked = np.array([0.5, 0.3, 0.2])
    >>> some = {"a": np.array([0.3, 0.5, 0.2]), "b": np.array([0.3, 0.2, 0.5])}
    >>> naming_sizes([worked], [some], ["a", "b"])
    {'a': 57, 'b': 57}
    """
    parts = [
        _pairwise(np.array([some.get(n, row) for n in names], dtype=np.float64))
        for row, some in zip(rows, bets, strict=True)
    ]
    means, variances, escapes = np.mean(parts, axis=0)
    sizes = {}
    for at, name in enumerate(names):
        speeds = [
            Growth(max(float(means[at, o]), 0.0), float(variances[at, o]), float(escapes[at, o]))
            for o in range(len(names))
            if o != at
        ]
        sizes[name] = max((speed.samples(LEAD, 0.99) for speed in speeds), default=1.0)
    return sizes


def _pairwise(laws: Floats) -> Floats:
    """Mean, variance and escape of log(r/t) under r, for all pairs (r, t) of rows of `laws`."""
    able = laws > 0
    logs = np.log(np.where(able, laws, 1.0))
    own = (laws * logs) @ able.T
    mean = own - laws @ logs.T
    square = (laws * logs**2) @ able.T - 2 * (laws * logs) @ logs.T + laws @ (logs**2).T
    escape = laws @ (~able).T
    return np.array([mean, np.maximum(square - mean**2, 0), np.maximum(escape, 0)])


def smallest_detectable(
    rows: Sequence[Row],
    bets: Sequence[Mapping[str, Row]],
    samples: int,
    level: float,
    *,
    power: float = 0.9,
) -> dict[str, float | None]:
    """For each suspect, the smallest total variation that would have been seen by now.

    The bug is thought of as occurring in a share s of the samples, ``(1 - s) p + s r``; the
    answer is the total variation (averaged over the rows) at the smallest s whose open bet
    reaches 1 / level within `samples` with probability `power`, and None where not even the
    whole bug would.

    Examples
    --------
    >>> found = smallest_detectable([np.array([0.5, 0.5])], [{"coin": np.array([0.9, 0.1])}],
    ...                             2000, 1e-6)
    >>> 0.05 < found["coin"] < 0.1
    True
    """
    nulls = [np.asarray(row, dtype=np.float64) for row in rows]
    names = dict.fromkeys(name for some in bets for name in some)
    freedom = sum(min(int((null > 0).sum()) - 1, 32) for null in nulls)
    price = math.log((len(names) + 1) / check_level(level))
    price += 0.5 * freedom * math.log1p(samples / len(nulls) / PRIOR_STRENGTH)
    found = {}
    for name in names:
        laws = [np.asarray(b.get(name, n), np.float64) for b, n in zip(bets, nulls, strict=True)]
        found[name] = _detectable(nulls, laws, samples, price, power)
    return found


def _detectable(
    nulls: Sequence[Floats], laws: Sequence[Floats], samples: int, price: float, power: float
) -> float | None:
    distances = [np.abs(law - null).sum() / 2 for law, null in zip(laws, nulls, strict=True)]

    def needed(share: float) -> float:
        mixed = zip(laws, nulls, strict=True)
        return in_turn(
            [growth((1 - share) * null + share * law, null) for law, null in mixed]
        ).samples(price, power)

    if max(distances) == 0 or needed(1.0) > samples:
        return None
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= samples else (middle, high)
    return float(high * np.mean(distances))


@dataclass(frozen=True, slots=True)
class FixedTest:
    """A test whose sample size was fixed beforehand: its statistic, p-value and cells."""

    name: str
    statistic: float
    p_value: float
    cells: int


def g_test(counts: npt.ArrayLike, p: Row, *, least: float = 5.0) -> FixedTest:
    """Likelihood-ratio test of counts against p; cells expecting fewer than `least` are pooled.

    Pooling depends on p and the number of samples only. A token of probability 0 that was seen
    refutes with certainty. The p-value is the chi-square approximation.

    Examples
    --------
    >>> round(g_test([375, 375, 250], np.array([0.5, 0.3, 0.2])).statistic, 1)
    63.2
    """
    seen, null = np.asarray(counts, dtype=np.float64), np.asarray(p, dtype=np.float64)
    if seen[null == 0].any():
        return FixedTest("G", math.inf, 0.0, int((null > 0).sum()))
    expected = seen.sum() * null
    small = expected < least
    pools = [(seen[~small], expected[~small])]
    if small.any():
        pools.append((seen[small].sum(keepdims=True), expected[small].sum(keepdims=True)))
    observed = np.concatenate([pool[0] for pool in pools])
    wanted = np.concatenate([pool[1] for pool in pools])
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    if observed.size < 2:
        return FixedTest("G", 0.0, 1.0, int(observed.size))
    result: Any = stats.power_divergence(observed, wanted, lambda_="log-likelihood")
    return FixedTest("G", float(result.statistic), float(result.pvalue), int(observed.size))


def exact_test(counts: npt.ArrayLike, p: Row, event: npt.ArrayLike) -> FixedTest:
    """Exact binomial test of one event, a set of tokens chosen before looking.

    Examples
    --------
    >>> exact_test([60, 40], np.array([0.5, 0.5]), [0]).p_value < 0.06
    True
    """
    inside = np.zeros(len(p), dtype=bool)
    inside[np.asarray(event, dtype=np.int64)] = True
    seen = np.asarray(counts, dtype=np.int64)
    chance = min(float(np.asarray(p, dtype=np.float64)[inside].sum()), 1.0)
    result = stats.binomtest(int(seen[inside].sum()), int(seen.sum()), chance)
    return FixedTest("exact binomial", float(result.statistic), float(result.pvalue), 2)
