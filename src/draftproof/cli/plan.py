"""The verb `plan`: whether speculation pays, and with which k."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from draftproof.cli import DONE
from draftproof.cli.plan_metrics import as_dict, read_both, show_metrics, show_settings
from draftproof.cli.plan_report import Plan, report, show
from draftproof.cli.reading import (
    FLOAT,
    MODEL,
    TIME,
    FilePath,
    Read,
    by_flag,
    count,
    given_flags,
    read_probability,
    read_time,
    require_writable,
)
from draftproof.cli.run import earlier_option
from draftproof.errors import InvalidInput
from draftproof.planner import Choice, Costs, Curve, best_choice, best_tree_choice, choices
from draftproof.planner.metrics import Metrics
from draftproof.planner.plots import Charts, check_plot, draw
from draftproof.planner.settings import settings
from draftproof.planner.trees import TreeChoice
from draftproof.session import Options

LARGEST_K, MOST_NODES = 1000, 24
DEFAULTS = Options()


def read_acceptance(text: str, name: str) -> Fraction | tuple[Fraction, ...]:
    """Read one acceptance, or one for each position.

    Examples
    --------
    >>> read_acceptance("0.9,1/2", "--acceptance")
    (Fraction(9, 10), Fraction(1, 2))
    """
    each = _each(text, name)
    return each if len(each) > 1 else each[0]


def read_curve(text: str, name: str) -> Curve | Fraction:
    """Read one time, or a curve over a number of tokens.

    Examples
    --------
    >>> read_curve("1:9.7ms,5:30ms", "--t-verify").last
    5
    """
    if ":" not in text:
        return read_time(text, name)
    return Curve(tuple(_point(part, where) for where, part in _entries(text, name)), name)


def read_siblings(text: str, name: str) -> tuple[Fraction, ...]:
    """Read the acceptances of the siblings after the first.

    Examples
    --------
    >>> read_siblings("0.15,1/20", "--siblings")
    (Fraction(3, 20), Fraction(1, 20))
    """
    return _each(text, name)


def _each(text: str, name: str) -> tuple[Fraction, ...]:
    parts = _entries(text, name)
    return tuple(read_probability(part, where) for where, part in parts)


def _entries(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a list, each with words that show the whole and say which one it is."""
    parts = text.split(",")
    for at, part in enumerate(parts, 1):
        yield f"in {text!r:.60}, entry {at} of {name}" if len(parts) > 1 else name, part


def _point(part: str, name: str) -> tuple[int, Fraction]:
    tokens, _, seconds = part.partition(":")
    if not re.fullmatch(r"\s*\d{1,6}\s*", tokens):
        raise InvalidInput(
            f"{name} is {part!r:.60}; a point of the curve is a number of tokens, a colon and "
            f"a time, like 5:30ms."
        )
    return int(tokens), read_time(seconds, f"{name} is {part!r:.60}, whose time")


