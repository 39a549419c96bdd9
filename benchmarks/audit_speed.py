"""How fast evidence is taken in, what a long audit costs in memory, and what a bug needs.

Run it with ``python benchmarks/audit_speed.py [--samples N]``. The audited function's own time is
not counted: tokens are drawn beforehand, a chunk at a time.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Iterator

import numpy as np

from draftproof.audit import prepare
from draftproof.audit.cases import step_case
from draftproof.audit.catalogue import STEP_SUSPECTS, speculative
from draftproof.audit.evidence import EProcess
from draftproof.audit.pairs import WORKED_PAIR, Pair
from draftproof.audit.sequential import Budget, Gathering
from draftproof.audit.suspects import laws_of, same_law

CHUNK = 50_000
PROMISED = {"the worked pair": 200_000, "50,000 tokens": 20_000}
PROMISED_MB = 300
"""Samples a second, and memory, that a long audit promises."""


def pairs() -> Iterator[Pair]:
    yield WORKED_PAIR
    rng = np.random.default_rng(0)
    yield Pair("50,000 tokens", *(rng.dirichlet(np.full(50_000, 0.1)) for _ in range(2)))


def bets_on(pair: Pair) -> dict[str, np.ndarray]:
    laws = laws_of(STEP_SUSPECTS, pair.p, pair.q)
    return {name: law for name, law in laws.items() if not same_law(law, pair.p)}


def speed(pair: Pair, samples: int) -> tuple[float, int]:
    """Samples per second over `samples` of the right law, and the number of bets."""
    p = pair.p.astype(np.float64)
    bets = bets_on(pair)
    process, rng, spent = EProcess(p, bets), np.random.default_rng(1), 0.0
    for _ in range(0, samples, CHUNK):
        tokens = rng.choice(p.size, size=CHUNK, p=p / p.sum())
        began = time.perf_counter()
        process.update(tokens)
        spent += time.perf_counter() - began
    return process.samples / spent, len(bets)


def whole_audit(samples: int) -> float:
    """Samples per second of everything an audit does around a function that costs nothing."""
    p = WORKED_PAIR.p.astype(np.float64)
    tokens = itertools.cycle(np.random.default_rng(2).choice(p.size, size=CHUNK, p=p).tolist())
    case = step_case(lambda p, q, rng: next(tokens), WORKED_PAIR, STEP_SUSPECTS)
    gathering = Gathering([case], Budget(max_samples=samples, detect=1e-9))
    began = time.perf_counter()
    gathering.run()
    return samples / (time.perf_counter() - began)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    asked = parser.parse_args()
    print(
        f"{'row':<20}{'bets':>6}{'samples':>12}{'per second':>14}{'promised':>10}{'peak MB':>10}"
        f"{'promised':>10}"
    )
    for pair in pairs():
        rate, bets = speed(pair, asked.samples)
        print(
            f"{pair.name:<20}{bets:>6}{asked.samples:>12,}{rate:>14,.0f}"
            f"{PROMISED[pair.name]:>10,}{peak():>10.0f}{PROMISED_MB:>10}"
        )
    rate = whole_audit(asked.samples)
    print(f"a whole audit of a function that costs nothing: {rate:,.0f} samples per second")
    print("\nannounced at level 1e-6, the whole battery of pairs in turn")
    print(f"{'suspect':<42}{'mean':>14}{'99 in 100':>14}{'named':>14}")
    for size in sorted(prepare(speculative).announced, key=lambda size: size.mean):
        print(f"{size.suspect:<42}{size.mean:>14,.0f}{size.most:>14,.0f}{size.named:>14,.0f}")


if __name__ == "__main__":
    main()
