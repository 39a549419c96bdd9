"""A chart of a benchmark, as an SVG or PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from draftproof.bench.running import Row
from draftproof.planner.plots import new_figure, save


def draw_rows(rows: Sequence[Row], file: Path) -> None:
    """Draw ratios to plain decoding with their intervals, one panel for each task.

    Raises
    ------
    MissingExtra, InvalidInput
        As `draftproof.planner.plots.draw` does.
    """
    tasks = list(dict.fromkeys(row.task for row in rows))
    names = list(dict.fromkeys(row.name for row in rows))
    figure = new_figure(file, width=3.4 * len(tasks), height=1 + 0.32 * len(names))
    panels = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
    for axes, task in zip(panels, tasks, strict=True):
        mine = {row.name: row for row in rows if row.task == task}
        for at, name in enumerate(names):
            row = mine[name]
            axes.barh(at, row.ratio_to_plain, color="C0" if "draftproof" in name else "0.7")
            axes.plot(row.interval, (at, at), color="black", linewidth=1.5)
        axes.axvline(1, color="0.4", linewidth=1)
        axes.set(title=task, xlabel="speed to plain decoding", yticks=range(len(names)))
        axes.set_yticklabels(names)
        axes.invert_yaxis()
    save(figure, file)
