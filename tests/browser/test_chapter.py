"""The page of the chapter: the six lessons, what each needs, and how far the learner is."""

import pytest

from browser.access import narrow_enough, spotless
from browser.lab import predict, settled, wait_until, words
from draftproof.lesson.shelf import lessons
from draftproof.lesson.standing import standings

WHEN = "2026-01-01T00:00:00Z"
FIRST, SECOND, THIRD = lessons()[:3]


def some_work():
    """The first lesson done, the second untouched, the third begun."""
    done = {step.id: {"doneAt": WHEN} for step in FIRST.steps if step.counts}
    begun = {"predict": {"choice": "yes", "doneAt": WHEN}, "code": {"draft": "x", "runs": 2}}
    steps = {FIRST.id: done, THIRD.id: begun}
    return {
        "v": 1,
        "lessons": {
            lesson.id: {"contentHash": lesson.content_hash, "steps": steps[lesson.id]}
            for lesson in (FIRST, THIRD)
        },
    }


def chapter(visit, lab, **options):
    page = visit(lab.address, **options)
    page.goto(f"{lab.home}/")
    page.locator(".standing .box").first.wait_for()
    return page


def shown(page):
    """For every lesson the words, and how many of how many boxes are full."""
    return [
        (
            words(place.inner_text()),
            place.locator(".box.full").count(),
            place.locator(".box").count(),
        )
        for place in page.locator(".standing").all()
    ]


def test_the_six_lessons_and_what_each_needs(visit, lab):
    page = chapter(visit, lab)
    places = page.locator(".lessons > li").all()
    assert len(places) == len(lessons()) == 6
    titles = {lesson.id: lesson.title for lesson in lessons()}
    for lesson, place in zip(lessons(), places, strict=True):
        said = words(place.inner_text())
        assert lesson.title in said
        assert f"{lesson.minutes} minutes" in said
        assert all(f"{titles[other]}" in said.split("after")[1] for other in lesson.needs)


def test_progress_in_words_and_in_boxes(visit, lab):
    page = chapter(visit, lab)
    empty = [(f"{one.words}", 0, one.of) for one in standings({})]
    assert {said for said, _, _ in empty} == {"not begun"}
    assert shown(page) == empty
    lab.save(some_work())
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.locator(".standing", has_text="done, all").wait_for()
    assert shown(page) == [(one.words, one.done, one.of) for one in standings(some_work())]
    assert [said for said, _, _ in shown(page)][:3] == [
        "done, all 6 steps",
        "not begun",
        "1 of 7 steps done",
    ]


def test_the_chapter_counts_what_the_lesson_marks_as_done(visit, lab):
    """Two programs decide what is done: the page of a lesson, and the server for this page."""
    page = predict(settled(visit(lab.address)))
    page.get_by_role("button", name="q = p", exact=True).click()
    check = page.locator("#check")
    check.get_by_label("Yes", exact=True).check()
    check.get_by_role("button", name="Check my answer").click()
    wait_until(lambda: "check" in lab.saved(THIRD))
    marks = [words(mark) for mark in page.locator("nav.steps .state").all_inner_texts()]
    assert marks.count("done") == 3
    page.goto(f"{lab.home}/")
    page.locator(".standing .box").first.wait_for()
    assert shown(page)[2] == ("3 of 7 steps done", 3, 7)


def test_full_boxes_differ_without_colour(visit, lab):
    lab.save(some_work())
    page = chapter(visit, lab, forced_colors="active")
    colour = "(box) => getComputedStyle(box).backgroundColor"
    full = page.locator(".box.full").first.evaluate(colour)
    empty = page.locator(".box:not(.full)").first.evaluate(colour)
    assert full != empty


@pytest.mark.parametrize(
    "look",
    [{"color_scheme": "dark"}, {"viewport": {"width": 320, "height": 700}}],
    ids=["dark", "narrow"],
)
def test_everyone_can_read_it(visit, lab, look):
    lab.save(some_work())
    page = chapter(visit, lab, **look)
    assert spotless(page) == []
    if "viewport" in look:
        assert narrow_enough(page, look["viewport"]["width"])


def test_without_scripts_the_lessons_are_there_and_nothing_is_claimed(visit, lab):
    page = visit(lab.address, java_script_enabled=False)
    page.goto(f"{lab.home}/")
    assert page.get_by_role("link", name=THIRD.title, exact=True).is_visible()
    assert "".join(page.locator(".standing").all_inner_texts()) == ""


def test_a_stranger_is_told_why_there_is_no_progress(visit, lab, watch):
    """The page itself can be read by any program of this machine; what somebody did cannot."""
    watch.expect("401")
    lab.save(some_work())
    page = visit(f"{lab.home}/")
    page.locator("#trouble", has_text="Your progress cannot be shown").wait_for()
    assert page.locator(".box").count() == 0


def test_the_program_of_the_reference_runs_here_too(visit, lab):
    page = chapter(visit, lab, python=True)
    page.get_by_role("button", name="Run this program").click()
    page.locator(".run-program .verdict.right").wait_for(timeout=20_000)


def test_an_address_that_leads_nowhere_has_a_way_back(visit, lab, watch):
    watch.expect("404|401")
    page = visit(lab.address)
    page.goto(f"{lab.home}/lesson/99")
    assert "99" in page.locator("main").inner_text()
    page.get_by_role("link").click()
    page.locator(".lessons").wait_for()
    page.goto(f"{lab.home}/lesson/3?token=old")
    assert "another start" in page.locator("main").inner_text()
    page.get_by_role("link").click()
    settled(page)


def test_a_link_leads_into_the_lesson(visit, lab):
    page = chapter(visit, lab)
    page.get_by_role("link", name=THIRD.title).click()
    page.get_by_role("heading", name=THIRD.title, level=1).wait_for()
