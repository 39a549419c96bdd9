"""`plan --measure`: measure here, recommend, decode with the recommendation, compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.table import Table

from draftproof.cli import DONE, INCONCLUSIVE
from draftproof.cli.plan_charts import Line, acceptance, roofline, speedups
from draftproof.cli.plan_metrics import show_settings
from draftproof.cli.reading import read_texts
from draftproof.cli.run_options import opened, read_warp
from draftproof.cli.screen import Progress, console_for
from draftproof.errors import InvalidInput
from draftproof.planner.plots import Charts, draw
from draftproof.planner.settings import settings
from draftproof.proposers import NAMED
from draftproof.session import Options
from draftproof.session.measuring import (
    PROMPTS,
    Candidate,
    Check,
    check,
    measure,
    options_of,
    sessions_for,
    steps,
)


def plan_here(asked: dict[str, Any], *, as_json: bool, plot: Path | None) -> int:
    """Measure, recommend, check, and print; 3 when it cannot tell."""
    prompts = _prompts(asked["prompts"])
    drafts = asked["drafts"] or tuple(NAMED)
    options = Options(
        target=asked["target"],
        draft=drafts[0],
        rule=(asked["rules"] or ("token-wise",))[0],
        seed=asked["seed"],
        earlier=read_texts(asked["earlier"], "--earlier"),
        warp=read_warp(temperature=asked["temperature"]),
    )
    _check_drafts(options, drafts)
    progress = Progress()
    progress("opening the models")
    sessions = sessions_for(options, drafts, opened(options_of(options, drafts[0])))
    progress.expect(steps(sessions, prompts))
    found = measure(
        sessions,
        prompts,
        rules=asked["rules"] or None,
        seconds=float(asked["time_limit"]),
        max_k=max(1, min(asked["max_k"], 16)),
        tick=progress,
    )
    best = max(found, key=lambda one: one.best.speedup)
    session = next(one for one in sessions if one.options.draft == best.draft)
    checked: Check | None = None
    with suppress(KeyboardInterrupt):  # what was measured until then is shown
        checked = check(session, prompts, k=best.best.k, rule=best.rule, tick=progress)
    progress.clear()
    if as_json:
        click.echo(json.dumps(_report(best, found, checked)))
    else:
        _show(best, found, checked)
    if plot is not None:
        draw(_charts(best), plot)
    if checked is None:
        raise KeyboardInterrupt
    return INCONCLUSIVE if verdict(best) == "cannot tell" else DONE


def _check_drafts(options: Options, drafts: Sequence[str]) -> None:
    if options.earlier and "suffix" not in drafts:
        raise InvalidInput("--earlier is for the draft suffix, and --draft leaves that out.")
    paths = [draft for draft in drafts[1:] if draft not in NAMED]
    if paths:
        raise InvalidInput(
            f"--draft {paths[0]!r} is a model and stands behind another draft; name it first, or "
            f"measure it alone."
        )


def _prompts(file: Path | None) -> Sequence[str]:
    if file is None:
        return PROMPTS
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput(f"--prompts {file}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"--prompts {file}: is not text in UTF-8.") from None
    prompts = [line for line in lines if line.strip()]
    if not prompts:
        raise InvalidInput(f"--prompts {file}: holds no prompt; write one on each line.")
    return prompts


def verdict(best: Candidate) -> str:
    """Give what to do, in a few words."""
    if best.best.k == 0:
        return "do not speculate"
    if best.best.verdict == "pays":
        return f"speculate with {best.draft}, {best.rule}, k = {best.best.k}"
    return "cannot tell"


def _charts(best: Candidate) -> Charts:
    passes = sorted(best.timings.passes.items())
    return Charts(
        speedups=[(one.k, one.speedup, one.interval) for one in best.predictions],
        best_k=best.best.k,
        acceptance=best.acceptance,
        roofline=[(count, median(each)) for count, each in passes],
        plain=median(best.timings.passes[1]),
    )


def _report(best: Candidate, found: list[Candidate], checked: Check | None) -> dict[str, Any]:
    top = best.best
    return {
        "draft": best.draft,
        "rule": best.rule,
        "k": top.k,
        "expected_tokens": top.expected_tokens,
        "throughput": top.throughput,
        "baseline": top.throughput / top.speedup,
        "speedup": top.speedup,
        "best_k": top.k,
        "best_speedup": top.speedup,
        "interval": list(top.interval),
        "verdict": verdict(best),
        "table": [
            {
                "k": one.k,
                "expected_tokens": one.expected_tokens,
                "speedup": one.speedup,
                "interval": list(one.interval),
            }
            for one in best.predictions
        ],
        "acceptance_per_position": list(best.acceptance),
        "candidates": [
            {
                "draft": one.draft,
                "rule": one.rule,
                "best_k": one.best.k,
                "best_speedup": one.best.speedup,
                "interval": list(one.best.interval),
            }
            for one in found
        ],
        "seconds_per_pass": {
            str(count): median(each) for count, each in sorted(best.timings.passes.items())
        },
        "measured": None
        if checked is None
        else {
            "plain": checked.plain,
            "speculative": checked.speculative,
            "speedup": checked.speedup,
        },
        "settings": settings(top.k, best.draft),
    }


def _show(best: Candidate, found: list[Candidate], checked: Check | None) -> None:
    console = console_for(sys.stdout)
    console.print(_candidates(best, found), soft_wrap=False)
    console.print(f"\n{best.draft} judged by {best.rule}:", style="bold")
    lines = [
        Line(k=one.k, expected_tokens=one.expected_tokens, speedup=one.speedup,
             interval=one.interval)
        for one in best.predictions
    ]  # fmt: skip
    console.print(speedups(lines, {best.best.k: "best"}), soft_wrap=False)
    console.print()
    if best.acceptance:
        console.print(acceptance(best.acceptance), soft_wrap=False)
    else:
        console.print("Nothing was drafted.")
    passes = sorted(best.timings.passes.items())
    console.print()
    points, plain = [(n, median(each)) for n, each in passes], median(best.timings.passes[1])
    console.print(roofline(points, plain), soft_wrap=False)
    low, high = best.best.interval
    seen = (
        "not checked, for it was interrupted"
        if checked is None
        else (
            f"measured {checked.speedup:.2f}x ({checked.speculative:.1f} against "
            f"{checked.plain:.1f} tokens/s)"
        )
    )
    console.print(
        f"\nPredicted {best.best.speedup:.2f}x (95 % interval {low:.2f} to {high:.2f}); {seen}.",
        soft_wrap=False,
    )
    console.print(f"Verdict: {verdict(best)}.", style="bold")
    show_settings(settings(best.best.k if best.best.verdict == "pays" else 0, best.draft))


def _candidates(best: Candidate, found: list[Candidate]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("draft", "rule"):
        grid.add_column(title)
    for title in ("best k", "tokens per round", "speed-up", "95 % interval"):
        grid.add_column(title, justify="right")
    for one in found:
        top = one.best
        grid.add_row(
            one.draft, one.rule, str(top.k), f"{top.expected_tokens:.2f}", f"{top.speedup:.2f}x",
            f"{top.interval[0]:.2f} to {top.interval[1]:.2f}",
            style="bold" if one is best else "",
        )  # fmt: skip
    return grid
