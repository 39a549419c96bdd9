"""Milliseconds of a pass over n new tokens, and whether rows depend on how a text is split.

python benchmarks/backend_passes.py                 the profile chosen on this machine
python benchmarks/backend_passes.py --profiles      every profile the processor supports
python benchmarks/backend_passes.py --sampling      tokens per second when writing in batches
python benchmarks/backend_passes.py --prompt 4000   seconds and peak memory of a long prompt
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time

import numpy as np

from draftproof.backends import open_backend, paged
from draftproof.backends.conformance import check_backend
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.backends.paged import PROFILES, Profile, machine
from draftproof.contracts import Draft

SIZES = range(1, 18)
CONTEXT = 128
SETTLING = 9
"""Passes of one size after which none of another size is remembered (`paged.Width`)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="smollm2")
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--profiles", action="store_true")
    parser.add_argument("--sampling", action="store_true")
    parser.add_argument("--prompt", type=int, metavar="TOKENS")
    chosen = parser.parse_args()
    backend = open_backend(chosen.target)
    describe(backend)
    if chosen.sampling:
        sampling(backend)
    elif chosen.prompt:
        prompt(backend, chosen.prompt)
    else:
        able = [p for p in PROFILES if p.needs in machine()["abilities"].split()]
        for profile in able if chosen.profiles else [backend.profile]:
            passes(reopened(backend, profile), chosen.repeat)


def describe(backend: OpenVinoBackend) -> None:
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{backend.name}: {backend.engine}, profile {backend.profile.name!r}")
    print(f"{os.cpu_count()} cores{load}, {platform.system()}, Python {platform.python_version()}")
    for what, value in machine().items():
        print(f"  {what}: {value}")


def reopened(backend: OpenVinoBackend, profile: Profile) -> OpenVinoBackend:
    return OpenVinoBackend(
        backend.folder,
        profile,
        name=profile.name,
        engine="bit-exact",
        context_limit=backend.context_limit,
    )


def text(backend: OpenVinoBackend, length: int) -> tuple[int, ...]:
    drawn = np.random.default_rng(0).integers(100, backend.vocab_size, length)
    return tuple(int(token) for token in drawn)


def passes(backend: OpenVinoBackend, repeat: int) -> None:
    """Time passes of one size in a row, then of sizes in disorder, filled up and not."""
    print(f"\nprofile {backend.profile.name!r}, {CONTEXT} tokens of context, {repeat} passes each")
    rng = np.random.default_rng(1)
    rows = np.repeat(rng.permutation(list(SIZES) * 2), SETTLING + repeat // 2)
    steady = timed(backend, rows, skip=SETTLING, run=SETTLING + repeat // 2)
    mixed = timed(backend, rng.permutation(np.repeat(SIZES, repeat)))
    widest, paged.WIDEST = paged.WIDEST, 0
    unfilled = timed(backend, rng.permutation(np.repeat(SIZES, repeat)))
    paged.WIDEST = widest
    print("             one size in a row      sizes in disorder, median ms")
    print("new tokens   median ms  fastest     filled up   not filled up")
    for size in SIZES:
        times = steady[size]
        middle = np.median(times), min(times), np.median(mixed[size]), np.median(unfilled[size])
        print("{:>10}  {:>10.1f}  {:>7.1f}  {:>12.1f}  {:>14.1f}".format(size, *middle))
    print(check_backend(backend, at_limit=False))


def timed(
    backend: OpenVinoBackend, sizes: np.ndarray, skip: int = 0, run: int = 1
) -> dict[int, list[float]]:
    """Milliseconds of each pass, by size; the first `skip` of every `run` passes are left out."""
    tokens = text(backend, CONTEXT + max(SIZES))
    seen: dict[int, list[float]] = {size: [] for size in SIZES}
    for turn, size in enumerate(map(int, sizes)):
        draft = Draft.chain(tokens[CONTEXT : CONTEXT + size - 1], (None,) * (size - 1))
        begun = time.perf_counter()
        backend.logits(tokens[:CONTEXT], draft)
        if turn % run >= skip:
            seen[size].append(1e3 * (time.perf_counter() - begun))
    return seen


def sampling(backend: OpenVinoBackend) -> None:
    questions = [f"Tell me about the number {number}." for number in range(64)]
    prompts = [backend.tokenizer.chat(question) for question in questions]
    print("\nbatch   tokens/s")
    for batch in (1, 8, 32, 64):
        begun = time.perf_counter()
        written = backend.sample_texts(
            prompts[: max(4, batch)], temperature=0.8, max_tokens=64, seed=0, batch=batch
        )
        count = sum(len(tokens) for _, tokens in written)
        print(f"{batch:>5}  {count / (time.perf_counter() - begun):>9.0f}")
        backend.forget()


def prompt(backend: OpenVinoBackend, length: int) -> None:
    begun = time.perf_counter()
    backend.logits(text(backend, length), Draft.empty())
    seconds = time.perf_counter() - begun
    print(f"\n{length} tokens in {seconds:.1f} s, {length / seconds:.0f} tokens/s")
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        print(f"peak memory {peak / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
