"""The code step: what passes, what fails with which words, and what is stopped."""

import pytest

from browser.conftest import VIEWPORT
from browser.grading import Exercise, spliced, verdict
from browser.lab import RECORDER, Lab, Watch, editor, predict, settled, wait_until, words
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

# A program that is done with soon: one function of six, so that the first tests pass.
LITTLE = """
import numpy as np

def residual(p, q):
    missing = np.maximum(np.asarray(p) - np.asarray(q), 0)
    return missing / missing.sum() if missing.sum() else np.asarray(p)
"""
PASSED = sum(test.function == "residual" for test in CODE.tests)
WELL = f"{PASSED} of {len(CODE.tests)} tests passed"


@pytest.fixture(scope="module")
def bench(chromium, tmp_path_factory):
    """One page for the whole file: what one program does must not reach the next one anyway."""
    lab = Lab(tmp_path_factory.mktemp("bench"))
    context, watch = chromium.new_context(viewport=VIEWPORT), Watch()
    page = context.new_page()
    watch.over(page)
    page.goto(lab.address)
    yield Exercise(predict(settled(page))), watch
    context.close()
    lab.stop()


@pytest.fixture
def exercise(bench, watch):
    """The exercise of the shared page; `watch` then judges what this test made it do."""
    shared, seen = bench
    seen.seen = watch.seen
    yield shared
    watch.check()


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


def test_a_wrong_program_shows_call_value_and_reason(exercise):
    wrong = next(one for one in CODE.known_wrong if one.function == "residual")
    said = exercise.run(spliced(CODE, wrong))
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
def test_a_stubborn_program_is_stopped_explained_and_harms_no_later_run(exercise, watch, kind):
    if kind == "recursion through sorted":  # it ends the interpreter, which then says so itself
        watch.expect("^Pyodide has suffered a fatal error|^The cause of the fatal error was")
        watch.expect("^RangeError: Maximum call stack size exceeded")
    program, why = STUBBORN[kind]
    said = exercise.run(program)
    assert any(one.lower() in said.lower() for one in why.split("|")), said
    assert WELL in exercise.run(LITTLE)


def test_a_flood_of_prints_is_cut(exercise):
    said = exercise.run("for i in range(200_000): print('x' * 20)\n" + LITTLE)
    assert WELL in said
    assert "its output was cut" in said
    assert "output was cut" not in exercise.run("print('little')\n" + LITTLE)


def test_a_program_that_rebinds_everything_does_not_reach_the_next_run(exercise):
    exercise.run(
        "import builtins, fractions, numpy as np\n"
        "builtins.max = builtins.sum = min\nfractions.Fraction = int\nnp.maximum = np.minimum\n"
        "def residual(p, q):\n    p[0] = 7\n    return p\n"
    )
    assert "24 of 24 tests passed" in exercise.run(CODE.reference)


REACH = """
import js
xhr = js.XMLHttpRequest.new()
def ask(address):
    xhr.open('GET', address, False)
    xhr.send()
    return xhr.status
tried = {{
    'fetch': lambda: js.fetch('{home}/api/progress?marker=fetch'),
    'put': lambda: js.fetch('{home}/api/progress?marker=put', js.JSON.parse('{{"method": "PUT"}}')),
    'page': lambda: js.fetch('{home}/lesson/3?marker=page'),
    'xhr': lambda: ask('{home}/api/progress?marker=xhr'),
    'websocket': lambda: js.WebSocket.new('ws://{host}/api/progress?marker=websocket'),
    'events': lambda: js.EventSource.new('{home}/api/progress?marker=events'),
    'worker': lambda: js.Worker.new('{home}/static/main.js?marker=worker'),
    'script': lambda: js.importScripts('{home}/static/main.js?marker=script'),
    'eval': lambda: print('eval gives', js.eval('6 * 7')),
    'function': lambda: print('function gives', js.Function.new('return 6 * 7')()),
}}
for name, attempt in tried.items():
    try:
        attempt()
    except BaseException as error:
        print(name, 'is refused:', type(error).__name__)
"""


def reach(visit, lab):
    """Run a program that tries every way out; give what it printed and what the server saw."""
    page = predict(settled(visit(lab.address, python=True)))
    exercise = Exercise(page)
    exercise.run(REACH.format(home=lab.home, host=lab.home.split("//")[1]) + LITTLE)
    printed = page.locator("#code .results details pre").last.text_content()
    page.evaluate("fetch('/api/progress?marker=end')")  # what was sent before has arrived by then
    wait_until(lambda: "end" in lab.asked())
    assert WELL in exercise.run(LITTLE)
    return printed, set(lab.asked()) - {"end"}


def test_a_program_cannot_reach_the_server(visit, start, tmp_path, watch):
    """The server itself notes each request that carries a marker, before it judges any."""
    watch.expect("Content Security Policy|Refused|violates|WebSocket|NetworkError")
    lab = start(tmp_path, command=RECORDER, RECORD=str(tmp_path / "asked.txt"))
    printed, asked = reach(visit, lab)
    assert asked == set()
    assert "gives 42" not in printed
    assert "xhr is refused" in printed


def test_with_a_lax_policy_the_program_would_reach_it(visit, start, tmp_path, watch):
    """So the recorder sees what it is there to see."""
    watch.expect("")
    lab = start(tmp_path, command=RECORDER, RECORD=str(tmp_path / "asked.txt"), LAX="yes")
    printed, asked = reach(visit, lab)
    assert {"fetch", "put", "page", "xhr", "websocket"} <= asked
    assert "eval gives 42" in printed


def test_control_enter_and_command_enter_run_in_the_editor(coding):
    box = editor(coding)
    for run, shortcut in enumerate(("Control+Enter", "Meta+Enter"), 1):
        box.focus()
        coding.keyboard.press(shortcut)
        assert "0 of 24 tests passed" in verdict(coding, run).inner_text()
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
