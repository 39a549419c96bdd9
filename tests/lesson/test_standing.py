"""How far a learner is: which steps count, which are done, and the words for it."""

import pytest

from draftproof.lesson.content import Prose, Reference, Timing
from draftproof.lesson.export import document
from draftproof.lesson.progress import Progress
from draftproof.lesson.shelf import lessons
from draftproof.lesson.standing import standings

WHEN = "2026-01-01T00:00:00Z"
DONE = {"doneAt": WHEN}


def saved(lesson, steps):
    return {"v": 1, "lessons": {lesson.id: {"contentHash": "", "steps": steps}}}


def of(lesson, steps):
    return standings(saved(lesson, steps))[lesson.n - 1]


def to_do(lesson):
    """Written out here on purpose: what a learner can do without a model."""
    return [one.id for one in lesson.steps if not isinstance(one, Prose | Reference | Timing)]


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_every_number_of_steps_from_none_to_all(lesson):
    steps, ids = {}, to_do(lesson)
    assert len(ids) >= 5
    assert of(lesson, steps).words == "not begun"
    for number, name in enumerate(ids, start=1):
        steps[name] = DONE if number % 2 else {"passedAt": WHEN}
        found = of(lesson, steps)
        assert (found.done, found.of) == (number, len(ids))
        if number < len(ids):
            assert found.words == f"{number} of {len(ids)} steps done"
    assert of(lesson, steps).words == f"done, all {len(ids)} steps"


def test_what_needs_no_answer_or_a_model_does_not_count():
    (lesson,) = [one for one in lessons() if any(isinstance(s, Timing) for s in one.steps)]
    others = {one.id: DONE for one in lesson.steps if one.id not in to_do(lesson)}
    assert of(lesson, others).words == "not begun"


def test_begun_is_not_done_and_a_wrong_answer_is_not_done():
    lesson = lessons()[2]
    tried = {"numbers": {"residual": {"status": "wrong"}}, "code": {"draft": "x", "runs": 4}}
    assert of(lesson, tried).words.startswith("0 of ")


def test_a_lesson_says_nothing_about_another():
    first = standings(saved(lessons()[0], {"predict": DONE}))
    assert [one.begun for one in first] == [True] + [False] * (len(lessons()) - 1)


@pytest.mark.parametrize(
    "data", [{}, {"lessons": []}, {"lessons": {"speed": 1}}, {"lessons": {"speed": {"steps": []}}}]
)
def test_what_no_page_wrote_is_nothing(data):
    assert {one.words for one in standings(data)} == {"not begun"}


def test_the_report_begins_with_every_lesson():
    text = document(Progress(1, saved(lessons()[1], {"predict": DONE})), "markdown")
    head = text.split("## ")[0]
    assert head.count("\n- Lesson ") == len(lessons())
    assert "- Lesson 1: Draft, then verify: not begun" in head
    assert "- Lesson 2: The acceptance rule: 1 of 6 steps done" in head