@click.command(
    epilog="""\b
    Examples:
      draftproof plan --acceptance 0.8 --t-target 10ms --t-verify 12ms --t-draft 1ms
      draftproof plan --acceptance 0.9,0.5,0.1 --t-verify 1:9.7ms,5:30ms --plot plan.svg
      draftproof plan --metrics metrics.txt --t-target 10ms --t-verify 12ms
      draftproof plan --measure --temperature 0""",
)
@click.option(
    "--acceptance",
    type=Read("probability|list", read_acceptance),
    help="Probability that a drafted token is kept, given that it is tested (0 to 1); or one for "
    "each position: 0.9,0.5,0.1.  [default: none]",
)
@click.option(
    "-k",
    "k",
    type=count(0),
    help="Drafted tokens per round; of the server too, where --metrics do not tell its own.  "
    "[default: the best k]",
)
@click.option(
    "--max-k", type=count(0), default="16", show_default=True, help="Largest k to consider."
)
@click.option(
    "--t-target",
    type=TIME,
    help="Time of one plain decoding step.  [default: the curve of --t-verify at 1 token]",
)
@click.option(
    "--t-verify",
    type=Read("time|curve", read_curve),
    help="Time of one verification pass, or a curve over the number of tokens verified, k + 1 "
    "for k drafts: 1:9.7ms,5:30ms; straight lines between its points, no k beyond the last.  "
    "[default: none]",
)
@click.option(
    "--t-draft",
    type=Read("time|curve", read_curve),
    default="0ms",
    show_default=True,
    help="Time of one drafted token; or a curve of the whole draft over k, where its tokens are "
    "made in parallel: 1:2ms,8:3ms.",
)
@click.option(
    "--batch",
    type=count(1),
    default="1",
    show_default=True,
    help="Sequences decoded together; --t-verify is then a curve over the tokens of all of them, "
    "and --t-draft the time of one drafted token for each.",
)
@click.option(
    "--siblings",
    type=Read("list", read_siblings),
    help="Plan a draft tree of up to --max-k nodes too: the chances of the second, third ... "
    "sibling of a node to be the one kept, --acceptance being the first's: 0.15,0.05.  "
    "[default: none]",
)
@click.option(
    "--metrics",
    "metrics",
    type=FilePath(),
    multiple=True,
    help="Take the acceptance from what a server wrote: /metrics text, log lines, or timings of "
    "vLLM, SGLang or llama.cpp. Twice, older first: what was counted in between.  [default: none]",
)
@click.option("--measure", is_flag=True, help="Measure costs and acceptance here.  [default: off]")
@click.option(
    "--target",
    type=MODEL,
    default=DEFAULTS.target,
    show_default=True,
    help="Model to measure.",
)
@click.option(
    "--draft",
    "drafts",
    type=MODEL,
    multiple=True,
    help="Draft to measure; may be repeated.  [default: every named one]",
)
@click.option(
    "--rule",
    "rules",
    metavar="NAME",
    multiple=True,
    help="Rule to measure; may be repeated.  [default: token-wise, and block if T > 0]",
)
@click.option(
    "--temperature",
    type=FLOAT,
    default=str(DEFAULTS.warp.temperature),
    show_default=True,
    help="Temperature of the measurement.",
)
@earlier_option
@click.option(
    "--prompts",
    type=FilePath(),
    help="File with one prompt on each line.  [default: four built-in ones]",
)
@click.option(
    "--time-limit",
    type=TIME,
    default="60s",
    show_default=True,
    help="Time for looking at texts; timing and checking add up to 20 s each, or a bit more.",
)
@click.option("--seed", type=count(0), default="0", show_default=True, help="Luck.")
@click.option("--plot", type=FilePath(), help="Draw it: FILE.svg, .png.  [default: no]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def plan(
    acceptance: Any,
    metrics: tuple[Path, ...],
    measure: bool,
    as_json: bool,
    plot: Path | None,
    **asked: Any,
) -> int:
    """Say whether speculation pays, and with which k: from numbers, from a server, or measured.

    The model: conditional acceptances a_1, a_2, ... give 1 + a_1 + a_1 a_2 + ... tokens per
    round, and a round takes t_verify + k * t_draft. A best k of 0 means: do not speculate, unless
    the verdict names a tree. Times take a unit (s, ms, us, ns); a bare number is seconds. With
    --measure the exit code is 3 when the interval of the speed-up straddles 1.
    """
    if sum((acceptance is not None, bool(metrics), measure)) != 1:
        raise InvalidInput("give exactly one of --acceptance, --metrics and --measure.")
    if asked["siblings"] and (acceptance is None or isinstance(acceptance, tuple)):
        raise InvalidInput("--siblings needs --acceptance with one number for every position.")
    given = given_flags(click.get_current_context())
    _check_flags(given, measure=measure, metrics=bool(metrics))
    if asked["batch"] > 1 and not isinstance(asked["t_verify"], Curve):
        raise InvalidInput(
            f"--batch is {asked['batch']} and --t-verify no curve; give a time for the tokens of "
            f"all sequences together, like 1:9.7ms,64:30ms."
        )
    if plot is not None:
        check_plot(plot)
        require_writable(plot, "--plot")
    if measure:
        from draftproof.cli.plan_measure import plan_here

        return plan_here(asked, as_json=as_json, plot=plot)
    _check_sizes(asked["k"], asked["max_k"])
    read = read_both(metrics) if metrics else None
    if read is not None and (read.empty or asked["t_verify"] is None):
        return _tell_metrics(read, as_json=as_json)
    if read is not None:
        acceptance = read.acceptance(asked["k"])
    return _plan(acceptance, asked, read, as_json=as_json, plot=plot)


FOUND = "--measure finds out what {flag} tells; leave one of them out."
NOT_MEASURED = {
    "k": "--measure finds k; leave -k out, or give the largest to try as --max-k.",
    "t_target": FOUND,
    "t_verify": FOUND,
    "t_draft": FOUND,
    "batch": "--measure times one sequence at a time; leave --batch out.",
}
"""Flags that `--measure` does not look at, and why."""

MEASURING = ("target", "drafts", "rules", "temperature", "earlier", "prompts", "time_limit", "seed")
"""What only `--measure` looks at; but a draft is named in the settings for a server too."""


def _check_flags(given: dict[str, str], *, measure: bool, metrics: bool) -> None:
    """Refuse flags that would be ignored."""
    for name, flag in given.items():
        if measure and name in NOT_MEASURED:
            raise InvalidInput(NOT_MEASURED[name].format(flag=flag))
        if not measure and name in MEASURING and not (metrics and name == "drafts"):
            raise InvalidInput(f"{flag} is for --measure; without it, nothing is decoded here.")


