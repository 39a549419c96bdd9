"""Probability vectors, and the six functions of one speculative step.

p is the target's law and q the draft's, over the same tokens. The arithmetic uses only ``+ - * /``,
comparison, minimum and maximum, so it runs on floats (the fast path) and on
`fractions.Fraction` (the exact path) from one source text: fractions in, fractions out.

The identity everything here rests on (Leviathan, Kalman and Matias 2023, arXiv 2211.17192,
appendix A.1; Chen et al. 2023, arXiv 2302.01318, theorem 1)::

    P(emit i) = q_i * min(1, p_i / q_i) + P(reject) * residual_i  =  p_i
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.errors import InvalidInput, NotADistribution

Row: TypeAlias = npt.NDArray[Any]
"""One probability vector: 1-D, float64, or object holding fractions."""

RowLike: TypeAlias = Row | Sequence[Any]

SUM_SLACK = 1e-6
"""How far from 1 a row of floats may sum; rows of fractions must sum to exactly 1."""

METHODS = ("exact", "naive")

MOST_TRIALS = 2**63 - 1
"""Counts are 64-bit integers."""


def as_row(values: RowLike, *, name: str = "row") -> Row:
    """Give `values` as a row: an object array if it holds fractions, float64 otherwise.

    Raises
    ------
    NotADistribution
        If it is not one-dimensional, is empty, or holds something that is not a number.

    Examples
    --------
    >>> as_row([Fraction(1, 2), Fraction(1, 2)]).dtype
    dtype('O')
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == np.float64:
        row = values
    else:
        row = _convert(values, name)
    if row.ndim != 1:
        raise NotADistribution(
            f"{name} is {_shorten(values)}, of shape {row.shape}; it must be one-dimensional, one "
            f"probability per token."
        )
    if row.size == 0:
        raise NotADistribution(f"{name} is empty; it needs at least one token.")
    return row


def _convert(values: RowLike, name: str) -> Row:
    try:
        raw = np.asarray(values)
        if raw.dtype.kind in "bcmMSUV":
            raise TypeError(f"its entries are of kind {raw.dtype}")
        return _from_objects(raw) if raw.dtype == object else raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise NotADistribution(
            f"{name} is {_shorten(values)}, which is not a vector of numbers ({error}); "
            f"give one number per token."
        ) from None


def _from_objects(raw: Row) -> Row:
    """Keep fractions as they are, make whole numbers fractions, and the rest floats."""
    for item in raw.flat:
        if isinstance(item, bool | np.bool) or not isinstance(item, Real):
            raise TypeError(f"it holds {item!r}")
    if all(isinstance(item, Fraction) for item in raw.flat):
        return raw
    if all(isinstance(item, Rational) for item in raw.flat):
        exact = [Fraction(int(item.numerator), int(item.denominator)) for item in raw.flat]
        return np.array(exact, dtype=object).reshape(raw.shape)
    return raw.astype(np.float64)


