"""The bar on standard error: only on a terminal, as long as what is done, and gone at the end."""

import io
import re

import pytest

from draftproof.cli.screen import BAR_WIDTH, Progress
from draftproof.session import Options, open_session
from draftproof.session.costing import REPEATS
from draftproof.session.measuring import check, measure, sessions_for, steps

PROMPTS = ("abc abc abc", "hello")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def stream(monkeypatch):
    """Plant a standard error of some kind, 80 columns wide."""

    def plant(kind, term="xterm"):
        found = kind()
        monkeypatch.setattr("sys.stderr", found)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("COLUMNS", "80")
        return found

    return plant


def drawn(stream):
    """What stands on the line after each rewriting, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    return [part for part in plain.split("\r") if part.strip()]


def test_the_bar_grows_with_what_is_done_and_says_what_comes_next(stream):
    terminal = stream(Terminal)
    progress = Progress()
    progress.expect(4)
    for what in ("one", "two", "three", "four"):
        progress(what)
    lines = drawn(terminal)
    assert [re.sub("[^ a-z0-9%.]", "", line).split() for line in lines] == [
        [f"{share}%", what, "..."]
        for share, what in zip((0, 25, 50, 75), ("one", "two", "three", "four"), strict=True)
    ]
    assert all(len(line) < 80 for line in lines)
    progress.clear()
    assert terminal.getvalue().endswith("\r" + " " * 79 + "\r")


def test_a_bar_of_unknown_length_is_no_bar(stream):
    terminal = stream(Terminal)
    Progress()("opening the models")
    assert drawn(terminal) == ["opening the models ..."]


def test_a_long_line_does_not_wrap(stream):
    terminal = stream(Terminal)
    progress = Progress()
    progress.expect(2)
    progress("x" * 200)
    (line,) = drawn(terminal)
    assert len(line) == 79
    assert line[:BAR_WIDTH].count("x") == 0


@pytest.mark.parametrize(("kind", "term"), [(io.StringIO, "xterm"), (Terminal, "dumb")])
def test_where_there_is_no_terminal_each_step_is_a_line_without_a_bar(stream, kind, term):
    found = stream(kind, term)
    progress = Progress()
    progress.expect(2)
    progress("one")
    progress("two")
    progress.clear()
    assert found.getvalue() == "one ...\ntwo ...\n"


def test_quiet_is_quiet(stream):
    terminal = stream(Terminal)
    progress = Progress(quiet=True)
    progress.expect(1)
    progress("one")
    progress.clear()
    assert terminal.getvalue() == ""


def test_a_measurement_takes_as_many_steps_as_it_says(toy):
    options = Options(max_tokens=20)
    sessions = sessions_for(options, ["ngram", "suffix"], open_session(options))
    told = []
    measure(sessions, PROMPTS, places=4, max_k=2, tick=told.append)
    check(sessions[0], PROMPTS, k=2, rule="token-wise", max_tokens=8, tick=told.append)
    assert len(told) == steps(sessions, PROMPTS)


def test_a_busy_machine_is_checked_on_fewer_prompts(toy):
    """A clock that leaps a minute each time it is looked at: one prompt, and not one more."""
    told, session = [], open_session(Options())
    leaps = iter(range(0, 6000, 60))
    found = check(session, PROMPTS, k=2, rule="token-wise", max_tokens=8, tick=told.append,
                  clock=lambda: next(leaps))  # fmt: skip
    assert found.speedup > 0
    assert len(told) == 4


def test_the_first_run_with_k_auto_says_that_it_measures_and_how_far_it_is(toy, cli):
    done = cli("run", "abc abc", "-k", "auto", "--max-tokens", 5)
    assert done.exit_code == 0
    assert done.stderr.count("measuring what a round costs here, once ...\n") == REPEATS
    assert "measuring" not in cli("run", "abc abc", "-k", 2, "--max-tokens", 5).stderr
