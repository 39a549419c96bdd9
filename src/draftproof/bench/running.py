"""Run every contestant on every task, interleaved, and sum up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

import numpy as np

from draftproof.bench.peers import Job
from draftproof.bench.tasks import TASKS, Task
from draftproof.errors import BackendError
from draftproof.planner.replay import Spot
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

FEWEST = 5
"""Repeats for an interval: the range of n ratios misses their median with probability 2 / 2^n."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One text decoded.

    Parameters
    ----------
    tokens, seconds
        What came out and what it took, prefill included.
    decoding
        Seconds without prefill; None where the contestant does not say.
    rounds
        What each round drafted and kept; empty where the contestant does not say.
    """

    tokens: int
    seconds: float
    decoding: float | None = None
    rounds: tuple[Spot, ...] = ()

    @property
    def speed(self) -> float:
        """Tokens per second, prefill included."""
        return self.tokens / self.seconds


Contestant = Callable[[Job], Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contestant on one task.

    `tokens_per_second` is a median over repeats, prefill included; `ratio_to_plain` the median of
    the ratios to plain decoding (ours) in the same repeat, with a bootstrap interval of 95 %; None
    below ``FEWEST`` repeats, where a bootstrap of the median holds it far less often.
    """

    name: str
    task: str
    tokens_per_second: float
    ratio_to_plain: float
    interval: tuple[float, float] | None


def our_contestants(first: Session) -> dict[str, Contestant]:
    """Give our own contestants over one opened model."""
    return {PLAIN: _ours(first, "ngram", 0)} | {
        name: _ours(first, draft, k) for name, (draft, k) in DRAFTS.items()
    }


def session_of(
    first: Session, job: Job, draft: str, k: int | Literal["auto"] = 4
) -> tuple[Session, tuple[int, ...]]:
    """Give the session that decodes a job with one of our drafts, and its prompt in tokens."""
    options = Options(
        draft=draft, k=k, chat=False, seed=job.seed, max_tokens=job.max_tokens,
        warp=Warp(temperature=job.temperature),
    )  # fmt: skip
    session = Session(options, find_rule("token-wise"), first.target)
    return session, session.encode(job.text)


def _ours(first: Session, draft: str, k: int | Literal["auto"]) -> Contestant:
    def run(job: Job) -> Run:
        session, text = session_of(first, job, draft, k)
        script = Transcript()
        rounds = [step.round for step in session.run(text, script, plain=k == 0)]
        return Run(
            tokens=script.tally.emitted,
            seconds=script.seconds + script.prefill,
            decoding=script.seconds,
            rounds=tuple(Spot(len(one.draft), one.accepted) for one in rounds),
        )

    return run


@dataclass(slots=True)
class Results:
    """Every run, by task and contestant in the order they came; and who was left out, and why."""

    runs: dict[str, dict[str, list[Run]]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, task: str, name: str, run: Run) -> None:
        """Note one run."""
        self.runs[task][name].append(run)

    def drop(self, name: str, reason: str) -> None:
        """Leave a contestant out, with all it did."""
        self.left_out[name] = reason
        for by_name in self.runs.values():
            by_name.pop(name, None)

    def rows(self) -> list[Row]:
        """Sum up, task by task."""
        return [
            _row(name, task, [run.speed for run in runs], [run.speed for run in by_name[PLAIN]])
            for task, by_name in self.runs.items()
            for name, runs in by_name.items()
            if runs
        ]


def _row(name: str, task: str, speeds: Sequence[float], plain: Sequence[float]) -> Row:
    ratios = np.array([one / other for one, other in zip(speeds, plain, strict=True)])
    return Row(
        name=name,
        task=task,
        tokens_per_second=median(speeds),
        ratio_to_plain=float(np.median(ratios)),
        interval=_interval(ratios) if len(ratios) >= FEWEST else None,
    )


def _interval(ratios: np.ndarray) -> tuple[float, float]:
    random = np.random.default_rng(0)
    again = np.median(random.choice(ratios, size=(1000, len(ratios))), axis=1)
    low, high = np.quantile(again, (0.025, 0.975))
    return float(low), float(high)


def run_bench(
    contestants: Mapping[str, Contestant],
    *,
    tasks: Sequence[Task] = TASKS,
    repeats: int = 5,
    max_tokens: int = 128,
    more: Callable[[], bool] = lambda: True,
    tick: Callable[[str], None] = lambda _: None,
) -> Results:
    """Let every contestant decode every task `repeats` times, in an order that changes.

    A contestant that fails is left out from there on, with all it did, and the reason is kept.

    Parameters
    ----------
    contestants
        Functions of a job that decode it; one is called ``draftproof, plain``.
    tasks, repeats, max_tokens
        What is decoded, how often, and how much.
    more
        Asked before each task of a further repeat; False ends the run, for a limit of time.
    tick
        Told what is done next.
    """
    found = Results({task.name: {name: [] for name in contestants} for task in tasks})
    left = dict(contestants)
    warming = replace(job_of(tasks[0], 0, max_tokens), max_tokens=8)
    for name in contestants:
        tick(f"warming up {name}")
        _try(found, left, name, warming)
    for repeat, task, names in _turns(list(contestants), tasks, repeats, more):
        for name in names:
            if name in left:
                tick(f"{repeat + 1} of {repeats}: {task.name}: {name}")
                _try(found, left, name, job_of(task, repeat, max_tokens), task.name)
    return found


def _turns(
    names: list[str], tasks: Sequence[Task], repeats: int, more: Callable[[], bool]
) -> Iterator[tuple[int, Task, list[str]]]:
    """Yield each repeat of each task with its order of contestants."""
    order = np.random.default_rng(0)
    for repeat in range(repeats):
        for task in tasks:
            if repeat > 0 and not more():
                return
            yield repeat, task, [names[at] for at in order.permutation(len(names))]


def _try(
    found: Results, left: dict[str, Contestant], name: str, job: Job, task: str | None = None
) -> None:
    """Let one contestant decode a job, and note it if it is timed."""
    try:
        run = left[name](job)
    except BackendError as error:
        if name == PLAIN:
            raise
        del left[name]
        found.drop(name, str(error))
        return
    if task is not None:
        found.add(task, name, run)


def job_of(task: Task, seed: int, max_tokens: int) -> Job:
    """Give what a contestant is asked for."""
    return Job(text=task.text, temperature=task.temperature, max_tokens=max_tokens, seed=seed)
