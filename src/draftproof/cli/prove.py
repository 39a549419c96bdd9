"""The verb `prove`: whether a verification rule is exact, by going through all of its luck."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table as Grid

from draftproof.backends.table import Table
from draftproof.battery import WORLDS, World, constant_world, prove_rule
from draftproof.cli import DOES_NOT_HOLD, DONE
from draftproof.cli.reading import (
    ROW,
    FilePath,
    count,
    exact_row,
    given_flags,
    read_json,
    run_file,
)
from draftproof.cli.screen import Progress, console_for
from draftproof.contracts import Guarantee, Rule
from draftproof.contracts import Text as Tokens
from draftproof.dist import Row
from draftproof.errors import DraftproofError, InvalidInput
from draftproof.proof import Proof
from draftproof.rules import RULES, find_rule

EVERYWHERE = "*"
"""Key of the row that follows every text without a row of its own."""


@click.command(
    epilog="""\b
    Examples:
      draftproof prove --rule token-wise
      draftproof prove --rule all --json
      draftproof prove --rule token-wise --target-row 1/2,3/10,1/5 --draft-row 0.25,0.5,0.25
      draftproof prove --rule my_rule.py:verify --rows rows.json

    \b
    A rows file is JSON; keys are texts of token ids, "" the empty one, "*" every other:
      {"target": {"": ["1/2", "1/2"], "0": ["1/3", "2/3"], "*": [0.25, 0.75]},
       "draft":  {"*": ["1/4", "3/4"]}}""",
)
@click.option(
    "--rule",
    "name",
    metavar="NAME|all|path.py:name",
    default="token-wise",
    show_default=True,
    help="A rule of ours, all of them, or a function or Rule of your own file, which is run.",
)
@click.option(
    "--target-row",
    type=ROW,
    help="Target probabilities at every position.  [default: a battery of instances]",
)
@click.option(
    "--draft-row",
    type=ROW,
    help="Draft probabilities at every position.  [default: a battery of instances]",
)
@click.option(
    "--rows",
    type=FilePath(),
    metavar="FILE",
    help="Rows that depend on the text before them, as JSON (below).  [default: none]",
)
@click.option(
    "-k", "k", type=count(1), default="2", show_default=True, help="Tokens drafted per round."
)
@click.option(
    "--drafts",
    type=count(1),
    default="2",
    show_default=True,
    help="Drafts per position, for rules that take several.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def prove(
    name: str,
    target_row: Row | None,
    draft_row: Row | None,
    rows: Path | None,
    k: int,
    drafts: int,
    as_json: bool,
) -> int:
    """Say whether a verification rule keeps the guarantee it declares.

    Every way the luck of a round can fall is visited with fractions, so the answer is equal or
    not equal, without a tolerance; a rule that is not exact gets a counterexample. Exit code 0
    when every rule keeps its guarantee (a lossy rule declares none), 1 otherwise.
    """
    worlds = _worlds(target_row, draft_row, rows)
    rules = list(RULES.values()) if name == "all" else [load_rule(name)]
    if "drafts" in given_flags(click.get_current_context()) and {r.shape for r in rules} == {
        "chain"
    }:
        raise InvalidInput(f"--drafts is {drafts}, and {rules[0].name} takes one; leave it out.")
    proofs = [_proof(rule, worlds, k, drafts, _file_of(name)) for rule in _told(rules, k)]
    if as_json:
        answers = [report(proof) for proof in proofs]
        click.echo(json.dumps({"rules": answers} if name == "all" else answers[0]))
    else:
        _show(proofs)
    return DONE if all(proof.kept for proof in proofs) else DOES_NOT_HOLD


LONG = 4
"""From this k on a proof may take long, as its branches grow by a factor with each token."""


def _told(rules: Sequence[Rule], k: int) -> Iterator[Rule]:
    """Give each rule, with a line that says so where its proof may take long."""
    progress = Progress()
    for rule in rules:
        if k >= LONG:
            progress(f"proving {rule.name} at k = {k}; a smaller -k is faster")
        yield rule
    progress.clear()


def _worlds(target_row: Row | None, draft_row: Row | None, file: Path | None) -> Sequence[World]:
    if file is not None:
        if target_row is not None or draft_row is not None:
            raise InvalidInput("--rows and --target-row, --draft-row exclude each other; give one.")
        return (_world_of(file),)
    if target_row is None and draft_row is None:
        return WORLDS
    if target_row is None or draft_row is None:
        missing = "--target-row" if target_row is None else "--draft-row"
        raise InvalidInput(f"{missing} is missing; give both rows, or neither.")
    if target_row.size != draft_row.size:
        raise InvalidInput(
            f"--target-row has {target_row.size} entries and --draft-row has {draft_row.size}; "
            f"they must be over the same tokens."
        )
    return (constant_world(target_row, draft_row),)


def _world_of(file: Path) -> World:
    content = read_json(file, "--rows")
    if not isinstance(content, dict) or set(content) != {"target", "draft"}:
        raise InvalidInput(f'--rows {file}: must be an object with "target" and "draft" only.')
    target, draft = (_read_table(content[side], f"{file}: {side}") for side in ("target", "draft"))
    sizes = {row.size for side in (target, draft) for row in side.values()}
    if len(sizes) != 1:
        raise InvalidInput(
            f"--rows {file}: rows have {sorted(sizes)} entries; all must be over the same tokens."
        )
    _require_ids(content, sizes.pop(), file)
    return World(
        file.name, _as_table(target, f"{file}: target"), _as_table(draft, f"{file}: draft")
    )


def _require_ids(content: dict[str, dict[str, Any]], size: int, file: Path) -> None:
    """Refuse a text that can never come up, because a token of it is not in the rows."""
    for side, rows in content.items():
        for key in rows:
            if any(part != EVERYWHERE and int(part) >= size for part in key.split()):
                raise InvalidInput(
                    f"--rows {file}: {side}[{key!r}] follows a text that cannot be; the rows are "
                    f"over the tokens 0 to {size - 1}."
                )


def _read_table(side: Any, where: str) -> dict[str, Row]:
    if not isinstance(side, dict) or not side:
        raise InvalidInput(f"--rows {where}: must be an object from texts to rows, not empty.")
    rows: dict[str, Row] = {}
    for key, row in side.items():
        text = _text_of(key, f"--rows {where}")
        if text in rows:
            raise InvalidInput(
                f"--rows {where}: {key!r} is the text {text!r} a second time; keep one."
            )
        rows[text] = _read_entry(row, f"{where}[{key!r}]")
    return rows


def _text_of(key: str, where: str) -> str:
    """Give a key as texts are looked up: ids with one blank between them."""
    if key.strip() == EVERYWHERE:
        return EVERYWHERE
    if not all(part.isascii() and part.isdigit() for part in key.split()):
        raise InvalidInput(
            f'{where}: {key!r} is no text; write token ids with blanks between them, like "0 2", '
            f'or "*" for every other text.'
        )
    return " ".join(str(int(part)) for part in key.split())


def _read_entry(row: Any, where: str) -> Row:
    if not isinstance(row, list) or any(isinstance(x, bool | list | dict) for x in row):
        raise InvalidInput(f"--rows {where}: must be a list of numbers or fractions.")
    return exact_row([str(entry) for entry in row], f"--rows {where}")


def _as_table(rows: dict[str, Row], where: str) -> Table:
    def find(text: Tokens) -> Row:
        key = " ".join(map(str, text))
        if key not in rows and EVERYWHERE not in rows:
            raise InvalidInput(
                f'--rows {where}: has no row after {key!r}; write one, or "*" for every other text.'
            )
        return rows[key if key in rows else EVERYWHERE]

    return Table(find)


def load_rule(name: str) -> Rule:
    """Give a rule by its name, or from ``path.py:name``; the file is run.

    Raises
    ------
    InvalidInput
        If there is no such rule, file or object, or the file fails.
    """
    file = _file_of(name)
    if file is None:
        return find_rule(name)
    path, _, attribute = name.rpartition(":") if ":" in name else (name, "", "")
    if not attribute:
        raise InvalidInput(f"--rule {name}: add the name of the function, like {file}:verify.")
    module = run_file(
        file, "--rule", "_rule_under_proof", lambda e: f"fails when it is run: {_blame(e, file)}"
    )
    found = getattr(module, attribute, None)
    if isinstance(found, Rule):
        return found
    if not callable(found):
        raise InvalidInput(
            f"--rule {name}: {path} has no function or Rule named {attribute!r}; name one it has."
        )
    return Rule(name=attribute, guarantee=Guarantee.EXACT, verify=found, source=path, shape="chain")


def _file_of(name: str) -> Path | None:
    """Give the file of ``path.py:name``; None for the name of a rule of ours."""
    path = name.rpartition(":")[0] if ":" in name else name
    return Path(path) if path.endswith(".py") and name not in RULES else None


def _blame(error: BaseException, path: Path) -> str:
    """Say what failed and on which line of the user's own file."""
    own = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    line = error.lineno if isinstance(error, SyntaxError) else own[-1] if own else None
    where = f" (line {line})" if line else ""
    return f"{type(error).__name__}: {error}{where}."


