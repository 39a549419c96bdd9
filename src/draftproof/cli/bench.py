"""The verb `bench`: speed here, against plain decoding and the peers installed."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import click
from rich.table import Table

from draftproof.backends import weights
from draftproof.bench.peers import installed
from draftproof.bench.plots import draw_rows
from draftproof.bench.running import Contestant, Row, our_contestants, run_bench
from draftproof.bench.tasks import TASKS
from draftproof.bench.worker import Worker
from draftproof.cli.reading import TIME, count
from draftproof.cli.screen import Progress, console_for
from draftproof.errors import BackendError
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
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw it: FILE.svg, .png.  [default: no]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def bench(
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
    medians, and ratios to plain decoding in the same repeat with their 95 % intervals.
    """
    progress = Progress(quiet=as_json)
    tasks = [task for task in TASKS if not quick or task.temperature == 0]
    with _contestants(progress, peers=not no_peers) as contestants:
        ends = time.monotonic() + min(float(time_limit), 90.0 if quick else math.inf)
        rows = run_bench(
            contestants,
            tasks=tasks,
            repeats=2 if quick else repeats,
            max_tokens=min(max_tokens, 48) if quick else max_tokens,
            more=lambda: time.monotonic() < ends,
            tick=progress,
        )
    progress.clear()
    if plot is not None:
        draw_rows(rows, plot)
    if as_json:
        click.echo(json.dumps({"rows": [asdict(row) for row in rows]}))
    else:
        console_for(sys.stdout).print(table_of(rows), soft_wrap=False)


@contextmanager
def _contestants(progress: Progress, *, peers: bool) -> Iterator[dict[str, Contestant]]:
    progress("opening the default model")
    found = our_contestants(open_session(Options()))
    workers: list[Worker] = []
    names = installed() if peers else []
    model = model_file(progress) if names else Path()
    for name in names:
        progress(f"opening {name}")
        try:
            workers.append(Worker(name, model))
        except BackendError as error:
            click.echo(f"draftproof: {error} It is left out.", err=True)
    try:
        yield found | {worker.name: worker.run for worker in workers}
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


def table_of(rows: list[Row]) -> Table:
    """Give the rows as a table."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("task", "contestant"):
        grid.add_column(title)
    for title in ("tokens/s", "to plain", "95 % interval"):
        grid.add_column(title, justify="right")
    before = ""
    for row in rows:
        low, high = row.interval
        grid.add_row(
            row.task if row.task != before else "",
            row.name,
            f"{row.tokens_per_second:.1f}",
            f"{row.ratio_to_plain:.2f}x",
            f"{low:.2f} to {high:.2f}",
        )
        before = row.task
    return grid
