"""Exact rules for several drafts at one position, walked down a tree of them.

At each position the rule sees the candidates: the nodes drafted there, each with the row its
token was drawn from given its elder siblings. It chooses one token whose law is exactly p. If
that token is a kept candidate the walk goes on below it; otherwise it ends the round. Candidates
that repeat the kept token are kept with it, and the nodes below all of them compete next.

A chain is a tree without branches, and there every rule here is token-wise verification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Guarantee, Rule, Source, Trial, Verdict, Verify
from draftproof.dist import Row, excess, normalised
from draftproof.errors import UnsupportedDraft
from draftproof.rules import transport
from draftproof.rules.judging import bonus, correction, guarded, verdict


@dataclass(frozen=True, slots=True)
class Fork:
    """The candidates for one position, and what the target says there."""

    draft: Draft
    nodes: tuple[int, ...]
    p: Row
    chance: Chance

    def tokens(self) -> list[int]:
        """Give the candidates' tokens, in the order in which they were drawn."""
        return [self.draft.tokens[node] for node in self.nodes]

    def shared_row(self, rule: str) -> Row:
        """Give the one row all candidates were drawn from, on behalf of a rule that needs that.

        Raises
        ------
        UnsupportedDraft
            If they were drawn from different rows.
        """
        first, *others = (self.draft.rows[node] for node in self.nodes)
        for row in others:
            if row is not first and not np.array_equal(row, first):
                raise UnsupportedDraft(
                    f"rule {rule!r} judges candidates drawn independently from one row, and nodes "
                    f"{self.nodes} carry different rows; use a draft of scheme 'iid', or the rule "
                    f"'tree'."
                )
        return first

    def coin(self, node: int, p: Any, q: Any) -> Trial:
        """Toss the coin of one candidate: kept with probability ``min(1, p / q)``."""
        kept = self.chance.at("coin", node).accepts(p, q)
        return Trial(node, self.draft.tokens[node], p, q, kept)

    def rest(self, weights: Row) -> int:
        """Draw the token that ends the round, in proportion to `weights`."""
        return self.chance.at("residual", self.nodes[-1]).pick(weights)


@dataclass(frozen=True, slots=True)
class Choice:
    """A token whose law is p: a candidate that was kept, or one drawn for itself (node None)."""

    node: int | None
    token: int
    trials: tuple[Trial, ...] = ()


Choose = Callable[[Fork], Choice]


