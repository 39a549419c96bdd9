"""What SGLang says about speculation: gauges of each rank, and log lines.

Both are means over the last moments, without the counts behind them, so that several cannot be
pooled as counters are. An idle rank, or a line in which nothing ran, shows a length of 0 and is
left out. Of the others the plain mean is taken, each counting the same, and a note says so.

Format: ``python/sglang/srt/observability/metrics_collector.py`` (sgl-project/sglang, commit
016d8605).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from draftproof.errors import InvalidInput
from draftproof.planner import figures
from draftproof.planner.metrics import Definition, Metrics

LINE = re.compile(r"accept len(?:gth)?: (?P<length>[^\s,]*)(?:, accept rate: (?P<rate>[^\s,]*))?")
LENGTH, RATE = "sglang:spec_accept_length", "sglang:spec_accept_rate"
STEPS = "sglang:spec_num_steps"
DEFINITIONS = {LENGTH: Definition.LENGTH, RATE: Definition.PER_DRAFTED}

EXACT, PRINTED = 5e-7, 0.005 + 1e-9
"""Half a unit of the last digit of a gauge, which is exact, and of a number with two decimals."""


@dataclass(frozen=True, slots=True)
class _Mean:
    """Tokens per round, kept over drafted, and drafts per round, of one rank or one log line."""

    length: float
    rate: float | None = None
    steps: int | None = None


def from_log(text: str, name: str) -> Metrics | None:
    """Read the log lines that give an accept length; None where there is none."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found = [_line(match, name) for line in lines for match in LINE.finditer(line)]
    if not found:
        return None
    names: tuple[tuple[str, Definition], ...] = (("accept len", Definition.LENGTH),)
    if any(one.rate is not None for one in found):
        names += (("accept rate", Definition.PER_DRAFTED),)
    k = _fitting(found, PRINTED)
    return replace(_together(found, ("log line", "log lines"), k), source="SGLang log", names=names)


def _line(match: re.Match[str], name: str) -> _Mean:
    what = f"metrics {name}: accept len"
    length = figures.length(figures.decimal(match["length"], what), what)
    if match["rate"] is None:
        return _Mean(length)
    what = f"metrics {name}: accept rate"
    return _Mean(length, figures.share(figures.decimal(match["rate"], what), what))


def from_gauges(samples: Sequence[Any], name: str) -> Metrics | None:
    """Read the gauges; None where there is no accept length."""
    found = [_rank(sample, samples, name) for sample in samples if sample.name == LENGTH]
    if not found:
        return None
    there = {sample.name for sample in samples}
    names = tuple((one, what) for one, what in DEFINITIONS.items() if one in there)
    together = _together(found, ("rank", "ranks"), _agreed(found, name))
    return replace(together, source="sglang gauges", names=names)


def _rank(sample: Any, samples: Sequence[Any], name: str) -> _Mean:
    """Put the gauges of one rank together: those whose labels it has too."""
    labels = sample.labels.items()
    own = {one.name: one.value for one in samples if one.labels.items() <= labels}
    rate, steps = own.get(RATE), own.get(STEPS)
    return _Mean(
        figures.length(sample.value, f"metrics {name}: {LENGTH}"),
        None if rate is None else figures.share(rate, f"metrics {name}: {RATE}"),
        None if steps is None else figures.drafts(steps, f"metrics {name}: {STEPS}"),
    )


def _busy(found: Sequence[_Mean]) -> list[_Mean]:
    return [one for one in found if one.length > 0]


def _together(found: Sequence[_Mean], words: tuple[str, str], k: int | None) -> Metrics:
    """Give the plain mean of those that are busy, and say so."""
    busy = _busy(found)
    rates = [one.rate for one in busy if one.rate is not None]
    return Metrics(
        source="",
        length=math.fsum(one.length for one in busy) / max(len(busy), 1),
        share=math.fsum(rates) / len(rates) if rates and len(rates) == len(busy) else None,
        k=k,
        notes=_notes(len(found) - len(busy), len(busy), words),
    )


def _notes(idle: int, busy: int, words: tuple[str, str]) -> tuple[str, ...]:
    one, several = words
    notes = []
    if idle and busy:
        are = f"{one} is" if idle == 1 else f"{several} are"
        notes.append(f"{idle} {are} idle, with a length of 0, and left out.")
    if busy > 1:
        notes.append(
            f"{busy} {several} give means without counts, which cannot be pooled: their plain mean "
            f"is taken, each counting the same."
        )
    return tuple(notes)


def _agreed(found: Sequence[_Mean], name: str) -> int | None:
    """Give the drafts per round of the busy ranks, as configured or as their gauges imply."""
    busy = _busy(found)
    told = {one.steps for one in busy if one.steps}
    told = told or {k for one in busy if (k := _fitting([one], EXACT)) is not None}
    if len(told) > 1:
        raise InvalidInput(
            f"metrics {name}: its ranks draft {' and '.join(map(str, sorted(told)))} tokens per "
            f"round, and lengths of different k have no mean; give the lines of one rank."
        )
    return told.pop() if told else _fitting(busy, PRINTED)


def _fitting(found: Sequence[_Mean], slack: float) -> int | None:
    """Give the only drafts per round that every length and rate fit: both count kept drafts.

    Where none fits the rate means something else (older SGLang counted the target's own token
    into it), and where several do, the numbers are too coarse.

    Examples
    --------
    >>> _fitting([_Mean(2.8, 0.6)], PRINTED), _fitting([_Mean(2.8, 0.7)], PRINTED)
    (3, None)
    """
    low, high = 1, figures.MOST_DRAFTS
    for one in _busy(found):
        if one.rate is not None:
            low = max(low, math.ceil((one.length - 1 - slack) / (one.rate + slack)))
        if one.rate is not None and one.rate > slack:
            high = min(high, math.floor((one.length - 1 + slack) / (one.rate - slack)))
    return low if low == high else None
