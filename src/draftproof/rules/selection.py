"""Exact rules that choose among several independent drafts with one look at all of them.

Each is a way to choose at one position, for `draftproof.rules.branching.walk`. How much of the
optimum they reach differs; `draftproof.rules.optimum` has the optimum itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.contracts import Trial
from draftproof.dist import Row, excess
from draftproof.rules import transport
from draftproof.rules.branching import (
    SEQUOIA,
    SPECINFER,
    Choice,
    Fork,
    exact_rule,
    verify_by_rejection,
    walk,
)
from draftproof.rules.judging import correction
from draftproof.rules.ordering import by_ratio, largest_of, ranks


def choose_by_k_seq(fork: Fork) -> Choice:
    """Try the candidates in turn, each against p shrunk by one factor rho for all of them.

    Candidate x is kept with probability ``min(1, p(x) / (rho q(x)))``. With
    ``b = sum min(q, p / rho)`` some candidate is kept with probability ``1 - (1 - b)^n``; if none
    is, the token comes from ``p - min(q, p / rho) (1 - (1 - b)^n) / b``, which is nowhere negative
    as long as rho is at least the root of ``1 - (1 - b)^n = rho b``. Keeps at least the share
    ``1 - (1 - 1/n)^n`` of what the best rule for n independent drafts keeps.

    Source: Sun et al. 2023, arXiv 2310.15141, K-SEQ.
    """
    q, n = fork.shared_row("k-seq"), len(fork.nodes)
    exact = k_seq_factor(fork.p, q, n)
    rho = exact if fork.p.dtype == object else float(exact)
    trials: list[Trial] = []
    for node in fork.nodes:
        token = fork.draft.tokens[node]
        trials.append(fork.coin(node, fork.p[token], rho * q[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
    kept = np.minimum(q, fork.p / rho)
    b = kept.sum()
    left = excess(fork.p, kept * ((1 - (1 - b) ** n) / b)) if b > 0 else fork.p
    return Choice(None, fork.rest(left if left.any() else fork.p), tuple(trials))


RHO_STEPS = 2**24
"""The factor rho is a multiple of 1 / RHO_STEPS, so it is a small fraction and safe exactly."""


def k_seq_factor(p: Row, q: Row, n: int) -> Fraction:
    """Give a safe rho of K-SEQ, the smallest multiple of 2^-24 between 1 and n but for rounding.

    Safe means ``rho b >= 1 - (1 - b)^n`` with ``b = sum min(q, p / rho)``. The left side grows
    with rho and the right side does not, so bisection on floats finds where it becomes true; rows
    of fractions then decide exactly, and rho goes up until they agree. At rho = n it always holds.

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    >>> round(float(k_seq_factor(p, q, 2)), 6)
    1.456776
    """
    floats = p.astype(np.float64), q.astype(np.float64)
    low, high = RHO_STEPS - 1, n * RHO_STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _safe(*floats, n, middle / RHO_STEPS) else (middle, high)
    rho = Fraction(high, RHO_STEPS)
    while p.dtype == object and rho < n and not _safe(p, q, n, rho):
        rho += Fraction(1, RHO_STEPS)
    return rho


def _safe(p: Row, q: Row, n: int, rho: Any) -> bool:
    b = np.minimum(q, p / rho).sum()
    return bool(rho * b >= 1 - (1 - b) ** n)


def choose_by_greedy_draft(fork: Fork) -> Choice:
    """Judge the one candidate that was drawn; a residual that hits a chosen one keeps that one.

    The elder candidates T were chosen without luck, the last was drawn from q' = q outside T. Its
    token x is kept with probability ``min(1, p(x) / q'(x))``; otherwise the token comes from
    ``max(0, p - q')``, which holds all of p(T), and where it lies in T its node is kept. So the
    acceptance is ``p(T) + sum over the rest of min(p, q')``: the best there is for this scheme.

    Source: Hu et al. 2025, arXiv 2502.18779, greedy drafting.
    """
    last = fork.nodes[-1]
    token, tail = fork.draft.tokens[last], fork.draft.rows[last]
    trial = fork.coin(last, fork.p[token], tail[token])
    if trial.kept:
        return Choice(last, token, (trial,))
    drawn = fork.rest(correction(fork.p, tail))
    node = next((n for n in fork.nodes[:-1] if fork.draft.tokens[n] == drawn), None)
    return Choice(node, drawn, (trial,))


def choose_by_max_ratio(fork: Fork) -> Choice:
    """Pick the candidate with the largest p/q, then judge it with the law of that pick.

    With the tokens in ascending order of p/q and F the sum of q up to a token, the pick among n
    independent drafts follows ``F(x)^n - F(x-)^n``; token-wise verification against that law is
    exact. One case of choosing first and coupling afterwards (Khisti et al. 2025, arXiv
    2410.18234); the choice by largest ratio is ours, and cheap.
    """
    q, n = fork.shared_row("max-ratio"), len(fork.nodes)
    order = by_ratio(fork.p, q)
    law = largest_of(q, order, n)
    rank = ranks(order)
    node = max(fork.nodes, key=lambda at: int(rank[fork.draft.tokens[at]]))
    token = fork.draft.tokens[node]
    trial = fork.coin(node, fork.p[token], law[token])
    if trial.kept:
        return Choice(node, token, (trial,))
    return Choice(None, fork.rest(correction(fork.p, law)), (trial,))


def choose_by_transport(fork: Fork) -> Choice:
    """Choose by the optimal transport plan between the law of the candidate set and p.

    The plan is a maximum flow, in fractions, from each set the candidates can form to the tokens
    in it; what does not fit is coupled freely. No exact rule keeps a candidate more often. The
    number of sets grows like V^n / n!, so this is a yardstick for small vocabularies.

    Source: Sun et al. 2023, arXiv 2310.15141, the transport problem.
    """
    q = fork.shared_row("optimal-transport")
    tokens = fork.tokens()
    plan = transport.plan_iid(fork.p, q, len(tokens))
    shares = plan.shares(frozenset(tokens), len(fork.p), fork.p.dtype)
    at = fork.chance.at("plan", fork.nodes[0]).pick(shares)
    if at == len(fork.p):
        return Choice(None, fork.rest(plan.leftover(fork.p.dtype)))
    node = next(n for n in fork.nodes if fork.draft.tokens[n] == at)
    return Choice(node, at, (Trial(node, at, shares[at], shares.sum(), kept=True),))


SIBLING_RULES = (
    exact_rule("rrs", verify_by_rejection, SPECINFER, "siblings", "iid"),
    exact_rule(
        "rrs-without-replacement", verify_by_rejection, SEQUOIA, "siblings", "without-replacement"
    ),
    exact_rule(
        "k-seq",
        walk(choose_by_k_seq),
        "Sun et al. 2023, arXiv 2310.15141, K-SEQ",
        "siblings",
        "iid",
    ),
    exact_rule(
        "greedy-draft",
        walk(choose_by_greedy_draft),
        "Hu et al. 2025, arXiv 2502.18779, greedy drafting",
        "siblings",
        "greedy-draft",
    ),
    exact_rule(
        "max-ratio",
        walk(choose_by_max_ratio),
        "Khisti et al. 2025, arXiv 2410.18234, with the choice by largest p/q",
        "siblings",
        "iid",
    ),
    exact_rule(
        "optimal-transport",
        walk(choose_by_transport),
        "Sun et al. 2023, arXiv 2310.15141, the transport problem",
        "siblings",
        "iid",
    ),
)
