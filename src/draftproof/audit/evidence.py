"""Evidence that may be looked at after every sample: e-processes, bounds, sample sizes.

The null hypothesis is that each token follows the target's row at its own realised prefix. A bet
is any other law for that token, fixed before the token is seen; its wealth is the running product
of ``r(x) / p(x)``. Under the null the expected wealth never grows, so the chance that the average
wealth of several bets ever reaches 1 / level is at most `level` (Ville's inequality), whenever
one stops. Bets on the laws of known bugs grow fastest and name the bug; a Dirichlet bet covers
what nobody thought of (Lindon and Malek 2022, arXiv 2011.03567).

Nothing here says "passed". What can be said without a refutation is a bound: with confidence
1 - level the total variation is below a number (`total_variation_bound`), and bugs of such and
such a size would have been seen (`draftproof.audit.power.smallest_detectable`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from draftproof.dist import Row, check_row
from draftproof.errors import InvalidInput

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

PRIOR_STRENGTH = 20.0
"""Weight of the target's own row in the Dirichlet bet, in samples."""

SURPRISE = 1e-4
"""What the open bet gives to all tokens of probability 0 together, when bugs are weighed."""

CHUNK = 2048
HOPELESS = 35.0
"""A bet this far behind, as a log of wealth, may stop: it is right with probability e^-35."""

OPEN = "something else"
"""Name of the Dirichlet bet."""


def check_level(level: float) -> float:
    """Give an error level back if it is one."""
    try:
        fits = bool(0 < level < 1)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InvalidInput(
            f"level is {level!r}; an error level lies between 0 and 1, for example 1e-6."
        )
    return float(level)


class Stakes:
    """What the processes share: several wealths, their average, and when it crossed."""

    def __init__(self, names: Sequence[str], level: float) -> None:
        self.level = check_level(level)
        self.names = (*names, OPEN)
        self._wealth: Floats = np.zeros(len(self.names))
        self._beyond: Floats = np.zeros(len(self.names))
        self.samples = 0
        self.crossed_at: int | None = None
        self.peak = 0.0
        self.impossible: int | None = None

    @property
    def log10_e(self) -> float:
        """Largest evidence so far, as a power of ten; infinite after an impossible token."""
        return math.inf if self.impossible is not None else self.peak / math.log(10)

    @property
    def log10_now(self) -> float:
        """Evidence as it stands, as a power of ten."""
        return math.inf if self.impossible is not None else self._together() / math.log(10)

    def _together(self) -> float:
        """Log of the average wealth; the open bet is never without wealth."""
        top = float(self._wealth.max())
        return math.log(float(np.exp(self._wealth - top).mean())) + top

    @property
    def refuted(self) -> bool:
        """True once the evidence has reached 1 / level."""
        return self.crossed_at is not None

    def weights(self) -> dict[str, float]:
        """Share of the evidence that each bet holds now, the largest first.

        Tokens that the target cannot emit count here too, by how likely each bet held them.
        """
        held = self._wealth + self._beyond
        share = np.exp(held - held.max())
        named = zip(self.names, share / share.sum(), strict=True)
        return dict(sorted(((n, float(s)) for n, s in named), key=lambda item: -item[1]))

    def named(self) -> str:
        """Give the bet that holds most of the evidence."""
        return next(iter(self.weights()))


