"""Run every test, the larger matrices included, and record the result in docs/test-full.md."""

from __future__ import annotations

import datetime
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "test-full.md"
NOTED = ("numpy", "scipy", "openvino-genai")


def run_tests() -> tuple[int, str, float]:
    """Run pytest, showing its output as it comes; give the exit code, the output, the seconds."""
    began = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--durations=15",
        "-o",
        "addopts=-ra --strict-markers --strict-config --doctest-modules --import-mode=importlib",
    ]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines), time.monotonic() - began


def commit() -> str:
    """Name the commit the tests ran on."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def report(output: str, seconds: float) -> str:
    """Put the result into words and a table."""
    closing = re.findall(r"^=+ (.*(?:passed|failed|error).*) =+$", output, re.MULTILINE)
    slowest = re.findall(r"^(\d+\.\d+s) (?:call|setup)\s+(\S+)$", output, re.MULTILINE)
    packages = ", ".join(f"{name} {version(name)}" for name in NOTED)
    lines = [
        "# The whole matrix",
        "",
        "Written by `make test-full`; run it again to replace this page.",
        "",
        f"* result: {closing[-1] if closing else 'no closing line'}",
        f"* on: {datetime.date.today().isoformat()}, commit {commit()}, {seconds:.0f} s",
        f"* with: Python {platform.python_version()}, {packages}, {platform.machine()}",
        "",
        "| slowest tests | seconds |",
        "|---|---|",
        *(f"| `{name}` | {took.removesuffix('s')} |" for took, name in slowest),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, record, and pass the exit code on."""
    code, output, seconds = run_tests()
    REPORT.write_text(report(output, seconds), encoding="utf-8")
    print(f"recorded in {REPORT.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
