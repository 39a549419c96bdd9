"""The most any exact rule can keep at one position, in closed form.

Some candidate set S is drafted; an exact rule couples it with a token Y ~ p and keeps Y when it
lies in S. Maximum flow equals minimum cut, so the best probability of that is::

    min over sets H of tokens:  p(H) + P(S is not inside H)

and for drafts drawn independently, or without replacement, the minimising H is a prefix of the
tokens in ascending order of p/q: one sort instead of 2^V sets (Hu et al. 2025, arXiv 2502.18779;
`draftproof.rules.transport` has the flow itself, and the tests compare the two).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import permutations
from types import MappingProxyType
from typing import Any

import numpy as np

from draftproof.contracts import Draft, Predictor, Text
from draftproof.dist import Row, RowLike, check_pair, likeliest, overlap
from draftproof.errors import InvalidInput
from draftproof.rules.judging import share
from draftproof.rules.ordering import ratios

MAX_ORDERS = 20_000
"""Most orders of drafting that are gone through for exact fractions without replacement."""


def optimal_acceptance(p: RowLike, q: RowLike, drafts: int = 1, scheme: str = "iid") -> Any:
    """Best probability that any exact rule keeps a draft at one position.

    Parameters
    ----------
    p, q
        Target and draft probabilities over the same tokens.
    drafts
        How many tokens are drafted for the position, at least 1.
    scheme
        ``"iid"``: independent draws from q; ``1 + min_j (P_j - Q_j^n)`` over prefixes.
        ``"without-replacement"``: draws from q without the tokens drawn before. For three drafts
        or more of floats this is a quadrature, good to 1e-9 unless all but a millionth of q lies
        on fewer tokens than there are drafts.
        ``"greedy-draft"``: the likeliest n - 1 tokens, and one drawn from the rest of q.
        ``"deterministic"``: the likeliest n tokens; it is p of that set.

    Returns
    -------
    A fraction for rows of fractions (for three drafts or more without replacement only while all
    orders of drafting can be gone through), else a float.

    Raises
    ------
    NotADistribution
        If p or q is not a probability vector, or their lengths differ.
    InvalidInput
        If `drafts` is below 1 or the scheme is unknown.

    Examples
    --------
    >>> p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> [round(optimal_acceptance(p, q, drafts), 3) for drafts in (1, 2, 3)]
    [0.7, 0.86, 0.988]
    """
    if isinstance(drafts, bool) or not isinstance(drafts, int | np.integer) or drafts < 1:
        raise InvalidInput(f"drafts is {drafts!r}; it must be an integer of at least 1.")
    if not isinstance(scheme, str) or scheme not in OPTIMA:
        raise InvalidInput(f"scheme is {scheme!r}; choose one of {', '.join(OPTIMA)}.")
    target, draft = check_pair(p, q)
    if drafts == 1 and scheme != "deterministic":
        return overlap(target, draft)
    best = OPTIMA[scheme](target, draft, int(drafts))
    return best if target.dtype == object else min(max(float(best), 0.0), 1.0)


def _iid(p: Row, q: Row, n: int) -> Any:
    order = np.argsort(ratios(p, q))
    return _least_cut(p[order], np.cumsum(q[order]) ** n)


def _least_cut(p: Row, inside: Row) -> Any:
    """Give ``1 + min_j (P_j - inside_j)`` over prefixes; the last one alone gives at most 1."""
    return 1 + (np.cumsum(p) - inside).min()


def _without_replacement(p: Row, q: Row, n: int) -> Any:
    drawn = q > 0
    if n >= drawn.sum():
        return p[drawn].sum()
    order = np.argsort(ratios(p, q))[: drawn.sum()]
    return _least_cut(p[order], _inside_without_replacement(q[order], n))


def _inside_without_replacement(q: Row, n: int) -> Row:
    """Give, for every prefix of q, the probability that n draws without replacement stay in it."""
    if n == 2:
        onward = q / _without_one(q)
        first, second = np.cumsum(q) - q, np.cumsum(onward) - onward
        pairs: Row = np.cumsum(q * second + onward * first)
        return pairs
    if q.dtype == object:
        if math.perm(len(q), n) <= MAX_ORDERS:
            return _by_going_through(q, n)
        q = q.astype(np.float64)
    return _by_quadrature(q, n)


def _without_one(q: Row) -> Row:
    """Give ``1 - q``, without losing digits where one token has nearly all of the mass."""
    rest = 1 - q
    most = int(q.argmax())
    rest[most] = np.delete(q, most).sum()
    return rest


def _by_going_through(q: Row, n: int) -> Row:
    """Give the prefix probabilities by adding up every order in which n tokens can be drawn."""
    last = np.zeros_like(q)
    for tokens in permutations(range(len(q)), n):
        weight, left = 1, 1
        for token in tokens:
            weight *= q[token] / left
            left -= q[token]
        last[max(tokens)] += weight
    return np.asarray(np.cumsum(last))


STEP = 0.3
"""Width of the quadrature in ln t; the trapezoid rule is then wrong by about exp(-pi^2 / STEP)."""

OVERFLOW = 600.0
"""Exponents above this are handled as logarithms."""


def _by_quadrature(q: Row, n: int) -> Row:
    """Give the prefix probabilities as one integral over exponential clocks.

    Let token i ring at rate q_i; the order of ringing is the order of drawing. The n-th ring comes
    at time t, from token x of H with n - 1 others of H rung before, while all else is silent::

        P(S inside H) = integral over t > 0 of  exp(-t) * sum_{x in H} q_x e_{n-1}(r without x)

    with ``r_i = exp(q_i t) - 1`` and e_j the elementary symmetric sums over H. For prefixes these
    sums are running sums of positive terms, so nothing cancels. In ln t the integrand is analytic
    in a strip and falls off on both sides, where the trapezoid rule converges exponentially.
    """
    slowest = float(np.sort(q)[: 1 - n].sum())
    times = np.exp(np.arange(math.log(1e-5), math.log(50 / slowest), STEP))
    inside = np.zeros_like(q)
    for t in times.tolist():
        density = _density if n * t * q.max() < OVERFLOW else _density_by_logarithms
        inside += STEP * t * density(q, n, t)
    return np.asarray(np.minimum(inside, 1.0))


def _density(q: Row, n: int, t: float) -> Row:
    """Give the integrand at t for every prefix."""
    ring = np.expm1(q * t)
    sums, density = np.ones(len(q) + 1), np.zeros(len(q) + 1)
    for _ in range(n):
        density[1:] = np.cumsum(ring * density[:-1] + q * sums[:-1])
        sums[1:] = np.cumsum(ring * sums[:-1])
        sums[0] = 0
    return np.asarray(math.exp(-t) * density[1:])


def _density_by_logarithms(q: Row, n: int, t: float) -> Row:
    """Give the integrand at t for every prefix, where its factors are too large for floats."""
    ring, rate = q * t + np.log(-np.expm1(-q * t)), np.log(q)
    sums, density = np.zeros(len(q) + 1), np.full(len(q) + 1, -np.inf)
    for _ in range(n):
        density[1:] = np.logaddexp.accumulate(np.logaddexp(ring + density[:-1], rate + sums[:-1]))
        sums[1:] = np.logaddexp.accumulate(ring + sums[:-1])
        sums[0] = -np.inf
    return np.asarray(np.exp(density[1:] - t))


def _greedy_draft(p: Row, q: Row, n: int) -> Any:
    chosen = likeliest(q, n - 1)
    rest = q.copy()
    rest[chosen] = 0
    left = rest.sum()
    kept = p[chosen].sum()
    return kept + np.minimum(p, rest / left).sum() if left > 0 else kept


def _deterministic(p: Row, q: Row, n: int) -> Any:
    return p[likeliest(q, n)].sum()


def most_accepted(target: Predictor, draft: Predictor, text: Text, k: int) -> Any:
    """Largest expected number of kept tokens of any exact rule, for one chain of k drafts.

    With the clipped running ratio ``w_i = min(1, w_{i-1} p_i / q_i)`` it is the sum over i of the
    expectation of w_i: block verification reaches it, and no rule can pass a prefix more often
    (Sun et al. 2025, arXiv 2403.10444).

    Examples
    --------
    >>> from draftproof.backends.table import Table, fractions
    >>> p, q = Table(fractions("1/3", "2/3")), Table(fractions("2/3", "1/3"))
    >>> most_accepted(p, q, (), 2)
    Fraction(11, 9)
    """
    return _most_accepted(target, draft, text, k, 1, 1)


def _most_accepted(
    target: Predictor, draft: Predictor, text: Text, k: int, reach: Any, weight: Any
) -> Any:
    """Give the sum from here on; `reach` is how likely the draft got here, `weight` is w."""
    if k == 0 or weight == 0:
        return 0
    p = target.rows(text, Draft.empty())[0]
    q = draft.rows(text, Draft.empty())[0]
    total: Any = 0
    for token in np.flatnonzero(q).tolist():
        onward = share(weight * p[token], q[token])
        total += reach * q[token] * onward + _most_accepted(
            target, draft, (*text, token), k - 1, reach * q[token], onward
        )
    return total


OPTIMA: Mapping[str, Callable[[Row, Row, int], Any]] = MappingProxyType(
    {
        "iid": _iid,
        "without-replacement": _without_replacement,
        "greedy-draft": _greedy_draft,
        "deterministic": _deterministic,
    }
)
