"""Typed answers, each judged alone, and the check of understanding."""

import pytest

from browser.lab import predict, settled, words
from draftproof.lesson.shelf import find

ITEMS = find(3).step("numbers").items
RIGHT = {
    "residual": [
        "1, 0, 0",
        "1 0 0",
        "1;0;0",
        "[1, 0, 0]",
        "(1.0 0.00 0)",
        "100% 0% 0%",
        " 2/2,0/7,0",
    ],
    "corrected": ["1/2", "0.5", ".5", "0,5", "50%", "0.50000000", "2/4", " 1 / 2 "],
    "shortcut": ["3/8", "0.375", ".375", "37.5%", "0,375", "6/16", "0.3750"],
}
UNREADABLE = {
    "residual": ["", "abc", "1 0", "1 0 0 0", "1/0 0 0", "1, zero, 0"],
    "corrected": ["", "half", "1/0", "1/2/3", "0.5 0.5", "0..5", "½½"],
    "shortcut": ["", "?", "3/", "/8"],
}


class Answer:
    """One item of the page."""

    def __init__(self, page, name):
        place = [item.id for item in ITEMS].index(name)
        self.place = page.locator("#numbers ol.answers > li").nth(place)
        self.box = self.place.locator("input[type=text]")

    def give(self, typed):
        self.box.fill(typed)
        self.box.press("Enter")
        return words(self.place.locator(".verdict").first.inner_text())

    @property
    def verdict(self):
        return words(self.place.locator(".verdict").first.inner_text())


@pytest.mark.parametrize("name", RIGHT)
def test_every_exactly_equal_form_is_right(shared, name):
    answer = Answer(shared, name)
    for typed in RIGHT[name]:
        answer.give("7/9" if name != "residual" else "0 0 1")
        assert "Right." in answer.give(typed), typed


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_not_judged(shared, name):
    answer = Answer(shared, name)
    for typed in UNREADABLE[name]:
        assert "Not judged." in answer.give(typed), typed


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_each_common_wrong_value_gets_its_own_reason(shared, item):
    answer, said = Answer(shared, item.id), set()
    for wrong in item.wrong:
        verdict = answer.give(" ".join(map(str, wrong.value)))
        assert "Not yet." in verdict
        assert verdict.split("Not yet. ")[1].startswith(words(wrong.why.split("$")[0]))
        said.add(verdict)
    assert len(said) == len(item.wrong)


def test_another_wrong_value_is_wrong_without_a_made_up_reason(shared):
    assert "Not yet." in Answer(shared, "shortcut").give("0.3751")
    assert "Not yet." in Answer(shared, "shortcut").give("0.374999999999999999999")


def test_each_answer_is_judged_alone(opened):
    residual, corrected = Answer(opened, "residual"), Answer(opened, "corrected")
    residual.give("1 0 0")
    before = residual.verdict
    corrected.give("1/4")
    assert residual.verdict == before
    assert "Not yet." in corrected.verdict
    assert Answer(opened, "shortcut").place.locator(".verdict").count() == 0


def test_a_hint_is_counted_and_the_solution_is_gated(shared):
    answer = Answer(shared, "corrected")
    show = answer.place.get_by_role("button", name="Show the solution")
    for number in (1, 2):
        assert show.count() == 0
        answer.place.get_by_role("button", name=f"Hint {number} of 2").click()
    show.click()
    answer.place.get_by_role("button", name="Yes, show it").click()
    assert "which is p0" in words(answer.place.locator(".verdict").last.inner_text()).replace(
        " 0", "0"
    )


def test_verdicts_are_announced_and_tied_to_their_box(shared):
    answer = Answer(shared, "shortcut")
    answer.give("1/2")
    shared.locator("#announcer", has_text="Not yet.").wait_for(state="attached")
    tied = answer.box.get_attribute("aria-describedby")
    assert "Not yet." in words(shared.locator(f"[id='{tied}']").inner_text())


def test_the_check_quotes_the_prediction_and_gives_the_reason(visit, lab):
    page = predict(settled(visit(lab.address)), "No")
    check = page.locator("#check")
    assert "you said: No" in words(check.inner_text())
    assert "Yes. The accepted drafts" not in words(check.inner_text())
    check.get_by_label("No", exact=True).check()
    check.get_by_role("button", name="Check my answer").click()
    assert "It can." in words(check.inner_text())
    check.get_by_label("Yes", exact=True).check()
    check.get_by_role("button", name="Check my answer").click()
    said = words(check.inner_text())
    assert "the residual is the part that is still missing".lower() in said.lower()
    assert "you said: No" in said
