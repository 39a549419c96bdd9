"""Evidence that may be looked at after every sample: e-processes, bounds, sample sizes.

The null hypothesis is that each token follows the target's row at its own realised prefix. A bet
is any other law for that token, fixed before the token is seen; its wealth is the running product
of ``r(x) / p(x)``. Under the null the expected wealth never grows, so the chance that the average
wealth of several bets ever reaches 1 / level is at most `level` (Ville's inequality), whenever
one stops. Bets on the laws of known bugs grow fastest and name the bug; a Dirichlet bet covers
what nobody thought of (Lindon and Malek 2022, arXiv 2011.03567).

Nothing here says "passed". What can be said without a refutation is a bound: with confidence
1 - level the total variation is below a number (`total_variation_bound`), and bugs of such and
such a size would have been seen (`smallest_detectable`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from draftproof.dist import Row, check_row
from draftproof.errors import InvalidInput

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

PRIOR_STRENGTH = 20.0
"""Weight of the target's own row in the Dirichlet bet, in samples."""

CHUNK = 8192
OPEN = "something else"
"""Name of the Dirichlet bet."""


def check_level(level: float) -> float:
    """Give an error level back if it is one."""
    if not 0 < level < 1:
        raise InvalidInput(
            f"level is {level}; an error level lies between 0 and 1, for example 1e-6."
        )
    return float(level)


class _Stakes:
    """What both processes share: several wealths, their average, and when it crossed."""

    def __init__(self, names: Sequence[str], level: float) -> None:
        self.level = check_level(level)
        self.names = (*names, OPEN)
        self._wealth: Floats = np.zeros(len(self.names))
        self.samples = 0
        self.crossed_at: int | None = None
        self.peak = 0.0
        self.impossible: int | None = None

    @property
    def log10_e(self) -> float:
        """Largest evidence so far, as a power of ten; infinite after an impossible token."""
        return math.inf if self.impossible is not None else self.peak / math.log(10)

    @property
    def refuted(self) -> bool:
        """True once the evidence has reached 1 / level."""
        return self.crossed_at is not None

    def weights(self) -> dict[str, float]:
        """Share of the evidence that each bet holds now, the largest first."""
        top = self._wealth.max()
        share = np.exp(self._wealth - top)
        named = zip(self.names, share / share.sum(), strict=True)
        return dict(sorted(((n, float(s)) for n, s in named), key=lambda item: -item[1]))

    def named(self) -> str:
        """Give the bet that holds most of the evidence."""
        return next(iter(self.weights()))


class EProcess(_Stakes):
    """Evidence against one repeated row, sample by sample, in constant memory.

    Parameters
    ----------
    p
        The target's row.
    bets
        Laws to bet on, by name: what known bugs would emit instead of p.
    level
        Error level: a correct sampler is refuted with at most this probability, ever.

    Examples
    --------
    >>> process = EProcess(np.array([0.5, 0.5]), {"always the first": np.array([1.0, 0.0])},
    ...                    level=1e-3)
    >>> process.update(np.zeros(40, dtype=int))
    >>> process.refuted, process.named()
    (True, 'always the first')
    >>> process.crossed_at
    11
    """

    def __init__(self, p: Row, bets: Mapping[str, Row], *, level: float = 1e-6) -> None:
        super().__init__(tuple(bets), level)
        self.p = check_row(p, name="p").astype(np.float64)
        laws = [check_row(law, name=f"the bet {name!r}") for name, law in bets.items()]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(np.asarray(law, dtype=np.float64) / self.p) for law in laws]
        self._gains: Floats = np.array(logs).reshape(len(logs), self.p.size)
        self.counts: Counts = np.zeros(self.p.size, dtype=np.int64)

    def update(self, tokens: npt.ArrayLike) -> None:
        """Take in the next tokens, in order."""
        every = np.asarray(tokens, dtype=np.int64).ravel()
        if every.size and (every.min() < 0 or every.max() >= self.p.size):
            bad = int(every[(every < 0) | (every >= self.p.size)][0])
            raise InvalidInput(f"token {bad} is outside the vocabulary of {self.p.size}.")
        for start in range(0, every.size, CHUNK):
            self._take(every[start : start + CHUNK])

    def _take(self, tokens: Counts) -> None:
        impossible = np.flatnonzero(self.p[tokens] == 0)
        if impossible.size and self.impossible is None:
            self.impossible = self.samples + int(impossible[0]) + 1
            self.crossed_at = min(self.crossed_at or self.impossible, self.impossible)
        possible = tokens[self.p[tokens] > 0]
        steps = np.vstack([self._gains[:, possible], self._dirichlet(possible)])
        paths = self._wealth[:, None] + np.cumsum(steps, axis=1)
        together = special.logsumexp(paths, axis=0) - math.log(len(self.names))
        self._note_crossing(together)
        if possible.size:
            self._wealth = paths[:, -1]
        np.add.at(self.counts, possible, 1)
        self.samples += tokens.size

    def _dirichlet(self, tokens: Counts) -> Floats:
        """Log gain of betting on the frequencies so far, smoothed by the target's own row."""
        seen = self.counts.sum() + np.arange(tokens.size)
        before = self.counts[tokens] + _earlier_in_chunk(tokens)
        weight = PRIOR_STRENGTH * self.p[tokens]
        bet = (weight + before) / (PRIOR_STRENGTH + seen)
        return np.asarray(np.log(bet / self.p[tokens]))

    def _note_crossing(self, together: Floats) -> None:
        if not together.size:
            return
        self.peak = max(self.peak, float(together.max()))
        over = np.flatnonzero(together >= -math.log(self.level))
        if over.size and self.crossed_at is None:
            self.crossed_at = self.samples + int(over[0]) + 1


