"""Charts of a plan, as SVG or PNG files; matplotlib draws them and is loaded only here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.errors import InvalidInput, MissingExtra

KINDS = (".svg", ".png")


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """What is drawn; an empty part is left out.

    Parameters
    ----------
    speedups
        For each k: k, speed-up, and its interval or None.
    best_k
        Marked in the first chart.
    acceptance
        Conditional acceptance per position.
    roofline
        Pairs of tokens in a pass and its seconds.
    plain
        Seconds of one plain step, to draw tokens one by one beside the passes.
    batch
        Sequences that share a pass; the tokens of `roofline` are those of each.
    """

    speedups: Sequence[tuple[int, float, tuple[float, float] | None]]
    best_k: int
    acceptance: Sequence[float] = ()
    roofline: Sequence[tuple[int, float]] = ()
    plain: float = 0.0
    batch: int = 1


def draw(charts: Charts, file: Path) -> None:
    """Draw speed-up against k, acceptance per position, and the cost of a pass, side by side.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    InvalidInput
        If the file is neither .svg nor .png, or cannot be written.
    """
    parts = [_speedups, *([_acceptance] if charts.acceptance else [])]
    parts += [_roofline] if charts.roofline else []
    figure = new_figure(file, width=4.2 * len(parts), height=3.4)
    for axes, part in zip(figure.subplots(1, len(parts), squeeze=False)[0], parts, strict=True):
        part(axes, charts)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    save(figure, file)


def check_plot(file: Path) -> None:
    """Refuse, before anything is measured for it, a picture that cannot be drawn.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    InvalidInput
        If the file is neither .svg nor .png, or its folder is not there.
    """
    new_figure(file, width=1, height=1)
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"plot {file}: cannot be written (there is no such folder).")


def new_figure(file: Path, *, width: float, height: float) -> Any:
    """Give an empty figure, if `file` can become one."""
    if file.suffix.lower() not in KINDS:
        raise InvalidInput(f"plot is {str(file)!r}; its name must end in .svg or .png.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(
            "plots need matplotlib; install it with: pip install 'draftproof[plot]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, file: Path) -> None:
    """Write a figure; the same figure gives the same file."""
    try:
        figure.savefig(file, metadata={"Date": None} if file.suffix.lower() == ".svg" else {})
    except OSError as error:
        raise InvalidInput(f"plot {file}: cannot be written ({error.strerror}).") from None


def _speedups(axes: Any, charts: Charts) -> None:
    ks = [k for k, _, _ in charts.speedups]
    values = [speedup for _, speedup, _ in charts.speedups]
    bands = [(k, band) for k, _, band in charts.speedups if band is not None]
    if bands:
        lows, highs = [band[0] for _, band in bands], [band[1] for _, band in bands]
        axes.fill_between([k for k, _ in bands], lows, highs, alpha=0.2, label="95 % interval")
    axes.plot(ks, values, marker="o", markersize=3, label="speed-up")
    axes.axhline(1, color="0.5", linewidth=1)
    best = values[ks.index(charts.best_k)]
    axes.plot([charts.best_k], [best], "D", label=f"best: k = {charts.best_k}, {best:.2f}x")
    axes.set(xlabel="k, drafted tokens per round", ylabel="speed-up over plain decoding")
    axes.legend(fontsize="small")


def _acceptance(axes: Any, charts: Charts) -> None:
    axes.bar(range(1, len(charts.acceptance) + 1), charts.acceptance, width=0.7)
    axes.set(xlabel="draft position", ylabel="kept, if looked at", ylim=(0, 1))


def _roofline(axes: Any, charts: Charts) -> None:
    counts = [n for n, _ in charts.roofline]
    axes.plot(counts, [1000 * seconds for _, seconds in charts.roofline], marker="o", markersize=3)
    one_by_one = [1000 * n * charts.plain for n in counts]
    axes.plot(counts, one_by_one, "--", color="0.5", label="one by one")
    highest = max(seconds for _, seconds in charts.roofline)
    tokens = "tokens in a pass" if charts.batch == 1 else f"tokens of each of {charts.batch}"
    axes.set(xlabel=tokens, ylabel="milliseconds", ylim=(0, 1300 * highest))
    axes.legend(fontsize="small")
