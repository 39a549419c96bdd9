"""Every lesson in the browser: opened, read, moved, and its exercise run in Pyodide."""

import json
from pathlib import Path

import pytest

from browser.lab import settled, words
from browser.test_code import GRADER
from draftproof.lesson.content import Code, Curve, Predict, Rounds
from draftproof.lesson.shelf import lessons

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
EVERY = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
NARROW = {"viewport": {"width": 320, "height": 700}}


def with_step(kind):
    found = [one for one in lessons() if any(isinstance(step, kind) for step in one.steps)]
    return pytest.mark.parametrize("lesson", found, ids=lambda lesson: lesson.id)


def entered(visit, lab, lesson, **options):
    """The lesson as it is first seen; the address that the command prints lets the browser in."""
    page = visit(lab.address, **options)
    page.goto(f"{lab.home}/lesson/{lesson.id}")
    return settled(page)


def opened(visit, lab, lesson, **options):
    """The lesson after its prediction, every step open."""
    page = entered(visit, lab, lesson, **options)
    page.locator("#predict input[type=radio]").first.check()
    page.get_by_role("button", name="Keep my prediction").click()
    page.locator(f"#{lesson.steps[2].id} .content").wait_for()
    return page


@EVERY
def test_every_step_opens_after_the_prediction_and_fits_a_narrow_screen(visit, lab, lesson):
    page = opened(visit, lab, lesson, **NARROW)
    for step in lesson.steps:
        place = page.locator(f"#{step.id}")
        assert place.locator(".content").is_visible(), step.id
        assert place.locator(".needs-script").count() == 0, step.id
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["viewport"]["width"]


@EVERY
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_lesson(visit, lab, lesson, scheme):
    page = opened(visit, lab, lesson, color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "(tags) => axe.run(document, {runOnly: {type: 'tag', values: tags}})", RULES
    )
    assert [
        (fault["id"], node["target"]) for fault in found["violations"] for node in fault["nodes"]
    ] == []


@EVERY
def test_the_prediction_is_quoted_at_the_end(visit, lab, lesson):
    page = opened(visit, lab, lesson)
    first = lesson.only(Predict).options[0].text
    assert plain(first) in plain(page.locator("#check").inner_text())


def plain(text):
    """Letters and digits only: formulas look different on the page."""
    return "".join(filter(str.isalnum, words(text.replace("\\", ""))))


@EVERY
def test_the_exercise_in_pyodide(visit, lab, lesson):
    """The reference passes, every function of the starter fails, wrong programs are recognised."""
    code = lesson.only(Code)
    page = entered(visit, lab, lesson, python=True)
    programs = [code.reference, code.starter]
    programs += [f"{code.reference}\n{wrong.code}" for wrong in code.known_wrong]
    exercise = json.dumps(code.exercise())
    replies = page.evaluate(GRADER, [[program, exercise] for program in programs])
    assert replies[0]["passed"], replies[0]
    failed = {
        test["call"].split("(")[0] for test in replies[1]["tests"] if test["status"] == "fail"
    }
    assert failed == set(code.entry)
    for wrong, reply in zip(code.known_wrong, replies[2:], strict=True):
        problem = next(test for test in reply["tests"] if test["status"] != "pass")
        assert (problem["known"], problem["message"]) == (wrong.id, wrong.why)


@with_step(Curve)
def test_a_chart_follows_the_keyboard_and_is_kept(visit, lab, lesson):
    step = next(step for step in lesson.steps if isinstance(step, Curve))
    page = opened(visit, lab, lesson)
    chart = page.locator(f"#{step.id}")
    before = chart.locator(".reading").inner_text()
    slider = chart.get_by_role("slider", name=step.axis.title)
    slider.focus()
    with page.expect_response("**/api/progress"):
        slider.press("ArrowLeft")
    after = chart.locator(".reading").inner_text()
    assert after != before
    page.reload()
    chart.locator(".reading").wait_for()
    assert chart.locator(".reading").inner_text() == after
    chart.get_by_role("button", name="Back to the start").click()
    assert chart.locator(".reading").inner_text() == before
    chart.get_by_text("The same as numbers").click()
    assert chart.locator("tbody tr").count() == len(step.axis.values())


@with_step(Rounds)
def test_rounds_follow_the_draft_and_the_text_stays(visit, lab, lesson):
    step = lesson.only(Rounds)
    page = opened(visit, lab, lesson)
    place = page.locator(f"#{step.id}")
    text = place.locator(".decoded-words").inner_text()
    rounds = place.locator(".round-played").count()
    for after in range(len(step.tokens)):
        wrong = (step.target[after] + 1) % len(step.tokens)
        name = f"What the draft writes after “{step.tokens[after]}”"
        place.get_by_label(name).select_option(str(wrong))
    assert place.locator(".decoded-words").inner_text() == text
    assert place.locator(".round-played").count() == len(text.split()) - len(step.prompt) > rounds
    slider = place.get_by_role("slider", name="drafted tokens k")
    slider.press("Home")
    assert place.locator(".decoded-words").inner_text() == text
    assert place.locator(".round-played .differs").count() == 0
