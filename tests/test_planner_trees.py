"""The dynamic programme for trees, against every tree there is."""

from fractions import Fraction as F

import pytest

from draftproof.errors import InvalidInput
from draftproof.planner import Costs, best_tree, best_tree_choice, expected_tokens, tree_tokens

VECTORS = [
    (F(1, 2), F(1, 4)),
    (F(6, 10), F(2, 10), F(1, 10)),
    (F(9, 10),),
    (F(1, 3), F(1, 3), F(1, 3)),
    (F(1, 10), F(6, 10)),
]


def every_tree(nodes):
    """Every list of parents in which a parent comes before its children."""
    trees = [()]
    for node in range(nodes):
        trees = [(*tree, parent) for tree in trees for parent in range(-1, node)]
    return trees


def depth(tree):
    deep = {-1: 0}
    for node, parent in enumerate(tree):
        deep[node] = deep[parent] + 1
    return max(deep.values())


def value(vector, tree):
    try:
        return tree_tokens(vector, tree)
    except InvalidInput:
        return 0


@pytest.mark.parametrize("limit", [None, 1, 2, 3])
@pytest.mark.parametrize("nodes", range(6))
@pytest.mark.parametrize("vector", VECTORS)
def test_no_tree_emits_more(vector, nodes, limit):
    found = best_tree(vector, nodes, limit)
    allowed = [
        tree
        for size in range(nodes + 1)
        for tree in every_tree(size)
        if limit is None or depth(tree) <= limit
    ]
    assert found.expected_tokens == max(value(vector, tree) for tree in allowed)
    assert found.expected_tokens == tree_tokens(vector, found.parents)
    assert len(found.parents) <= nodes
    assert limit is None or depth(found.parents) <= limit


@pytest.mark.parametrize("k", range(6))
def test_with_one_child_the_tree_is_a_chain(k):
    assert best_tree((F(4, 5),), k).expected_tokens == expected_tokens(F(4, 5), k)


def test_breadth_pays_where_the_first_guess_is_poor():
    poor, good = (F(35, 100), F(3, 10)), (F(9, 10), F(1, 100))
    assert best_tree(poor, 2).parents == (-1, -1) or best_tree(poor, 2).parents == (-1, 0)
    assert best_tree(poor, 2).expected_tokens == 1 + F(35, 100) + F(3, 10)
    assert best_tree(good, 2).parents == (-1, 0)


def test_a_steep_cost_leaves_no_node():
    steep = Costs(t_target=1.0, t_verify=3.0)
    assert best_tree_choice((0.5, 0.2), steep, 8).shape.parents == ()
    assert best_tree_choice((0.5, 0.2), steep, 8).speedup == 1
    assert best_tree_choice((0.5, 0.2), Costs(t_target=1.0, t_verify=1.0), 8).speedup > 1.9


@pytest.mark.parametrize("vector", [(), (0.7, 0.4), (1.2,), (-0.1,)])
def test_a_vector_that_is_none_is_refused(vector):
    with pytest.raises(InvalidInput, match=r"^acceptance"):
        best_tree(vector, 3)


def test_parents_out_of_order_are_refused():
    with pytest.raises(InvalidInput, match=r"^parents\[0\] is 1"):
        tree_tokens((0.5,), (1, -1))
