"""Every exercise in Pyodide: what passes, what fails, and which wrong programs are recognised."""

import json

import pytest

from browser.grading import GRADER, graded_by, spliced
from draftproof.lesson.content import Code
from draftproof.lesson.shelf import lessons


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_the_exercise_in_pyodide(visit, lab, lesson):
    """A wrong program is judged by the tests of the function that is wrong in it.

    All tests together are run on every one of them in CPython.
    """
    code = lesson.only(Code)
    page = visit(lab.entrance(lesson))
    programs = [(code.reference, graded_by(code)), (code.starter, graded_by(code))]
    programs += [(spliced(code, one), graded_by(code, one.function)) for one in code.known_wrong]
    right, empty, *wrong = page.evaluate(GRADER, programs)
    assert right["passed"], right
    failed = {test["call"].split("(")[0] for test in empty["tests"] if test["status"] == "fail"}
    assert failed == set(code.entry)
    for known, reply in zip(code.known_wrong, wrong, strict=True):
        problem = next(test for test in reply["tests"] if test["status"] != "pass")
        assert (problem["known"], problem["message"]) == (known.id, known.why)
        assert problem["call"]
        told = json.dumps(reply)
        assert "grader" not in told
        assert "/home/" not in told
