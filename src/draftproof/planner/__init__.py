"""Does speculation pay, and with which draft and k? The model, measurements, and a policy.

`acceptance` says how many tokens a round emits, `costs` what it takes, `model` puts the two
together, `trees` does so for draft trees, `metrics` reads what serving engines count, and
`policy` chooses k while a text is being decoded.
"""

from __future__ import annotations

from draftproof.planner.acceptance import (
    acceptance_of_length,
    conditionals,
    expected_tokens,
    length_law,
    oracle_tokens,
    survivals,
    variance_of_tokens,
)
from draftproof.planner.costs import Costs, Curve, LinearTime, batch_costs
from draftproof.planner.model import (
    Choice,
    best_choice,
    choices,
    operations,
    seconds_for,
    speedup,
    throughput,
)
from draftproof.planner.trees import Shape, best_tree, best_tree_choice, tree_tokens

__all__ = [
    "Choice",
    "Costs",
    "Curve",
    "LinearTime",
    "Shape",
    "acceptance_of_length",
    "batch_costs",
    "best_choice",
    "best_tree",
    "best_tree_choice",
    "choices",
    "conditionals",
    "expected_tokens",
    "length_law",
    "operations",
    "oracle_tokens",
    "seconds_for",
    "speedup",
    "survivals",
    "throughput",
    "tree_tokens",
    "variance_of_tokens",
]
