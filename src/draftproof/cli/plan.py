"""The verb `plan`: whether speculation pays, and with which k."""

from __future__ import annotations

import json
import re
import sys
from fractions import Fraction
from typing import Any

import click
from rich.table import Table

from draftproof.cli.reading import PROBABILITY, TIME, Read, count, read_time
from draftproof.cli.screen import console_for
from draftproof.errors import InvalidInput
from draftproof.planner import Choice, Costs, Curve, best_choice, choices

LARGEST_K = 1000


def read_verify(text: str, name: str) -> Curve | Fraction:
    """Read one time, or a curve over the number of tokens verified.

    Examples
    --------
    >>> read_verify("1:9.7ms,5:30ms", "--t-verify").last
    5
    """
    if ":" not in text:
        return read_time(text, name)
    return Curve(tuple(_point(part, name) for part in text.split(",")))


def _point(part: str, name: str) -> tuple[int, Fraction]:
    tokens, _, seconds = part.partition(":")
    if not re.fullmatch(r"\s*\d{1,6}\s*", tokens):
        raise InvalidInput(
            f"{name} holds {part!r:.60}; a point of the curve is a number of tokens, a colon and "
            f"a time, like 5:30ms."
        )
    return int(tokens), read_time(seconds, name)


@click.command(
    epilog="""\b
    Examples:
      draftproof plan --acceptance 0.8 --t-target 10ms --t-verify 12ms --t-draft 1ms
      draftproof plan --acceptance 0.6 --t-verify 1:9.7ms,5:30ms -k 4 --json""",
)
@click.option(
    "--acceptance",
    type=PROBABILITY,
    required=True,
    help="Probability that a drafted token is kept, given that it is tested (0 to 1).",
)
@click.option("-k", "k", type=count(0), help="Drafted tokens per round.  [default: the best k]")
@click.option(
    "--max-k",
    type=count(0),
    default="16",
    show_default=True,
    help="Largest k to consider.",
)
@click.option(
    "--t-target",
    type=TIME,
    help="Time of one plain decoding step.  [default: the curve of --t-verify at 1 token]",
)
@click.option(
    "--t-verify",
    type=Read("time|curve", read_verify),
    required=True,
    help="Time of one verification pass, or a curve over the number of tokens verified, k + 1 "
    "for k drafts: 1:9.7ms,5:30ms; straight lines between its points, no k beyond the last.",
)
@click.option(
    "--t-draft",
    type=TIME,
    default="0ms",
    show_default=True,
    help="Time of one drafted token.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def plan(
    acceptance: Fraction,
    k: int | None,
    max_k: int,
    t_target: Fraction | None,
    t_verify: Curve | Fraction,
    t_draft: Fraction,
    as_json: bool,
) -> None:
    """Say whether speculation pays with these numbers, and with which k.

    The model: a constant acceptance a gives E[N] = 1 + a + ... + a^k tokens per round, and a
    round takes t_verify + k * t_draft. A best k of 0 means: do not speculate. Times take a unit
    (s, ms, us, ns); a bare number is seconds.
    """
    costs = Costs(t_target=_plain_time(t_target, t_verify), t_verify=t_verify, t_draft=t_draft)
    for flag, value in (("--max-k", max_k), ("-k", k or 0)):
        if value > LARGEST_K:
            raise InvalidInput(f"{flag} is {value}; it must be at most {LARGEST_K}.")
    table = choices(acceptance, costs, max_k)
    best = best_choice(acceptance, costs, max_k)
    chosen = best if k is None else _chosen(acceptance, costs, k)
    if as_json:
        click.echo(json.dumps(_report(table, best, chosen, costs)))
    else:
        _show(table, best, chosen, costs)


def _plain_time(t_target: Fraction | None, t_verify: Curve | Fraction) -> Fraction:
    if t_target is not None:
        return t_target
    if isinstance(t_verify, Curve) and t_verify.first == 1:
        return Fraction(t_verify.at(1))
    raise InvalidInput(
        "--t-target is missing; give the time of one plain decoding step, like --t-target 10ms."
    )


def _chosen(acceptance: Fraction, costs: Costs, k: int) -> Choice:
    if not costs.knows(k):
        costs.round_seconds(k)
    return choices(acceptance, costs, k)[-1]


def _verdict(best: Choice, chosen: Choice) -> str:
    if best.k == 0:
        return "do not speculate"
    if chosen.k != best.k and chosen.speedup <= 1:
        return f"k = {chosen.k} does not pay; speculate with k = {best.k}"
    return f"speculate with k = {best.k}"


def _report(
    table: tuple[Choice, ...], best: Choice, chosen: Choice, costs: Costs
) -> dict[str, Any]:
    return {
        "k": chosen.k,
        "expected_tokens": float(chosen.expected_tokens),
        "throughput": float(chosen.throughput),
        "baseline": float(1 / costs.t_target),
        "speedup": float(chosen.speedup),
        "best_k": best.k,
        "best_speedup": float(best.speedup),
        "interval": None,
        "verdict": _verdict(best, chosen),
        "table": [
            {
                "k": one.k,
                "expected_tokens": float(one.expected_tokens),
                "speedup": float(one.speedup),
            }
            for one in table
        ],
    }


def _show(table: tuple[Choice, ...], best: Choice, chosen: Choice, costs: Costs) -> None:
    console = console_for(sys.stdout)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("k", "tokens per round", "tokens per second", "speed-up"):
        grid.add_column(title, justify="right")
    grid.add_column("")
    for one in table:
        marks = ["best"] * (one.k == best.k) + ["asked for"] * (one.k == chosen.k != best.k)
        grid.add_row(
            str(one.k),
            f"{float(one.expected_tokens):.4f}",
            f"{float(one.throughput):.1f}",
            f"{float(one.speedup):.3f}x",
            ", ".join(marks),
            style="bold" if marks else "",
        )
    console.print(grid, soft_wrap=False)
    console.print(
        f"\nk = {chosen.k}: {float(chosen.expected_tokens):.4f} tokens per round, "
        f"{float(chosen.throughput):.1f} tokens per second against "
        f"{float(1 / costs.t_target):.1f} plain: {float(chosen.speedup):.3f}x.",
        soft_wrap=False,
    )
    console.print(f"Verdict: {_verdict(best, chosen)} ({float(best.speedup):.3f}x).")
    console.print(
        "This model takes one acceptance for every position and text; measured times and "
        "acceptances decide.",
        style="dim",
        soft_wrap=False,
    )
