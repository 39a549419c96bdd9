"""draftproof: speculative decoding you can check.

The names below are loaded when first used, so importing the package loads numpy and nothing
heavier.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftproof.chance import Chance, Dice, law, outcomes
    from draftproof.contracts import Draft, Guarantee, Rule, Verdict
    from draftproof.decode import Limits, generate, rounds
    from draftproof.dist import (
        acceptance,
        empirical,
        exact_distribution,
        naive_distribution,
        overlap,
        rejection_probability,
        residual,
        speculative_step,
    )
    from draftproof.planner import expected_tokens, speedup, throughput
    from draftproof.proof import prove, prove_loop
    from draftproof.rules.optimum import optimal_acceptance

__version__ = "0.1.0"

_HOME = {
    "draftproof.chance": ("Chance", "Dice", "law", "outcomes"),
    "draftproof.contracts": ("Draft", "Guarantee", "Rule", "Verdict"),
    "draftproof.decode": ("Limits", "generate", "rounds"),
    "draftproof.dist": (
        "acceptance",
        "empirical",
        "exact_distribution",
        "naive_distribution",
        "overlap",
        "rejection_probability",
        "residual",
        "speculative_step",
    ),
    "draftproof.planner": ("expected_tokens", "speedup", "throughput"),
    "draftproof.proof": ("prove", "prove_loop"),
    "draftproof.rules.optimum": ("optimal_acceptance",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Chance",
    "Dice",
    "Draft",
    "Guarantee",
    "Limits",
    "Rule",
    "Verdict",
    "acceptance",
    "empirical",
    "exact_distribution",
    "expected_tokens",
    "generate",
    "law",
    "naive_distribution",
    "optimal_acceptance",
    "outcomes",
    "overlap",
    "prove",
    "prove_loop",
    "rejection_probability",
    "residual",
    "rounds",
    "speculative_step",
    "speedup",
    "throughput",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'draftproof' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
