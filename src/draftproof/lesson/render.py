"""Lessons as HTML pages that can be read without JavaScript.

The page holds the whole lesson: its prose, its formulas as MathML, the table with its exact
fractions, the questions and the code. Scripts then replace each step's still picture by the live
one, from the data that the page carries with it. Nothing here knows a particular lesson.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from draftproof import dist
from draftproof.lesson.assets import Assets
from draftproof.lesson.content import Code, Curve, Json, Lesson, Rounds, Step, Table, Trace, to_json
from draftproof.lesson.curves import FORMULAS
from draftproof.lesson.prose import Prose
from draftproof.lesson.rounds import Turn, play
from draftproof.lesson.shelf import chapter, lessons
from draftproof.lesson.shortcuts import OUTPUTS

COLUMNS = {
    "token": "token",
    "p": "$p$",
    "q": "$q$",
    "covered": "drafted and kept",
    "acceptance": "kept when drafted",
    "residual": "residual",
    "corrected": "output with the correction",
    "naive": "output when resampling from $p$",
    "matched": "own sample on a mismatch",
    "redrawn": "drawn again on a mismatch",
    "greedy": "greedy draft judged with $q$",
}
"""Headings of the live table's columns."""

PYTHON_FOLDERS = {"grader": "grader", "numpy": "numpy_standin"}
"""The packages that the worker can import, by the name it imports them under."""

BLOCKS = frozenset({"body", "after", "note", "solution", "why", "hints"})
LINES = frozenset({"text", "question", "ask"})
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of the table; `off` is its distance from p in the columns that should equal p."""

    value: Fraction
    off: Fraction | None = None


def render_lesson(lesson: Lesson, assets: Assets, *, nonce: str, learner: str = "") -> str:
    """Give the page of one lesson; `nonce` marks the styles that its content policy allows.

    `learner` names the folder that the page's work belongs to (`ProgressStore.learner`).
    """
    prose = Prose(assets.formulas)
    page = {
        "lesson": lesson,
        "lessons": lessons(),
        "chapter": chapter(),
        "data": _data(lesson, assets, prose, {"nonce": nonce, "learner": learner}),
    }
    return _render("lesson.html", assets, prose, nonce, page)


def render_chapter(assets: Assets, *, nonce: str) -> str:
    """Give the page that lists the lessons and carries the chapter's reference."""
    page = {"lessons": lessons(), "chapter": chapter(), "data": _script(_program(assets))}
    return _render("chapter.html", assets, Prose(assets.formulas), nonce, page)


def _render(template: str, assets: Assets, prose: Prose, nonce: str, page: Json) -> str:
    helpers: dict[str, Callable[..., Any]] = {
        "block": prose.block,
        "inline": prose.inline,
        "grid": grid,
        "curve_rows": curve_rows,
        "turns": turns,
        "number": number,
        "decimal": decimal,
        "signed": signed,
        "minus": minus,
    }
    about = {"assets": assets, "nonce": nonce, "columns": COLUMNS}
    return _templates().get_template(template).render(**helpers, **about, **page)