def _shorten(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_row(values: RowLike, *, name: str = "row") -> Row:
    """Give `values` as a row if they are a probability vector; otherwise say what is wrong.

    The row is returned as it is, never rescaled: its entries are finite and not negative, and
    their sum is 1 within ``SUM_SLACK`` (exactly 1 for fractions).

    Raises
    ------
    NotADistribution
        Names the argument and shows the entry or the sum that breaks the rule.

    Examples
    --------
    >>> check_row([0.5, 0.6], name="q")
    Traceback (most recent call last):
    draftproof.errors.NotADistribution: q sums to 1.1, not 1; it is not rescaled for you, \
divide it by its sum if that is what you mean.
    """
    row = as_row(values, name=name)
    if row.dtype != object and not np.isfinite(row).all():
        at = int(np.flatnonzero(~np.isfinite(row))[0])
        raise NotADistribution(f"{name}[{at}] is {row[at]}; probabilities must be finite numbers.")
    if row.min() < 0:
        at = int(row.argmin())
        raise NotADistribution(
            f"{name}[{at}] is {row[at]}; probabilities cannot be negative. If these are logits, "
            f"turn them into probabilities first: Warp().row(logits)."
        )
    with np.errstate(over="ignore"):
        total = row.sum()
    if abs(total - 1) > (0 if row.dtype == object else SUM_SLACK):
        raise NotADistribution(
            f"{name} sums to {total}, not 1; it is not rescaled for you, divide it by its sum if "
            f"that is what you mean."
        )
    return row


def check_pair(p: RowLike, q: RowLike) -> tuple[Row, Row]:
    """Give p and q as two rows over the same tokens; otherwise say what is wrong."""
    target, draft = check_row(p, name="p"), check_row(q, name="q")
    if target.size != draft.size:
        raise NotADistribution(
            f"p has {target.size} entries and q has {draft.size}; they must be over the same "
            f"tokens."
        )
    if (target.dtype == object) != (draft.dtype == object):
        target, draft = target.astype(np.float64), draft.astype(np.float64)
    return target, draft


def likeliest(row: Row, count: int) -> list[int]:
    """Give the `count` likeliest tokens of positive probability, the lowest id first on a tie.

    Examples
    --------
    >>> likeliest(np.array([0.2, 0.4, 0.4, 0.0]), 2)
    [1, 2]
    """
    if count < 1:
        return []
    bar = 0 if count >= len(row) else np.partition(row, -count)[-count]
    able = np.flatnonzero((row >= bar) & (row > 0))
    return [int(able[at]) for at in np.argsort(-row[able], kind="stable")[:count]]


def normalised(row: Row) -> Row:
    """Give the row divided by its sum, as it is wherever a token is drawn from it."""
    return np.asarray(row / row.sum())


def overlap(p: RowLike, q: RowLike) -> Any:
    """Probability that the drafted token is kept: ``sum_i min(p_i, q_i) = 1 - TV(p, q)``.

    No exact rule keeps a single drafted token more often (maximal coupling; Leviathan et al.
    2023, theorem 3.5).

    Examples
    --------
    >>> overlap([0.5, 0.3, 0.2], [0.25, 0.5, 0.25])
    0.75
    """
    target, draft = check_pair(p, q)
    return _scalar(min(np.minimum(target, draft).sum(), 1))


def acceptance(p: RowLike, q: RowLike) -> Row:
    """For each token, the probability that it is kept when drafted: ``min(1, p_i / q_i)``.

    A token with ``q_i = 0`` is never drafted; its entry is 1 where ``p_i > 0`` and 0 where
    ``p_i = 0``, which agrees with the numerics contract (p = 0 is never kept).

    Examples
    --------
    >>> acceptance([0.5, 0.3, 0.2], [0.25, 0.5, 0.25]).tolist()
    [1.0, 0.6, 0.8]
    """
    target, draft = check_pair(p, q)
    kept = np.minimum(target, draft) / np.where(draft > 0, draft, 1)
    return np.asarray(np.where((draft > 0) | (target == 0), kept, 1))


def excess(p: Row, q: Row) -> Row:
    """Unnormalised residual ``max(0, p - q)`` of two rows already known to be rows.

    Beside a row of fractions, a row of floats (a one-hot row, say) is taken bit for bit.
    """
    if p.dtype == object and q.dtype != object:
        q = np.array([Fraction(float(entry)) for entry in q], dtype=object)
    return np.asarray(np.maximum(p - q, 0))


def residual(p: RowLike, q: RowLike) -> Row:
    """Where to draw from after a rejection: ``max(0, p - q)`` normalised.

    It is the part of the target that the draft under-covers. When the two agree everywhere a
    rejection never happens and no answer would be wrong: it is then p itself.

    Raises
    ------
    NotADistribution
        If p or q is not a probability vector, or their lengths differ.

    Examples
    --------
    >>> residual([0.5, 0.3, 0.2], [0.25, 0.5, 0.25]).tolist()
    [1.0, 0.0, 0.0]
    """
    target, draft = check_pair(p, q)
    under = excess(target, draft)
    mass = under.sum()
    return np.asarray(np.minimum(target, 1) if mass == 0 else under / mass)


def rejection_probability(p: RowLike, q: RowLike) -> Any:
    """Probability that a drafted token is rejected: ``1 - sum_i min(p_i, q_i)``, in [0, 1].

    Examples
    --------
    >>> rejection_probability([0.5, 0.3, 0.2], [0.25, 0.5, 0.25])
    0.25
    """
    return _scalar(1 - overlap(p, q))


def exact_distribution(p: RowLike, q: RowLike) -> Row:
    """Law of the token one speculative step emits; it equals p.

    ``q * min(1, p / q) + rejection_probability(p, q) * residual(p, q)``, computed from that
    definition; tokens with q = 0 contribute 0 to the first term.

    Examples
    --------
    >>> exact_distribution([0.5, 0.3, 0.2], [0.25, 0.5, 0.25]).tolist()
    [0.5, 0.3, 0.2]
    """
    target, draft = check_pair(p, q)
    return _law(target, draft, residual(target, draft))


def naive_distribution(p: RowLike, q: RowLike) -> Row:
    """Law of the emitted token when a rejection resamples from p: wrong on purpose.

    ``q * min(1, p / q) + rejection_probability(p, q) * p``. It is right exactly when q is
    proportional to p on the tokens with p > 0.

    Examples
    --------
    >>> naive_distribution([0.5, 0.3, 0.2], [0.25, 0.5, 0.25]).tolist()
    [0.375, 0.375, 0.25]
    """
    target, draft = check_pair(p, q)
    return _law(target, draft, target)


def _law(target: Row, draft: Row, correction: Row) -> Row:
    law = np.minimum(target, draft) + rejection_probability(target, draft) * correction
    return np.asarray(law if law.dtype == object else np.clip(law, 0.0, 1.0))


def keeps(u: float, p: Any, q: Any) -> bool:
    """Decide one coin: keep the drafted token iff ``u * q < p``.

    The numerics contract: p = 0 is never kept, ``p >= q`` always is, and in between the test is
    strict and in float64 (numbers of fractions stay fractions), with u in [0, 1) of 53 bits.

    Examples
    --------
    >>> keeps(0.0, 0.0, 0.5), keeps(0.6, 0.3, 0.5), keeps(0.59, 0.3, 0.5)
    (False, False, True)
    """
    if p <= 0:
        return False
    return bool(p >= q or u * _wide(q) < _wide(p))


def _wide(value: Any) -> Any:
    """Widen a number of any float type to float64; fractions stay as they are."""
    return value if isinstance(value, Fraction) else float(value)


def quantile(weights: Row, u: float) -> int:
    """Give the index whose share of the total contains `u`; never one of weight 0.

    Inverse transform sampling: with u uniform on [0, 1), index i comes out with probability
    ``weights[i] / sum(weights)``. Rounding at the upper end cannot reach past the last
    positive weight.

    Examples
    --------
    >>> quantile(np.array([0.0, 0.5, 0.5, 0.0]), 0.0)
    1
    >>> quantile(np.array([0.0, 0.5, 0.5, 0.0]), 1 - 2**-53)
    2
    """
    edges = np.cumsum(weights)
    total = edges[-1]
    if not 0 < total < math.inf:
        raise NotADistribution(
            f"the weights to draw from sum to {total}; they need a positive, finite sum."
        )
    at = int(edges.searchsorted(u * total, side="right"))
    if at == len(edges) or not weights[at] > 0:
        at = int(np.flatnonzero(weights)[-1])
    return at


def speculative_step(p: RowLike, q: RowLike, rng: np.random.Generator) -> int:
    """Emit one token by drafting from q, keeping it with ``min(1, p/q)``, correcting otherwise.

    Parameters
    ----------
    p, q
        Target and draft probabilities over the same tokens.
    rng
        The source of luck. Three uniforms at most are taken from it: draft, coin, residual.

    Returns
    -------
    The emitted token id; its law is p.

    Examples
    --------
    >>> speculative_step([0.5, 0.3, 0.2], [0.25, 0.5, 0.25], np.random.default_rng(1))
    0
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(
            f"rng is {_shorten(rng)}; it must be a NumPy Generator, for instance "
            f"numpy.random.default_rng(0)."
        )
    target, draft = (normalised(row) for row in check_pair(p, q))
    token = quantile(draft, rng.random())
    if keeps(rng.random(), target[token], draft[token]):
        return token
    return quantile(residual(target, draft), rng.random())


def empirical(p: RowLike, q: RowLike, trials: int, seed: Any, method: str = "exact") -> Row:
    """Relative frequencies of the tokens emitted by `trials` independent speculative steps.

    The steps are drawn together: how often each token is drafted (multinomial over q), how many
    of those drafts survive their coins (binomial with ``min(1, p/q)``), and what replaces the
    others (multinomial over the residual, or over p when `method` is "naive"). The counts have
    exactly the law of `trials` separate steps, and memory is one vector over the tokens.

    Parameters
    ----------
    p, q
        Target and draft probabilities over the same tokens.
    trials
        Number of steps, at least 1.
    seed
        Anything `numpy.random.default_rng` accepts. The same integer gives the same answer; a
        Generator goes on where it stands, and None gives another answer each time.
    method
        ``"exact"`` corrects from the residual, ``"naive"`` resamples from p.

    Examples
    --------
    >>> empirical([0.5, 0.3, 0.2], [0.25, 0.5, 0.25], 1_000_000, seed=7).round(2).tolist()
    [0.5, 0.3, 0.2]
    """
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidInput(f"method is {_shorten(method)}; choose 'exact' or 'naive'.")
    count = _check_trials(trials)
    target, draft = (normalised(row).astype(np.float64) for row in check_pair(p, q))
    rng = _generator(seed)
    drafted = rng.multinomial(count, draft)
    kept = rng.binomial(drafted, acceptance(target, draft))
    correction = residual(target, draft) if method == "exact" else target
    corrected = rng.multinomial(count - kept.sum(), correction)
    return np.asarray((kept + corrected) / count)


def _check_trials(trials: Any) -> int:
    whole = isinstance(trials, int | np.integer) and not isinstance(trials, bool)
    if not whole or not 1 <= trials <= MOST_TRIALS:
        raise InvalidInput(
            f"trials is {_shorten(trials)}; it must be an integer of at least 1 (and below 2**63)."
        )
    return int(trials)


def _generator(seed: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"seed is {_shorten(seed)}, which NumPy refuses ({error}); use a non-negative integer."
        ) from None


def _scalar(value: Any) -> Any:
    return value if isinstance(value, Fraction) else float(value)
