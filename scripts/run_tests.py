"""Run the tests; with --full the larger matrices too, recorded in docs/test-full.md.

The tests run in three processes of pytest, one after the other, each spread over the cores; those
of the real model on two workers at most, because the model uses every core itself.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "test-full.md"
NOTED = ("numpy", "scipy", "openvino-genai")
WORKERS = max(2, min(4, os.cpu_count() or 2))
SLOWEST = 10

BROWSER = "tests/browser"


@dataclass(frozen=True, slots=True)
class Group:
    """What one process of pytest tests: the marks it takes, where, and on how many workers."""

    name: str
    marks: str
    where: Sequence[str]
    spread: str
    workers: int = WORKERS

    @property
    def arguments(self) -> list[str]:
        """Of pytest; the browser tests are named or left out, as finding them starts a browser."""
        left_out = [] if BROWSER in self.where else [f"--ignore={BROWSER}"]
        return [*self.where, *left_out, "-n", str(self.workers), "--dist", self.spread]

    @property
    def environment(self) -> dict[str, str]:
        """Workers that share the cores compute on one thread each; bytecode is kept for them."""
        kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
        return kept | {"OMP_NUM_THREADS": "1"}


NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Where this is set every program that a test starts would compile all of the source again."""


def with_the_model() -> list[str]:
    """Give the test files that need the model, so that no other has to be read."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        str(file.relative_to(ROOT))
        for file in files
        if "pytest.mark.model" in file.read_text(encoding="utf-8")
        and (ROOT / BROWSER) not in file.parents
    ]


GROUPS = (
    Group("the code", "not model", (), "worksteal"),
    Group("the model", "model", with_the_model(), "loadfile", 2),
    Group("the page", "browser", (BROWSER,), "loadfile"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one process ended: what it tested, exit code, what it printed, how long it took."""

    name: str
    code: int
    output: str
    seconds: float

    @property
    def closing(self) -> str:
        """Pytest's last line."""
        found = re.findall(r"^=+ (.*(?:passed|failed|error).*) =+$", self.output, re.MULTILINE)
        return str(found[-1]) if found else f"no closing line; exit code {self.code}"

    @property
    def slowest(self) -> list[tuple[float, str]]:
        """The tests that took longest, in seconds."""
        found = re.findall(r"^(\d+\.\d+)s (?:call|setup)\s+(\S+)$", self.output, re.MULTILINE)
        return [(float(seconds), name) for seconds, name in found]


def run(group: Group, *, full: bool) -> Outcome:
    """Run pytest once, showing its output as it comes."""
    began = time.monotonic()
    taken = group.marks if full else f"({group.marks}) and not full"
    options = [f"--durations={SLOWEST}", "-m", taken, *group.arguments]
    command = [sys.executable, "-m", "pytest", *options]
    print(f"draftproof: tests of {group.name}", flush=True)
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=group.environment
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return Outcome(group.name, process.returncode, "".join(lines), time.monotonic() - began)


def commit() -> str:
    """Name the commit the tests ran on."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def report(outcomes: Sequence[Outcome]) -> str:
    """Put the results into words and two tables."""
    slowest = sorted((one for outcome in outcomes for one in outcome.slowest), reverse=True)
    packages = ", ".join(f"{name} {version(name)}" for name in NOTED)
    seconds = sum(outcome.seconds for outcome in outcomes)
    lines = [
        "# The whole matrix",
        "",
        "Written by `make test-full`; run it again to replace this page.",
        "",
        f"* on: {datetime.date.today().isoformat()}, commit {commit()}, {seconds:.0f} s",
        f"* with: Python {platform.python_version()}, {packages}, {platform.machine()}",
        "",
        "| tests of | result |",
        "|---|---|",
        *(f"| {outcome.name} | {outcome.closing} |" for outcome in outcomes),
        "",
        "| slowest tests | seconds |",
        "|---|---|",
        *(f"| `{name}` | {took} |" for took, name in slowest[:SLOWEST]),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run every group, record where asked, and fail if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the larger matrices too, recorded")
    full = parser.parse_args().full
    outcomes = [run(group, full=full) for group in GROUPS]
    if full:
        REPORT.write_text(report(outcomes), encoding="utf-8")
        print(f"recorded in {REPORT.relative_to(ROOT)}")
    for outcome in outcomes:
        print(f"draftproof: {outcome.name}: {outcome.closing}")
    return max(outcome.code for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
