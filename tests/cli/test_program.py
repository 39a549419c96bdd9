"""The program as a whole: help, lazy imports, exit codes, colours, and text on a terminal."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from draftproof.cli import VERBS, main
from draftproof.cli.reading import read_number, read_time
from draftproof.cli.screen import Screen, console_for
from draftproof.contracts import Source
from draftproof.errors import InvalidInput
from draftproof.lesson.check import CheckResult
from draftproof.session import Piece

PIECES = [Piece("a\x1b[31mb", Source.DRAFT), Piece("c", Source.DRAFT), Piece("d", Source.RESIDUAL)]


def test_help_imports_no_verb_and_nothing_heavy():
    code = (
        "import sys\nfrom draftproof.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"numpy", "rich", "scipy", "openvino", "draftproof.cli.run"}
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_defaults(verb):
    shown = CliRunner().invoke(main, [verb, "--help"], env={"COLUMNS": "100"}).stdout
    assert f"draftproof {verb}" in shown.split("Example", 1)[1]
    parameters = main.get_command(None, verb).params
    flags = [one for one in parameters if one.param_type_name == "option" and one.name != "help"]
    assert shown.count("[default:") + shown.count("[required]") >= len(flags)


def test_no_arguments_show_the_help():
    done = CliRunner().invoke(main, [])
    assert done.exit_code == 0
    assert "Usage: draftproof" in done.stdout


def test_the_version_is_told():
    assert "draftproof" in CliRunner().invoke(main, ["--version"]).stdout


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10ms", "1/100"), ("0.01s", "1/100"), ("0.01", "1/100"), ("250us", "1/4000"),
     ("1 s", "1"), ("5e-3s", "1/200"), ("7ns", "7/1000000000")],
)  # fmt: skip
def test_times_are_read_exactly(text, seconds):
    assert str(read_time(text, "t")) == seconds


@pytest.mark.parametrize("text", ["", "ms", "1h", "1 0ms", "--1s", "1/2/3", "infs", "1e999s"])
def test_what_is_not_a_time_is_refused(text):
    with pytest.raises(InvalidInput, match="t is"):
        read_time(text, "t")


def test_decimals_are_exact():
    assert read_number("0.1", "p") + read_number("0.2", "p") == read_number("0.3", "p")


def screen(monkeypatch, **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    stream.isatty = lambda: environment.get("TERM") is not None
    shown = Screen(console_for(stream))
    shown.show(PIECES)
    shown.end()
    return shown, stream.getvalue()


def test_a_colour_terminal_shows_sources_as_styles(monkeypatch):
    shown, text = screen(monkeypatch, TERM="xterm-256color")
    assert text.startswith("\x1b[4;32ma\u241b[31mb\x1b[0m")
    assert "\x1b[1;33md" in text
    assert "kept draft" in shown.legend().plain


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_without_colour_sources_are_marks(monkeypatch, setting):
    shown, text = screen(monkeypatch, **setting)
    assert text == "[a\u241b[31mbc]{d}\n"
    assert "[kept draft]  {correction}  <bonus>" in shown.legend().plain


def test_a_pipe_gets_the_text_as_it_is(monkeypatch):
    shown, text = screen(monkeypatch)
    assert text == "a\x1b[31mbcd\n"
    assert shown.legend() is None


def test_a_closed_pipe_ends_quietly():
    code = (
        "import sys\nfrom draftproof.cli import main\n"
        "main(['plan', '--acceptance', '0.5', '--t-target', '1s', '--t-verify', '1s'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 141


FULL = Path("/dev/full")


@pytest.fixture
def ends_with(monkeypatch):
    """Run a command line with a standard output of its own and give the exit code."""

    def invoke(stream, *args):
        monkeypatch.setattr("sys.stdout", stream)
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        return ended.value.code

    return invoke


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "words",
    ["--help", "run --help", "run hello", "run hello --json", "learn check 3 NONE"],
)
def test_a_full_disk_is_one_sentence(toy, ends_with, capsys, monkeypatch, words):
    passed = CheckResult("x", passed=True, status="pass", message="", tests=(), stdout="")
    monkeypatch.setattr("draftproof.cli.learn.grade", lambda lesson, file: passed)
    with FULL.open("w") as full:
        assert ends_with(full, *words.split()) == 2
    assert "the output cannot be written (No space left" in capsys.readouterr().err


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_no_traceback_at_the_very_end():
    code = "from draftproof.cli import main\nmain(['--version'])"
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: cannot be used (Permission"),
        (OSError(12, "Cannot allocate memory"), "the system refused what this needs (Cannot"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(monkeypatch, ends_with, capsys, error, said):
    def refuse(lesson, file):
        raise error

    monkeypatch.setattr("draftproof.cli.learn.grade", refuse)
    assert ends_with(io.StringIO(), "learn", "check", "3", "mine.py") == 2
    assert f"draftproof: {said}" in capsys.readouterr().err


def test_a_closed_standard_output_is_no_error(toy, ends_with, capsys):
    assert ends_with(None, "run", "hello", "--json") == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_character_that_the_output_cannot_show_is_escaped(toy, ends_with):
    for seed in range(40):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding="cp1251")
        assert ends_with(stream, "run", "hello", "--seed", str(seed)) == 0
        if b"\\xe9" in raw.getvalue():
            return
    pytest.fail("no seed gave an e acute")


def test_an_output_in_utf_8_stays_as_it_is(ends_with):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="UTF8")
    assert ends_with(stream, "--version") == 0
    assert stream.errors == "strict"
