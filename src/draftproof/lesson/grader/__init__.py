"""The grader of the programming exercise: ``grade(source, exercise)``.

It uses the standard library and ``import numpy`` only, so it runs unchanged in CPython on the real
NumPy and in the browser on the stand-in; this folder can be copied and imported under any name.

The reply is plain JSON::

    {"status": "pass" | "fail" | "error" | "harness-error",
     "passed": bool,
     "message": "",                  what stopped the run before or between the tests, if anything
     "tests": [{"id", "name",
                "status": "pass" | "fail" | "error",
                "call",              the call that was made, as the learner could type it
                "got",               what came back, "" if nothing did
                "message",           one sentence, "" for a pass
                "known"}],           the id of the recognised mistake, "" if there is none
     "stdout": "...",                what the program printed, at most 8 KB
     "cut": 0,                       how many characters it printed beyond those
     "plots": {...}}                 after a pass: frequencies of the learner's own ``empirical``

Tests come in the order of the lesson file, so that the first that fails is the one to look at.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from .case import Case
from .counts import drawing
from .judge import JUDGES
from .program import Problem, Program, Stopped, silenced

Json = dict[str, Any]
Report = Callable[[Json], None]

__all__ = ["grade"]


def grade(source: str, exercise: Json, report: Report | None = None) -> Json:
    """Run every test of ``exercise`` on the program ``source``.

    Parameters
    ----------
    source
        The learner's program.
    exercise
        What ``Code.exercise()`` returns.
    report
        Called with each test's result as soon as there is one.

    Returns
    -------
    dict
        The reply described above. A fault of the grader itself has the status
        ``"harness-error"`` and is never the learner's failure.
    """
    reply: Json = {"status": "error", "passed": False, "message": "", "tests": []}
    reply |= {"stdout": "", "cut": 0}
    try:
        program = Program(source)
    except (Problem, Stopped) as problem:
        return reply | {"message": str(problem)}
    try:
        _run(program, exercise, reply, report or (lambda result: None))
    except KeyboardInterrupt:  # between two calls of the learner's functions
        reply["message"] = "The run was stopped because it took too long."
    except Exception:  # noqa: BLE001 - a fault of ours must not look like the learner's
        reply["status"] = "harness-error"
        reply["message"] = (
            "The grader itself failed, which is not your fault; please report this:\n"
            + traceback.format_exc(limit=-3)
        )
    reply |= {"stdout": program.output.text(), "cut": program.output.dropped}
    return reply


def _run(program: Program, exercise: Json, reply: Json, report: Report) -> None:
    cases = [Case(program, exercise, test) for test in exercise["tests"]]
    for case in cases:
        with silenced(program.output):
            result = _judge(case, reply)
        reply["tests"].append(result)
        report(result)
        if reply["message"]:
            return
    statuses = {result["status"] for result in reply["tests"]}
    reply["passed"] = statuses == {"pass"}
    reply["status"] = next(name for name in ("error", "fail", "pass") if name in statuses)
    if reply["passed"]:
        reply["plots"] = _plots(cases)


def _judge(case: Case, reply: Json) -> Json:
    """Return the result of one test; if the run ended in it, say so in the reply too."""
    result = {"id": case.test["id"], "name": case.test["name"], "status": "pass"}
    result |= {"call": case.call, "got": "", "message": "", "known": ""}
    try:
        JUDGES[case.test["check"]](case)
    except Problem as problem:
        result |= {
            "status": "error" if problem.error else "fail",
            "got": problem.got,
            "message": problem.message,
            "known": problem.known,
        }
    except Stopped as stopped:
        reply["message"] = str(stopped)
        result |= {"status": "error", "message": str(stopped)}
    return result


def _plots(cases: list[Case]) -> Json:
    """Draw the first law that was counted, by both methods where there are two."""
    counted = [case for case in cases if case.kept]
    for case in counted:
        series = {
            other.test["method"] or "exact": other.kept
            for other in counted
            if other.inputs == case.inputs
        }
        if "exact" in series and case.test["method"] != "naive":
            return drawing(case.expect, case.test["trials"], series)
    return {}
