"""Prove every rule on the stated battery; print the table, and what it cost in time and memory.

Run it with ``python benchmarks/prove_all.py [-k K] [--drafts N]``.
"""

from __future__ import annotations

import argparse
import resource
import time

from draftproof.battery import WORLDS, prove_rule
from draftproof.proof import Proof
from draftproof.rules import RULES

HEAD = (
    f"{'rule':<26}{'guarantee':<11}{'exact':<7}{'branches':>9}{'accept':>9}{'accepted':>10}"
    f"{'optimum':>9}{'to it':>9}{'TV':>8}{'s':>7}"
)


def line(proof: Proof, seconds: float) -> str:
    return (
        f"{proof.rule:<26}{proof.guarantee.value:<11}{'yes' if proof.exact else 'no':<7}"
        f"{proof.branches:>9,}{float(proof.acceptance):>9.4f}{float(proof.expected_accepted):>10.4f}"
        f"{float(proof.optimal_acceptance):>9.4f}{float(proof.gap_to_optimum):>9.4f}"
        f"{float(proof.total_variation):>8.4f}{seconds:>7.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, default=2)
    parser.add_argument("--drafts", type=int, default=2)
    asked = parser.parse_args()
    print(f"{len(WORLDS)} worlds, k = {asked.k}, drafts = {asked.drafts}; first world for the rest")
    print(HEAD)
    began = time.perf_counter()
    for rule in RULES.values():
        start = time.perf_counter()
        proof = prove_rule(rule, k=asked.k, drafts=asked.drafts)
        print(line(proof, time.perf_counter() - start), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"all rules: {time.perf_counter() - began:.1f} s, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
