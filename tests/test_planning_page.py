"""docs/planning.md: its commands and its code print what it says they print."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from draftproof.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "planning.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"    \$ draftproof (.+)\n((?:    .+\n)+)", PAGE)
CODE = re.findall(r"```python\n(.+?)```\n\n((?:    [^\n]+\n)+)", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), SHOWN)
def test_a_command_prints_what_the_page_shows(command, printed):
    told = " ".join(CliRunner().invoke(main, shlex.split(command)).stdout.split())
    for line in printed.split("\n"):
        if line.strip() not in ("", "..."):
            assert line.strip() in told


@pytest.mark.parametrize(("code", "printed"), CODE)
def test_code_prints_what_the_page_shows(code, printed):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "planning.md", "exec"), {})
    assert out.getvalue().split() == printed.split()


def test_the_page_has_its_three_cases():
    assert len(SHOWN) == 5
    assert len(CODE) == 1