def _earlier_in_chunk(tokens: Counts) -> Counts:
    """For each position, how often its token stood earlier in the chunk."""
    order = np.argsort(tokens, kind="stable")
    ordered = tokens[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, ordered.size])
    within = np.arange(ordered.size) - np.repeat(starts, lengths)
    earlier = np.empty_like(tokens)
    earlier[order] = within
    return earlier


class StreamEProcess(_Stakes):
    """Evidence when every token has its own row, as along a text or over many prompts.

    The open bet works on the position of the token within its own row: ``u = F(x-) + v p(x)``
    with an independent uniform v is uniform under the null, whatever the row, so its histogram
    over equal bins is bet on like a repeated row.

    Examples
    --------
    >>> stream = StreamEProcess(("first",), level=1e-2)
    >>> for turn in range(40):
    ...     place = (0.618 * turn) % 1
    ...     stream.update(np.array([0.5, 0.5]), 0, (np.array([0.9, 0.1]),), v=place)
    >>> stream.refuted, stream.named()
    (True, 'first')
    """

    BINS = 8

    def __init__(self, names: Sequence[str], *, level: float = 1e-6) -> None:
        super().__init__(names, level)
        self._places = EProcess(np.full(self.BINS, 1 / self.BINS), {}, level=self.level)

    def update(self, p: Row, token: int, laws: Sequence[Row | None], *, v: float) -> None:
        """Take in one token, its target row, the laws bet on (None abstains) and a uniform v."""
        self.samples += 1
        if not p[token] > 0:
            self.impossible = self.impossible or self.samples
            self.crossed_at = self.crossed_at or self.samples
            return
        for at, law in enumerate(laws):
            if law is not None:
                ratio = float(law[token]) / float(p[token])
                self._wealth[at] += math.log(ratio) if ratio > 0 else -math.inf
        place = float(p[:token].sum()) + v * float(p[token])
        self._places.update([min(int(place * self.BINS), self.BINS - 1)])
        self._wealth[-1] = self._places._wealth[-1]
        together = float(special.logsumexp(self._wealth)) - math.log(len(self.names))
        self.peak = max(self.peak, together)
        if together >= -math.log(self.level) and self.crossed_at is None:
            self.crossed_at = self.samples


@dataclass(frozen=True, slots=True)
class Cells:
    """A partition of the vocabulary into few cells: `index[token]` is the token's cell."""

    index: Counts
    label: str

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.index.max()) + 1

    def pooled(self, row: npt.ArrayLike) -> Floats:
        """Sum a row, or counts, over each cell."""
        weights = np.asarray(row, dtype=np.float64)
        return np.asarray(np.bincount(self.index, weights=weights, minlength=self.count))


def partition(p: Row, most: int = 8) -> Cells:
    """Give every token its own cell if there are at most `most`, else pool the small ones.

    The ``most - 1`` likeliest tokens keep a cell each and share the last one otherwise; which
    they are depends on p alone, never on what was sampled.

    Examples
    --------
    >>> partition(np.array([0.1, 0.6, 0.2, 0.1]), most=3).index.tolist()
    [2, 0, 1, 2]
    """
    size = len(p)
    if size <= most:
        return Cells(np.arange(size), f"each of the {size} tokens")
    likeliest = np.argsort(-np.asarray(p, dtype=np.float64), kind="stable")[: most - 1]
    index = np.full(size, most - 1)
    index[likeliest] = np.arange(most - 1)
    return Cells(index, f"the {most - 1} likeliest tokens, and all others together")


def total_variation_bound(counts: npt.ArrayLike, p: Row, cells: Cells, level: float) -> float:
    """Bound the total variation over `cells` from above, with confidence 1 - level at any time.

    Total variation is the largest excess ``P(A) - p(A)`` over sets A of cells. For each A the
    chance P(A) has a confidence sequence from the beta-binomial mixture (Robbins 1970; Howard
    et al. 2021, arXiv 1810.08240), valid at every sample size at once; the levels of all sets
    add up to `level`.

    Examples
    --------
    >>> p = np.array([0.5, 0.5])
    >>> round(total_variation_bound([5000, 5000], p, partition(p), 1e-6), 3)
    0.031
    """
    pooled, wanted = np.round(Cells.pooled(cells, counts)).astype(int), cells.pooled(p)
    samples = int(pooled.sum())
    sets = [np.array(s, dtype=bool) for s in itertools.product((0, 1), repeat=cells.count)][1:-1]
    if not sets:
        return 0.0
    share = check_level(level) / len(sets)
    return max(
        _highest_chance(int(pooled[s].sum()), samples, share) - float(wanted[s].sum()) for s in sets
    )


