"""Exact rules that judge whole branches: traversal of a tree, and several chains as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Guarantee, Rule, Source, Trial, Verdict
from draftproof.dist import Row, excess
from draftproof.errors import UnsupportedDraft
from draftproof.rules.branching import Fork
from draftproof.rules.chain import verify_block
from draftproof.rules.judging import guarded, share, verdict
from draftproof.rules.ordering import between_powers, by_ratio, largest_of, ranks


@guarded
def verify_traversal(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Try whole branches, leaf first, and give back what a rejected leaf leaves to its parent.

    Every node has a weight: 1 at the root, and ``min(1, w p(x) / d(x))`` for a child x, drawn from
    row d, of a node of weight w whose target row is p. The first leaf is kept, with its whole
    branch, with probability its weight; the bonus then comes from its row. A rejected leaf is cut
    off, and its parent goes on with ``S = sum of max(0, w p - d)``, the weight ``S / (S + 1 - w)``
    and the target row ``max(0, w p - d) / S``: for its next child, or, when it has none left, as a
    leaf itself. At the bare root the token comes from what is left of its row.

    Exact when each sibling was drawn from the row it carries, given its elder siblings. On a chain
    it is block verification.

    Source: Weng et al. 2025, arXiv 2505.12398, traversal verification; the weights
    are re-derived.
    """
    trials: list[Trial] = []

    def explore(node: int, part: Any, whole: Any) -> tuple[int, Row] | None:
        """Look for a kept branch at or below `node`, whose weight is ``min(1, part / whole)``."""
        weight, p = share(part, whole), rows[node + 1]
        for child in draft.children(node):
            if not weight > 0:
                break
            token, d = draft.tokens[child], draft.rows[child]
            kept = explore(child, weight * p[token], d[token])
            if kept is not None:
                return kept
            under = excess(weight * p, d)
            part = under.sum()
            whole = part + 1 - weight
            weight, p = share(part, whole), under / part if part > 0 else p
        if node == ROOT or _passes(chance, draft, node, part, whole, trials):
            return node, p
        return None

    found = explore(ROOT, 1, 1)
    assert found is not None, "the root is always kept"
    node, p = found
    source, purpose = _ending(draft, node)
    path = draft.path(node)
    last = chance.at(purpose, len(path)).pick(p)
    return verdict(draft, path, last, source, trials)


def _passes(
    chance: Chance, draft: Draft, node: int, part: Any, whole: Any, trials: list[Trial]
) -> bool:
    kept = chance.at("coin", node).accepts(part, whole)
    trials.append(Trial(node, draft.tokens[node], part, whole, kept))
    return kept


def _ending(draft: Draft, node: int) -> tuple[Source, str]:
    """Say what ends the round: a bonus below a drafted leaf, a correction above one."""
    if not draft.tokens:
        return Source.TARGET, "bonus"
    return (Source.RESIDUAL, "residual") if draft.children(node) else (Source.BONUS, "bonus")


@guarded
def verify_multi_path_block(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Pick one of several independent chains, then verify it as a block with the law of the pick.

    At every prefix the tokens are put in ascending order of p/q, and the chain that comes last in
    this dictionary order is picked. With F(s) the q-mass of all strings up to s, the pick among n
    chains follows ``F(s)^n - F(s-)^n``: a draft law like any other, whose conditional rows need
    only the rows along the picked chain. Block verification with these rows is exact. Not better
    than block verification of one chain everywhere, but mostly.

    Source: path selection before block verification, after Thomas and Pal 2026, arXiv 2602.16961;
    the order and the rows are re-derived.

    Raises
    ------
    UnsupportedDraft
        If the draft is not several chains of one length, drawn from one row at every prefix.
    """
    if not draft.tokens:
        return verify_block(chance, draft, rows)
    picked, skewed = _pick(draft, rows, chance)
    chain = Draft.chain([draft.tokens[node] for node in picked], skewed)
    judged = verify_block(chance, chain, [rows[0], *(rows[node + 1] for node in picked)])
    return replace(
        judged,
        path=picked[: judged.accepted],
        trials=tuple(replace(trial, node=picked[trial.node]) for trial in judged.trials),
    )


def _pick(draft: Draft, rows: Sequence[Row], chance: Chance) -> tuple[tuple[int, ...], list[Row]]:
    """Give the nodes of the chain that comes last in the order, and the rows it follows."""
    alive, n = _chains(draft), len(draft.children(ROOT))
    start, mass = 0, 1
    skewed: list[Row] = []
    for depth in range(len(alive[0])):
        nodes = tuple(path[depth] for path in alive)
        p = rows[draft.parents[nodes[0]] + 1]
        q = Fork(draft, nodes, p, chance).shared_row("multi-path-block")
        order = by_ratio(p, q)
        weight = mass * between_powers(start + mass, start, n)
        skewed.append(largest_of(q, order, n, start=start, mass=mass) / weight)
        rank = ranks(order)
        last = max((draft.tokens[node] for node in nodes), key=lambda token: int(rank[token]))
        start += mass * q[order[: rank[last]]].sum()
        mass *= q[last]
        alive = [path for path in alive if draft.tokens[path[depth]] == last]
    return alive[0], skewed


def _chains(draft: Draft) -> list[tuple[int, ...]]:
    """Give the nodes of every chain of a draft that is several chains of one length."""
    parents = set(draft.parents)
    paths = [draft.path(node) for node in range(len(draft)) if node not in parents]
    lengths = {len(path) for path in paths}
    if len(lengths) > 1 or len(paths) * max(lengths) != len(draft):
        raise UnsupportedDraft(
            f"rule 'multi-path-block' judges separate chains of one length, and this draft is "
            f"something else (parents={draft.parents}); draft with Siblings(..., scheme='iid')."
        )
    return paths


BLOCK_RULES = (
    Rule(
        name="traversal",
        guarantee=Guarantee.EXACT,
        verify=verify_traversal,
        source="Weng et al. 2025, arXiv 2505.12398, traversal verification",
        shape="tree",
    ),
    Rule(
        name="multi-path-block",
        guarantee=Guarantee.EXACT,
        verify=verify_multi_path_block,
        source="after Thomas and Pal 2026, arXiv 2602.16961, path selection then block",
        shape="paths",
        scheme="iid",
    ),
)