class RowsEProcess(Stakes):
    """Evidence gathered on several rows at once, in constant memory.

    A bet's wealth is the product of its wealths on all the rows, so a bug that shows a little
    everywhere is caught by all of it together. On a row where it bets nothing it keeps its stake.

    Parameters
    ----------
    rows
        The target's rows.
    bets
        For each row, laws to bet on by name.
    level
        Error level: a correct sampler is refuted with at most this probability, ever.

    Examples
    --------
    >>> fair, sure = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    >>> process = RowsEProcess([fair, fair], [{"first": sure}, {}], level=1e-3)
    >>> process.take(1, [0, 1])
    >>> process.take(0, [0] * 11)
    >>> process.refuted, process.crossed_at
    (True, 13)
    """

    def __init__(
        self, rows: Sequence[Row], bets: Sequence[Mapping[str, Row]], *, level: float = 1e-6
    ) -> None:
        names = dict.fromkeys(name for some in bets for name in some)
        super().__init__(tuple(names), level)
        self._rows = [
            _RowBets(row, some, tuple(names)) for row, some in zip(rows, bets, strict=True)
        ]

    def counts(self, at: int) -> Counts:
        """Give how often each token came out on one row."""
        return self._rows[at].counts

    def take(self, at: int, tokens: npt.ArrayLike) -> None:
        """Take in the next tokens that came out on row `at`, in order."""
        row = self._rows[at]
        every = np.asarray(tokens, dtype=np.int64).ravel()
        if every.size and (every.min() < 0 or every.max() >= row.p.size):
            bad = int(every[(every < 0) | (every >= row.p.size)][0])
            raise InvalidInput(f"token {bad} is outside the vocabulary of {row.p.size}.")
        for start in range(0, every.size, CHUNK):
            self._take(row, every[start : start + CHUNK])

    def _take(self, row: _RowBets, tokens: Counts) -> None:
        possible = tokens[row.p[tokens] > 0]
        if possible.size:
            paths = self._wealth[:, None] + np.cumsum(row.steps(possible), axis=1)
            self._note_crossing(_log_mean(paths))
            self._wealth = paths[:, -1]
        impossible = np.flatnonzero(row.p[tokens] == 0)
        if impossible.size and self.impossible is None:
            self.impossible = self.samples + int(impossible[0]) + 1
            self.crossed_at = min(self.crossed_at or self.impossible, self.impossible)
        if impossible.size:
            self._beyond = self._beyond + row.beyond(tokens[impossible])
        np.add.at(row.counts, tokens, 1)
        self.samples += tokens.size

    def _note_crossing(self, together: Floats) -> None:
        self.peak = max(self.peak, float(together.max()))
        over = np.flatnonzero(together >= -math.log(self.level))
        if over.size and self.crossed_at is None:
            self.crossed_at = self.samples + int(over[0]) + 1


class _RowBets:
    """One row, what each bet stakes on its tokens, and what was seen."""

    def __init__(self, p: Row, bets: Mapping[str, Row], names: Sequence[str]) -> None:
        self.p: Floats = check_row(p, name="p").astype(np.float64)
        laws = {name: check_row(law, name=f"the bet {name!r}") for name, law in bets.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(laws.get(name, self.p).astype(np.float64) / self.p) for name in names]
        self._gains: Floats = np.array(logs).reshape(len(logs), self.p.size)
        self._laws = [laws.get(name, self.p) for name in names]
        self.counts: Counts = np.zeros(self.p.size, dtype=np.int64)

    def steps(self, tokens: Counts) -> Floats:
        """Log gain of every bet on every token, the open bet last."""
        return np.vstack([self._gains[:, tokens], self._dirichlet(tokens)])

    def beyond(self, tokens: Counts) -> Floats:
        """Log probability of tokens of probability 0 under every bet, the open bet last."""
        every = [np.asarray(law[tokens], dtype=np.float64) for law in self._laws]
        surprise = np.full(tokens.size, SURPRISE / self.p.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log([*every, surprise]).sum(axis=1))

    def _dirichlet(self, tokens: Counts) -> Floats:
        """Log gain of betting on the frequencies so far, smoothed by the target's own row."""
        seen = self.counts.sum() + np.arange(tokens.size)
        before = self.counts[tokens] + _earlier_in_chunk(tokens)
        weight = PRIOR_STRENGTH * self.p[tokens]
        bet = (weight + before) / (PRIOR_STRENGTH + seen)
        return np.asarray(np.log(bet / self.p[tokens]))


class EProcess(RowsEProcess):
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
        super().__init__([p], [bets], level=level)

    def update(self, tokens: npt.ArrayLike) -> None:
        """Take in the next tokens, in order."""
        self.take(0, tokens)


def _log_mean(paths: Floats) -> Floats:
    """Log of the average wealth at each moment; the open bet is never without wealth."""
    top = paths.max(axis=0)
    return np.asarray(np.log(np.exp(paths - top).mean(axis=0)) + top)


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


