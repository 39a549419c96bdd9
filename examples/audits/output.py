"""What the audits of this folder share: the worlds they try, and how they print."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from draftproof.audit.coins import check_coins
from draftproof.audit.enumerate import Enumeration, NeedsNumbers, enumerate_sampler
from draftproof.backends.table import Table
from draftproof.battery import WORLDS

ROUNDS = 20_000


def headline(package: str, function: str) -> None:
    """Print what is audited, with its version."""
    print(f"\n{package} {version(package)}: {function}")


def law(
    make: Callable[[Table, Table, int], Callable[..., Any]],
    *,
    signature: str,
    lengths: Sequence[Any] = (1, 2),
    worlds: Sequence[Any] = WORLDS,
) -> None:
    """Enumerate a function in every world, for every draft length, and print each verdict.

    `make` is given the target, the draft and k, and returns the function in that world.
    """
    for world in worlds:
        for k in lengths:
            start = time.perf_counter()
            fn = make(world.target, world.draft, k)
            try:
                found = enumerate_sampler(
                    fn, world.target, world.draft, signature=signature, k=k, luck="torch"
                )
            except NeedsNumbers as refused:
                print(f"  {world.name}, k={k}: not enumerable, {refused}")
                continue
            print(f"  {world.name}, k={k}: {found.verdict}", end="")
            print(f"  [{found.method}, {found.runs} runs, {time.perf_counter() - start:.1f} s]")
            _reasons(found)


def _reasons(found: Enumeration) -> None:
    for line in (found.counterexample(), *found.findings, *found.remarks):
        if line:
            print(f"    {line}")


def sampled(play: Callable[[Any], Any], target: Table, text: tuple[int, ...]) -> None:
    """Print how often a round begins a text, with PyTorch's own luck and nothing intercepted.

    What a round leaves open of the text is counted with the target's probability of it.
    """
    torch.manual_seed(0)
    shares = np.array([_share(play(None).tolist(), target, text) for _ in range(ROUNDS)])
    wanted = float(np.prod([target.row(text[:at])[token] for at, token in enumerate(text)]))
    error = shares.std() / ROUNDS**0.5
    print(f"  {ROUNDS} rounds with PyTorch's own luck: {text} has probability ", end="")
    print(f"{shares.mean():.4f} +- {error:.4f}, and should have {wanted:.4f}")


def _share(emitted: list[int], target: Table, text: tuple[int, ...]) -> float:
    length = min(len(emitted), len(text))
    if tuple(emitted[:length]) != text[:length]:
        return 0.0
    rest = range(length, len(text))
    return float(np.prod([float(target.row(text[:at])[text[at]]) for at in rest]))


def coins(fn: Callable[..., Any], *, signature: str, form: str = "probabilities") -> None:
    """Print the edges at which a function is wrong."""
    found = check_coins(fn, signature, luck="torch", form=form)
    wrong = [finding for finding in found if not finding.ok]
    print(f"  edge coins and rows: {len(found) - len(wrong)} of {len(found)} as they should be")
    for finding in wrong:
        print(f"    {finding.case}: wanted {finding.wanted}, but {finding.seen}")
