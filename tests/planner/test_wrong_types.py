"""Every public function of the planner: arrays are sequences, and a wrong type is a sentence."""

import inspect
import re
from fractions import Fraction as F

import numpy as np
import pytest

from draftproof import planner
from draftproof.errors import InvalidInput
from draftproof.planner import (
    Costs,
    Curve,
    LinearTime,
    best_choice,
    best_tree,
    best_tree_choice,
    choices,
    conditionals,
    expected_tokens,
    length_law,
    survivals,
    tree_tokens,
)
from draftproof.planner.policy import Adaptive, round_times
from draftproof.planner.settings import check_sglang, settings

COSTS = Costs(t_target=1.0, t_verify=1.2, t_draft=0.1)
TIMES = {"t_verify": 1.2, "t_draft": 0.1}

RIGHT = {
    "acceptance_of_length": {"length": 2.0, "k": 3},
    "batch_costs": {
        "verify": LinearTime(fixed=0.01), "draft": 0.1, "batch": 2, "context": 10, "overhead": 0.0,
        "max_k": 3,
    },
    "best_choice": {"acceptance": 0.5, "costs": COSTS, "max_k": 4},
    "best_tree": {"acceptance": (0.5, 0.2), "nodes": 3, "max_depth": 2},
    "best_tree_choice": {"acceptance": (0.5, 0.2), "costs": COSTS, "max_nodes": 3, "max_depth": 2},
    "choices": {"acceptance": 0.5, "costs": COSTS, "max_k": 4},
    "conditionals": {"survival": (0.5, 0.2)},
    "expected_tokens": {"acceptance": 0.5, "k": 3},
    "length_law": {"acceptance": 0.5, "k": 3},
    "operations": {"acceptance": 0.5, "k": 3, "draft_share": 0.1},
    "oracle_tokens": {"acceptance": 0.5},
    "seconds_for": {"tokens": 5, "acceptance": 0.5, "k": 3, "costs": COSTS},
    "speedup": {"acceptance": 0.5, "k": 3, "t_target": 1.0, **TIMES},
    "survivals": {"acceptance": 0.5, "k": 3},
    "throughput": {"acceptance": 0.5, "k": 3, **TIMES},
    "tree_tokens": {"acceptance": (0.5, 0.2), "parents": (-1, 0)},
    "variance_of_tokens": {"acceptance": 0.5, "k": 3},
    "Costs": {"t_target": 1.0, "t_verify": 1.0, "t_draft": 0.1, "t_overhead": 0.1},
    "Curve": {"points": ((1, 0.1), (5, 0.3))},
    "LinearTime": {"fixed": 0.1, "per_token": 0.1, "per_context": 0.1},
}  # fmt: skip
RESULTS = {"Choice", "Shape"}
"""What the planner gives back, not what it is given."""

WRONG = (
    None, "x", b"x", "0.5", 1j, object(), {}, {0.5}, -1, -0.5, float("nan"), True, [[0.5]], ["x"],
    [None], [(1, 2, 3)], [("x", 0.1)], np.array([[0.5]]), np.array(["x"]), (one for one in "ab"),
)  # fmt: skip
ALLOWED = {("best_tree", "max_depth"), ("best_tree_choice", "max_depth")}
"""Arguments that may be None."""


def test_every_public_function_and_every_argument_is_tried():
    assert set(RIGHT) | RESULTS == set(planner.__all__)
    for name, arguments in RIGHT.items():
        named = set(inspect.signature(getattr(planner, name)).parameters)
        assert named - {"name"} == set(arguments)
        getattr(planner, name)(**arguments)


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n in RIGHT for a in RIGHT[n]])
def test_a_wrong_type_or_value_is_refused_in_a_sentence(name, argument):
    for wrong in WRONG:
        if wrong is None and (name, argument) in ALLOWED:
            continue
        with pytest.raises(InvalidInput) as refusal:
            getattr(planner, name)(**RIGHT[name] | {argument: wrong})
        assert re.fullmatch(r"[^\n]+\.", str(refusal.value))


@pytest.mark.parametrize(
    "call",
    [
        lambda: Curve(((1, 0.1), (5, 0.3))).at("2"),
        lambda: COSTS.knows("2"),
        lambda: COSTS.draft_seconds("2"),
        lambda: COSTS.round_seconds(2.5),
        lambda: LinearTime(fixed=0.1).seconds(tokens="2"),
        lambda: Adaptive(0.5),
        lambda: Adaptive(np.array([])),
        lambda: round_times(0.5, 3),
        lambda: round_times(COSTS, "3"),
        lambda: settings(3, 5),
        lambda: check_sglang(3, 2, "4"),
    ],
)
def test_methods_the_policy_and_settings_refuse_a_wrong_type_too(call):
    with pytest.raises(InvalidInput):
        call()


@pytest.mark.parametrize("value", [F(10**400), F(1, 10**400)])
def test_a_fraction_that_is_no_float_is_refused_as_a_time(value):
    with pytest.raises(InvalidInput, match=r"^t_verify is "):
        planner.throughput(0.5, 3, t_verify=value, t_draft=0.1)


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize("function", [expected_tokens, survivals, length_law])
def test_an_array_is_a_sequence_of_acceptances(function):
    assert function(np.array([0.9, 0.5]), 2) == function((0.9, 0.5), 2)
    exact = np.array([F(9, 10), F(1, 2)], dtype=object)
    assert function(exact, 2) == function((F(9, 10), F(1, 2)), 2)


def test_arrays_go_everywhere_a_tuple_goes():
    pair, array = (0.5, 0.25), np.array([0.5, 0.25])
    assert conditionals(array) == conditionals(pair)
    assert choices(array, COSTS) == choices(pair, COSTS)
    assert best_choice(array, COSTS) == best_choice(pair, COSTS)
    assert best_tree(array, 3) == best_tree(pair, 3)
    assert best_tree_choice(array, COSTS, 3) == best_tree_choice(pair, COSTS, 3)
    assert tree_tokens(array, np.array([-1, 0])) == tree_tokens(pair, (-1, 0))
    assert Adaptive(np.array([1.0, 1.1])).seconds == (1.0, 1.1)


def test_an_entry_of_an_array_is_refused_by_its_place():
    with pytest.raises(InvalidInput, match=r"^acceptance\[1\] is 1\.5"):
        expected_tokens(np.array([0.9, 1.5]), 2)


# ---------------------------------------------------------------- trees whose cost is not known


def test_a_tree_that_may_not_grow_is_left_out_where_its_cost_is_unknown():
    """At most one level deep, 4 nodes are one node; the curve knows no pass of 2 tokens."""
    costs = Costs(t_target=1.0, t_verify=Curve(((5, 1.0), (6, 1.0))))
    assert best_tree_choice((0.5,), costs, 5, max_depth=1).shape.parents == ()
    assert best_tree_choice((0.5,), costs, 5).shape.parents == (-1, 0, 1, 2, 3)