def _plan(
    acceptance: Any,
    asked: dict[str, Any],
    read: Metrics | None,
    *,
    as_json: bool,
    plot: Path | None,
) -> int:
    found = _planned(acceptance, asked)
    if as_json:
        told = report(found)
        click.echo(json.dumps(told if read is None else told | {"metrics": as_dict(read)}))
    else:
        _show(found, read, asked["drafts"])
    if plot is not None:
        _draw(found, plot)
    return DONE


def _show(found: Plan, read: Metrics | None, drafts: tuple[str, ...]) -> None:
    if read is not None:
        show_metrics(read)
    show(found)
    if read is not None:
        show_settings(settings(found.best.k, *drafts[:1]))


def _planned(acceptance: Any, asked: dict[str, Any]) -> Plan:
    k, max_k = asked["k"], asked["max_k"]
    costs = _costs(asked)
    best = best_choice(acceptance, costs, max_k)
    return Plan(
        acceptance=acceptance,
        costs=costs,
        batch=asked["batch"],
        table=choices(acceptance, costs, max_k),
        best=best,
        chosen=best if k is None else _chosen(acceptance, costs, k),
        tree=_tree(acceptance, asked["siblings"], costs, max_k),
    )


def _check_sizes(k: int | None, max_k: int) -> None:
    for flag, value in (("--max-k", max_k), ("-k", k or 0)):
        if value > LARGEST_K:
            raise InvalidInput(f"{flag} is {value}; it must be at most {LARGEST_K}.")


def _costs(asked: dict[str, Any]) -> Costs:
    t_verify = asked["t_verify"]
    if t_verify is None:
        raise InvalidInput("--t-verify is missing; give the time of a pass, like --t-verify 12ms.")
    if isinstance(t_verify, Curve):
        t_verify = t_verify.shared_by(asked["batch"])
    times = {
        "t_target": _plain_time(asked["t_target"], t_verify),
        "t_verify": t_verify,
        "t_draft": asked["t_draft"],
    }
    with by_flag(times):
        return Costs(**times)


def _tree(
    acceptance: Any, siblings: tuple[Fraction, ...] | None, costs: Costs, max_k: int
) -> TreeChoice | None:
    if siblings is None:
        return None
    if max_k > MOST_NODES:
        raise InvalidInput(
            f"--max-k is {max_k}; a tree is planned with at most {MOST_NODES} nodes, so lower it."
        )
    return best_tree_choice((acceptance, *siblings), costs, max_k)


def _tell_metrics(read: Metrics, *, as_json: bool) -> int:
    """Say what a server's metrics mean where there are no times to plan with."""
    if as_json:
        click.echo(json.dumps({"metrics": as_dict(read)}))
        return DONE
    show_metrics(read)
    if not read.empty:
        click.echo("\nGive --t-target and --t-verify to plan from these numbers.")
    return DONE


def _draw(plan: Plan, file: Path) -> None:
    acceptance, t_verify = plan.acceptance, plan.costs.t_verify
    curve = t_verify.points if isinstance(t_verify, Curve) else ()
    draw(
        Charts(
            speedups=[(one.k, float(one.speedup), None) for one in plan.table],
            best_k=plan.best.k,
            acceptance=[float(one) for one in acceptance] if isinstance(acceptance, tuple) else (),
            roofline=[(count, float(seconds)) for count, seconds in curve],
            plain=float(plan.costs.t_target),
            batch=plan.batch,
        ),
        file,
    )


def _plain_time(t_target: Fraction | None, t_verify: Curve | Fraction) -> Fraction:
    if t_target is not None:
        return t_target
    if isinstance(t_verify, Curve) and t_verify.first == 1:
        return Fraction(t_verify.at(1))
    raise InvalidInput(
        "--t-target is missing; give the time of one plain decoding step, like --t-target 10ms."
    )


def _chosen(acceptance: Any, costs: Costs, k: int) -> Choice:
    if not costs.knows(k):
        costs.round_seconds(k)
    return choices(_reaching(acceptance, k), costs, k)[-1]


def _reaching(acceptance: Any, k: int) -> Any:
    """Give an acceptance that is known at k positions; after one that is never kept, none is."""
    known = len(acceptance) if isinstance(acceptance, tuple) else k
    if k > known and acceptance[-1] != 0:
        raise InvalidInput(
            f"-k is {k} and the acceptance is known at {known} positions only; ask for a -k of at "
            f"most {known}, or give --acceptance one number for every position."
        )
    return (*acceptance, *(0 for _ in range(k - known))) if k > known else acceptance