def walk(choose: Choose) -> Verify:
    """Make a rule out of a way to choose at one position."""

    @guarded
    def verify(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
        path: list[int] = []
        trials: list[Trial] = []
        p, nodes = rows[0], draft.children(ROOT)
        while nodes:
            choice = choose(Fork(draft, nodes, p, chance))
            trials.extend(choice.trials)
            if choice.node is None:
                whole = branch(draft, path)
                return verdict(draft, whole, choice.token, Source.RESIDUAL, trials)
            path.append(choice.node)
            p, nodes = rows[choice.node + 1], below(draft, nodes, choice.token)
        return bonus(chance, draft, branch(draft, path), p, trials)

    return verify


def below(draft: Draft, nodes: Sequence[int], token: int) -> tuple[int, ...]:
    """Give the children of all those `nodes` that carry `token`, in the order drawn."""
    twins = [node for node in nodes if draft.tokens[node] == token]
    return tuple(sorted(child for twin in twins for child in draft.children(twin)))


def branch(draft: Draft, path: Sequence[int]) -> tuple[int, ...]:
    """Give the branch down to the last kept node: the same tokens, each node under the last."""
    return draft.path(path[-1]) if path else ()


def choose_by_rejection(fork: Fork) -> Choice:
    """Try the candidates in turn, each against what the rejected ones left of the target.

    With ``r = p`` at first, candidate x drawn from row d is kept with probability
    ``min(1, r(x) / d(x))``; a rejection turns r into ``max(0, r - d)`` normalised. When all are
    rejected the token comes from r. Exact by token-wise verification applied n times: given the
    elder siblings, each candidate is a draw from d.

    One function serves four schemes, because the row each node carries says how it was drawn: one
    row for all is SpecInfer's multi-step rule, rows without the elder siblings are Sequoia's and
    recursive rejection without replacement, one-hot rows are EAGLE's rule for a top-k tree.
    """
    left = fork.p
    trials: list[Trial] = []
    for node in fork.nodes:
        token, d = fork.draft.tokens[node], fork.draft.rows[node]
        trials.append(fork.coin(node, left[token], d[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
        left = normalised(correction(left, d))
    return Choice(None, fork.rest(left), tuple(trials))


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


def by_ratio(p: Row, q: Row) -> Any:
    """Give the token ids in ascending order of p/q, the lowest id first on a tie.

    Long rows are full of zeros, and a stable sort is slow: only what lies between is sorted, fast
    where nothing is tied.
    """
    ratio = ratios(p, q)
    between = np.flatnonzero((ratio > 0) & (ratio < np.inf))
    order = between[np.argsort(ratio[between])]
    if (ratio[order[1:]] == ratio[order[:-1]]).any():
        order = between[np.argsort(ratio[between], kind="stable")]
    return np.concatenate([np.flatnonzero(ratio == 0), order, np.flatnonzero(ratio == np.inf)])


def ratios(p: Row, q: Row) -> Row:
    """Give p/q; infinite for a token that is never drafted."""
    drafted = q > 0
    return np.where(drafted, p / np.where(drafted, q, 1), np.inf)


def ranks(order: Any) -> Any:
    """Give the place of each token in `order`."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def largest_of(q: Row, order: Any, n: int, *, start: Any = 0, mass: Any = 1) -> Row:
    """Law of the last in `order` among n independent draws from q: ``F(x)^n - F(x-)^n``.

    F starts at `start` and all of q weighs `mass` in it, so the same formula serves strings: the
    draws that share a prefix occupy one stretch of F.
    """
    law = np.zeros_like(q)
    upper = start + mass * np.cumsum(q[order])
    lower = np.concatenate([np.zeros_like(q[:1]) + start, upper[:-1]])
    law[order] = mass * q[order] * between_powers(upper, lower, n)
    return law


def between_powers(upper: Any, lower: Any, n: int) -> Any:
    """Give ``(upper^n - lower^n) / (upper - lower)`` as a sum, which loses no digits."""
    return sum(upper**i * lower ** (n - 1 - i) for i in range(n))


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


@guarded
def verify_target_only(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Let the target draw at every position, and go down the tree while its draw is a child.

    The draft's rows are never read: exact for every tree that does not depend on the target's
    draws, above all for one whose children were chosen without luck. Kept with probability p of
    the set of children. One seed gives one text. SGLang's rule, which walks the siblings with one
    coin against their summed target probability, has the same law.
    """
    path: list[int] = []
    trials: list[Trial] = []
    p, nodes = rows[0], draft.children(ROOT)
    while True:
        own = chance.own(len(path)).pick(p)
        trials.extend(_matches(draft, nodes, own, p))
        kept = next((node for node in nodes if draft.tokens[node] == own), None)
        if kept is None:
            return verdict(draft, branch(draft, path), own, Source.TARGET, trials)
        path.append(kept)
        p, nodes = rows[kept + 1], below(draft, nodes, own)


def _matches(draft: Draft, nodes: Sequence[int], own: int, p: Row) -> list[Trial]:
    """Record each candidate against the target's own draw."""
    tokens = [draft.tokens[node] for node in nodes]
    rows = [draft.rows[node] for node in nodes]
    return [
        Trial(node, token, p[token], row[token], kept=token == own, coin=False)
        for node, token, row in zip(nodes, tokens, rows, strict=True)
    ]


verify_by_rejection = walk(choose_by_rejection)


def _exact(name: str, verify: Verify, source: str, shape: str, scheme: str) -> Rule:
    return Rule(
        name=name,
        guarantee=Guarantee.EXACT,
        verify=verify,
        source=source,
        shape=shape,
        scheme=scheme,
    )


SPECINFER = "Miao et al. 2024, arXiv 2305.09781, multi-step speculative sampling"
SEQUOIA = "Chen et al. 2024, arXiv 2402.12374, algorithm 2"
SIBLING_RULES = (
    _exact("rrs", verify_by_rejection, SPECINFER, "siblings", "iid"),
    _exact(
        "rrs-without-replacement", verify_by_rejection, SEQUOIA, "siblings", "without-replacement"
    ),
    _exact(
        "k-seq",
        walk(choose_by_k_seq),
        "Sun et al. 2023, arXiv 2310.15141, K-SEQ",
        "siblings",
        "iid",
    ),
    _exact(
        "greedy-draft",
        walk(choose_by_greedy_draft),
        "Hu et al. 2025, arXiv 2502.18779, greedy drafting",
        "siblings",
        "greedy-draft",
    ),
    _exact(
        "max-ratio",
        walk(choose_by_max_ratio),
        "Khisti et al. 2025, arXiv 2410.18234, with the choice by largest p/q",
        "siblings",
        "iid",
    ),
    _exact(
        "optimal-transport",
        walk(choose_by_transport),
        "Sun et al. 2023, arXiv 2310.15141, the transport problem",
        "siblings",
        "iid",
    ),
)
TREE_RULES = (
    _exact("tree", verify_by_rejection, SPECINFER, "tree", "iid"),
    _exact("tree-without-replacement", verify_by_rejection, SEQUOIA, "tree", "without-replacement"),
    _exact(
        "tree-target-only",
        verify_target_only,
        "SGLang, tree_speculative_sampling_target_only",
        "tree",
        "deterministic",
    ),
)
