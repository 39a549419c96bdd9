"""Rows of a server, bets on its bugs, and evidence that forgives what arithmetic explains.

A server tells a few likeliest tokens of a row; a `Setting` cuts so that these few are all that is
needed. Two machines never agree to the last bit, so next to the row wanted stands a *ceiling*: for
each token the largest probability that any row measured without speculation gives it. A bet on r
is paid ``r(x) / ceiling(x)``. For every law p' that stays below the ceiling its expected payment
is ``sum p'(x) r(x) / ceiling(x) <= sum r(x) = 1``, so evidence past 1 / level speaks against all
of these laws at once, and the sampler, not the arithmetic, is refuted (Ville's inequality).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draftproof.audit.client import Key, Listing
from draftproof.audit.evidence import (
    PRIOR_STRENGTH,
    Counts,
    Floats,
    Stakes,
    partition,
    total_variation_bound,
)
from draftproof.dist import Row, normalised
from draftproof.errors import InvalidInput
from draftproof.warp import Warp

FLOOR = 1e-9
"""Probability granted to what no row measured allows, so that one such token is not the end."""

EDGE = 1e-3
"""Logprobs this close to where a cut falls may be on either side of it."""

LIKELY = math.log(0.01)
"""Only tokens above this logprob are compared when two rows are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Sampling parameters of a request, cut so that a short top list tells the whole law.

    Parameters
    ----------
    temperature, top_k, min_p
        As for `draftproof.warp.Warp`; None for `top_k` leaves the row uncut.
    """

    temperature: float = 1.0
    top_k: int | None = None
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if self.top_k is None and (self.temperature != 1 or self.min_p):
            raise InvalidInput(
                f"top_k is None with temperature {self.temperature} and min_p {self.min_p}; a "
                f"short list tells the law of a changed row only if top_k cuts it."
            )

    def fields(self) -> dict[str, Any]:
        """Give the fields of a request."""
        body: dict[str, Any] = {"temperature": self.temperature, "top_p": 1.0}
        if self.top_k is not None:
            body |= {"top_k": self.top_k, "min_p": self.min_p}
        return body

    def known_from(self, listed: Listing) -> bool:
        """Say whether this top list tells the whole law."""
        return self.top_k is None or len(listed) >= self.top_k

    def __str__(self) -> str:
        cut = "" if self.top_k is None else f", top-k {self.top_k}"
        return f"temperature {self.temperature:g}{cut}" + (
            f", min-p {self.min_p:g}" if self.min_p else ""
        )


PLAIN = Setting()


def settings_for(length: int) -> tuple[Setting, ...]:
    """Give the settings that tell parameters applied from parameters forgotten.

    Parameters
    ----------
    length
        Tokens in the server's top lists; some stay in reserve, to see where a cut falls.
    """
    wide, narrow = length - max(1, length // 5), max(2, length // 5)
    return (
        Setting(temperature=1.5, top_k=wide),
        Setting(min_p=0.15, top_k=wide),
        Setting(top_k=narrow),
    )


def law(listed: Listing, setting: Setting, keys: Sequence[Key]) -> Floats:
    """Give the law over `keys`, and over all other tokens in one last cell.

    Examples
    --------
    >>> listed = {"a": math.log(0.5), "b": math.log(0.25)}
    >>> law(listed, PLAIN, ["a", "b"]).round(2).tolist()
    [0.5, 0.25, 0.25]
    >>> law(listed, Setting(top_k=2), ["a", "b"]).round(3).tolist()
    [0.667, 0.333, 0.0]
    """
    scores, rest = np.array([*listed.values()]), -math.inf
    if setting.top_k is None:
        rest = math.log(max(1 - float(np.exp(scores).sum()), 1e-12))
        row = normalised(np.exp([*scores, rest]))
    else:
        warp = Warp(
            temperature=setting.temperature, top_k=setting.top_k, min_p=setting.min_p or 0.0
        )
        row = np.append(warp.row(scores), 0.0)
    return _placed(row, listed, keys)


def _placed(row: Row, listed: Listing, keys: Sequence[Key]) -> Floats:
    if [*listed] == [*keys]:
        return np.asarray(row, dtype=np.float64)
    at = {key: place for place, key in enumerate(keys)}
    out = np.zeros(len(keys) + 1)
    for key, chance in zip(listed, row[:-1], strict=True):
        out[at.get(key, len(keys))] += float(chance)
    out[-1] += float(row[-1])
    return out


def row_gap(one: Listing, other: Listing) -> float:
    """Largest difference in logprob over the likely tokens that both lists hold.

    Examples
    --------
    >>> round(row_gap({"a": -0.5, "b": -1.0, "c": -9.0}, {"a": -0.52, "b": -1.0, "c": -8.0}), 3)
    0.02
    """
    shared = [key for key in one if key in other and max(one[key], other[key]) >= LIKELY]
    return max((abs(one[key] - other[key]) for key in shared), default=math.inf)


def ceiling(
    rows: Sequence[Listing], setting: Setting, keys: Sequence[Key], allowance: float
) -> Floats:
    """Give for each cell the most that any of these rows, or one close to them, allows it.

    Parameters
    ----------
    rows
        Top lists of one position, measured without speculation.
    allowance
        Difference in logprob that the same row was seen to have when asked for twice.
    """
    factor = math.exp(allowance * (1.0 if setting.top_k is None else 2 / setting.temperature))
    tops = [_with_edge(one, setting, keys, 2 * allowance + EDGE) for one in rows]
    return np.asarray(np.minimum(factor * np.max(tops, axis=0), 1.0))


def _with_edge(listed: Listing, setting: Setting, keys: Sequence[Key], margin: float) -> Floats:
    """Give the law, with tokens just below the cut at what they would have had above it."""
    row = law(listed, setting, keys)
    if setting.top_k is None:
        return row
    kept = [key for key, chance in zip(keys, row, strict=False) if chance > 0 and key in listed]
    if not kept:
        return row
    last = min(kept, key=lambda key: listed[key])
    scale = row[list(keys).index(last)]
    for place, key in enumerate(keys):
        if row[place] == 0 and listed.get(key, -math.inf) >= listed[last] - margin:
            row[place] = scale
    return row


# ---------------------------------------------------------------- bets

NO_TEMPERATURE = "target temperature ignored"
NO_MIN_P = "min-p skipped on drafted positions"
NO_TOP_K = "top-k skipped on drafted positions"
OTHER_TOP_K = "top-k smaller than asked for"
FROM_P = "resample from p"
GREEDY = "argmax of the target"

SERVER_SUSPECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    NO_MIN_P: (
        "min-p cuts the tokens that the target draws itself, and not those that were drafted",
        ("vllm-project/vllm#42744", "vllm-project/vllm#19482"),
    ),
    NO_TOP_K: (
        "top-k cuts one side only: a drafted token is judged by a row that was not cut",
        ("triton-inference-server/tensorrtllm_backend#472",),
    ),
    OTHER_TOP_K: ("a drafted token is judged by a row cut to fewer tokens than asked for", ()),
}
"""Bugs that only a server with sampling parameters can have: what they are, and where reported."""

GUESSES = (
    "one token drafted, drawn from p",
    "the likeliest drafted",
    "a sharper draft",
    "copied from the text",
)
VARIANTS: tuple[tuple[str, str], ...] = (
    (NO_TEMPERATURE, ""),
    (NO_MIN_P, ""),
    (NO_TOP_K, ""),
    (OTHER_TOP_K, ""),
    (GREEDY, ""),
    *((FROM_P, guess) for guess in GUESSES),
)
"""Every bet by the name of its suspect, and which draft is guessed where none is known."""


def bug_laws(
    listed: Listing, setting: Setting, keys: Sequence[Key], copied: Key | None = None
) -> tuple[Floats, ...]:
    """Give the law of every bet in `VARIANTS` at one position, from the target's row alone.

    `copied` is the token that a draft copied from the text would hold there.
    """
    p = law(listed, setting, keys)
    cut = setting.top_k is not None
    sure = np.zeros_like(p)
    sure[int(p.argmax())] = 1.0
    copy = p if copied not in keys else np.eye(p.size)[keys.index(copied)]
    drafts = (sure, normalised(p * p), copy)
    return (
        law(listed, replace(setting, temperature=1.0), keys) if setting.temperature != 1 else p,
        law(listed, replace(setting, min_p=0.0), keys) if setting.min_p else p,
        _uncut(listed, setting, keys) if cut else p,
        law(listed, replace(setting, top_k=_half(setting.top_k)), keys) if cut else p,
        sure,
        p * (p + 1 - p @ p),
        *(resampled(p, q) for q in drafts),
    )


def _half(top_k: int | None) -> int:
    return max(1, (top_k or 2) // 2)


def _uncut(listed: Listing, setting: Setting, keys: Sequence[Key]) -> Floats:
    """Give the law without top-k; the tokens not listed count as like the last that is."""
    if setting.min_p:
        return law(listed, replace(setting, top_k=len(listed)), keys)
    scores = np.array([*listed.values()])
    rest = max(1 - float(np.exp(scores).sum()), 1e-12)
    unseen = math.log(max(rest / math.exp(scores[-1]), 1.0))
    tempered = scores / setting.temperature
    last = tempered[-1] + unseen if setting.temperature != 1 else math.log(rest)
    return _placed(normalised(np.exp([*tempered, last])), listed, keys)


def resampled(p: Floats, q: Floats) -> Floats:
    """Give the law of a rejection that draws from p: ``min(p, q) + (1 - sum min(p, q)) p``."""
    kept = np.minimum(p, q)
    return np.asarray(kept + (1 - kept.sum()) * p)


# ---------------------------------------------------------------- evidence


class CeilingEProcess(Stakes):
    """Evidence against every law below a ceiling, one row and one ceiling for each token.

    Which positions were drafted is not known, so every bug is bet on twice: as if it struck every
    token, and as if it struck half of them. The open bet goes by the place of a token in its own
    row, as in `draftproof.audit.evidence.StreamEProcess`, with a ninth place for what the row
    cannot emit.

    Examples
    --------
    >>> process = CeilingEProcess(("first",), level=1e-2)
    >>> fair, first = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> for turn in range(60):
    ...     process.update(fair, 1.01 * fair, int(turn % 9 == 8), [first], v=(0.618 * turn) % 1)
    >>> process.refuted, next(iter(process.by_suspect(["first"])))
    (True, 'first')
    """

    SHARES = (1.0, 0.5)
    BINS = 8
    OUTSIDE = 0.01
    """Share of the open bet's prior on tokens outside the row."""

    def __init__(self, names: Sequence[str], *, level: float = 1e-6) -> None:
        super().__init__([f"{name}, {share:g}" for name in names for share in self.SHARES], level)
        self.places: Counts = np.zeros(self.BINS + 1, dtype=np.int64)
        self.uniform: Floats = np.append(np.full(self.BINS, 1 / self.BINS), 0.0)
        inside = (1 - self.OUTSIDE) * self.uniform
        self._prior: Floats = inside + self.OUTSIDE * (self.uniform == 0)

    def update(
        self, p: Floats, top: Floats, token: int | None, laws: Sequence[Floats | None], *, v: float
    ) -> None:
        """Take in one token.

        Parameters
        ----------
        p, top
            The row wanted, and its ceiling.
        token
            Its cell; None when the text ended with a token that is not shown, where every bet is
            paid the least it could have won.
        laws
            For each bet the law bet on; None abstains.
        v
            A number drawn evenly from [0, 1), apart from everything else.
        """
        self.samples += 1
        limit = np.maximum(top, FLOOR)
        cells = slice(None) if token is None else slice(token, token + 1)
        for at, (bet, share) in enumerate(itertools.product(laws, self.SHARES)):
            if bet is not None:
                paid = ((1 - share) * p[cells] + share * bet[cells]) / limit[cells]
                self._wealth[at] += _log(float(paid.min()))
        self._open_bet(p, limit, token, v)
        together = float(np.logaddexp.reduce(self._wealth)) - math.log(len(self.names))
        self.peak = max(self.peak, together)
        if together >= -math.log(self.level) and self.crossed_at is None:
            self.crossed_at = self.samples

    def _open_bet(self, p: Floats, limit: Floats, token: int | None, v: float) -> None:
        strength = PRIOR_STRENGTH * self._prior + self.places
        paid = strength / strength.sum() / self._limits(p, limit)
        if token is None:
            self._wealth[-1] += _log(paid.min())
            return
        place = self.BINS
        if p[token] > 0:
            place = min(int((p[:token].sum() + v * p[token]) * self.BINS), self.BINS - 1)
        self._wealth[-1] += _log(paid[place])
        self.places[place] += 1

    def _limits(self, p: Floats, limit: Floats) -> Floats:
        """Give for each place the most that a law below the ceiling can put there."""
        edges = np.linspace(0, 1, self.BINS + 1)
        upto = np.cumsum(p)
        shares = np.diff(np.clip(edges[:, None], upto - p, upto), axis=0)
        inside = p > 0
        parts = shares[:, inside] / p[inside] * limit[inside]
        return np.append(parts.sum(axis=1), max(float(limit[~inside].sum()), FLOOR)) + 1e-12

    def by_suspect(self, suspects: Sequence[str]) -> dict[str, float]:
        """Give the share of the evidence of each suspect; `suspects` names it for every law."""
        shares: dict[str, float] = {}
        weights = self.weights()
        each = [suspect for suspect in suspects for _ in self.SHARES]
        for name, suspect in zip(self.names, (*each, self.names[-1]), strict=True):
            shares[suspect] = shares.get(suspect, 0.0) + weights[name]
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def bound(self) -> float:
        """Bound the total variation over the places, with confidence 1 - level."""
        cells = partition(self.uniform, most=self.BINS + 1)
        return total_variation_bound(self.places, self.uniform, cells, self.level)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def cell_of(token: Key, keys: Sequence[Key]) -> int:
    """Give the cell of a token: its own, or the last one for all others."""
    return keys.index(token) if token in keys else len(keys)


@dataclass(frozen=True, slots=True)
class Step:
    """One emitted token, ready to be judged."""

    p: Floats
    top: Floats
    token: int | None
    laws: tuple[Floats | None, ...]


def judged(
    token: Key | None,
    wanted: Listing,
    others: Sequence[Listing],
    setting: Setting,
    allowance: float,
    copied: Key | None = None,
) -> Step:
    """Put together what is needed to judge one token.

    Parameters
    ----------
    token
        What was emitted; None for an end that is not shown.
    wanted
        The target's row.
    others
        Further rows of the same position, measured without speculation.
    copied
        The token that a draft copied from the text would hold there.
    """
    keys = [*wanted]
    p = law(wanted, setting, keys)
    top = np.maximum(p, ceiling([wanted, *others], setting, keys, allowance))
    cell = None if token is None else cell_of(token, keys)
    return Step(p, top, cell, bug_laws(wanted, setting, keys, copied))
