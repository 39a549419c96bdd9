"""Every lesson in the browser: opened, read, moved."""

import pytest

from browser.access import narrow_enough, resized, spotless
from browser.lab import settled, wait_until, words
from draftproof.lesson.content import Curve, Predict, Rounds
from draftproof.lesson.shelf import find, lessons

EVERY = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
OTHERS = [lesson for lesson in lessons() if lesson is not find(3)]
WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 320, "height": 700}


def with_step(kind):
    found = [one for one in lessons() if any(isinstance(step, kind) for step in one.steps)]
    return pytest.mark.parametrize("lesson", found, ids=lambda lesson: lesson.id)


def after_prediction(page, lesson):
    """The lesson with every step open."""
    settled(page).locator("#predict input[type=radio]").first.check()
    page.get_by_role("button", name="Keep my prediction").click()
    page.locator(f"#{lesson.steps[2].id} .content").wait_for()
    return page


def opened(visit, lab, lesson):
    return after_prediction(visit(lab.entrance(lesson)), lesson)


@pytest.fixture(scope="module")
def library(quiet, kept_lab):
    """Every lesson opened once, for the tests that only look."""
    pages = {}

    def take(lesson):
        if lesson.id not in pages:
            pages[lesson.id] = after_prediction(quiet.open(kept_lab.entrance(lesson)), lesson)
        return pages[lesson.id]

    return take


@pytest.fixture
def reading(library, quiet, lesson):
    """The opened lesson; watched as every page is."""
    with quiet.judged():
        page = resized(library(lesson), WIDE)
        page.emulate_media(color_scheme="light")
        yield page


@EVERY
def test_every_step_opens_after_the_prediction_and_fits_a_narrow_screen(reading, lesson):
    resized(reading, NARROW)
    for step in lesson.steps:
        place = reading.locator(f"#{step.id}")
        assert place.locator(".content").is_visible(), step.id
        assert place.locator(".needs-script").count() == 0, step.id
    assert narrow_enough(reading, NARROW["width"])


@pytest.mark.parametrize("lesson", OTHERS, ids=lambda lesson: lesson.id)
def test_axe_finds_nothing_in_any_lesson(reading, lesson):
    """By all rules once, then again by those that a colour scheme or a width can change.

    Lesson 3 is looked at with its widgets filled in, in `test_access`.
    """
    assert spotless(reading) == []
    reading.emulate_media(color_scheme="dark")
    assert spotless(reading, "color-contrast") == []
    resized(reading, NARROW)
    assert spotless(reading, "scrollable-region-focusable", "target-size") == []


@EVERY
def test_the_prediction_is_quoted_at_the_end(reading, lesson):
    first = lesson.only(Predict).options[0].text
    assert plain(first) in plain(reading.locator("#check").inner_text())


def plain(text):
    """Letters and digits only: formulas look different on the page."""
    return "".join(filter(str.isalnum, words(text.replace("\\", ""))))


@EVERY
def test_no_line_begins_with_the_comma_after_a_formula(reading, lesson):
    """On a narrow screen, where it would happen; each pair is seen to be on one line."""
    resized(reading, NARROW)
    heights = reading.evaluate(
        """() => [...document.querySelectorAll('.held')].filter((one) => one.offsetParent)
            .map((one) => [one.textContent, one.getClientRects().length])"""
    )
    assert heights
    assert [text for text, lines in heights if lines != 1] == []


@with_step(Curve)
def test_a_chart_follows_the_keyboard_and_is_kept(visit, lab, lesson):
    step = next(step for step in lesson.steps if isinstance(step, Curve))
    page = opened(visit, lab, lesson)
    chart = page.locator(f"#{step.id}")
    before = chart.locator(".reading").inner_text()
    slider = chart.get_by_role("slider", name=step.axis.title)
    slider.focus()
    slider.press("ArrowLeft")
    wait_until(lambda: step.id in lab.saved(lesson))
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
