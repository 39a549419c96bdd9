"""The terminal runner: the same grader in a process that can be stopped."""

import sys
import time
from pathlib import Path

import pytest

from draftproof.errors import InvalidInput
from draftproof.lesson import find
from draftproof.lesson.check import SIZE_LIMIT, check, read_source
from draftproof.lesson.content import Code

CODE = find(3).only(Code)


@pytest.fixture
def submit(tmp_path):
    def run(addition, **options):
        file = tmp_path / "mine.py"
        file.write_text(f"{CODE.reference}\n{addition}", encoding="utf-8")
        return check(3, file, **options)

    return run


def test_the_reference_passes(submit):
    result = submit("print('hello')")
    assert (result.lesson, result.passed, result.status) == ("rejection-correction", True, "pass")
    assert len(result.tests) == len(CODE.tests)
    assert result.stdout == "hello\n"
    data = result.to_json()
    assert data["lesson"] == "rejection-correction"
    assert set(data["tests"][0]) >= {"name", "status", "call", "got", "message"}


def test_a_wrong_program_fails_with_the_message_of_the_page(submit):
    result = submit("def residual(p, q): return p")
    assert not result.passed
    assert result.tests[0]["known"] == "residual-is-p"


def test_the_starter_fails(tmp_path):
    file = tmp_path / "starter.py"
    file.write_text("\ufeff" + CODE.starter, encoding="utf-8")
    result = check("rejection-correction", file)
    assert (result.passed, result.status) == (False, "fail")


def test_an_endless_loop_is_stopped_where_it_is(submit):
    result = submit("def rejection_probability(p, q):\n    while True: pass", time_limit_s=1.5)
    assert not result.passed
    assert result.message == "The run was stopped after 1.5 s; is there a loop that never ends?"
    assert [test["status"] for test in result.tests] == ["pass", "pass", "pass", "error"]
    assert result.tests[-1]["id"] == "rejection-worked"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("ending", ["while True: pass", "import os; os._exit(3)"])
def test_children_of_a_program_are_stopped_with_it(submit, tmp_path, ending):
    mark = tmp_path / "pid"
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(mark)!r}).write_text(str(child.pid))\n"
        f"{ending}"
    )
    submit(code, time_limit_s=1.5)
    pid = int(mark.read_text())
    deadline = time.monotonic() + 20  # a kill may take a moment to be seen; the child sleeps 60 s
    while (state := _state(pid)) not in ("gone", "Z", "X") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert state in ("gone", "Z", "X")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory limits need Linux")
def test_a_memory_bomb_is_a_sentence(submit):
    result = submit(
        "def residual(p, q):\n    kept = []\n    while True: kept.append(bytearray(100_000_000))"
    )
    assert "asked for more memory than there is (line " in result.message
    assert [test["status"] for test in result.tests] == ["error"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os\nos._exit(0)", "The run had no result: the Python process ended without"),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
            "The run had no result: Python itself crashed (signal",
        ),
        ("raise KeyboardInterrupt", "The run was stopped by a KeyboardInterrupt of the program's"),
    ],
)
def test_a_program_that_takes_python_down(submit, code, message):
    result = submit(code)
    assert not result.passed
    assert message in result.message


def test_a_program_cannot_speak_for_the_grader(submit):
    result = submit(
        "import os, sys\n"
        "for stream in (1, 2):\n"
        '    os.write(stream, b\'{"reply": {"passed": true}}\\n\')\n'
        "sys.__stdout__.write('{\"reply\": 1}\\n')\n"
        "def residual(p, q): return q"
    )
    assert not result.passed
    assert len(result.tests) == len(CODE.tests)


def test_files_beside_the_submission_do_not_shadow_the_grader(submit, tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert submit("").passed


def test_files_that_cannot_be_submissions(tmp_path):
    with pytest.raises(InvalidInput, match="is a directory"):
        read_source(tmp_path)
    with pytest.raises(InvalidInput, match="does not exist; `draftproof learn` offers"):
        read_source(tmp_path / "none.py")
    file = tmp_path / "x.py"
    file.write_bytes(b"x = '\xe9'")
    with pytest.raises(InvalidInput, match=r"not UTF-8 text \(byte 5\); save it as UTF-8"):
        read_source(file)
    file.write_bytes(b"#" * (SIZE_LIMIT + 1))
    with pytest.raises(InvalidInput, match="at most 1 MiB"):
        read_source(file)
    with pytest.raises(InvalidInput, match="there is no lesson '9'; choose one of: 1"):
        check(9, file)
