"""What every lesson of the chapter must hold, whatever it teaches."""

import ast
import math
import sys

import pytest
from scipy.stats import binom

from draftproof.lesson import chapter, lessons, numpy_standin, to_json
from draftproof.lesson.content import Answers, Choice, Code, Predict, Prose, Reference
from draftproof.lesson.grader import grade
from draftproof.lesson.grader.counts import LEVEL, band
from draftproof.lesson.grader.judge import REPEATS
from draftproof.lesson.numpy_standin import random as standin_random

EVERY = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
EXERCISES = [(one, one.only(Code)) for one in lessons()]
ITEMS = [(one.id, item) for one in lessons() for item in one.only(Answers).items]
WRONG = [(one, code, wrong) for one, code in EXERCISES for wrong in code.known_wrong]


@pytest.fixture(params=["numpy", "stand-in"])
def either_numpy(request, monkeypatch):
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "numpy", numpy_standin)
        monkeypatch.setitem(sys.modules, "numpy.random", standin_random)
    return request.param


def first_problem(reply):
    assert reply["status"] != "harness-error", reply["message"]
    assert reply["tests"], reply["message"]
    return next(test for test in reply["tests"] if test["status"] != "pass")


# -- the way through a lesson -----------------------------------------------------------------


def test_the_chapter_is_numbered_and_needs_only_what_comes_before():
    known = []
    for lesson in lessons():
        assert set(lesson.needs) <= set(known), lesson.id
        known.append(lesson.id)
    assert [lesson.n for lesson in lessons()] == sorted({lesson.n for lesson in lessons()})


@EVERY
def test_a_lesson_predicts_first_and_ends_with_the_check(lesson):
    kinds = [type(step) for step in lesson.steps]
    assert kinds[:2] == [Prose, Predict]
    assert kinds[-2:] == [Choice, Reference]
    assert kinds.count(Answers) == kinds.count(Code) == 1
    assert {"table", "curve", "rounds"} & {step.kind for step in lesson.steps}, "nothing to change"


@EVERY
def test_everything_after_the_prediction_waits_for_it(lesson):
    """The reference too: it names the rule and what goes wrong without it."""
    assert {step.reveal_after for step in lesson.steps[2:]} == {"predict"}


@EVERY
def test_the_check_asks_the_predicted_question_again(lesson):
    predict, check = lesson.only(Predict), lesson.only(Choice)
    assert (check.quotes, check.question) == (predict.id, predict.question)
    asked = [(option.id, option.text) for option in predict.options]
    assert [(option.id, option.text) for option in check.options] == asked
    assert [option.right for option in check.options].count(True) == 1
    assert all(option.why for option in check.options)


@pytest.mark.parametrize("item", [item for _, item in ITEMS], ids=[f"{a}-{b.id}" for a, b in ITEMS])
def test_wrong_answers_are_wrong_different_and_explained(item):
    values = [wrong.value for wrong in item.wrong]
    assert item.answer not in values
    assert len(set(values)) == len(values) >= 3
    assert len({wrong.why for wrong in item.wrong}) == len(values)
    assert all(len(value) == len(item.answer) for value in values)
    assert item.hints
    assert item.solution


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


@EVERY
def test_every_formula_is_closed(lesson):
    shown = to_json(tuple(step for step in lesson.steps if step.kind != "code"))
    for text in [*strings(shown), lesson.only(Code).body, *strings(to_json(chapter().sections))]:
        assert text.count("$") % 2 == 0, text
        assert text.count("**") % 2 == 0, text


# -- the exercise -----------------------------------------------------------------------------


def repairs(code):
    """Whether the exercise is to repair functions rather than to write them."""
    return "    ...\n" not in code.starter


def same_code(node, source):
    """Whether a function, its docstring left out, is the one in `source`."""
    (other,) = ast.parse(source).body
    return [ast.dump(line) for line in node.body[1:]] == [ast.dump(line) for line in other.body]


