"""What `plan` prints about other people's metrics and settings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from draftproof.cli.screen import console_for
from draftproof.errors import InvalidInput
from draftproof.planner.metrics import Definition, Metrics, between
from draftproof.planner.reading import read_metrics_file


def read_both(files: Sequence[Path]) -> Metrics:
    """Read one file, or what was counted between two."""
    if len(files) > 2:
        raise InvalidInput(f"--metrics was given {len(files)} times; give one file, or two.")
    read = [read_metrics_file(file) for file in files]
    return read[0] if len(read) == 1 else between(*read)


def as_dict(read: Metrics) -> dict[str, Any]:
    """Give the JSON object of a reading; what the source does not tell is null."""
    return {
        "source": read.source,
        "names": {name: what.value for name, what in read.names},
        "drafts": read.drafts,
        "drafted": read.drafted,
        "accepted": read.accepted,
        "tokens_per_round": read.mean_length,
        "acceptance_rate": read.rate,
        "unconditional_per_position": list(read.survival),
        "conditional_per_position": list(read.conditional),
        "lengths_varied": read.varied,
        "notes": list(read.notes),
    }


def show_metrics(read: Metrics) -> None:
    """Print what was read, by definition; "none" where nothing was drafted."""
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, what in read.names:
        grid.add_row(name, f"is {what.value}")
    grid.add_row("", "")
    grid.add_row("drafts verified", "not told" if read.drafts is None else str(read.drafts))
    values = {
        Definition.LENGTH: _number(read, read.mean_length),
        Definition.PER_DRAFTED: _number(read, read.rate),
        Definition.SURVIVAL: _list(read, read.survival),
        Definition.CONDITIONAL: _list(read, read.conditional),
    }
    for what, value in values.items():
        grid.add_row(value, what.value)
    console = console_for(sys.stdout)
    console.print(f"{read.source}:", style="bold")
    console.print(grid, soft_wrap=False)
    if read.varied:
        console.print(
            "Drafts had different lengths: a position that was not drafted counts as not kept, so "
            "the acceptances per position are lower bounds, for this draft only.",
            soft_wrap=False,
        )
    for note in read.notes:
        console.print(note, soft_wrap=False)


def _number(read: Metrics, value: float | None) -> str:
    if value is None:
        return "none" if read.empty else "not told"
    return f"{value:.3f}"


def _list(read: Metrics, values: Sequence[float]) -> str:
    if not values:
        return "none" if read.empty else "not told"
    return " ".join(f"{one:.3f}" for one in values)


def show_settings(texts: dict[str, str]) -> None:
    """Print what to paste into each engine."""
    console = console_for(sys.stdout)
    console.print("\nSettings to paste:", style="bold")
    for engine, text in texts.items():
        console.print(f"  {engine:<10} {text or 'leave speculation off'}")
