"""The verb `audit`: whether somebody else's sampler follows the target, and which bug it has."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid

from draftproof.audit.auditing import Audit, prepare
from draftproof.audit.cases import Source
from draftproof.audit.findings import Finding, Report
from draftproof.audit.report import VERDICTS, WRONG, as_html, as_json, shown
from draftproof.audit.sequential import Budget
from draftproof.audit.wording import bound_words, facts_in_words, notes
from draftproof.cli import DOES_NOT_HOLD, DONE, INCONCLUSIVE
from draftproof.cli.audit_target import (
    LOOPS,
    check_call,
    check_flags,
    check_rows,
    kind_of,
    load_function,
)
from draftproof.cli.reading import (
    MODEL,
    PROBABILITY,
    ROW,
    TIME,
    FilePath,
    count,
    given_flags,
    require_writable,
)
from draftproof.cli.screen import Progress, console_for, harmless
from draftproof.dist import Row
from draftproof.errors import InvalidInput

CODES = {
    "consistent": DONE,
    "refuted": DOES_NOT_HOLD,
    "faulty": DOES_NOT_HOLD,
    "inconclusive": INCONCLUSIVE,
}


@click.command(
    epilog="""\b
    Examples:
      draftproof audit sampler.py:step
      draftproof audit package.module:verify --signature block --html report.html
      draftproof audit sampler.py:step --target-row 1/2,3/10,1/5 --draft-row 1/4,1/2,1/4
      draftproof audit verifier.py:verify --signature block --luck torch
      draftproof audit transformers
      draftproof audit run.jsonl
      draftproof audit http://127.0.0.1:8000 --model NAME --resume answers.jsonl

    \b
    The function is called as
      step   fn(p, q, rng) -> token
      block  fn(target_rows, draft_rows, draft_tokens, rng) -> (accepted, token)
      batch  the same over lists, one entry per request
    with a NumPy Generator as rng; with --luck torch rows are tensors and rng is a
    torch.Generator; with --uniforms N rng is an array of N uniforms. transformers (and
    transformers-prompt-lookup) is the decode loop of that library, run on models of a few
    tokens. A .jsonl file is a recorded trace (docs/audit.md).

    Exit codes: 0 consistent; 1 refuted, or something else than tokens came out; 2 bad input;
    3 inconclusive.""",
)
@click.argument("target", metavar="TARGET")
@click.option(
    "--level",
    type=PROBABILITY,
    default="1e-6",
    show_default=True,
    help="Error level: how often a correct sampler may be refuted.",
)
@click.option(
    "--max-samples",
    type=count(1),
    default="200000",
    show_default=True,
    help="Most samples, where the law cannot be enumerated.",
)
@click.option(
    "--detect",
    type=PROBABILITY,
    default="0.05",
    show_default=True,
    help="Total variation to exclude; sampling ends when it is.",
)
@click.option("--target-row", type=ROW, help="Target probabilities.  [default: a battery of pairs]")
@click.option("--draft-row", type=ROW, help="Draft probabilities.  [default: a battery of pairs]")
@click.option(
    "--signature",
    type=click.Choice(["step", "block", "batch"]),
    default="step",
    show_default=True,
    help="How the function is called (below).",
)
@click.option(
    "--luck",
    type=click.Choice(["numpy", "torch"]),
    default="numpy",
    show_default=True,
    help="Where the function's random numbers come from.",
)
@click.option(
    "--uniforms",
    type=count(1),
    metavar="N",
    help="It takes so many uniforms in place of a generator.  [default: a generator]",
)
@click.option(
    "--time-limit", type=TIME, default="120s", show_default=True, help="Most time for everything."
)
@click.option(
    "--seed", type=count(0), default="0", show_default=True, help="Seed of the generator it gets."
)
@click.option(
    "--html",
    type=FilePath(dir_okay=False),
    metavar="FILE",
    help="Also write the report as one HTML file.  [default: none]",
)
@click.option("--model", metavar="NAME", help="Server: model to ask for.  [default: the server's]")
@click.option(
    "--api-key",
    metavar="KEY",
    envvar="DRAFTPROOF_API_KEY",
    help="Server: key sent with every request, or DRAFTPROOF_API_KEY.  [default: none]",
)
@click.option(
    "--prompts",
    type=FilePath(),
    metavar="FILE",
    help="Server: prompts, one per line.  [default: built-in ones]",
)
@click.option(
    "--concurrency",
    type=count(1),
    default="4",
    show_default=True,
    help="Server: most requests at a time.",
)
@click.option(
    "--reference",
    type=MODEL,
    metavar="PATH",
    help="Server: local model whose rows are the target's.  [default: the server's top logprobs]",
)
@click.option(
    "--control",
    metavar="URL",
    help="Server: a twin that does not draft.  [default: the server with drafts off, if it can]",
)
@click.option(
    "--metrics-url",
    metavar="URL",
    help="Server: where drafts are counted.  [default: its /metrics]",
)
@click.option(
    "--resume",
    type=FilePath(),
    metavar="FILE",
    help="Server: keep every answer here, and go on from it.  [default: none]",
)
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.  [default: off]")
def audit(
    target: str,
    target_row: Row | None,
    draft_row: Row | None,
    signature: str,
    html: Path | None,
    as_object: bool,
    **flags: Any,
) -> int:
    """Say whether a sampler follows the target, and which bug it has if not.

    TARGET is a function (path.py:name or module:name, which is imported and run), the decode
    loop of a library (transformers), a recorded trace (a .jsonl file), or the address of a server
    with the OpenAI completions API. Where the
    function's luck can be enumerated the verdict is a proof; elsewhere it is evidence at a stated
    error level, and what it could not have seen is said.
    """
    if html is not None and not html.parent.is_dir():
        raise InvalidInput(f"--html {html}: there is no folder {html.parent}; make it first.")
    if html is not None:
        require_writable(html, "--html")
    check_flags(target, list(given_flags(click.get_current_context()).values()))
    check_rows(target_row, draft_row)
    budget = _budget(flags)
    source = Source(flags.pop("luck"), flags.pop("uniforms"))
    with contextlib.redirect_stdout(sys.stderr):
        plan = _planned(target, budget, (target_row, draft_row), signature, source, flags)
    if isinstance(plan, Audit) and not as_object:
        announce(plan, console_for(sys.stdout))
    with contextlib.redirect_stdout(sys.stderr):
        report = plan if isinstance(plan, Report) else _run(plan, quiet=as_object)
    if as_object:
        click.echo(json.dumps(as_json(report), allow_nan=False))
    else:
        show(report, console_for(sys.stdout))
    if html is not None:
        html.write_text(as_html(report), encoding="utf-8")
    return CODES[report.verdict]


def _budget(flags: dict[str, Any]) -> Budget:
    """Take out what may be spent, and what is asked for."""
    for name, said in (("level", "an error level"), ("detect", "a total variation to exclude")):
        if not 0 < flags[name] < 1:
            raise InvalidInput(
                f"--{name} is {shown(flags[name])}; {said} lies between 0 and 1, and is neither."
            )
    if flags["time_limit"] <= 0:
        raise InvalidInput("--time-limit is 0; give some time, for example 120s.")
    return Budget(
        level=float(flags.pop("level")),
        detect=float(flags.pop("detect")),
        max_samples=flags.pop("max_samples"),
        seconds=float(flags.pop("time_limit")),
        seed=flags.pop("seed"),
    )


def _planned(
    target: str,
    budget: Budget,
    rows: tuple[Row | None, Row | None],
    signature: str,
    source: Source,
    server: dict[str, Any],
) -> Audit | Report:
    """Get ready; a trace or a server needs no announcement and is audited at once."""
    kind = kind_of(target)
    if kind == "server":
        return _server(target, budget, server)
    if kind == "trace":
        from draftproof.audit.records import audit_records

        return audit_records(Path(target), budget)
    if kind == "loop":
        from draftproof.audit.transformers_loop import prepare_transformers

        return prepare_transformers(LOOPS[target], budget=budget)
    fn = load_function(target)
    check_call(fn, target, signature)
    return prepare(fn, *rows, signature=signature, source=source, budget=budget, name=target)


def _run(plan: Audit, *, quiet: bool) -> Report:
    return plan.run(Progress(quiet=quiet or not sys.stderr.isatty()))


def _server(url: str, budget: Budget, flags: dict[str, Any]) -> Report:
    from draftproof.audit.server import ServerOptions, audit_server

    options = ServerOptions(budget=budget, **flags)
    return audit_server(url, options, lambda what: click.echo(what, err=True))


# ---------------------------------------------------------------- what is printed


def announce(ready: Audit, console: Console) -> None:
    """Say before the run what sampling would cost."""
    sizes = sorted((size for size in ready.announced), key=lambda size: size.mean)
    finite = [size for size in sizes if math.isfinite(size.mean)]
    cases = f"{len(ready.cases)} inputs" if len(ready.cases) > 1 else ready.cases[0].rows
    console.print(f"Auditing {ready.name} on {cases}, at level {ready.budget.level:g}.")
    if not finite:
        console.print("No suspect shows on this input: only the open bet is at work.")
        return
    middle, most = finite[len(finite) // 2], ready.budget.max_samples
    beyond = [size.suspect for size in finite if size.mean > most]
    said = (
        f"First its luck is enumerated. Where that fails it is sampled, at most {most:,} times: "
        f"{len(finite)} suspects show here, and half of them need at most {middle.mean:,.0f} "
        f"samples on average."
    )
    if beyond:
        said += f" Too small for so many samples: {'; '.join(beyond)}."
    console.print(said)


STYLES = {"consistent": "bold green", "inconclusive": "bold yellow"}


def show(report: Report, console: Console) -> None:
    """Print a report for people."""
    style = STYLES.get(report.verdict, "bold red")
    console.print(f"\n{VERDICTS[report.verdict]}", style=style)
    console.print(f"{report.reason[:1].upper()}{report.reason[1:]}.")
    if report.counterexample:
        console.print(harmless(f"Counterexample in {report.counterexample}."))
    for sentence in report.diagnosis.sentences():
        console.print(sentence)
    console.print()
    console.print(law_table(report.findings), soft_wrap=False)
    if report.diagnosis.suspects and report.method == "sequential":
        console.print()
        console.print(suspect_table(report), soft_wrap=False)
    console.print()
    if report.tv_bound is not None or report.verdict == "inconclusive":
        console.print(f"Total variation: {bound_words(report)}.")
    console.print(_spent(report))
    for fact in facts_in_words(report.facts):
        console.print(harmless(fact))
    for what, share in report.faults.items():
        console.print(harmless(f"Seen {share}: {what}."))
    for remark in notes(report):
        console.print(harmless(f"Note: {remark}."), style="dim")


def _spent(report: Report) -> str:
    if report.samples == 0 and report.method == "enumeration":
        return f"Found by enumeration in {report.seconds:.1f} s, without sampling."
    sizes = {n: s for n, s in report.smallest_detectable.items() if s is not None}
    unseen = [n for n, s in report.smallest_detectable.items() if s is None]
    said = f"{report.samples:,} samples in {report.seconds:.1f} s."
    if report.verdict == "refuted":
        return said
    if sizes:
        worst = max(sizes, key=lambda name: sizes[name])
        said += (
            f" Of {len(sizes)} suspects, each would have shown at a total variation of "
            f"{sizes[worst]:.2g} or less (the hardest: {worst})."
        )
    if unseen:
        said += f" Not visible on these inputs with this budget: {'; '.join(unseen)}."
    return said


def law_table(findings: tuple[Finding, ...]) -> Grid:
    """Give every case with its worst outcome."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("input", "found", "worst outcome", "wanted", "seen"):
        grid.add_column(title, justify="right" if title in ("wanted", "seen") else "left")
    for finding in findings:
        gaps = [abs(float(s) - float(w)) for s, w in zip(finding.seen, finding.wanted, strict=True)]
        at = max(range(len(gaps)), key=lambda place: gaps[place])
        wrong = finding.verdict in WRONG
        grid.add_row(
            finding.name,
            finding.verdict,
            finding.labels[at] if gaps[at] else "-",
            shown(finding.wanted[at]) if gaps[at] else "",
            shown(finding.seen[at]) if gaps[at] else "",
            style="red" if wrong else "",
        )
    return grid


def suspect_table(report: Report) -> Grid:
    """Give the leading suspects with their share of the evidence."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    grid.add_column("suspect")
    grid.add_column("weight", justify="right")
    grid.add_column("what it does")
    for one in report.diagnosis.suspects[:6]:
        grid.add_row(one.name, f"{one.weight:.1%}", one.about)
    return grid
