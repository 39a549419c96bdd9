"""What a learner's program cannot do: run for ever, harm the next run, reach the server."""

import pytest

from browser.grading import Exercise
from browser.lab import RECORDER, predict, settled, wait_until
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
DEADLY = set(STUBBORN) - {"plain recursion", "leaving"}
"""What ends the interpreter or has it ended."""

# A program that is done with soon: one function of six, so that the first tests pass.
LITTLE = """
import numpy as np

def residual(p, q):
    missing = np.maximum(np.asarray(p) - np.asarray(q), 0)
    return missing / missing.sum() if missing.sum() else np.asarray(p)
"""
PASSED = sum(test.function == "residual" for test in CODE.tests)
WELL = f"{PASSED} of {len(CODE.tests)} tests passed"


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_stubborn_program_is_stopped_explained_and_harms_no_later_run(exercise, watch, kind):
    if kind == "recursion through sorted":  # it ends the interpreter, which then says so itself
        watch.expect("^Pyodide has suffered a fatal error|^The cause of the fatal error was")
        watch.expect("^RangeError: Maximum call stack size exceeded")
    program, why = STUBBORN[kind]
    said = exercise.run(program)
    assert any(one.lower() in said.lower() for one in why.split("|")), said
    if kind in DEADLY:
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
    assert WELL in exercise.run(LITTLE)


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
    said = exercise.run(REACH.format(home=lab.home, host=lab.home.split("//")[1]) + LITTLE)
    assert WELL in said
    printed = page.locator("#code .results details pre").last.text_content()
    page.evaluate("fetch('/api/progress?marker=end')")  # what was sent before has arrived by then
    wait_until(lambda: "end" in lab.asked())
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
