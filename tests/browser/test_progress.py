"""A learner's work in the page: it outlives reloads, restarts, two tabs, a reset and an import."""

import json

import pytest

from browser.lab import Lab, editor, predict, settled, wait_until, words
from draftproof.lesson.shelf import find

LESSON = find(3)


def answer(page, typed="3/8", item=2):
    box = page.locator("#numbers ol.answers > li").nth(item).locator("input[type=text]")
    box.fill(typed)
    box.press("Enter")


def saved(lab):
    return lab.saved(LESSON)


def write(page, program):
    page.get_by_label("Plain text box").check()
    page.locator("textarea.plain-code").fill(program)


def shown(page):
    """What a learner finds again: the prediction, the third answer, the program."""
    page.locator("#numbers .answers").wait_for()
    return (
        "Your prediction is kept: Yes" in words(page.locator("#predict").inner_text()),
        page.locator("#numbers ol.answers > li").nth(2).locator("input").input_value(),
        page.locator("#code").get_by_role("textbox").inner_text().strip().splitlines()[:1],
    )


def test_work_survives_a_reload_and_a_restart_on_another_port(visit, tmp_path, watch):
    first = Lab(tmp_path / "data")
    try:
        page = predict(settled(visit(first.address)))
        answer(page)
        write(page, "mine = 1\n")
        wait_until(lambda: saved(first).get("code", {}).get("draft") == "mine = 1\n")
        page.reload()
        page.locator("#numbers .answers").wait_for()
        assert page.locator("textarea.plain-code").input_value() == "mine = 1\n"
    finally:
        first.stop()
    watch.expect("ERR_CONNECTION_REFUSED")
    second = Lab(tmp_path / "data")
    try:
        assert second.home != first.home
        again = visit(second.address)
        editor(again)
        assert shown(again) == (True, "3/8", ["mine = 1"])
    finally:
        second.stop()


def statuses(lab):
    """The saved verdict on each typed answer, and whether the check was passed."""
    steps = saved(lab)
    items = ("residual", "corrected", "shortcut")
    found = {item: steps.get("numbers", {}).get(item, {}).get("status") for item in items}
    return found | {"check": "passedAt" in steps.get("check", {})}


def test_two_tabs_do_not_lose_each_others_work(opened, visit, lab, watch):
    """The other tab was opened before: it holds an old wrong answer, which must not come back."""
    watch.expect("409")
    answer(opened, "1/2")
    wait_until(lambda: statuses(lab)["shortcut"] == "wrong")
    other = visit(lab.address, context=opened.context)
    other.locator("#numbers .answers").wait_for()
    answer(opened, "3/8")
    check = other.locator("#check")
    check.get_by_label("Yes", exact=True).check()
    check.get_by_role("button", name="Check my answer").click()
    answer(other, "1 0 0", item=0)
    answer(opened, "1/2", item=1)
    right = dict.fromkeys(["residual", "corrected", "shortcut"], "right") | {"check": True}
    wait_until(lambda: statuses(lab) == right)
    wait_until(lambda: "passedAt" in saved(lab)["numbers"])


def test_a_tab_shows_what_another_saved_when_the_learner_comes_back(opened, visit, lab):
    wait_until(lambda: "predict" in saved(lab))
    other = visit(lab.address, context=opened.context)
    other.locator("#numbers .answers").wait_for()
    answer(opened, "3/8")
    wait_until(lambda: statuses(lab)["shortcut"] == "right")
    other.evaluate("dispatchEvent(new Event('focus'))")
    box = other.locator("#numbers ol.answers > li").nth(2).locator("input[type=text]")
    wait_until(lambda: box.input_value() == "3/8")


def test_leaving_a_tab_saves_at_once_so_that_the_next_one_knows(opened, lab):
    """The timer that would save a little later never comes here."""
    wait_until(lambda: "predict" in saved(lab))
    opened.evaluate("window.setTimeout = () => 1")
    answer(opened)
    assert "numbers" not in saved(lab)
    opened.evaluate("""() => {
        Object.defineProperty(document, "visibilityState", { value: "hidden" });
        document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    }""")
    wait_until(lambda: statuses(lab)["shortcut"] == "right")


def test_export_then_import_brings_everything_back(opened, lab, tmp_path):
    answer(opened)
    opened.locator("summary", has_text="My work").click()
    with opened.expect_download() as download:
        opened.get_by_role("button", name="Export to import again").click()
    file = tmp_path / "exported.json"
    download.value.save_as(file)
    with opened.expect_download() as report:
        opened.get_by_role("button", name="Export a report").click()
    assert "Answered: **Yes**" in report.value.path().read_text(encoding="utf-8")
    lab.forget()
    opened.reload()
    settled(opened)
    opened.locator("summary", has_text="My work").click()
    opened.locator("input[type=file]").set_input_files(file)
    opened.locator("#numbers .answers").wait_for()
    box = opened.locator("#numbers ol.answers > li").nth(2).locator("input")
    wait_until(lambda: box.input_value() == "3/8")


REFUSED = {
    '{"something": "else"}': "not exported progress",
    "[1, 2]": "not exported progress",
    "{": "not exported progress",
    '{"kind": "draftproof-progress", "data": {"v": 1, "lessons": [1, 2]}}': "nothing was changed",
}


