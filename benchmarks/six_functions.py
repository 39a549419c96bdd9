"""What the six functions cost: milliseconds (fastest of several runs) and peak memory.

    python benchmarks/six_functions.py

Memory is what NumPy allocated during one call, over what was there before it.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import draftproof as dp

WORKED = (np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.5, 0.25]))
TRIALS = 10_000_000
VOCAB = 50_000
STEPS = 200
RUNS = 7


def wide_pair() -> tuple[np.ndarray, np.ndarray]:
    """Give two different laws over a vocabulary the size of a small model's."""
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.full(VOCAB, 0.05)) for _ in range(2))
    return p, q


def fastest(call: Callable[[], object]) -> float:
    """Give the shortest of several runs, in milliseconds."""
    spent = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return min(spent) * 1e3


def peak(call: Callable[[], object]) -> float:
    """Give the largest memory in use during one call, in megabytes."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def report(what: str, call: Callable[[], object]) -> None:
    print(f"{what:<58} {fastest(call):10.3f} ms {peak(call):10.2f} MB")


def steps(p: np.ndarray, q: np.ndarray) -> Callable[[], object]:
    """Give a call that plays many single steps from one generator."""
    rng = np.random.default_rng(0)
    return lambda: [dp.speculative_step(p, q, rng) for _ in range(STEPS)]


def main() -> None:
    for method in ("exact", "naive"):
        report(
            f"empirical, {method}: {TRIALS:,} trials over 3 tokens",
            lambda method=method: dp.empirical(*WORKED, TRIALS, 0, method),
        )
    report(f"speculative_step: {STEPS:,} steps over 3 tokens", steps(*WORKED))
    p, q = wide_pair()
    report(
        f"empirical: {TRIALS:,} trials over {VOCAB:,} tokens", lambda: dp.empirical(p, q, TRIALS, 0)
    )
    for name in (
        "residual",
        "rejection_probability",
        "exact_distribution",
        "naive_distribution",
    ):
        report(f"{name} over {VOCAB:,} tokens", lambda name=name: getattr(dp, name)(p, q))
    report(f"speculative_step: {STEPS:,} steps over {VOCAB:,} tokens", steps(p, q))


if __name__ == "__main__":
    main()