@functools.cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("draftproof.lesson"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def grid(table: Table) -> list[dict[str, Cell]]:
    """Give the exact values of a table, a dictionary of its columns for every token.

    They come from the library's own functions, so the page shows what they return.
    """
    p, q = (np.array(row, dtype=object) for row in (table.p, table.q))
    laws = {name: law(p, q) for name, law in OUTPUTS.items()}
    plain = {
        "p": p,
        "q": q,
        "covered": np.minimum(p, q),
        "acceptance": dist.acceptance(p, q),
        "residual": dist.residual(p, q),
    }
    return [
        {name: Cell(row[token]) for name, row in plain.items()}
        | {name: Cell(law[token], law[token] - p[token]) for name, law in laws.items()}
        for token in range(len(table.tokens))
    ]


def curve_rows(curve: Curve) -> list[tuple[Fraction, list[Fraction | None]]]:
    """Give a chart's values where it starts: for every x the value of each series."""
    start = {one.id: one.value for one in curve.parameters}
    return [
        (x, [FORMULAS[one.formula](start | {curve.x: x}) for one in curve.series])
        for x in curve.axis.values()
    ]


def turns(step: Rounds) -> tuple[Turn, ...]:
    """Give the rounds as they are played before anything is changed."""
    return play(step.target, step.draft, step.prompt, k=step.k, stop=step.stop, limit=step.limit)


def number(value: Fraction) -> str:
    """Give a value as a decimal alone.

    >>> number(Fraction(3, 8)), number(Fraction(2)), number(Fraction(1, 3))
    ('0.375', '2', '≈ 0.3333')
    """
    return decimal(value) or minus(str(value))


def decimal(value: Fraction) -> str:
    """Give the decimal beside a fraction; "≈" where it had to be rounded.

    >>> decimal(Fraction(3, 8)), decimal(Fraction(1, 3)), decimal(Fraction(2))
    ('0.375', '≈ 0.3333', '')
    """
    if value.denominator == 1:
        return ""
    exact = value.denominator
    for prime in (2, 5):
        while exact % prime == 0:
            exact //= prime
    text = f"{float(value):.6f}".rstrip("0")
    if exact == 1 and Fraction(text) == value:
        return minus(text)
    return f"≈ {minus(f'{float(value):.{DECIMALS}f}')}"


def signed(value: Fraction) -> str:
    """Give a difference with its sign.

    >>> signed(Fraction(3, 40)), signed(Fraction(-1, 8))
    ('+3/40', '−1/8')
    """
    return minus(f"+{value}" if value > 0 else str(value))


def minus(text: str) -> str:
    """Give the text with real minus signs, which a hyphen is too short for."""
    return text.replace("-", "\N{MINUS SIGN}")


def _data(lesson: Lesson, assets: Assets, prose: Prose, about: Json) -> Markup:
    page = {
        "lesson": {
            "id": lesson.id,
            "n": lesson.n,
            "title": lesson.title,
            "contentHash": lesson.content_hash,
        },
        "steps": [_step(step, prose) for step in lesson.steps],
        "columns": {name: prose.inline(text) for name, text in COLUMNS.items()},
        "python": _python_files(),
    }
    return _script(page | _program(assets) | about)


def _program(assets: Assets) -> Json:
    """Give what runs the reference's program, which is on every page of the chapter."""
    return {
        "worker": assets.url("worker.js"),
        "pyodide": f"{assets.url('pyodide')}/",
        "program": chapter().code.source,
    }


def _script(page: Json) -> Markup:
    # Inside a script element only "<" could end it early; JSON may write it as an escape.
    return Markup(json.dumps(page, ensure_ascii=False).replace("<", "\\u003c"))


def _step(step: Step, prose: Prose) -> Json:
    props: Json = _with_html(to_json(step), prose)
    if isinstance(step, Code):
        shown = [{"id": test.id, "name": test.name} for test in step.tests]
        props |= {"exercise": step.exercise(), "tests": shown, "known_wrong": []}
    if isinstance(step, Trace):
        props |= {"records": recorded(step.trace)}
    return props


def _with_html(value: Any, prose: Prose, key: str = "") -> Any:
    """Give a copy of plain data with its prose, known by its key, as HTML."""
    if isinstance(value, Mapping):
        return {name: _with_html(item, prose, name) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_with_html(item, prose, key) for item in value]
    if not isinstance(value, str):
        return value
    if key in BLOCKS:
        return prose.block(value)
    return prose.inline(value) if key in LINES else value


def _python_files() -> dict[str, str]:
    here = resources.files("draftproof.lesson")
    return {
        f"{name}/{file.name}": file.read_text(encoding="utf-8")
        for name, folder in PYTHON_FOLDERS.items()
        for file in (here / folder).iterdir()
        if file.name.endswith(".py")
    }


def recorded(name: str) -> list[Json]:
    """Give the records of a decoding that ships with the lessons; none when it is not there."""
    file = resources.files("draftproof.lesson") / "traces" / name
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
