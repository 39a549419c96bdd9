"""Reading lesson files: TOML in, the dataclasses of :mod:`draftproof.lesson.content` out.

Every complaint names the file, the step and the field.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from importlib import resources
from pathlib import Path

from draftproof.errors import InvalidInput
from draftproof.lesson.content import Chapter, Lesson, Program, Section, Step
from draftproof.lesson.fields import Fields
from draftproof.lesson.steps import read_step

SHELF = "lessons"


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
    steps = tuple(read_step(part) for part in fields.tables("step"))
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

    >>> [lesson.title for lesson in lessons()][:2]
    ['Draft, then verify', 'The acceptance rule']
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
