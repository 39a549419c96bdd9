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
from typing import Any

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Guarantee, Rule, Source, Trial, Verdict, Verify
from draftproof.dist import Row, normalised
from draftproof.errors import UnsupportedDraft
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


def exact_rule(name: str, verify: Verify, source: str, shape: str, scheme: str) -> Rule:
    """Give a rule that promises to be exact for drafts of this shape and scheme."""
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
TREE_RULES = (
    exact_rule("tree", verify_by_rejection, SPECINFER, "tree", "iid"),
    exact_rule(
        "tree-without-replacement", verify_by_rejection, SEQUOIA, "tree", "without-replacement"
    ),
    exact_rule(
        "tree-target-only",
        verify_target_only,
        "SGLang, tree_speculative_sampling_target_only",
        "tree",
        "deterministic",
    ),
)