def test_another_file_is_refused_and_nothing_is_lost(opened, tmp_path, watch):
    watch.expect("400")
    file = tmp_path / "other.json"
    opened.locator("summary", has_text="My work").click()
    for text, said in REFUSED.items():
        file.write_text(text)
        opened.locator("input[type=file]").set_input_files(file)
        opened.locator(".import .problem", has_text=said).wait_for()
    assert "Your prediction is kept: Yes" in words(opened.locator("#predict").inner_text())


def test_a_reset_asks_first_and_can_be_undone(opened, lab):
    answer(opened)
    opened.locator("summary", has_text="My work").click()
    opened.get_by_role("button", name="Reset this lesson").click()
    opened.get_by_role("button", name="Yes, forget my work here").click()
    wait_until(lambda: saved(lab) == {})
    opened.get_by_role("button", name="Undo reset").click()
    wait_until(lambda: saved(lab).get("numbers", {}).get("shortcut", {}).get("status") == "right")


def test_a_reset_wins_over_another_tab_that_goes_on_playing(opened, visit, lab, watch):
    watch.expect("409")
    answer(opened)
    wait_until(lambda: statuses(lab)["shortcut"] == "right")
    other = visit(lab.address, context=opened.context)
    other.locator("#numbers .answers").wait_for()
    other.locator("#model").get_by_role("button", name="Next").click()
    wait_until(lambda: "model" in saved(lab))
    opened.locator("summary", has_text="My work").click()
    opened.get_by_role("button", name="Reset this lesson").click()
    opened.get_by_role("button", name="Yes, forget my work here").click()
    wait_until(lambda: saved(lab) == {})
    other.locator("#model").get_by_role("button", name="Next").click()
    wait_until(lambda: list(saved(lab)) == ["model"])
    assert not other.locator("#numbers .answers").is_visible()


def test_what_is_typed_and_not_checked_survives_a_reload_and_another_tab(opened, visit, lab):
    box = opened.locator("#numbers ol.answers > li").nth(2).locator("input[type=text]")
    box.fill("3/")
    write(opened, "mine = 3\n")
    opened.get_by_role("button", name="Start over").click()
    opened.get_by_role("button", name="Yes, replace my program").click()
    assert opened.evaluate("document.activeElement.innerText").startswith("Undo")
    wait_until(lambda: saved(lab).get("code", {}).get("before") == "mine = 3\n")
    opened.reload()
    wait_until(lambda: box.input_value() == "3/")
    opened.get_by_role("button", name="Undo: bring my program back").click()
    assert opened.locator("textarea.plain-code").input_value() == "mine = 3\n"
    wait_until(lambda: saved(lab).get("code", {}).get("draft") == "mine = 3\n")
    other = visit(lab.address, context=opened.context)
    other.locator("#numbers .answers").wait_for()
    answer(other, "1 0 0", item=0)
    other.locator("textarea.plain-code").fill("mine = 4\n")
    wait_until(lambda: saved(lab).get("code", {}).get("draft") == "mine = 4\n")
    opened.evaluate("dispatchEvent(new Event('focus'))")
    wait_until(lambda: opened.locator("textarea.plain-code").input_value() == "mine = 4\n")
    assert box.input_value() == "3/"


def test_a_page_of_one_folder_saves_nothing_in_another(opened, visit, lab, watch):
    """On the same port the browser lets the old page in, also where another folder is served."""
    watch.expect("412")
    answer(opened)
    wait_until(lambda: "numbers" in saved(lab))
    (lab.folder / "learner.txt").write_text("another", encoding="utf-8")
    lab.forget()
    answer(opened, "1/2")
    opened.locator(".trouble", has_text="kept in this browser").wait_for()
    assert "another folder" in opened.locator(".trouble").inner_text()
    theirs = settled(visit(lab.address, context=opened.context))
    assert "Your prediction is kept" not in words(theirs.locator("#predict").inner_text())
    assert saved(lab) == {}


def test_a_damaged_file_is_mentioned_and_kept(visit, lab):
    (lab.folder / "progress.json").write_text("{", encoding="utf-8")
    page = settled(visit(lab.address))
    assert "could not be read" in page.locator(".trouble").inner_text()
    assert (lab.folder / "progress.damaged-1.json").read_text(encoding="utf-8") == "{"


@pytest.mark.parametrize("hash_", ["", "0" * 64])
def test_a_program_from_an_older_lesson_is_kept_and_said_to_be_older(visit, lab, hash_):
    steps = {
        "predict": {"choice": "yes", "at": "2026-01-01"},
        "code": {
            "draft": "mine = 2\n",
            "starter": hash_,
            "last": "3 of 9 tests passed",
            "at": "2026",
        },
    }
    lessons = {"rejection-correction": {"contentHash": hash_, "steps": steps}}
    state = {"rev": 7, "data": {"v": 1, "lessons": lessons}}
    (lab.folder / "progress.json").write_text(json.dumps(state), encoding="utf-8")
    page = visit(lab.address)
    editor(page)
    code = words(page.locator("#code").inner_text())
    assert "mine = 2" in code
    assert "Before you left: 3 of 9 tests passed." in code
    assert "Start over" in code
    if hash_:
        assert "changed" in code