def _highest_chance(hits: int, samples: int, level: float) -> float:
    """Upper end of the beta-binomial confidence sequence for one event."""
    if samples == hits:
        return 1.0
    prior = special.betaln(hits + 0.5, samples - hits + 0.5) - special.betaln(0.5, 0.5)

    def surplus(chance: float) -> float:
        likelihood = special.xlogy(hits, chance) + special.xlog1py(samples - hits, -chance)
        return float(prior - likelihood + math.log(level))

    low = max(hits / samples, 1e-300)
    if surplus(1 - 1e-15) < 0:
        return 1.0
    return float(optimize.brentq(surplus, low, 1 - 1e-15, xtol=1e-12))


@dataclass(frozen=True, slots=True)
class Growth:
    """How fast a bet on r grows when r is true: mean and variance of log(r/p) per sample."""

    mean: float
    variance: float

    def samples(self, threshold: float, power: float) -> float:
        """Samples until the wealth exceeds ``exp(threshold)`` with about this probability."""
        if self.mean <= 0:
            return math.inf
        if math.isinf(self.mean):
            return 1.0
        z = float(stats.norm.ppf(power)) * math.sqrt(self.variance)
        root = (z + math.sqrt(z * z + 4 * self.mean * threshold)) / (2 * self.mean)
        return math.ceil(root * root)


def growth(r: Row, p: Row) -> Growth:
    """Give the growth of a bet on r against p; infinite where r emits what p cannot.

    The mean is the Kullback-Leibler divergence of r from p, in nats per sample.

    Examples
    --------
    >>> round(growth(np.array([0.375, 0.375, 0.25]), np.array([0.5, 0.3, 0.2])).mean, 4)
    0.0316
    """
    true, null = np.asarray(r, dtype=np.float64), np.asarray(p, dtype=np.float64)
    if (null[true > 0] == 0).any():
        return Growth(math.inf, 0.0)
    ratio = special.rel_entr(true, null)
    mean = float(ratio.sum())
    at = true > 0
    logs = np.log(true[at] / null[at])
    return Growth(max(mean, 0.0), float((true[at] * (logs - mean) ** 2).sum()))


@dataclass(frozen=True, slots=True)
class SampleSize:
    """What one suspect costs to detect: samples on average, and for 99 in 100 runs."""

    suspect: str
    mean: float
    most: float


def sample_sizes(p: Row, bets: Mapping[str, Row], level: float) -> list[SampleSize]:
    """Announce, before sampling, how many samples each bug needs to be refuted at `level`.

    Wald's approximation for the mean and a normal one for the 99th percentile, with the price
    of spreading the stake over all the bets.

    Examples
    --------
    >>> sizes = sample_sizes(np.array([0.5, 0.3, 0.2]),
    ...                      {"resample from p": np.array([0.375, 0.375, 0.25])}, 1e-6)
    >>> round(sizes[0].mean)
    459
    """
    threshold = math.log((len(bets) + 1) / check_level(level))
    sizes = []
    for name, law in bets.items():
        speed = growth(law, p)
        mean = threshold / speed.mean if speed.mean > 0 else math.inf
        sizes.append(SampleSize(name, max(mean, 1.0), speed.samples(threshold, 0.99)))
    return sizes


def smallest_detectable(
    p: Row, bets: Mapping[str, Row], samples: int, level: float, *, power: float = 0.9
) -> dict[str, float | None]:
    """For each suspect, the smallest total variation that would have been seen by now.

    The bug is thought of as occurring in a share s of the samples, ``(1 - s) p + s r``; the
    answer is the total variation at the smallest s whose open bet reaches 1 / level within
    `samples` with probability `power`, and None where not even the whole bug would.

    Examples
    --------
    >>> found = smallest_detectable(np.array([0.5, 0.5]), {"coin": np.array([0.9, 0.1])},
    ...                             2000, 1e-6)
    >>> 0.05 < found["coin"] < 0.1
    True
    """
    null = np.asarray(p, dtype=np.float64)
    positive = int((null > 0).sum())
    price = math.log((len(bets) + 1) / check_level(level))
    price += 0.5 * min(positive - 1, 32) * math.log1p(samples / PRIOR_STRENGTH)
    return {name: _detectable(null, law, samples, price, power) for name, law in bets.items()}


def _detectable(null: Floats, law: Row, samples: int, price: float, power: float) -> float | None:
    bug = np.asarray(law, dtype=np.float64)
    distance = float(np.abs(bug - null).sum() / 2)

    def needed(share: float) -> float:
        return growth((1 - share) * null + share * bug, null).samples(price, power)

    if distance == 0 or needed(1.0) > samples:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= samples else (middle, high)
    return high * distance


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
