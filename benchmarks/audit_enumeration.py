"""How fast foreign code is enumerated: branches per second on every way its luck is met.

Run it with ``python benchmarks/audit_enumeration.py``. The same speculative step, and a block of
two drafted tokens, are written for NumPy, for PyTorch (left out where it is not installed) and for
uniforms as an argument; the time is that of everything, the code itself included. Each law repeats
its first runs to look for luck that was not handed over; those repeats are not counted as branches.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from draftproof.audit.catalogue import speculative
from draftproof.audit.enumerate import Enumeration, enumerate_sampler
from draftproof.audit.loop_bugs import LOOP_BUGS, LOOP_WORLDS
from draftproof.audit.pairs import PAIRS, Pair
from draftproof.audit.suspects_blocks import TOKEN_WISE
from draftproof.battery import WORLDS

ENOUGH = 1.0
"""Seconds that each way is repeated for."""


def from_uniforms(p: Any, q: Any, u: Any) -> int:
    """One speculative step on three uniforms."""
    token = _first(np.cumsum(q), u[0])
    if u[1] * q[token] < p[token]:
        return token
    left = np.maximum(p - q, 0)
    edges = np.cumsum(left if left.any() else p)
    return _first(edges, u[2] * edges[-1])


def _first(edges: Any, u: Any) -> int:
    return next(at for at in range(len(edges)) if u < edges[at])


def from_plain_numbers(p: Any, q: Any, rng: Any) -> int:
    """The same, with each random number turned into a plain float: found by bisection."""
    return from_uniforms(p, q, [float(rng.random()) for _ in range(3)])


def from_torch(p: Any, q: Any, generator: Any) -> int:
    """One speculative step in PyTorch."""
    import torch

    token = int(torch.multinomial(q, 1, generator=generator))
    if torch.rand(1, generator=generator) * q[token] < p[token]:
        return token
    left = (p - q).clamp(min=0)
    return int(torch.multinomial(left if left.any() else p, 1, generator=generator))


def steps(
    fn: Callable[..., Any], pairs: Sequence[Pair] = PAIRS, **options: Any
) -> Iterator[Enumeration]:
    for pair in pairs:
        yield enumerate_sampler(fn, pair.p, pair.q, **options)


def blocks() -> Iterator[Enumeration]:
    for world in WORLDS:
        yield enumerate_sampler(TOKEN_WISE.judge, world.target, world.draft, signature="block")


def ways() -> Iterator[tuple[str, Callable[[], Iterator[Enumeration]]]]:
    yield "a  NumPy generator, step", lambda: steps(speculative)
    yield "a  NumPy generator, block of 2", blocks
    yield "a  plain floats, by bisection", lambda: steps(from_plain_numbers, pairs=PAIRS[:1])
    if importlib.util.find_spec("torch"):
        yield "b  PyTorch, step", lambda: steps(from_torch, luck="torch")
    yield "c  uniforms as an argument", lambda: steps(from_uniforms, uniforms=3)


def main() -> None:
    print(f"{'way':<32}{'laws':>7}{'branches':>11}{'seconds':>9}{'per second':>12}  arithmetic")
    for name, found in ways():
        next(found())  # imports and caches are not counted
        began, laws, runs, arithmetic = time.perf_counter(), 0, 0, dict[str, None]()
        while time.perf_counter() - began < ENOUGH:
            for one in found():
                laws, runs = laws + 1, runs + one.runs
                arithmetic[one.arithmetic] = None
        spent = time.perf_counter() - began
        kinds = " and ".join(arithmetic)
        print(f"{name:<32}{laws:>7,}{runs:>11,}{spent:>9.2f}{runs / spent:>12,.0f}  {kinds}")
    began, laws = time.perf_counter(), 0
    for world in LOOP_WORLDS:
        for bug in LOOP_BUGS:
            if bug.shows_in(world):
                bug.parts.law(world)
                laws += 1
    spent = time.perf_counter() - began
    print(f"\n{laws} laws of wrong decode loops in {spent:.2f} s")


if __name__ == "__main__":
    main()