class StreamEProcess(Stakes):
    """Evidence when every token has its own row, as along a text or over many prompts.

    The open bet works on the place of the token within its own row, the likeliest token first:
    ``u = F + v p(x)``, where F is the mass of all likelier tokens (of equally likely ones, those
    with a lower id) and v is an independent uniform, is uniform under the null, whatever the
    row, so its histogram over equal bins is bet on like a repeated row. A row that is too flat
    or too sharp moves every token the same way along this order, and so shows; in the order of
    the ids it would cancel out.

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
        self.uniform: Floats = np.full(self.BINS, 1 / self.BINS)
        self.places: Counts = np.zeros(self.BINS, dtype=np.int64)
        self._has_bet = np.zeros(len(names), dtype=np.bool_)

    @property
    def silent(self) -> frozenset[str]:
        """The bets that abstained from every token so far: nothing was seen for or against."""
        return frozenset(n for n, bet in zip(self.names, self._has_bet, strict=False) if not bet)

    @property
    def hopeless(self) -> frozenset[str]:
        """The bets so far behind that they may abstain from now on.

        Stopping a bet by what it has lost so far is a rule known before each token, so the
        wealth stays fair; and were its law the true one, the wealth would fall that low with
        probability ``exp(-HOPELESS)`` at most.
        """
        low = min(0.0, self._together()) - HOPELESS
        return frozenset(n for n, w in zip(self.names, self._wealth, strict=True) if w < low)

    def update(self, p: Row, token: int, laws: Sequence[Row | None], *, v: float) -> None:
        """Take in one token, its target row, the laws bet on (None abstains) and a uniform v."""
        self.samples += 1
        chances = [None if law is None else float(law[token]) for law in laws]
        self._has_bet |= np.array([chance is not None for chance in chances], dtype=np.bool_)
        if not p[token] > 0:
            self.impossible = self.impossible or self.samples
            self.crossed_at = self.crossed_at or self.samples
            held = [-math.inf if chance is None else _log(chance) for chance in chances]
            self._beyond += [*held, math.log(SURPRISE / len(p))]
            return
        wanted = math.log(p[token])
        gains = [0.0 if chance is None else _log(chance) - wanted for chance in chances]
        self._wealth += [*gains, self._open_gain(place_in(p, token, v))]
        together = self._together()
        self.peak = max(self.peak, together)
        if together >= -math.log(self.level) and self.crossed_at is None:
            self.crossed_at = self.samples

    def _open_gain(self, place: float) -> float:
        """Log gain of betting on the bins seen so far, smoothed by the even spread."""
        at = min(int(place * self.BINS), self.BINS - 1)
        seen, hits = int(self.places.sum()), int(self.places[at])
        self.places[at] += 1
        return math.log((PRIOR_STRENGTH + self.BINS * hits) / (PRIOR_STRENGTH + seen))


def place_in(p: Row, token: int, v: float) -> float:
    """Give the place of a token in its row: the mass before it, likeliest first, and v of its own.

    Examples
    --------
    >>> row = np.array([0.125, 0.5, 0.25, 0.125])
    >>> [place_in(row, token, 0.0) for token in range(4)]
    [0.75, 0.0, 0.5, 0.875]
    """
    before = p > p[token]
    before[:token] |= p[:token] == p[token]
    return float(p[before].sum()) + v * float(p[token])


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


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


HALVINGS = 45
"""Steps of a bisection: the upper end it gives is too high by less than 1e-13."""


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
    hits = np.array([int(pooled[s].sum()) for s in sets])
    highest = _highest_chances(hits, samples, math.log(check_level(level)) - math.log(len(sets)))
    return float((highest - [float(wanted[s].sum()) for s in sets]).max())


def _highest_chances(hits: Counts, samples: int, log_level: float) -> Floats:
    """Upper ends of the beta-binomial confidence sequences, one for each event, by bisection."""
    prior = special.betaln(hits + 0.5, samples - hits + 0.5) - special.betaln(0.5, 0.5)

    def inside(chance: Floats) -> npt.NDArray[np.bool_]:
        likelihood = special.xlogy(hits, chance) + special.xlog1py(samples - hits, -chance)
        return np.asarray(prior + log_level < likelihood)

    low, high = hits / max(samples, 1), np.ones(len(hits))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        within = inside(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return high
