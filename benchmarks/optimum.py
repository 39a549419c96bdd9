"""Time `optimal_acceptance` on long rows, and every rule on one round over a real vocabulary.

Run it with ``python benchmarks/optimum.py [--size V]``. Times are the best of five.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from draftproof import Dice, optimal_acceptance
from draftproof.backends.table import Table
from draftproof.battery import proposers
from draftproof.errors import UnsupportedDraft
from draftproof.rules import RULES

CASES = [(1, "iid"), (2, "iid"), (8, "iid"), (2, "greedy-draft"), (8, "greedy-draft")]
CASES += [(n, "without-replacement") for n in (2, 3, 4)]
VOCABULARY = 49_152


def best(work: Callable[[], object], repeat: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(repeat))


def optima(size: int) -> None:
    p, q = np.random.default_rng(0).dirichlet(np.full(size, 0.05), size=2)
    print(f"optimal_acceptance over {size:,} tokens")
    for drafts, scheme in CASES:
        seconds = best(lambda d=drafts, s=scheme: optimal_acceptance(p, q, d, s))
        print(f"  {scheme:<22}{drafts} drafts {1000 * seconds:>10.1f} ms")


def rules(k: int, drafts: int) -> None:
    print(f"one round over {VOCABULARY:,} tokens, k = {k}, drafts = {drafts}")
    rows = np.random.default_rng(1).dirichlet(np.full(VOCABULARY, 0.02), size=2)
    for rule in RULES.values():
        p, q = rows
        if rule.one_hot:
            p = np.eye(1, VOCABULARY, int(p.argmax()))[0]
        scheme = "iid" if rule.shape == "tree" and rule.scheme == "any" else rule.scheme
        drafting = proposers(Table(q), rule.shape, scheme, k=k, drafts=drafts)[0]
        draft = drafting.propose(Dice(0).after(0), (), k)
        target = [p] * (len(draft) + 1)
        try:
            seconds = best(lambda r=rule, d=draft, t=target: r.verify(Dice(0).after(0), d, t))
        except UnsupportedDraft as refusal:
            print(f"  {rule.name:<26}{refusal}")
            continue
        print(f"  {rule.name:<26}{len(draft):>3} nodes {1000 * seconds:>10.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=150_000)
    optima(parser.parse_args().size)
    rules(k=4, drafts=2)


if __name__ == "__main__":
    main()
