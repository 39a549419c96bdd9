"""The charts of a plan in the terminal: speed-up against k, acceptance, and what a pass costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

WIDTH = 26
"""Characters of the longest bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One k: what it emits, how fast, and the interval of that where it was measured."""

    k: int
    expected_tokens: float
    speedup: float
    interval: tuple[float, float] | None = None


def speedups(lines: Sequence[Line], marks: Mapping[int, str]) -> Table:
    """Draw the speed-up of every k as a bar with its interval, and a post at 1.

    Parameters
    ----------
    lines
        By ascending k.
    marks
        Words behind the bar of a k.
    """
    measured = any(line.interval for line in lines)
    grid = _grid("k", "tokens per round", "speed-up", *(["95 % interval"] if measured else []))
    highest = max(max(line.speedup, *(line.interval or (0.0,))) for line in lines)
    scale = WIDTH / max(highest, 1.0)
    for line in lines:
        cells = [str(line.k), f"{line.expected_tokens:.3f}", f"{line.speedup:.3f}x"]
        if measured:
            cells.append("{:.2f} to {:.2f}".format(*line.interval) if line.interval else "")
        bar = _bar(line.speedup * scale, line.interval, scale)
        mark = marks.get(line.k, "")
        grid.add_row(*cells, bar, mark, style="bold" if mark else "")
    return grid


def _bar(length: float, interval: tuple[float, float] | None, scale: float) -> str:
    """Draw a bar, over it the post at a speed-up of 1 and whiskers of the interval."""
    cells = ["█" if at < round(length) else " " for at in range(WIDTH)]
    post = round(scale) - 1
    if cells[post] == " ":
        cells[post] = "│"
    if interval is not None:
        low, high = (min(max(round(end * scale) - 1, 0), WIDTH - 1) for end in interval)
        if low < high:
            cells[low : high + 1] = ["├", *["─"] * (high - low - 1), "┤"]
    return "".join(cells)


def acceptance(shares: Sequence[float]) -> Table:
    """Draw the conditional acceptance of every position; a full bar is 1."""
    grid = _grid("position", "kept, if looked at")
    for at, share in enumerate(shares, 1):
        grid.add_row(str(at), f"{share:.1%}", ("█" * round(WIDTH * share)).ljust(WIDTH, "·"), "")
    return grid


def roofline(points: Sequence[tuple[int, float]], title: str = "tokens in a pass") -> Table:
    """Draw the milliseconds of a pass by the tokens in it.

    The last column says how many times faster one pass is than its tokens one by one: where it
    grows like the tokens, verification is free; where it stays at 1, a draft cannot pay.
    """
    first, single = points[0]
    grid = _grid(title, "ms")
    grid.add_column("against one by one", justify="right")
    slowest = max(seconds for _, seconds in points)
    for count, seconds in points:
        gain = count / first * single / seconds
        bar = "█" * max(1, round(WIDTH * seconds / slowest))
        grid.add_row(str(count), f"{1000 * seconds:.2f}", bar, "", f"{gain:.2f}x")
    return grid


def _grid(*titles: str) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        grid.add_column(title, justify="right")
    grid.add_column("", no_wrap=True)
    grid.add_column("", no_wrap=True)
    return grid