def _proof(
    rule: Rule, worlds: Sequence[World], k: int, drafts: int, file: Path | None = None
) -> Proof:
    try:
        return prove_rule(rule, k=k, drafts=drafts, worlds=worlds)
    except DraftproofError:
        raise
    except (Exception, SystemExit) as error:
        if file is None:
            raise
        raise InvalidInput(
            f"rule {rule.name!r} failed while it was proved: {_blame(error, file)}"
        ) from error


def report(proof: Proof) -> dict[str, Any]:
    """Give the JSON object of a proof; exact values are strings of fractions."""
    return {
        "rule": proof.rule,
        "guarantee": proof.guarantee.value,
        "exact": proof.exact,
        "branches": proof.branches,
        "instances": proof.instances,
        "law": [_fraction(value) for value in proof.law],
        "gap": _fraction(proof.gap),
        "total_variation": _fraction(proof.total_variation),
        "acceptance": _fraction(proof.acceptance),
        "expected_accepted": _fraction(proof.expected_accepted),
        "optimal_acceptance": _fraction(proof.optimal_acceptance),
        "counterexample": proof.counterexample,
        "notes": list(proof.notes),
    }


def _fraction(value: Any) -> str | None:
    return None if value is None else str(value)


def _show(proofs: Sequence[Proof]) -> None:
    console = console_for(sys.stdout)
    console.print(proof_table(proofs, console.width), soft_wrap=False)
    console.print(f"\n{LEGEND}", style="dim", soft_wrap=False)
    notes = dict.fromkeys(note for proof in proofs for note in proof.notes)
    for note in notes:
        names = ", ".join(proof.rule for proof in proofs if note in proof.notes)
        console.print(f"{names}: {note}.", style="dim", soft_wrap=False)
    for proof in proofs:
        if proof.counterexample and (len(proofs) == 1 or not proof.kept):
            console.print(f"\n{proof.rule} is not exact. {proof.counterexample}", soft_wrap=False)


