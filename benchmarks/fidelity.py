"""How far the rows of the target as run here are from the model that its file describes.

Three readings of one GGUF file at the same positions: transformers on the unpacked weights in
single precision (the yardstick), llama.cpp's own server, and our back end, with its weights as
openvino-genai reads them (zero points rounded) and as they are restored. Total variation between
rows at temperature 1; needs the extra `bench`. llama.cpp gives its 200 likeliest tokens, so its
total variation is over those and the rest as one.

    python benchmarks/fidelity.py
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from draftproof import Draft
from draftproof.backends import open_backend, weights
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.backends.paged import PROFILES, Profile
from draftproof.warp import Warp

PROMPTS = (
    "Why is the sky blue?",
    "Write a short poem about rain.",
    "List three uses of a brick.",
    "Explain what a hash table is.",
)
STEPS = 12
"""Positions of each answer at which rows are compared."""

SHOWN = 200
SERVE = """
import sys, xllamacpp as lib
params = lib.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 2048, 1
params.warmup, params.cpuparams.n_threads = False, 2
server = lib.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""

Row = np.ndarray
Reading = Callable[[tuple[int, ...]], Row]


def main() -> None:
    """Compare the readings and print one line for each."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        gguf = weights.fetch(Path(name) / "package", print)
        target = open_backend(weights.DEFAULT)
        texts = list(positions(target))
        yard = unpacked(gguf)
        yardstick = [yard(text) for text in texts]
        print(f"{len(texts)} positions; total variation from transformers in single precision")
        print(f"{'reading':<56}{'median':>8}{'p95':>8}{'max':>8}{'same first':>12}")
        rounded = as_read(gguf, Path(name) / "rounded")
        for label, row in readings(target, rounded):
            report(label, [row(text) for text in texts], yardstick)
        with served(gguf) as ask:
            report("llama.cpp", [ask(text) for text in texts], yardstick)


def positions(target: OpenVinoBackend) -> Iterator[tuple[int, ...]]:
    """Give the prompts, each grown by the target's own likeliest tokens."""
    for prompt in PROMPTS:
        text = tuple(target.tokenizer.chat(prompt))
        for _ in range(STEPS):
            yield text
            text += (int(np.argmax(target.logits(text, Draft.empty())[0])),)


def readings(target: OpenVinoBackend, rounded: Path) -> Iterator[tuple[str, Reading]]:
    """Give our own readings: two foldersful of weights, under two profiles."""
    for label, folder in (("zero points rounded", rounded), ("weights restored", target.folder)):
        for profile in (target.profile, PROFILES[-1]):
            yield f"ours, {label}, {profile.name}", ours(folder, profile)


def ours(folder: Path, profile: Profile) -> Reading:
    """Open a model folder under a profile."""
    backend = OpenVinoBackend(
        folder, profile, name="compared", engine="tolerance", context_limit=2048
    )
    return lambda text: Warp().row(backend.logits(text, Draft.empty())[0])


def as_read(gguf: Path, folder: Path) -> Path:
    """Convert the file as openvino-genai does, without restoring anything."""
    folder.mkdir()
    shutil.copy(gguf, folder / gguf.name)
    code = "import sys, pathlib; from draftproof.backends.restoring import read; "
    code += "read(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder / gguf.name)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def unpacked(gguf: Path) -> Reading:
    """Open the file with transformers, every weight a single-precision number."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32
    ).eval()

    def row(text: tuple[int, ...]) -> Row:
        with torch.no_grad():
            return Warp().row(model(torch.tensor([text])).logits[0, -1].numpy())

    return row


@contextmanager
def served(gguf: Path) -> Iterator[Reading]:
    """Start llama.cpp's server on a loopback port and ask it for rows."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(gguf)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    address = next(line.split()[1] for line in process.stdout if line.startswith("listening"))

    def row(text: tuple[int, ...]) -> Row:
        body = {"prompt": list(text), "n_predict": 1, "n_probs": SHOWN, "cache_prompt": False}
        request = urllib.request.Request(
            f"{address}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            first = json.load(answer)["completion_probabilities"][0]["top_logprobs"]
        ids = np.array([entry["id"] for entry in first])
        found = np.full(ids.max() + 1, np.nan)
        found[ids] = np.exp([entry["logprob"] for entry in first])
        return found

    try:
        yield row
    finally:
        process.kill()


def total_variation(row: Row, wanted: Row) -> float:
    """Compare two rows; tokens that the first does not state count as one."""
    stated = np.flatnonzero(~np.isnan(row))
    rest = abs((1 - row[stated].sum()) - (1 - wanted[stated].sum()))
    return float(np.abs(row[stated] - wanted[stated]).sum() + rest) / 2


def report(label: str, rows: list[Row], wanted: list[Row]) -> None:
    """Print one line: how far, and how often the likeliest token is the same."""
    apart = [total_variation(a, b) for a, b in zip(rows, wanted, strict=True)]
    same = sum(np.nanargmax(a) == b.argmax() for a, b in zip(rows, wanted, strict=True))
    spread = "".join(f"{value:>8.3f}" for value in np.quantile(apart, [0.5, 0.95, 1]))
    print(f"{label:<56}{spread}{same:>9}/{len(rows)}", flush=True)


if __name__ == "__main__":
    main()
