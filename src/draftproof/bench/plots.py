"""A chart of a benchmark, as an SVG or PNG file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draftproof.bench.predicting import Forecast
from draftproof.bench.running import Row
from draftproof.planner.plots import new_figure, save

ACROSS = 3
"""Most panels side by side."""


def draw_rows(rows: Sequence[Row], file: Path, told: Sequence[Forecast] = ()) -> None:
    """Draw ratios to plain decoding with their intervals, one panel for each task.

    Where there are predictions, a last panel holds them against what was measured.

    Raises
    ------
    MissingExtra, InvalidInput
        As `draftproof.planner.plots.draw` does.
    """
    tasks = list(dict.fromkeys(row.task for row in rows))
    names = list(dict.fromkeys(row.name for row in rows))
    across = min(len(tasks), ACROSS)
    down = -(-len(tasks) // across) + bool(told)
    figure = new_figure(file, width=2.5 + 3 * across, height=(1 + 0.28 * len(names)) * down)
    grid = figure.add_gridspec(down, across)
    for at, task in enumerate(tasks):
        axes = figure.add_subplot(grid[at // across, at % across])
        _ratios(axes, task, names, {row.name: row for row in rows if row.task == task})
        if at % across:
            axes.set_yticklabels([])
    if told:
        _predictions(figure.add_subplot(grid[down - 1, :]), told)
    save(figure, file)


def _ratios(axes: Any, task: str, names: list[str], rows: Mapping[str, Row]) -> None:
    for at, name in enumerate(names):
        if (row := rows.get(name)) is not None:
            axes.barh(at, row.ratio_to_plain, color="C0" if "draftproof" in name else "0.7")
            axes.plot(row.interval or (), (at, at) if row.interval else (), color="black")
    axes.axvline(1, color="0.4", linewidth=1)
    axes.set(title=task, xlabel="speed to plain decoding", yticks=range(len(names)))
    axes.set_yticklabels(names)
    axes.invert_yaxis()


def _predictions(axes: Any, told: Sequence[Forecast]) -> None:
    """Draw predicted over measured speed-ups, with the band of 15 % around agreement."""
    highest = 1.1 * max(max(one.predicted, one.measured) for one in told)
    axes.plot((0, highest), (0, highest), color="0.4", linewidth=1)
    axes.fill_between((0, highest), (0, 0.85 * highest), (0, 1.15 * highest), alpha=0.15,
                      label="within 15 %")  # fmt: skip
    for name in dict.fromkeys(one.name for one in told):
        mine = [one for one in told if one.name == name]
        axes.plot([one.measured for one in mine], [one.predicted for one in mine], "o",
                  label=name, markersize=4)  # fmt: skip
    axes.set(xlabel="measured speed-up", ylabel="predicted", xlim=(0, highest), ylim=(0, highest))
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
