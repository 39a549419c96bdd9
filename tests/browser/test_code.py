"""The code step: what passes, what fails and with which words, hints, the editor."""

from browser.grading import Exercise, spliced, verdict
from browser.lab import editor, predict, settled, words
from draftproof.lesson.shelf import find

CODE = find(3).step("code")
N = len(CODE.tests)


def test_the_reference_passes_the_starter_fails_and_the_proof_is_drawn(exercise):
    assert f"0 of {N} tests passed" in exercise.run(CODE.starter)
    said = exercise.run(CODE.reference)
    assert f"{N} of {N} tests passed" in said
    exercise.page.locator("#announcer", has_text=f"{N} of {N}").wait_for(state="attached")
    figure = exercise.place.locator("figure.frequencies")
    figure.locator("summary").click()
    rows = figure.locator("table tbody tr")
    assert rows.count() == 3
    cells = [words(cell) for cell in figure.locator("tbody td").all_inner_texts()]
    assert [cell for cell in cells if "[" not in cell] == ["0.5000", "0.3000", "0.2000"]
    exact, naive = cells[1::3], cells[2::3]
    assert not any("outside" in cell for cell in exact)
    assert any("outside" in cell for cell in naive)


def test_a_wrong_program_shows_call_value_and_reason(exercise):
    wrong = next(one for one in CODE.known_wrong if one.function == "residual")
    said = exercise.run(spliced(CODE, wrong))
    first = exercise.place.locator(".tests details[open]")
    assert first.count() == 1
    assert "residual(p=[0.5, 0.3, 0.2]" in words(first.inner_text())
    assert f"{N} tests passed" in said


def test_old_results_are_greyed_once_the_code_changes(exercise):
    exercise.run(CODE.starter)
    assert exercise.place.locator(".results.stale").count() == 0
    exercise.box.press("End")
    exercise.box.type(" ")
    assert "The code has changed since this run." in exercise.place.inner_text()
    assert exercise.place.locator(".results.stale").count() == 1


def test_a_syntax_error_names_its_line_and_runs_no_test(exercise):
    said = exercise.run("import numpy as np\n\ndef residual(p, q)\n    return p\n")
    assert "line 3" in said.lower()
    assert f"0 of {N} tests passed" in said


def test_a_wrong_name_says_which_name_is_called(exercise):
    assert "residual" in exercise.run("def resdiual(p, q):\n    return p\n")


def test_command_enter_runs_in_the_editor(coding):
    """As Ctrl+Enter does, which the lesson done by keyboard alone uses there."""
    editor(coding).focus()
    coding.keyboard.press("Meta+Enter")
    assert f"0 of {N} tests passed" in verdict(coding, 1).inner_text()
    assert "Enter" in coding.get_by_role("button", name="Run the tests").inner_text()


def test_hints_are_counted_and_the_solution_is_gated(opened):
    place = opened.locator("#code")
    for number in range(1, len(CODE.hints) + 1):
        assert place.get_by_role("button", name="Show a solution").count() == 0
        place.get_by_role("button", name=f"Hint {number} of {len(CODE.hints)}").click()
    place.get_by_role("button", name="Show a solution").click()
    place.get_by_role("button", name="Yes, show it").click()
    place.locator(".solution summary").click()
    assert "np.maximum(p - q, 0)" in place.locator(".solution").inner_text()


def test_the_program_can_be_downloaded_and_started_over(opened):
    exercise = Exercise(opened)
    exercise.box.fill("mine = 1\n")
    with opened.expect_download() as download:
        opened.get_by_role("button", name=f"Download {CODE.filename}").click()
    assert download.value.suggested_filename == CODE.filename
    assert download.value.path().read_text() == "mine = 1\n"
    opened.get_by_role("button", name="Start over").click()
    opened.get_by_role("button", name="Yes, replace my program").click()
    assert exercise.box.input_value() == CODE.starter
    opened.get_by_role("button", name="Undo: bring my program back").click()
    assert exercise.box.input_value() == "mine = 1\n"


def test_without_wasm_the_rest_of_the_lesson_still_works(visit, lab, watch):
    watch.expect("worker|Worker|404|Failed")
    page = visit(lab.address)
    predict(settled(page))
    assert page.locator("table.laws").is_visible()