COLUMNS = ("branches", "accept", "kept", "best", "left", "TV")
"""After the rule, its claim and whether it is exact; `LEGEND` explains them."""

LEGEND = (
    "accept: probability of keeping a drafted token at the first position; kept: expected kept "
    "tokens per round; best: the largest accept of any exact rule with these drafts; left: best "
    "minus accept; TV: total variation of the joint law from the target's. TV and exact cover "
    "every instance and every smaller k, the other figures are the first instance's."
)


def proof_table(proofs: Sequence[Proof], width: int = 80) -> Grid:
    """Give proofs as a table for people; a narrow terminal gets the answers only."""
    wide = width >= 72
    grid = Grid(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    grid.add_column("rule", overflow="fold", no_wrap=width >= 80)
    grid.add_column("claim")
    grid.add_column("exact")
    for title in COLUMNS if wide else ("accept", "TV"):
        grid.add_column(title, justify="right", no_wrap=True)
    for proof in proofs:
        figures = _figures(proof)
        shown = figures if wide else (figures[1], figures[-1])
        exact = "yes" if proof.exact else "NO" if not proof.kept else "no"
        style = "" if proof.kept else "bold red"
        grid.add_row(proof.rule, proof.guarantee.value, exact, *shown, style=style)
    return grid


def _figures(proof: Proof) -> tuple[str, ...]:
    best = proof.optimal_acceptance
    return (
        str(proof.branches),
        _short(proof.acceptance),
        _short(proof.expected_accepted),
        _short(best),
        _short(None if best is None else best - proof.acceptance),
        _short(proof.total_variation),
    )


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if len(str(value)) <= 6 else f"{float(value):.4f}"
