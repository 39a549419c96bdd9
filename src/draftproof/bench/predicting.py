"""Predict each speed-up from measured costs and what was kept, and hold it against the clock.

The costs are measured before anything is decoded, part by part: passes of every size, drafts, and
rows. What each round drafted and kept is taken from the runs themselves, all repeats together. The
measured speed-up is plain decoding's time per token over the contestant's, prefill left out of
both, as the median over repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

from draftproof.bench.running import DRAFTS, PLAIN, Results, Run, job_of, session_of
from draftproof.bench.tasks import TASKS, Task
from draftproof.planner.replay import predict_rounds
from draftproof.planner.timing import Timings, time_drafts, time_parts
from draftproof.session import Session

LONGEST = 12
"""Longest draft of any of our contestants."""

Costs: TypeAlias = Mapping[tuple[str, str], Timings]
"""Measured costs by task and contestant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A predicted and a measured speed-up of one of our contestants on one task."""

    name: str
    task: str
    predicted: float
    interval: tuple[float, float]
    measured: float

    @property
    def difference(self) -> float:
        """How far the prediction is off, as a share of what was measured.

        Examples
        --------
        >>> Forecast(name="", task="", predicted=1.5, interval=(1, 2), measured=2.0).difference
        -0.25
        """
        return self.predicted / self.measured - 1


def measure_costs(
    first: Session,
    *,
    tasks: Sequence[Task] = TASKS,
    repeats: int = 5,
    tick: Callable[[str], None] = lambda _: None,
) -> dict[tuple[str, str], Timings]:
    """Time the parts of a round at every temperature, for each of our contestants.

    Parameters
    ----------
    first
        An opened session over the target.
    tasks, repeats
        What is decoded, of which the longest prompt is timed; and samples of each part.
    tick
        Told what is done next.
    """
    found: dict[tuple[float, str], Timings] = {}
    for temperature in dict.fromkeys(task.temperature for task in tasks):
        tick(f"timing the parts of a round at T = {temperature:g}")
        alike = [task for task in tasks if task.temperature == temperature]
        job = job_of(max(alike, key=lambda task: len(task.text)), 0, 0)
        session, text = session_of(first, job, "ngram")
        parts = time_parts(
            session.predictor(text), session.proposer(text), text,
            repeats=repeats, counts=range(1, LONGEST + 2),
        )  # fmt: skip
        for name, (draft, _) in DRAFTS.items():
            proposer = session_of(first, job, draft)[0].proposer(text)
            drafts = time_drafts(proposer, text, LONGEST, repeats=repeats)
            found[temperature, name] = replace(parts, draft=drafts)
    return {(task.name, name): found[task.temperature, name] for task in tasks for name in DRAFTS}


def forecasts(results: Results, costs: Costs) -> Iterator[Forecast]:
    """Yield a forecast for each task and each of our contestants that was timed on it."""
    for task, by_name in results.runs.items():
        for name, runs in by_name.items():
            if runs and (task, name) in costs:
                yield _forecast(task, name, runs, by_name[PLAIN], costs[task, name])


def _forecast(
    task: str, name: str, runs: Sequence[Run], plain: Sequence[Run], costs: Timings
) -> Forecast:
    done = [one for run in runs for one in run.rounds]
    most = max(one.drafted for one in done)
    told = predict_rounds(done, costs, most)
    return Forecast(
        name=name,
        task=task,
        predicted=told.speedup,
        interval=told.interval,
        measured=median(_pace(other) / _pace(one) for one, other in zip(runs, plain, strict=True)),
    )


def _pace(run: Run) -> float:
    """Seconds of decoding per token."""
    return (run.seconds if run.decoding is None else run.decoding) / run.tokens


def median_difference(told: Sequence[Forecast]) -> float | None:
    """Give the median over the texts of how far predictions are off; None where there are none.

    Each text counts once: with the median over its contestants.
    """
    by_task: dict[str, list[float]] = {}
    for one in told:
        by_task.setdefault(one.task, []).append(abs(one.difference))
    return median(median(each) for each in by_task.values()) if by_task else None
