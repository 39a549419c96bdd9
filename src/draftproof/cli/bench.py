"""The verb `bench`: speed here, against plain decoding and the peers installed."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table

from draftproof.backends import weights
from draftproof.bench.peers import installed, missing
from draftproof.bench.plots import draw_rows
from draftproof.bench.predicting import Forecast, forecasts, measure_costs, median_difference
from draftproof.bench.running import FEWEST, Results, Row, our_contestants, run_bench
from draftproof.bench.tasks import TASKS
from draftproof.bench.worker import Worker
from draftproof.cli.reading import TIME, FilePath, count, require_writable
from draftproof.cli.screen import Progress, console_for
from draftproof.errors import BackendError, InvalidInput
from draftproof.planner.plots import check_plot
from draftproof.session import Options, open_session


@click.command(
    epilog="""\b
    Examples:
      draftproof bench --quick
      draftproof bench --json --plot bench.svg""",
)
@click.option("--quick", is_flag=True, help="Two short repeats of T = 0 only.  [default: off]")
@click.option("--repeats", type=count(1), default="5", show_default=True, help="Runs of each.")
@click.option("--max-tokens", type=count(1), default="128", show_default=True, help="Per run.")
@click.option(
    "--time-limit",
    type=TIME,
    default="900s",
    show_default=True,
    help="Time after which no further repeat is begun; with --quick at most 90s.",
)
@click.option("--no-peers", is_flag=True, help="Leave other engines out.  [default: off]")
@click.option("--plot", type=FilePath(), help="Draw it: FILE.svg, .png.  [default: no]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
@click.pass_context
def bench(
    ctx: click.Context,
    quick: bool,
    repeats: int,
    max_tokens: int,
    time_limit: Fraction,
    no_peers: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Time plain and speculative decoding on the default model, and every peer installed.

    Three kinds of text (chat, an edit that copies, code) at temperatures 0 and 0.8, interleaved;
    medians, and ratios to plain decoding in the same repeat with their 95 % intervals. Our own
    speed-ups are also predicted, from costs measured before and from what was kept.
    """
    progress = Progress()
    if plot is not None:
        check_plot(plot)
        require_writable(plot, "--plot")
    if quick and ctx.get_parameter_source("time_limit") is ParameterSource.COMMANDLINE:
        raise InvalidInput("--quick takes at most 90s; leave --time-limit or --quick out.")
    if quick and ctx.get_parameter_source("repeats") is ParameterSource.COMMANDLINE:
        raise InvalidInput(f"--repeats is {repeats} and --quick makes 2; leave one of them out.")
    repeats = 2 if quick else repeats
    tasks = [task for task in TASKS if not quick or task.temperature == 0]
    progress("opening the default model")
    first = open_session(Options())
    with _peers(progress, wanted=not no_peers) as (workers, closed):
        contestants = our_contestants(first) | {worker.name: worker.run for worker in workers}
        temperatures = len({task.temperature for task in tasks})
        progress.expect(temperatures + len(contestants) * (1 + repeats * len(tasks)))
        costs = measure_costs(first, tasks=tasks, repeats=3 if quick else 5, tick=progress)
        ends = time.monotonic() + min(float(time_limit), 90.0 if quick else math.inf)
        found = run_bench(
            contestants,
            tasks=tasks,
            repeats=repeats,
            max_tokens=min(max_tokens, 48) if quick else max_tokens,
            more=lambda: time.monotonic() < ends,
            tick=progress,
        )
    progress.clear()
    found.left_out.update(closed)
    told = list(forecasts(found, costs))
    if plot is not None:
        draw_rows(found.rows(), plot, told)
    if as_json:
        click.echo(json.dumps(_report(found, told)))
    else:
        _show(found, told)


def _report(found: Results, told: Sequence[Forecast]) -> dict[str, Any]:
    return {
        "rows": [asdict(row) for row in found.rows()],
        "predictions": [asdict(one) | {"difference": one.difference} for one in told],
        "median_difference": median_difference(told),
        "left_out": [{"name": name, "reason": why} for name, why in found.left_out.items()],
    }


def _show(found: Results, told: Sequence[Forecast]) -> None:
    console = console_for(sys.stdout)
    rows = found.rows()
    console.print(table_of(rows), soft_wrap=False)
    if any(row.interval is None for row in rows):
        console.print(f"-: no interval, for it takes {FEWEST} repeats.")
    console.print("\nPredicted from costs and acceptance, and measured (without prefill):\n")
    console.print(predictions_table(told), soft_wrap=False)
    middle = median_difference(told)
    if middle is not None:
        console.print(f"\nMedian difference over the texts: {middle:.1%}.", style="bold")
    for name, why in found.left_out.items():
        console.print(f"Left out: {name}: {why}", soft_wrap=False)


@contextmanager
def _peers(progress: Progress, *, wanted: bool) -> Iterator[tuple[list[Worker], dict[str, str]]]:
    """Open every peer; give those that answer, and for the others the reason."""
    workers: list[Worker] = []
    closed: dict[str, str] = {}
    names = installed() if wanted else []
    if wanted:
        closed |= {name: f"{module} is not installed." for name, module in missing().items()}
    model = model_file(progress) if names else Path()
    for name in names:
        progress(f"opening {name}")
        try:
            workers.append(Worker(name, model))
        except BackendError as error:
            closed[name] = str(error)
    try:
        yield workers, closed
    finally:
        for worker in workers:
            worker.close()


def model_file(progress: Progress) -> Path:
    """Give the GGUF file of the default model, which peers read; fetched once for them."""
    folder = weights.cache_folder() / "bench"
    if not (found := sorted(folder.rglob("*.gguf"))):
        folder.mkdir(parents=True, exist_ok=True)
        found = [weights.fetch(folder, progress)]
    return found[0]


def predictions_table(told: Sequence[Forecast]) -> Table:
    """Give predicted and measured speed-ups as a table."""
    return _table(
        ("text", "contestant", "predicted", "measured", "difference"),
        (
            (one.task, one.name, f"{one.predicted:.2f}x", f"{one.measured:.2f}x",
             f"{one.difference:+.1%}")
            for one in told
        ),
    )  # fmt: skip


def table_of(rows: Sequence[Row]) -> Table:
    """Give the rows as a table."""
    return _table(
        ("task", "contestant", "tokens/s", "to plain", "95 % interval"),
        (
            (row.task, row.name, f"{row.tokens_per_second:.1f}", f"{row.ratio_to_plain:.2f}x",
             "-" if row.interval is None else "{:.2f} to {:.2f}".format(*row.interval))
            for row in rows
        ),
    )  # fmt: skip


def _table(titles: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Table:
    """Give rows of a task, a contestant and figures; a task is named once."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for at, title in enumerate(titles):
        if at < 2:
            grid.add_column(title, overflow="fold")
        else:
            grid.add_column(title, justify="right", no_wrap=True)
    before = ""
    for task, *rest in rows:
        grid.add_row(task if task != before else "", *rest)
        before = task
    return grid
