"""A learner's progress as a report to read (Markdown) or as a file to import (JSON)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

from draftproof.errors import InvalidInput
from draftproof.lesson.content import Answers, Choice, Code, Lesson, Predict, Step
from draftproof.lesson.progress import KIND, Progress
from draftproof.lesson.standing import as_record, standings

Record: TypeAlias = dict[str, Any]


def as_json(progress: Progress) -> str:
    """Give the file that *Import* takes back."""
    about = {"kind": KIND, "version": metadata.version("draftproof"), "data": progress.data}
    return json.dumps(about, indent=1) + "\n"


def as_markdown(progress: Progress) -> str:
    """Give a report: the answers, the code and when it passed, lesson by lesson."""
    found = standings(progress.data)
    parts = [f"# Progress\n\nWritten by draftproof {metadata.version('draftproof')}."]
    parts.append("\n".join(f"- {_name(one.lesson)}: {one.words}" for one in found))
    known = as_record(progress.data.get("lessons"))
    for one in found:
        record = as_record(known.get(one.lesson.id))
        parts.extend(_lesson(one.lesson, as_record(record.get("steps"))))
    if not any(one.begun for one in found):
        parts.append("Nothing has been answered yet.")
    return "\n\n".join(parts) + "\n"


def _name(lesson: Lesson) -> str:
    return f"Lesson {lesson.n}: {lesson.title}"


FORMATS: dict[str, Callable[[Progress], str]] = {"markdown": as_markdown, "json": as_json}
SUFFIXES = {".md": "markdown", ".json": "json"}


def document(progress: Progress, wanted: str) -> str:
    """Give the progress in the format wanted, ``"markdown"`` or ``"json"``.

    Raises
    ------
    InvalidInput
        For another format.

    Examples
    --------
    >>> print(document(Progress(0), "markdown").splitlines()[-1])
    Nothing has been answered yet.
    """
    if wanted not in FORMATS:
        raise InvalidInput(f"format is {wanted!r}; choose 'markdown' or 'json'.")
    return FORMATS[wanted](progress)


def check_document(document: Record) -> None:
    """Make sure that the page can show an exported document, before it replaces anything.

    Raises
    ------
    InvalidInput
        Names the first part that no page of ours has written.

    Examples
    --------
    >>> check_document({"data": {"v": 1, "lessons": {"blocks": {"steps": {"idea": {}}}}}})
    >>> check_document({"data": {"v": 1, "lessons": [1, 2]}})
    Traceback (most recent call last):
        ...
    draftproof.errors.InvalidInput: the file to import is damaged, and nothing was changed: ...
    """
    data = document.get("data")
    if not isinstance(data, dict):
        return  # not exported progress at all, which the store says
    _demand("'v' is not 1", holds=data.get("v", 1) == 1)
    _demand("'lessons' is not a table", holds=isinstance(data.get("lessons"), dict))
    for name, lesson in data["lessons"].items():
        _demand(f"lesson {name!r} is not a table", holds=isinstance(lesson, dict))
        steps = lesson.get("steps")
        _demand(f"the steps of lesson {name!r} are not a table", holds=isinstance(steps, dict))
        _check_marks(lesson, f"lesson {name!r}")
        for step, record in steps.items():
            _demand(
                f"step {step!r} of lesson {name!r} is not a table", holds=isinstance(record, dict)
            )
            _check_record(record, f"step {step!r} of lesson {name!r}")


TEXTS = frozenset(
    {"at", "choice", "doneAt", "draft", "last", "passedAt", "raw", "starter", "status"}
)
MARKS = ("contentHash", "resetAt", "undoneAt")
MAYBE_TEXTS = frozenset({"before", "text"})
COUNTS = frozenset({"hints", "runs", "tries"})


def _check_marks(lesson: Record, where: str) -> None:
    for name in MARKS:
        _demand(f"{name!r} in {where} is not text", holds=isinstance(lesson.get(name, ""), str))


def _check_record(record: Record, where: str) -> None:
    for name, value in record.items():
        if name in TEXTS:
            _demand(f"{name!r} in {where} is not text", holds=isinstance(value, str))
        elif name in MAYBE_TEXTS:
            _demand(f"{name!r} in {where} is not text", holds=isinstance(value, str | None))
        elif name in COUNTS:
            _demand(f"{name!r} in {where} is not a count", holds=type(value) is int and value >= 0)
        elif isinstance(value, dict):
            _check_record(value, where)


def _demand(what: str, *, holds: bool) -> None:
    if not holds:
        raise InvalidInput(
            f"the file to import is damaged, and nothing was changed: {what:.120}; choose another "
            "file."
        )


def format_of(file: Path) -> str:
    """Tell the format from a file's suffix.

    Raises
    ------
    InvalidInput
        For a suffix that names neither.

    Examples
    --------
    >>> format_of(Path("mine.md"))
    'markdown'
    """
    try:
        return SUFFIXES[file.suffix.lower()]
    except KeyError:
        raise InvalidInput(
            f"--export {file.name}: the suffix chooses the format; end the name in .md or .json."
        ) from None


def _lesson(lesson: Lesson, steps: Record) -> Iterator[str]:
    done = [(step, record) for step in lesson.steps if (record := as_record(steps.get(step.id)))]
    if done:
        yield f"## {_name(lesson)}"
    for step, record in done:
        yield f"### {step.title}"
        yield from _step(step, record)


def _step(step: Step, record: Record) -> Iterator[str]:
    if isinstance(step, Predict | Choice):
        yield from _question(step, record)
    elif isinstance(step, Answers):
        yield from _answers(step, record)
    elif isinstance(step, Code):
        yield from _code(record)
    else:
        yield "\n".join(f"- {name}: {_quoted(value)}" for name, value in record.items())


def _question(step: Predict | Choice, record: Record) -> Iterator[str]:
    answer = record.get("choice")
    chosen = [option for option in step.options if option.id == answer]
    yield step.question
    for option in chosen:
        verdict = {True: " (right)", False: " (not right)", None: ""}[option.right]
        yield f"Answered: **{option.text}**{verdict}"


def _answers(step: Answers, record: Record) -> Iterator[str]:
    for item in step.items:
        given = as_record(record.get(item.id))
        if given:
            verdict = given.get("status") or given.get("verdict") or "not judged"
            yield f"{item.ask}\n\n- answer: {_quoted(given.get('raw', ''))}\n- verdict: {verdict}"


def _code(record: Record) -> Iterator[str]:
    passed = record.get("passedAt")
    yield f"Passed at {_quoted(passed)}." if passed else "Not passed yet."
    facts = [f"- {name}: {record[name]}" for name in ("runs", "hints") if name in record]
    if facts:
        yield "\n".join(facts)
    draft = record.get("draft")
    if isinstance(draft, str):
        yield fenced(draft, "python")


def fenced(text: str, language: str = "") -> str:
    """Give `text` as a code block whose fence is longer than any run of backticks within.

    Examples
    --------
    >>> fenced("a ``` b").splitlines()[0]
    '````'
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _quoted(value: object) -> str:
    """Give a value as inline code, so that nothing a learner typed is read as markup."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"
