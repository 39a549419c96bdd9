"""The verb `demo`: a real run, the worked table beside a simulation, and the proof."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from draftproof.battery import WORKED_P, WORKED_Q, WORLDS, instance
from draftproof.cli import DOES_NOT_HOLD, DONE, INTERRUPTED
from draftproof.cli.prove import proof_table
from draftproof.cli.prove import report as proof_report
from draftproof.cli.run import compared, conclude, decode
from draftproof.cli.run_report import report as run_report
from draftproof.cli.screen import Progress, Screen, console_for
from draftproof.decode import Limits
from draftproof.dist import (
    Row,
    empirical,
    exact_distribution,
    naive_distribution,
    rejection_probability,
    residual,
)
from draftproof.proof import LoopProof, Proof, prove, prove_loop
from draftproof.session import (
    Comparison,
    Options,
    Session,
    Transcript,
    open_session,
)

PROMPT = "What are the benefits of reading books?"
OPTIONS = Options(max_tokens=64)
TRIALS = 1_000_000
SEED = 2026


@click.command(
    epilog="""\b
    Examples:
      draftproof demo
      draftproof demo --prompt "Name three rivers."
      draftproof demo --json""",
)
@click.option("--prompt", default=PROMPT, show_default=True, help="What the model shall answer.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def demo(prompt: str, as_json: bool) -> int:
    """Decode on the real model, show the worked table, and prove the rule that was used.

    The rule is token-wise verification: keep a drafted token x with probability
    min(1, p(x)/q(x)), and after a rejection draw from the residual, the normalised positive part
    of p - q. The table shows that this gives p, and that drawing again from p does not.
    """
    out = console_for(sys.stdout)
    progress = Progress()
    if not as_json:
        _title(out, f"1. A real model answers: {prompt}")
    progress("opening the model")
    session = open_session(OPTIONS)
    text = session.encode(prompt)
    progress.clear()
    script = Transcript()
    screen = None if as_json else Screen(out)
    whole = decode(session, text, script, screen)
    found = compared(session, text, progress) if whole else None
    if found is None:
        return _cut(session, script, out, as_json=as_json)
    proof, loop = prove_used_rule(session)
    if as_json:
        click.echo(json.dumps(_report(session, script, found, proof, loop)))
    else:
        conclude(session, script, found, whole=True, console=out)
        _show_table(out)
        _show_proof(out, proof, loop)
    return DONE if found.holds and proof.exact and loop.exact else DOES_NOT_HOLD


def _cut(session: Session, script: Transcript, out: Console, *, as_json: bool) -> int:
    """Tell what is known of the run that Ctrl-C ended."""
    if as_json:
        told = run_report(session, script, None, comparing=True, interrupted=True)
        click.echo(json.dumps({"run": told}))
    else:
        conclude(session, script, None, whole=False, console=out)
    return INTERRUPTED


def prove_used_rule(session: Session) -> tuple[Proof, LoopProof]:
    """Prove the session's rule on the battery, and the loop around it over several rounds."""
    rule = session.rule
    proof = prove(rule, [instance(world, rule, k=2) for world in WORLDS])
    world = instance(WORLDS[1], rule, k=2)
    limits = Limits(max_tokens=3, stop=frozenset({3}))
    loop = prove_loop(rule, world.target, world.proposer, k=2, limits=limits)
    return proof, loop


def worked_rows() -> list[dict[str, Any]]:
    """Give the worked table: exact values as fractions, simulated ones as floats."""
    p, q = WORKED_P, WORKED_Q
    columns: dict[str, Iterable[Any]] = {
        "token": range(p.size),
        "p": p,
        "q": q,
        "residual": residual(p, q),
        "exact": exact_distribution(p, q),
        "exact_seen": _seen(p, q, "exact"),
        "naive": naive_distribution(p, q),
        "naive_seen": _seen(p, q, "naive"),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _seen(p: Row, q: Row, method: str) -> list[float]:
    return [float(share) for share in empirical(p, q, TRIALS, SEED, method)]


def _title(console: Console, words: str) -> None:
    console.print()
    console.print(Text(words, style="bold"))
    console.print()


def _show_table(console: Console) -> None:
    _title(console, "2. Why the correction is drawn from the residual, not from p again")
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    laws = ("p", "q", "residual") if console.width >= 72 else ()
    for title in ("token", *laws, "corrected", "seen", "redrawn from p", "seen"):
        grid.add_column(title, justify="right")
    for row in worked_rows():
        grid.add_row(
            str(row["token"]),
            *(f"{float(row[name]):g}" for name in (*laws, "exact")),
            f"{row['exact_seen']:.4f}",
            _judged(row["naive"], row["p"]),
            f"{row['naive_seen']:.4f}",
        )
    console.print(grid, soft_wrap=False)
    reject = rejection_probability(WORKED_P, WORKED_Q)
    console.print(
        f"\np = {_listed(WORKED_P)}, q = {_listed(WORKED_Q)}, P(reject) = {reject}.\n"
        f"seen: the frequency in {TRIALS:,} simulated steps.\n"
        f"x: a probability that is not p, with its difference from p."
    )


def _listed(row: Row) -> str:
    return "[" + ", ".join(f"{float(value):g}" for value in row) + "]"


def _judged(value: Fraction, wanted: Fraction) -> Text:
    """Mark a probability that is not p: a cross, the difference, and red where there is colour."""
    if value == wanted:
        return Text(f"{float(value):g}")
    difference = value - wanted
    sign = "+" if difference > 0 else "-"
    return Text(f"x {float(value):g} ({sign}{abs(difference)})", style="bold red")


def _show_proof(console: Console, proof: Proof, loop: LoopProof) -> None:
    _title(console, "3. The proof: every way the luck can fall, in fractions")
    console.print(proof_table([proof], console.width), soft_wrap=False)
    verdict = "equal to plain decoding's" if loop.exact else "NOT plain decoding's"
    console.print(
        f"\nOne round: {proof.branches} branches in {proof.instances} small worlds, largest gap "
        f"{proof.gap}.\nThe whole loop, over several rounds and with an end token: "
        f"{loop.branches} branches,\nits law is {verdict} (largest gap {loop.gap})."
    )
    if proof.counterexample or loop.counterexample:
        console.print(proof.counterexample or loop.counterexample)


def _report(
    session: Session, script: Transcript, found: Comparison, proof: Proof, loop: LoopProof
) -> dict[str, Any]:
    table = [
        {name: str(value) if isinstance(value, Fraction) else value for name, value in row.items()}
        for row in worked_rows()
    ]
    return {
        "run": run_report(session, script, found),
        "rejection_probability": str(rejection_probability(WORKED_P, WORKED_Q)),
        "table": table,
        "trials": TRIALS,
        "proof": proof_report(proof),
        "loop": {"exact": loop.exact, "branches": loop.branches, "gap": str(loop.gap)},
    }
