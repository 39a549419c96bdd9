"""The exercise in Pyodide: what passes, what fails with which words, and what is stopped."""

import contextlib
import json

import pytest

from browser.lab import editor, predict, settled, words
from draftproof.lesson.shelf import find

CODE = find(3).step("code")
STUBBORN = {
    "an endless loop": ("while True: pass", "Stopped|too long|never ends"),
    "a loop inside C": ("sum(range(3 * 10**9))", "Stopped|too long|never ends"),
    "recursion through sorted": (
        "def f(x): return sorted([1], key=f)\nf(1)",
        "crashed|too deep|recursion|calls itself",
    ),
    "plain recursion": ("def f(x): return f(x)\nf(1)", "recursion|deep|calls itself"),
    "a memory bomb": (
        "x = []\nwhile True: x.append(bytearray(50_000_000))",
        "memory|Stopped|crashed",
    ),
    "leaving": ("import sys\nsys.exit(3)", "exit"),
}

GRADER = """async ({programs, exercise}) => {
    const page = JSON.parse(document.getElementById('page-data').textContent);
    const worker = new Worker(page.worker, {type: 'module'});
    const answer = () => new Promise((done) => {
        worker.onmessage = ({data}) => { if (data.type !== 'progress') done(data); };
    });
    worker.postMessage({type: 'start', pyodide: page.pyodide, files: page.python, interrupt: null});
    await answer();
    const replies = [];
    for (const source of programs) {
        worker.postMessage({type: 'grade', nonce: '', source, exercise});
        replies.push(JSON.parse((await answer()).answer));
    }
    worker.terminate();
    return replies;
}"""


def spliced(wrong):
    """The reference solution with one function replaced by a wrong one."""
    return f"{CODE.reference}\n\n{wrong.code}"


class Exercise:
    """The code step, through its plain text box."""

    def __init__(self, page):
        self.page = page
        self.place = page.locator("#code")
        page.get_by_label("Plain text box").check()
        self.box = page.locator("textarea.plain-code")

    def run(self, program, limit=40):
        """Type a program, press Ctrl+Enter, wait for its verdict, and give the words shown."""
        self.box.fill(program)
        self.box.press("Control+Enter")
        with contextlib.suppress(Exception):  # a quick verdict may come before we look
            self.place.locator(".python.running").wait_for(state="attached", timeout=1000)
        self.place.locator(".python:not(.running)").wait_for(timeout=limit * 1000)
        return words(self.place.locator(".results").inner_text())


@pytest.fixture
def exercise(coding):
    return Exercise(coding)


def test_the_reference_passes_the_starter_fails_and_the_proof_is_drawn(exercise):
    assert "0 of 24 tests passed" in exercise.run(CODE.starter)
    said = exercise.run(CODE.reference)
    assert "24 of 24 tests passed" in said
    exercise.page.locator("#announcer", has_text="24 of 24").wait_for(state="attached")
    figure = exercise.place.locator("figure.frequencies")
    figure.locator("summary").click()
    rows = figure.locator("table tbody tr")
    assert rows.count() == 3
    cells = [words(cell) for cell in figure.locator("tbody td").all_inner_texts()]
    assert [cell for cell in cells if "[" not in cell] == ["0.5000", "0.3000", "0.2000"]
    exact, naive = cells[1::3], cells[2::3]
    assert not any("outside" in cell for cell in exact)
    assert any("outside" in cell for cell in naive)


def test_every_recognised_wrong_program_gets_its_own_message_in_pyodide(coding):
    programs = [CODE.reference, *(spliced(wrong) for wrong in CODE.known_wrong)]
    exercise = json.dumps(CODE.exercise())
    right, *replies = coding.evaluate(GRADER, {"programs": programs, "exercise": exercise})
    assert right["status"] == "pass"
    for wrong, reply in zip(CODE.known_wrong, replies, strict=True):
        failed = next(test for test in reply["tests"] if test["status"] != "pass")
        assert (wrong.id, failed["known"]) == (wrong.id, wrong.id)
        assert wrong.why.split("$")[0].strip()[:40] in failed["message"]
        assert failed["call"]
        told = json.dumps(reply)
        assert "grader" not in told
        assert "/home/" not in told


def test_a_wrong_program_shows_call_value_and_reason(exercise):
    wrong = next(one for one in CODE.known_wrong if one.function == "residual")
    said = exercise.run(spliced(wrong))
    first = exercise.place.locator(".tests details[open]")
    assert first.count() == 1
    assert "residual(p=[0.5, 0.3, 0.2]" in words(first.inner_text())
    assert "24 tests passed" in said


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
    assert "0 of 24 tests passed" in said


def test_a_wrong_name_says_which_name_is_called(exercise):
    assert "residual" in exercise.run("def resdiual(p, q):\n    return p\n")


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_stubborn_program_is_stopped_explained_and_harms_no_later_run(exercise, kind):
    program, why = STUBBORN[kind]
    said = exercise.run(program)
    assert any(one.lower() in said.lower() for one in why.split("|")), said
    assert "24 of 24 tests passed" in exercise.run(CODE.reference)


def test_a_flood_of_prints_is_cut(exercise):
    said = exercise.run("for i in range(200_000): print('x' * 20)\n" + CODE.reference)
    assert "24 of 24 tests passed" in said
    assert "more than is shown" in words(exercise.place.locator(".results").text_content())


def test_a_program_that_rebinds_everything_does_not_reach_the_next_run(exercise):
    exercise.run(
        "import builtins, fractions, numpy as np\n"
        "builtins.max = builtins.sum = min\nfractions.Fraction = int\nnp.maximum = np.minimum\n"
        "def residual(p, q):\n    p[0] = 7\n    return p\n"
    )
    assert "24 of 24 tests passed" in exercise.run(CODE.reference)


REACH = """
import js
from pyodide.ffi import run_sync
reached = []
for attempt in (
    lambda: js.fetch('{home}/api/progress'),
    lambda: js.fetch('{home}/lesson/3'),
    lambda: js.WebSocket.new('ws://127.0.0.1:{port}/'),
    lambda: js.eval('1 + 1'),
    lambda: js.importScripts('{home}/static/main.js'),
    lambda: js.Worker.new('{home}/static/main.js'),
):
    try:
        reached.append(str(attempt()))
    except BaseException as error:
        reached.append('refused')
print(reached)
"""


def test_a_program_cannot_reach_the_server(exercise, watch, lab):
    """A fetch gives a promise at once; that it was refused is seen by no request going out."""
    watch.expect("Content Security Policy|Refused|violates|WebSocket")
    asked = []
    exercise.page.on("request", lambda request: asked.append(request.url))
    port = lab.home.rsplit(":", 1)[1]
    exercise.run(REACH.format(home=lab.home, port=port))
    exercise.page.wait_for_timeout(500)
    assert not [url for url in asked if "/api/" in url and "progress" not in url]
    assert not [url for url in asked if url.endswith(("/lesson/3", "/static/main.js"))]
    assert "24 of 24 tests passed" in exercise.run(CODE.reference)


def test_control_enter_and_command_enter_run_in_the_editor(coding):
    box = editor(coding)
    for shortcut in ("Control+Enter", "Meta+Enter"):
        box.focus()
        coding.keyboard.press(shortcut)
        coding.locator("#code .python.running").wait_for(state="attached")
        coding.locator("#code .python:not(.running)").wait_for(timeout=40_000)
    assert "0 of 24 tests passed" in coding.locator("#code .results").inner_text()
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
