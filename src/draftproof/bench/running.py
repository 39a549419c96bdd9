"""Run every contestant on every task, interleaved, and sum up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

import numpy as np

from draftproof.bench.peers import Job
from draftproof.bench.tasks import TASKS, Task
from draftproof.rules import find_rule
from draftproof.session import Options, Session, Transcript
from draftproof.warp import Warp

PLAIN = "draftproof, plain"
DRAFTS: dict[str, tuple[str, int | Literal["auto"]]] = {
    "draftproof, ngram": ("ngram", 4),
    "draftproof, prompt lookup": ("prompt-lookup", 5),
    "draftproof, suffix": ("suffix", 8),
    "draftproof, ngram, k auto": ("ngram", "auto"),
}
"""Names of our own contestants, their draft and k."""

Contestant = Callable[[Job], tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contestant on one task.

    `tokens_per_second` is a median over repeats, prefill included; `ratio_to_plain` the median of
    the ratios to plain decoding (ours) in the same repeat, with a bootstrap interval of 95 %.
    """

    name: str
    task: str
    tokens_per_second: float
    ratio_to_plain: float
    interval: tuple[float, float]


def our_contestants(first: Session) -> dict[str, Contestant]:
    """Give our own contestants over one opened model."""
    return {PLAIN: _ours(first, "ngram", 0)} | {
        name: _ours(first, draft, k) for name, (draft, k) in DRAFTS.items()
    }


def _ours(first: Session, draft: str, k: int | Literal["auto"]) -> Contestant:
    def run(job: Job) -> tuple[int, float]:
        options = Options(
            draft=draft, k=k, chat=False, seed=job.seed, max_tokens=job.max_tokens,
            warp=Warp(temperature=job.temperature),
        )  # fmt: skip
        session = Session(options, find_rule("token-wise"), first.target)
        script = Transcript()
        for _ in session.run(session.encode(job.text), script, plain=k == 0):
            pass
        return script.tally.emitted, script.seconds + script.prefill

    return run


@dataclass(slots=True)
class Results:
    """Tokens per second of every contestant, by task and repeat."""

    speeds: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, task: str, name: str, tokens: int, seconds: float) -> None:
        """Note one run."""
        self.speeds.setdefault(task, {}).setdefault(name, []).append(tokens / seconds)

    def rows(self) -> list[Row]:
        """Sum up, task by task."""
        return [
            _row(name, task, speeds, by_name[PLAIN])
            for task, by_name in self.speeds.items()
            for name, speeds in by_name.items()
        ]


def _row(name: str, task: str, speeds: Sequence[float], plain: Sequence[float]) -> Row:
    ratios = np.array([one / other for one, other in zip(speeds, plain, strict=True)])
    random = np.random.default_rng(0)
    again = np.median(random.choice(ratios, size=(1000, len(ratios))), axis=1)
    low, high = np.quantile(again, (0.025, 0.975))
    return Row(
        name=name,
        task=task,
        tokens_per_second=median(speeds),
        ratio_to_plain=float(np.median(ratios)),
        interval=(float(low), float(high)),
    )


def run_bench(
    contestants: Mapping[str, Contestant],
    *,
    tasks: Sequence[Task] = TASKS,
    repeats: int = 5,
    max_tokens: int = 128,
    more: Callable[[], bool] = lambda: True,
    tick: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Let every contestant decode every task `repeats` times, in an order that changes.

    Parameters
    ----------
    contestants
        Functions of a job that give tokens and seconds; one is called ``draftproof, plain``.
    tasks, repeats, max_tokens
        What is decoded, how often, and how much.
    more
        Asked before each task of a further repeat; False ends the run, for a limit of time.
    tick
        Told what is done next.
    """
    found, order = Results(), np.random.default_rng(0)
    names = list(contestants)
    warming = replace(_job(tasks[0], 0, max_tokens), max_tokens=8)
    for name in names:
        tick(f"warming up {name}")
        contestants[name](warming)
    for repeat in range(repeats):
        for task in tasks:
            if repeat > 0 and not more():
                return found.rows()
            for at in order.permutation(len(names)):
                tick(f"{repeat + 1} of {repeats}: {task.name}: {names[at]}")
                tokens, seconds = contestants[names[at]](_job(task, repeat, max_tokens))
                found.add(task.name, names[at], tokens, seconds)
    return found.rows()


def _job(task: Task, seed: int, max_tokens: int) -> Job:
    return Job(text=task.text, temperature=task.temperature, max_tokens=max_tokens, seed=seed)
