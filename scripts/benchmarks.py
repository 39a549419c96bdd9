"""Run `draftproof bench` and write what it measured to docs/benchmarks.md and docs/benchmarks.svg.

Give the JSON of an earlier run as an argument to write the page from that instead.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from draftproof.bench.plots import draw_rows
from draftproof.bench.predicting import Forecast
from draftproof.bench.running import Row

DOCS = Path(__file__).parents[1] / "docs"

PAGE = """# Benchmarks

Written by `scripts/benchmarks.py` (`make bench`); do not edit by hand.

Every contestant decodes the same prompts with the same weights (SmolLM2-135M-Instruct, Q4_1), one
after the other in an order that changes, so that a machine that slows down favours nobody. Speeds
are medians and include reading the prompt. *To plain* is the median of the ratios to `draftproof,
plain` in the same repeat; its interval is a 95 % bootstrap over repeats.

The last table holds the planner to account. *Predicted* is the speed-up of decoding alone, from
costs measured before anything was decoded and from what the rounds kept; *measured* is what the
clock said.

Machine: {machine}; load when it began: {load:.1f} on {cores} cores.

{tables}
{predictions}
{left_out}
![Speed against plain decoding, by task](benchmarks.svg)
"""


def main() -> None:
    """Measure, or read what was measured, and write the page."""
    load = os.getloadavg()[0]
    if len(sys.argv) > 1:
        found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    else:
        program = "from draftproof.cli import main; main()"
        command = [sys.executable, "-c", program, "bench", "--json"]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    rows = [Row(**row) for row in found["rows"]]
    told = [_forecast(one) for one in found["predictions"]]
    draw_rows(rows, DOCS / "benchmarks.svg", told)
    text = PAGE.format(
        machine=platform.machine(),
        load=load,
        cores=os.cpu_count(),
        tables=_tables(rows),
        predictions=_predictions(told, found["median_difference"]),
        left_out="".join(
            f"Left out: {one['name']}: {one['reason']}\n" for one in found["left_out"]
        ),
    )
    (DOCS / "benchmarks.md").write_text(text, encoding="utf-8")
    print(f"wrote {len(rows)} rows to docs/benchmarks.md")


def _tables(rows: list[Row]) -> str:
    parts: list[str] = []
    for task in dict.fromkeys(row.task for row in rows):
        lines: list[Any] = [f"## {task}", "", "| | tokens/s | to plain | 95 % interval |"]
        lines.append("|---|---:|---:|---:|")
        for row in (row for row in rows if row.task == task):
            band = "-" if row.interval is None else "{:.2f} to {:.2f}".format(*row.interval)
            lines.append(
                f"| {row.name} | {row.tokens_per_second:.1f} | {row.ratio_to_plain:.2f}x | {band} |"
            )
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _forecast(one: dict[str, Any]) -> Forecast:
    names = (each.name for each in fields(Forecast))
    return Forecast(**{name: one[name] for name in names})


def _predictions(told: list[Forecast], middle: float | None) -> str:
    lines = ["## Predicted and measured", "", "| text | contestant | predicted | measured | off |"]
    lines.append("|---|---|---:|---:|---:|")
    lines += [
        f"| {one.task} | {one.name} | {one.predicted:.2f}x | {one.measured:.2f}x "
        f"| {one.difference:+.1%} |"
        for one in told
    ]
    if middle is not None:
        lines += ["", f"Median difference over the texts: {middle:.1%}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
