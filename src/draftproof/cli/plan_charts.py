"""The charts of a plan in the terminal: speed-up against k, acceptance, and what a pass costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

WIDTH = 26
"""Characters of the longest bar where there is room; a narrow terminal shortens the bars only."""

LEAST = 4
"""Characters of the longest bar at the least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar that takes the room it is given; every length is a share of the longest bar.

    Parameters
    ----------
    length
        How long it is.
    post
        Where a post stands that is seen unless the bar covers it.
    whiskers
        The ends of an interval, drawn over the bar.
    rest
        What fills the room behind it.
    """

    length: float
    post: float | None = None
    whiskers: tuple[float, float] | None = None
    rest: str = " "

    def drawn(self, width: int) -> str:
        """Draw it where the longest bar has `width` characters."""
        cells = ["█" if at < round(self.length * width) else self.rest for at in range(width)]
        if self.post is not None and cells[post := round(self.post * width) - 1] == self.rest:
            cells[post] = "│"
        if self.whiskers is not None:
            low, high = (min(max(round(end * width) - 1, 0), width - 1) for end in self.whiskers)
            if low < high:
                cells[low : high + 1] = ["├", *["─"] * (high - low - 1), "┤"]
        return "".join(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the bar in one line."""
        yield Segment(self.drawn(min(options.max_width, WIDTH)))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say what room it needs and can use."""
        return Measurement(LEAST, WIDTH).with_maximum(options.max_width)


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
    titles = ["k", "tokens\nper round", "speed-up", *(["95 %\ninterval"] if measured else [])]
    grid = _grid(*titles)
    highest = max(1.0, *(end for line in lines for end in (line.speedup, *(line.interval or ()))))
    for line in lines:
        cells = [str(line.k), f"{line.expected_tokens:.3f}", f"{line.speedup:.3f}x"]
        if measured:
            cells.append("{:.2f} to {:.2f}".format(*line.interval) if line.interval else "")
        whiskers = line.interval and (line.interval[0] / highest, line.interval[1] / highest)
        bar = Bar(length=line.speedup / highest, post=1 / highest, whiskers=whiskers)
        mark = marks.get(line.k, "")
        grid.add_row(*cells, bar, mark, style="bold" if mark else "")
    return grid


def acceptance(shares: Sequence[float]) -> Table:
    """Draw the conditional acceptance of every position; a full bar is 1."""
    grid = _grid("position", "kept, if\nlooked at")
    for at, share in enumerate(shares, 1):
        grid.add_row(str(at), f"{share:.1%}", Bar(length=share, rest="·"), "")
    return grid


def roofline(
    points: Sequence[tuple[int, float]], plain: float, title: str = "tokens\nin a pass"
) -> Table:
    """Draw the milliseconds of a pass by the tokens in it.

    The last column says how many times faster one pass is than its tokens one by one, in as many
    plain steps: where it grows like the tokens, verification is free; where it stays at 1, a draft
    cannot pay.

    Parameters
    ----------
    points
        Tokens in a pass, of each sequence where several share it, and its seconds.
    plain
        Seconds of one plain step, in which each sequence gets one token.
    title
        Of the first column.
    """
    grid = _grid(title, "ms")
    grid.add_column("against\none by one", justify="right", no_wrap=True)
    slowest = max(seconds for _, seconds in points)
    for count, seconds in points:
        gain = count * plain / seconds
        bar = Bar(length=max(seconds / slowest, 1 / WIDTH))
        grid.add_row(str(count), f"{1000 * seconds:.2f}", bar, "", f"{gain:.2f}x")
    return grid


def _grid(*titles: str) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        grid.add_column(title, justify="right", vertical="bottom", no_wrap=True)
    grid.add_column("")
    grid.add_column("", no_wrap=True)
    return grid
