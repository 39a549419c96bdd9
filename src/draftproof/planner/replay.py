"""What every k would have done on the same texts, from one look at each place in them.

At every place of a text the longest draft is made and judged once, and the text then goes on by
the first token that came out; that token follows the target's law, so the text does. A round of
k drafts at that place keeps the first k of what was kept. Reading the places in steps of what each
round emits gives the rounds of a whole run for every k: no k is favoured by where rounds begin,
which matters where text copies itself in places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import Predictor, Proposer, Rule, Text
from draftproof.errors import InvalidInput
from draftproof.planner.timing import Timings
from draftproof.proposers import propose

RESAMPLES = 400
LEVEL = 0.95
"""Bootstrap resamples, and the coverage of the intervals."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One place of a text: how many tokens were drafted there, and how many of them kept."""

    drafted: int
    kept: int


Spots: TypeAlias = tuple[Spot, ...]


def look(
    chance: Chance,
    target: Predictor,
    proposer: Proposer,
    rules: Sequence[Rule],
    text: Text,
    *,
    k: int,
    places: int,
    stop: frozenset[int] = frozenset(),
    more: Callable[[], bool] = lambda: True,
) -> dict[str, Spots]:
    """Draft and judge at every place of a text of `places` tokens, with each of `rules`.

    Parameters
    ----------
    chance, target, proposer
        As in decoding.
    rules
        Judge the same drafts; the text goes on by the verdict of the first.
    text
        The prompt.
    k
        Longest draft.
    places
        Most tokens of the text; it ends earlier after an id of `stop`.
    more
        Asked before each place; False ends the text, for a limit of time.
    """
    found: dict[str, list[Spot]] = {rule.name: [] for rule in rules}
    for _ in range(places):
        if not more():
            break
        luck = chance.after(len(text))
        draft = propose(proposer, luck, text, k)
        rows = target.rows(text, draft)
        verdicts = [rule.verify(luck, draft, rows) for rule in rules]
        for rule, verdict in zip(rules, verdicts, strict=True):
            found[rule.name].append(Spot(len(draft), verdict.accepted))
        text = (*text, verdicts[0].emitted[0])
        if text[-1] in stop:
            break
    return {name: tuple(spots) for name, spots in found.items()}


def replay(spots: Spots, k: int) -> Iterator[Spot]:
    """Yield the rounds that decoding with k drafts would have had on this text.

    Examples
    --------
    >>> places = (Spot(4, 3), Spot(4, 2), Spot(4, 1), Spot(4, 0))
    >>> list(replay(places, 2))
    [Spot(drafted=2, kept=2), Spot(drafted=0, kept=0)]
    """
    at = 0
    while at < len(spots):
        most = min(k, len(spots) - at - 1)
        one = Spot(min(spots[at].drafted, most), min(spots[at].kept, most))
        yield one
        at += one.kept + 1


def acceptance_per_position(texts: Sequence[Spots]) -> tuple[float, ...]:
    """Share kept of each drafted position, given that all before it were, over every place.

    Examples
    --------
    >>> acceptance_per_position([(Spot(2, 2), Spot(2, 1), Spot(2, 0))])
    (0.6666666666666666, 0.5)
    """
    shares: list[float] = []
    deepest = max((spot.drafted for spots in texts for spot in spots), default=0)
    for at in range(deepest):
        looked = [
            spot for spots in texts for spot in spots if spot.drafted > at and spot.kept >= at
        ]
        if not looked:
            break
        shares.append(sum(spot.kept > at for spot in looked) / len(looked))
    return tuple(shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Speed-up of one k over plain decoding, with its interval."""

    k: int
    expected_tokens: float
    throughput: float
    speedup: float
    interval: tuple[float, float]

    @property
    def verdict(self) -> str:
        """``"pays"``, ``"does not pay"``, or ``"cannot tell"`` when the interval straddles 1."""
        low, high = self.interval
        if low > 1:
            return "pays"
        return "does not pay" if high <= 1 else "cannot tell"


def predict(texts: Sequence[Spots], timings: Timings, k: int, *, seed: int = 0) -> Prediction:
    """Predict the speed of decoding these texts with k drafts.

    The interval is a bootstrap over rounds and over timings: it covers the luck of these texts
    and the noise of this machine, not other kinds of text.

    Examples
    --------
    >>> always = [tuple(Spot(4, 4) for _ in range(50))]
    >>> flat = Timings(passes={n: (1.0, 1.0) for n in range(1, 6)})
    >>> predict(always, flat, 4).speedup
    5.0
    """
    done = [one for spots in texts for one in replay(spots, k)]
    if not done:
        raise InvalidInput("texts hold no place at all; give at least one prompt to decode.")
    return predict_rounds(done, timings, k, seed=seed)


def predict_rounds(done: Sequence[Spot], timings: Timings, k: int, *, seed: int = 0) -> Prediction:
    """Predict the speed of decoding in these rounds, from what their parts cost.

    Parameters
    ----------
    done
        The rounds, at least one; those of several texts follow each other.
    timings
        What passes, drafts and rows cost.
    k
        What was asked for, for the answer.
    seed
        Luck of the bootstrap.
    """
    tokens = np.array([one.kept + 1 for one in done], dtype=float)
    drafted = np.array([one.drafted for one in done])
    parts = (_sizes(drafted, timings.window), drafted, tokens)
    middle = tuple(part[None] for part in timings.medians())
    seconds, speedup = _speed(middle, *(part[None] for part in parts))
    random = np.random.default_rng(seed)
    chosen = random.integers(len(done), size=(RESAMPLES, len(done)))
    again = timings.resampled_medians(random, RESAMPLES)
    _, ratios = _speed(again, *(part[chosen] for part in parts))
    low, high = np.quantile(ratios, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Prediction(
        k=k,
        expected_tokens=float(tokens.mean()),
        throughput=float(tokens.sum() / seconds[0]),
        speedup=float(speedup[0]),
        interval=(float(low), float(high)),
    )


def _sizes(drafted: np.ndarray, window: int) -> np.ndarray:
    """Give the drafts that each pass is filled up to: the most of the last `window` rounds."""
    before = np.concatenate([np.zeros(window - 1, dtype=drafted.dtype), drafted])
    widest: np.ndarray = np.lib.stride_tricks.sliding_window_view(before, window).max(axis=1)
    return widest


def _speed(
    medians: tuple[Any, ...], sizes: np.ndarray, drafted: np.ndarray, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of all rounds and speed-up over plain steps; one line for each resample."""
    passes, draft, row = medians
    each = np.take_along_axis(passes, sizes, axis=1)
    each = each + drafted * draft[:, None] + tokens * row[:, None]
    seconds = each.sum(axis=1)
    return seconds, (passes[:, 0] + row) * tokens.sum(axis=1) / seconds