@pytest.mark.parametrize("code", [code for _, code in EXERCISES], ids=[a.id for a, _ in EXERCISES])
def test_the_starter_has_the_signatures_and_nothing_or_a_mistake_in_them(code):
    assert code.starter.startswith("import numpy as np\n")
    found = [node for node in ast.parse(code.starter).body if isinstance(node, ast.FunctionDef)]
    signatures = [(node.name, tuple(arg.arg for arg in node.args.args)) for node in found]
    assert signatures == [(one.name, one.parameters) for one in code.functions]
    if repairs(code):
        first = {wrong.function: wrong for wrong in reversed(code.known_wrong)}
        assert all(len(node.body) > 2 for node in found), "a mistake in every function"
        assert all(same_code(node, first[node.name].code) for node in found)
    else:
        assert all(len(node.body) == 2 for node in found), "a docstring and an ellipsis"


@pytest.mark.parametrize("code", [code for _, code in EXERCISES], ids=[a.id for a, _ in EXERCISES])
def test_ids_are_unique_and_every_function_is_tested(code):
    for ids in ([t.id for t in code.tests], [w.id for w in code.known_wrong]):
        assert len(set(ids)) == len(ids)
    reasons = {(wrong.function, wrong.why) for wrong in code.known_wrong}
    assert len(reasons) == len(code.known_wrong) >= 6
    assert {test.function for test in code.tests} == set(code.entry)
    assert len(code.hints) >= 4


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("code", [code for _, code in EXERCISES], ids=[a.id for a, _ in EXERCISES])
def test_the_reference_passes_and_the_starter_fails(code):
    reply = grade(code.reference, code.exercise())
    assert reply["passed"], first_problem(reply)
    if code.plot is not None:
        assert len(reply["plots"]["p"]) == len(code.plot.rows)
    reply = grade(code.starter, code.exercise())
    if repairs(code):
        failed = [test for test in reply["tests"] if test["status"] == "fail"]
        planted = {test["known"] for test in failed}
        assert {test["call"].split("(")[0] for test in failed} == set(code.entry)
        assert len(planted) == len(code.entry)
        return
    assert {test["status"] for test in reply["tests"]} == {"fail"}
    assert "returned nothing (None)" in reply["tests"][0]["message"]


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize(
    ("code", "wrong"), [(b, c) for _, b, c in WRONG], ids=[f"{a.id}-{c.id}" for a, _, c in WRONG]
)
def test_every_known_wrong_program_gets_its_own_message(code, wrong):
    reply = grade(f"{code.reference}\n{wrong.code}", code.exercise())
    problem = first_problem(reply)
    assert (problem["known"], problem["message"]) == (wrong.id, wrong.why)
    assert problem["call"].startswith(wrong.function)
    assert not reply["passed"]


# -- how often chance may decide --------------------------------------------------------------


def compositions(total, parts):
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def same_frequencies(trials, law):
    """The probability that two independent runs give the same frequencies."""
    logs = [math.log(x) for x in law]
    total = 0.0
    for counts in compositions(trials, len(law)):
        log = math.lgamma(trials + 1) - sum(math.lgamma(c + 1) for c in counts)
        total += math.exp(2 * (log + sum(c * x for c, x in zip(counts, logs, strict=True))))
    return total


@pytest.mark.parametrize("code", [code for _, code in EXERCISES], ids=[a.id for a, _ in EXERCISES])
def test_a_correct_program_fails_with_probability_at_most_one_in_a_million(code):
    cells = sum(len(test.expect) for test in code.tests if test.check in ("counts", "law"))
    level = 0.0
    for test in code.tests:
        if test.check == "law":  # sampled only if it cannot be enumerated
            level += LEVEL * len(test.expect) / cells
        if test.check == "counts":
            for chance in map(float, test.expect):
                low, high = band(test.trials, chance, LEVEL / cells)
                level += binom.cdf(low - 1, test.trials, chance)
                level += binom.sf(high, test.trials, chance)
        if test.check in ("seed", "methods"):
            law = [float(x) for x in test.expect or test.p]
            level += same_frequencies(test.trials, law) ** REPEATS
    assert level <= 1e-6
