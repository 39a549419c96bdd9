"""Reading lesson files: TOML in, the dataclasses of :mod:`draftproof.lesson.content` out.

Every complaint names the file, the step and the field.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from draftproof.errors import InvalidInput
from draftproof.lesson.content import (
    AnswerItem,
    Answers,
    Chapter,
    Choice,
    Code,
    Json,
    KnownWrong,
    Lesson,
    Measure,
    Option,
    Predict,
    Preset,
    Program,
    Prose,
    Reference,
    Section,
    Step,
    Table,
    Test,
    Trace,
    WrongAnswer,
)

Made = TypeVar("Made")

SHELF = "lessons"
COLUMNS = ("token", "p", "q", "residual", "corrected", "naive")
CHECKS = ("value", "reads", "law", "counts", "seed", "methods")
SIGNS = (
    "output",
    "zero-division",
    "inputs-changed",
    "q-unread",
    "seed-ignored",
    "seed-unused",
    "method-ignored",
    "not-frequencies",
    "one-token",
)


class Fields:
    """One TOML table being read; remembers where it is and which keys nobody asked for."""

    def __init__(self, table: Json, where: str) -> None:
        self._table = dict(table)
        self.where = where

    def fail(self, key: str, problem: str) -> InvalidInput:
        """Return the error for a bad value under ``key``."""
        return InvalidInput(f"{self.where}: {key} {problem}")

    def take(self, key: str, kind: type[Made], default: Made | None = None) -> Made:
        """Take the value under ``key``, which must be of this type."""
        if key not in self._table:
            if default is None:
                raise self.fail(key, "is missing")
            return default
        value = self._table.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fail(key, f"must be of type {kind.__name__}, got {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Take a string without the blank lines around it; empty only if the default is."""
        value = self.take(key, str, default).strip("\n")
        if not value.strip() and default is None:
            raise self.fail(key, "is empty")
        return value

    def one_of(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Take a string out of a fixed set."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.fail(key, f"must be one of {', '.join(allowed)}, got {value!r}")
        return value

    def strings(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """Take a list of strings."""
        values = self.take(key, list, [] if optional else None)
        if not all(isinstance(value, str) for value in values):
            raise self.fail(key, f"must be a list of strings, got {values!r}")
        if not values and not optional:
            raise self.fail(key, "is empty")
        return tuple(value.strip("\n") for value in values)

    def integers(self, key: str) -> tuple[int, ...]:
        """Take a list of integers."""
        values = self.take(key, list)
        if not values or not all(type(value) is int for value in values):
            raise self.fail(key, f"must be a list of integers, got {values!r}")
        return tuple(values)

    def fractions(self, key: str, *, optional: bool = False) -> tuple[Fraction, ...]:
        """Take a list of fractions written as strings."""
        values = self.strings(key, optional=optional)
        try:
            return tuple(Fraction(value) for value in values)
        except (ValueError, ZeroDivisionError):
            raise self.fail(key, f"must hold fractions such as '3/10', got {values!r}") from None

    def row(self, key: str) -> tuple[Fraction, ...]:
        """Take a probability row: fractions that are not negative and sum to exactly 1."""
        row = self.fractions(key)
        if min(row) < 0 or sum(row) != 1:
            raise self.fail(key, f"must be probabilities with sum 1, got {[str(x) for x in row]}")
        return row

    def tables(self, key: str, *, optional: bool = False) -> Iterator[Fields]:
        """Take an array of tables, each ready to be read."""
        values = self.take(key, list, [] if optional else None)
        if not values and not optional:
            raise self.fail(key, "is empty")
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.fail(f"{key}[{index}]", f"must be a table, got {value!r}")
            name = value.get("id", index)
            yield Fields(value, f"{self.where}, {key} {name!r}")

    def done(self, made: Made) -> Made:
        """``made``, unless a key was left over."""
        if self._table:
            raise self.fail(", ".join(sorted(self._table)), "is not a known field here")
        return made


def _same_length(fields: Fields, **rows: tuple[Any, ...]) -> None:
    if len({len(row) for row in rows.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(row)}" for name, row in rows.items())
        raise fields.fail(" and ".join(rows), f"must be equally long, but {lengths}")


def _pair(fields: Fields) -> Json:
    p, q = fields.row("p"), fields.row("q")
    _same_length(fields, p=p, q=q)
    return {"p": p, "q": q}


def _options(fields: Fields, *, judged: bool) -> tuple[Option, ...]:
    options = []
    for part in fields.tables("option"):
        option = Option(part.text("id"), part.text("text"))
        if judged:
            right, why = part.take("right", bool), part.text("why")
            option = dataclasses.replace(option, right=right, why=why)
        options.append(part.done(option))
    if judged and sum(option.right is True for option in options) != 1:
        raise fields.fail("option", "must mark exactly one option as right")
    return tuple(options)


def _predict(fields: Fields, common: Json) -> Step:
    return Predict(
        question=fields.text("question"),
        options=_options(fields, judged=False),
        after=fields.text("after"),
        **common,
    )


def _choice(fields: Fields, common: Json) -> Step:
    return Choice(
        question=fields.text("question"),
        options=_options(fields, judged=True),
        quotes=fields.text("quotes", ""),
        **common,
    )


def _table(fields: Fields, common: Json) -> Step:
    tokens, pair, columns = fields.strings("tokens"), _pair(fields), fields.strings("columns")
    _same_length(fields, tokens=tokens, p=pair["p"])
    unknown = [column for column in columns if column not in COLUMNS]
    if unknown:
        raise fields.fail("columns", f"may hold {', '.join(COLUMNS)}, got {unknown[0]!r}")
    presets = tuple(
        part.done(
            Preset(part.text("id"), part.text("title"), note=part.text("note"), **_pair(part))
        )
        for part in fields.tables("preset")
    )
    return Table(tokens=tokens, columns=columns, presets=presets, **pair, **common)


def _answer_item(fields: Fields) -> AnswerItem:
    form = fields.one_of("form", ("number", "list"))
    answer = fields.fractions("answer")
    if form == "number" and len(answer) != 1:
        raise fields.fail("answer", f"must be one number, got {len(answer)}")
    wrong = tuple(
        part.done(WrongAnswer(part.fractions("value"), part.text("why")))
        for part in fields.tables("wrong", optional=True)
    )
    if answer in {item.value for item in wrong}:
        raise fields.fail("wrong", "holds the right answer")
    item = AnswerItem(
        id=fields.text("id"),
        ask=fields.text("ask"),
        form=form,
        answer=answer,
        wrong=wrong,
        hints=fields.strings("hints"),
        solution=fields.text("solution"),
        placeholder=fields.text("placeholder", ""),
    )
    return fields.done(item)


def _answers(fields: Fields, common: Json) -> Step:
    return Answers(items=tuple(_answer_item(part) for part in fields.tables("item")), **common)


def _test(fields: Fields, entry: tuple[str, ...]) -> Test:
    test = Test(
        id=fields.text("id"),
        name=fields.text("name"),
        function=fields.one_of("function", entry),
        check=fields.one_of("check", CHECKS),
        expect=fields.fractions("expect", optional=True),
        grid=fields.take("grid", int, 0),
        trials=fields.take("trials", int, 0),
        seed=fields.take("seed", int, 0),
        method=fields.one_of("method", ("", "exact", "naive"), ""),
        **_pair(fields),
    )
    if test.check in ("value", "law", "counts") and not test.expect:
        raise fields.fail("expect", f"is missing, and the check {test.check!r} needs it")
    if test.check in ("counts", "seed", "methods") and test.trials < 1:
        raise fields.fail("trials", f"must be at least 1, got {test.trials}")
    return fields.done(test)


def _known_wrong(fields: Fields, entry: tuple[str, ...]) -> KnownWrong:
    return fields.done(
        KnownWrong(
            id=fields.text("id"),
            function=fields.one_of("function", entry),
            sign=fields.one_of("sign", SIGNS, "output"),
            why=fields.text("why"),
            code=fields.text("code"),
        )
    )


def _code(fields: Fields, common: Json) -> Step:
    entry = fields.strings("entry")
    return Code(
        entry=entry,
        filename=fields.text("filename"),
        time_limit_s=float(fields.take("time_limit_s", int)),
        starter=fields.text("starter") + "\n",
        reference=fields.text("reference") + "\n",
        hints=fields.strings("hints"),
        tests=tuple(_test(part, entry) for part in fields.tables("test")),
        known_wrong=tuple(_known_wrong(part, entry) for part in fields.tables("known_wrong")),
        **common,
    )


def _measure(fields: Fields, common: Json) -> Step:
    return Measure(
        draws=fields.integers("draws"), seed=fields.take("seed", int), **_pair(fields), **common
    )


_KINDS: dict[str, Callable[[Fields, Json], Step]] = {
    "prose": lambda fields, common: Prose(**common),
    "predict": _predict,
    "table": _table,
    "answers": _answers,
    "code": _code,
    "trace": lambda fields, common: Trace(trace=fields.text("trace"), **common),
    "measure": _measure,
    "choice": _choice,
    "reference": lambda fields, common: Reference(**common),
}


def _step(fields: Fields) -> Step:
    kind = fields.one_of("kind", tuple(_KINDS))
    common = {
        "id": fields.text("id"),
        "kind": kind,
        "title": fields.text("title"),
        "body": fields.text("body", ""),
        "reveal_after": fields.text("reveal_after", ""),
    }
    return fields.done(_KINDS[kind](fields, common))


def _check_ids(where: str, steps: tuple[Step, ...]) -> None:
    seen: list[str] = []
    for step in steps:
        if step.id in seen:
            raise InvalidInput(f"{where}, step {step.id!r}: id is used twice")
        for key in ("reveal_after", "quotes"):
            if (name := getattr(step, key, "")) and name not in seen:
                raise InvalidInput(f"{where}, step {step.id!r}: {key} names no earlier {name!r}")
        seen.append(step.id)


def _parse(text: str, where: str) -> Fields:
    try:
        return Fields(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{where}: this is not valid TOML: {error}") from None


def read_lesson(text: str, where: str) -> Lesson:
    """Read a lesson from the text of its file; ``where`` is the name that errors show.

    Raises
    ------
    InvalidInput
        The text is not TOML, or a field is missing, unknown or of the wrong form.
    """
    fields = _parse(text, where)
    steps = tuple(_step(part) for part in fields.tables("step"))
    _check_ids(where, steps)
    lesson = Lesson(
        id=fields.text("id"),
        n=fields.take("n", int),
        title=fields.text("title"),
        minutes=fields.take("minutes", int),
        needs=fields.strings("needs", optional=True),
        summary=fields.text("summary"),
        steps=steps,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
    )
    return fields.done(lesson)


def read_chapter(text: str, where: str) -> Chapter:
    """Read the chapter reference from the text of its file."""
    fields = _parse(text, where)

    def sections(key: str) -> tuple[Section, ...]:
        return tuple(
            part.done(Section(part.text("id"), part.text("title"), part.text("body")))
            for part in fields.tables(key)
        )

    code = Fields(fields.take("code", dict), f"{where}, code")
    program = Program(code.text("title"), code.text("body"), code.text("source") + "\n")
    chapter = Chapter(
        fields.text("title"), sections("section"), code.done(program), sections("mistake")
    )
    return fields.done(chapter)


def load(path: Path) -> Lesson:
    """Read a lesson from a file of your own."""
    return read_lesson(path.read_text(encoding="utf-8"), path.name)


@functools.cache
def lessons() -> tuple[Lesson, ...]:
    """Return the lessons that ship with the package, by number.

    >>> [lesson.title for lesson in lessons()]
    ['Rejection correction']
    """
    shelf = resources.files(__package__) / SHELF
    files = sorted((f for f in shelf.iterdir() if f.name[:1].isdigit()), key=lambda f: f.name)
    found = [read_lesson(file.read_text(encoding="utf-8"), file.name) for file in files]
    return tuple(sorted(found, key=lambda lesson: lesson.n))


@functools.cache
def chapter() -> Chapter:
    """Return the chapter reference, the same on every lesson."""
    file = resources.files(__package__) / SHELF / "chapter.toml"
    return read_chapter(file.read_text(encoding="utf-8"), file.name)


def find(name: str | int) -> Lesson:
    """Return the lesson with this number or id.

    >>> find(3) is find("rejection-correction") is find("3")
    True
    """
    for lesson in lessons():
        if str(name) in (lesson.id, str(lesson.n)):
            return lesson
    known = ", ".join(f"{lesson.n} ({lesson.id})" for lesson in lessons())
    raise InvalidInput(f"there is no lesson {str(name)!r}; choose one of: {known}")
