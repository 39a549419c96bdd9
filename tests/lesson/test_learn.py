"""`draftproof learn` as a user meets it: a process, its exit code and what it prints."""

import json
import os
import signal
import subprocess
import sys

import httpx2
import pytest

from draftproof.lesson import server
from draftproof.lesson.assets import shipped
from draftproof.lesson.progress import ProgressStore
from draftproof.lesson.shelf import find

DRAFTPROOF = [sys.executable, "-c", "from draftproof.cli import main; main()"]
built = pytest.mark.skipif(not shipped().built, reason="the pages are not built (make web)")


def draftproof(*words, **options):
    return subprocess.run(
        [*DRAFTPROOF, *map(str, words)], capture_output=True, text=True, check=False, **options
    )


def refused(done):
    """One sentence on standard error, nothing on standard output, no traceback, exit code 2."""
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


@built
def test_it_prints_an_address_that_opens_the_lesson_and_ends_on_ctrl_c(tmp_path):
    words = ["learn", "3", "--port", "0", "--no-browser", "--data-dir", str(tmp_path)]
    process = subprocess.Popen([*DRAFTPROOF, *words], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        page = httpx2.get(address, follow_redirects=True)
        assert "<h1>Rejection correction</h1>" in page.text
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@built
def test_a_busy_port_that_was_asked_for_is_refused(tmp_path):
    with server.listen(0) as taken:
        port = taken.getsockname()[1]
        done = draftproof("learn", "--port", port, "--no-browser", "--data-dir", tmp_path)
    assert f"port {port}" in refused(done)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learn", "99"], "99"),
        (["learn", "--port", "99999"], "--port"),
        (["learn", "--port", "x"], "--port"),
        (["learn", "--export", "report.pdf"], ".md or .json"),
        (["learn", "--export", "no/such/folder/report.md"], "cannot be written"),
        (["learn", "check", "99", "x.py"], "99"),
        (["learn", "check", "3", "no-such-file.py"], "no-such-file.py"),
        (["learn", "check", "3"], "FILE"),
    ],
)
def test_a_mistake_is_one_sentence(words, said, tmp_path):
    assert said in refused(draftproof(*words, cwd=tmp_path))


def test_without_the_extra_it_says_what_to_type(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')\n")
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = draftproof("learn", "--no-browser", "--data-dir", tmp_path, env=env)
    assert "pip install 'draftproof[lab]'" in refused(done)


@pytest.mark.parametrize("suffix", [".md", ".json"])
def test_export_needs_no_server(tmp_path, suffix):
    steps = {"predict": {"choice": "no"}}
    ProgressStore(tmp_path).save(0, {"v": 1, "lessons": {"rejection-correction": {"steps": steps}}})
    file = tmp_path / f"mine{suffix}"
    done = draftproof("learn", "--data-dir", tmp_path, "--export", file)
    assert done.returncode == 0
    text = file.read_text(encoding="utf-8")
    if suffix == ".json":
        assert json.loads(text)["data"]["lessons"]["rejection-correction"]["steps"] == steps
    else:
        assert "Answered: **No**" in text


def test_check_passes_the_reference_solution_and_prints_one_json_object(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(find(3).step("code").reference, encoding="utf-8")
    done = draftproof("learn", "check", "3", file, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["lesson"], found["passed"]) == (0, "rejection-correction", True)
    assert {test["status"] for test in found["tests"]} == {"pass"}
    fields = {"name", "status", "call", "got", "message"}
    assert all(fields <= set(test) for test in found["tests"])


def test_check_of_the_starter_is_exit_code_1_and_shows_the_first_failure(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(find(3).step("code").starter, encoding="utf-8")
    done = draftproof("learn", "check", "rejection-correction", file)
    assert done.returncode == 1
    assert "✗ residual: the worked pair" in done.stdout
    assert "residual(p=[0.5, 0.3, 0.2], q=[0.25, 0.5, 0.25])" in done.stdout
    assert "0 of 25 tests passed." in done.stdout


@pytest.mark.parametrize("words", [["learn", "--help"], ["learn", "check", "--help"]])
def test_help_has_an_example(words):
    done = draftproof(*words)
    assert done.returncode == 0
    assert "draftproof learn check 3" in done.stdout
