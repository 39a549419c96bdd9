"""How far a learner is in each lesson: what the chapter page and the report show.

The steps that count are those that ask something of the learner and can be done on any machine;
text is not counted, nor is what needs the language model (`Step.counts`). A step is done once the
page has noted when it was done or passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draftproof.lesson.content import Json, Lesson
from draftproof.lesson.shelf import lessons

DONE = ("passedAt", "doneAt")
"""What the page notes when a step is passed, or done where nothing is judged."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One lesson's progress: `done` of `of` steps, and whether anything was begun at all."""

    lesson: Lesson
    done: int
    of: int
    begun: bool

    @property
    def words(self) -> str:
        """Give the progress in words."""
        if not self.begun:
            return "not begun"
        if self.done == self.of:
            return f"done, all {self.of} steps"
        return f"{self.done} of {self.of} steps done"

    def public(self) -> Json:
        """Give the fields the page sees."""
        return {"lesson": self.lesson.id, "done": self.done, "of": self.of, "words": self.words}


def standings(data: Mapping[str, Any]) -> tuple[Standing, ...]:
    """Give the progress in every lesson, by number, from what the page saved.

    Examples
    --------
    >>> steps = {"predict": {"choice": "yes", "doneAt": "2026-01-01"}, "table": {"p": "1/2"}}
    >>> [one.words for one in standings({"lessons": {"acceptance-rule": {"steps": steps}}})][:2]
    ['not begun', '1 of 6 steps done']
    """
    known = as_record(data.get("lessons"))
    return tuple(
        _standing(lesson, as_record(as_record(known.get(lesson.id)).get("steps")))
        for lesson in lessons()
    )


def _standing(lesson: Lesson, steps: Mapping[str, Any]) -> Standing:
    counted = [as_record(steps.get(step.id)) for step in lesson.steps if step.counts]
    done = sum(any(record.get(key) for key in DONE) for record in counted)
    return Standing(lesson, done, len(counted), any(counted))


def as_record(value: object) -> Json:
    """Give a table of saved progress; an empty one for anything else, which nobody's page wrote."""
    return value if isinstance(value, dict) else {}
