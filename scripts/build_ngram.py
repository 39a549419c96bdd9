"""Build the package data of the n-gram draft: let the default model write, keep what it wrote.

    python scripts/build_ngram.py            # samples, writes the file, measures
    python scripts/build_ngram.py --measure  # measures the file that is there

The texts are answers to `ngram_prompts.txt`, sampled at a fixed temperature and seed. The file
holds token ids only; `draftproof.proposers.Grams` counts them when it is loaded. Measured is the
overlap with the target, the sum of min(p, q), on answers to prompts that were held out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from draftproof import Dice, Draft
from draftproof.backends import open_backend
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.contracts import Text
from draftproof.proposers import Grams, NGram
from draftproof.warp import Warp

HERE = Path(__file__).parent
DATA = HERE.parent / "src" / "draftproof" / "data" / "smollm2-ngram.npz"
PROMPTS = HERE / "ngram_prompts.txt"
HELD_OUT = "## held out"

TEMPERATURE = 0.8
SEED = 20261130
HELD_OUT_SEED = 7
LEAD_IN = 3
"""How many tokens of the prompt's end each text keeps, so that openings are learnt in place."""


def prompts() -> tuple[list[str], list[str]]:
    """Give the prompts to learn from, and those held out."""
    parts: tuple[list[str], list[str]] = ([], [])
    held_out = 0
    for line in PROMPTS.read_text("utf-8").splitlines():
        held_out = held_out or int(line == HELD_OUT)
        if line and not line.startswith("#"):
            parts[held_out].append(line)
    return parts


def write_data(backend: OpenVinoBackend, *, answers: int, length: int, batch: int) -> None:
    """Sample the texts, all prompts once per round, and save them after every round."""
    asked = [backend.tokenizer.chat(prompt) for prompt in prompts()[0]]
    texts: list[Text] = []
    start = time.perf_counter()
    for turn in range(answers):
        sampled = backend.sample_texts(
            asked, temperature=TEMPERATURE, max_tokens=length, seed=SEED + turn, batch=batch
        )
        for index, text in sorted(sampled):
            texts.append((*asked[index][-LEAD_IN:], *text))
        save(texts)
        print(f"round {turn + 1} of {answers} after {time.perf_counter() - start:.0f} s")


def save(texts: list[Text]) -> None:
    """Write the package data."""
    lengths = [len(text) for text in texts]
    np.savez_compressed(
        DATA,
        tokens=np.concatenate(texts).astype(np.uint16),
        starts=np.cumsum([0, *lengths[:-1]]).astype(np.uint32),
        temperature=np.float64(TEMPERATURE),
    )
    print(f"{DATA.name}: {len(texts)} texts, {sum(lengths)} tokens, {DATA.stat().st_size} bytes")


def held_out_answers(
    backend: OpenVinoBackend, temperature: float, length: int
) -> Iterator[tuple[Text, Text]]:
    """Give the held-out prompts with the model's answers."""
    asked = [backend.tokenizer.chat(prompt) for prompt in prompts()[1]]
    for index, text in backend.sample_texts(
        asked, temperature=temperature, max_tokens=length, seed=HELD_OUT_SEED, batch=len(asked)
    ):
        yield asked[index], text


def measure(backend: OpenVinoBackend, length: int) -> None:
    """Print how much of the target the draft covers, at several temperatures."""
    start = time.perf_counter()
    grams = Grams.shipped()
    print(f"loaded in {(time.perf_counter() - start) * 1e3:.0f} ms")
    print(f"{'temperature':>11}{'tokens':>8}{'overlap':>9}{'p(best guess)':>15}")
    for temperature in (0.4, 0.6, 0.8, 1.0):
        answers = list(held_out_answers(backend, temperature, length))
        pairs = [pair for answer in answers for pair in rows(backend, grams, temperature, *answer)]
        covered = np.mean([np.minimum(p, q).sum() for p, q in pairs])
        guessed = np.mean([p[q.argmax()] for p, q in pairs])
        print(f"{temperature:>11}{len(pairs):>8}{covered:>9.3f}{guessed:>15.3f}")


def rows(
    backend: OpenVinoBackend, grams: Grams, temperature: float, prompt: Text, answer: Text
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give the target's and the draft's row at every position of an answer."""
    warp = Warp(temperature=temperature)
    draft = NGram(backend.vocab_size, grams, warp=warp)
    whole = Draft.chain(answer, [np.empty(0)] * len(answer))
    logits = backend.logits(prompt, whole)
    for at in range(len(answer)):
        guess = draft.propose(Dice(0), (*prompt, *answer[:at]), 1)
        yield warp.row(logits[at]), guess.rows[0]


def main() -> None:
    """Read the options, then sample and measure, or measure only."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", default="smollm2", help="model that writes (%(default)s)")
    parser.add_argument("--answers", type=int, default=7, help="per prompt (%(default)s)")
    parser.add_argument("--length", type=int, default=256, help="most tokens each (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="texts in one pass (%(default)s)")
    parser.add_argument("--measure", action="store_true", help="only measure what is there")
    options = parser.parse_args()
    backend = open_backend(options.target)
    if not options.measure:
        write_data(backend, answers=options.answers, length=options.length, batch=options.batch)
    measure(backend, length=96)


if __name__ == "__main__":
    main()
