"""The best shape of a draft tree for a number of nodes.

The positional acceptance of a child is the probability that it, and none of its elder siblings,
is kept, given that its parent is kept: a vector a_1, a_2, ... over siblings that sums to at most
1. A node is kept with the product of these along its path, and a tree's E[N] is the sum over its
nodes, the root included.

Source: Chen et al. 2024, "Sequoia", arXiv 2402.12374, section 3.1 (the dynamic programme).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from draftproof.contracts import ROOT
from draftproof.errors import InvalidInput
from draftproof.planner.checking import as_sequence, check_count, check_probability
from draftproof.planner.costs import Costs, check_costs


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree of draft nodes without tokens: `parents` as in a draft, and the tokens it emits."""

    parents: tuple[int, ...]
    expected_tokens: Any

    @property
    def widths(self) -> tuple[int, ...]:
        """Nodes on each level below the root.

        Examples
        --------
        >>> Shape((ROOT, ROOT, 0), 2.0).widths
        (2, 1)
        """
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return tuple(depths.count(depth) for depth in range(1, max(depths, default=0) + 1))


def check_positional(acceptance: Sequence[Any]) -> tuple[Any, ...]:
    """Give a vector of positional acceptances back: probabilities that sum to at most 1."""
    each = enumerate(as_sequence(acceptance, "acceptance"))
    vector = tuple(check_probability(one, f"acceptance[{at}]") for at, one in each)
    if not vector or sum(vector) > 1 + 1e-9:
        raise InvalidInput(
            f"acceptance is {', '.join(f'{float(one):g}' for one in vector) or 'empty'}; give one "
            f"for each sibling, at least one, that sum to at most 1, for only one can be kept."
        )
    return vector


def tree_tokens(acceptance: Sequence[Any], parents: Sequence[int]) -> Any:
    """Expected tokens of a round whose draft has this shape.

    Examples
    --------
    >>> tree_tokens((0.5, 0.25), (ROOT, ROOT, 0))
    2.0
    """
    vector = check_positional(acceptance)
    kept: dict[int, Any] = {ROOT: 1}
    elder: dict[int, int] = {}
    for node, one in enumerate(as_sequence(parents, "parents")):
        parent = check_count(one, f"parents[{node}]", ROOT)
        rank = elder.get(parent, 0)
        elder[parent] = rank + 1
        if parent not in kept or rank >= len(vector):
            raise InvalidInput(
                f"parents[{node}] is {parent}; a parent comes before its children and has at most "
                f"{len(vector)} of them."
            )
        kept[node] = kept[parent] * vector[rank]
    return sum(kept.values())


def best_tree(acceptance: Sequence[Any], nodes: int, max_depth: int | None = None) -> Shape:
    """Give the tree of at most `nodes` drafted nodes that emits the most tokens.

    Parameters
    ----------
    acceptance
        Positional acceptances of the siblings of a node.
    nodes
        Drafted nodes, the root not counted; each is verified in the one pass.
    max_depth
        Most nodes on a path; a draft model runs once for each level. None means no limit.

    Examples
    --------
    >>> best_tree((0.5, 0.25), 3)
    Shape(parents=(-1, 0, -1), expected_tokens=2.0)
    >>> best_tree((0.8,), 4).parents
    (-1, 0, 1, 2)
    """
    vector, count = check_positional(acceptance), check_count(nodes, "nodes")
    deepest = count if max_depth is None else check_count(max_depth, "max_depth")
    return _shape(_programme(vector), vector, count, deepest)


def _shape(plan: Any, vector: tuple[Any, ...], count: int, deepest: int) -> Shape:
    parents: list[int] = []
    _grow(plan, parents, ROOT, count, 0, deepest)
    return Shape(tuple(parents), tree_tokens(vector, parents))


def _programme(vector: tuple[Any, ...]) -> Any:
    """Value of `count` nodes below one node, as its children from `rank` on, and the first cut."""

    @cache
    def below(count: int, rank: int, depth: int) -> tuple[Any, int]:
        best: tuple[Any, int] = (0, 0)
        if depth == 0 or rank == len(vector):
            return best
        for first in range(1, count + 1):
            mine = vector[rank] * (1 + below(first - 1, 0, depth - 1)[0])
            total = mine + below(count - first, rank + 1, depth)[0]
            if total > best[0]:
                best = (total, first)
        return best

    return below


def _grow(plan: Any, parents: list[int], parent: int, count: int, rank: int, depth: int) -> None:
    """Write the nodes that the programme chose, each child with all that hangs on it."""
    while (first := plan(count, rank, depth)[1]) > 0:
        node = len(parents)
        parents.append(parent)
        _grow(plan, parents, node, first - 1, 0, depth - 1)
        count, rank = count - first, rank + 1


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """A tree, its tokens per second, and its speed-up over plain decoding."""

    shape: Shape
    throughput: Any
    speedup: Any


def best_tree_choice(
    acceptance: Sequence[Any], costs: Costs, max_nodes: int, max_depth: int | None = None
) -> TreeChoice:
    """Give the tree with the largest speed-up; no node at all means: do not speculate.

    Verifying n nodes costs what a chain of n costs (`costs.round_seconds`), and so does drafting;
    no tree is considered whose cost is not known. On a tie it is the tree with fewer nodes.

    Examples
    --------
    >>> flat = Costs(t_target=1.0, t_verify=1.0, t_draft=0.1)
    >>> best_tree_choice((0.5, 0.25), flat, 4).shape.parents
    (-1, 0, -1)
    """
    vector, most = check_positional(acceptance), check_count(max_nodes, "max_nodes")
    check_costs(costs)
    deepest = most if max_depth is None else check_count(max_depth, "max_depth")
    plan = _programme(vector)
    found = []
    for nodes in range(most + 1):
        shape = _shape(plan, vector, nodes, deepest)
        if not costs.knows(len(shape.parents)):
            continue
        speed = shape.expected_tokens / costs.round_seconds(len(shape.parents))
        found.append(TreeChoice(shape, speed, speed * costs.t_target))
    return max(found, key=lambda one: one.speedup)
