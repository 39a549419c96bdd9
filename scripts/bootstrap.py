"""Make `.venv` and install draftproof in it, on a machine with only python3 and pip.

Usage: python3 scripts/bootstrap.py EXTRAS   (for example: openvino  or  dev)

Uses the standard venv module where it works and the virtualenv package where python3-venv is
missing. Does nothing when the environment already holds these extras for this pyproject.toml.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST = (3, 11)


def say(line: str) -> None:
    """Print one progress line at once."""
    print(f"draftproof: {line}", flush=True)


def python() -> Path:
    """Give the environment's interpreter."""
    windows = VENV / "Scripts" / "python.exe"
    return windows if windows.exists() else VENV / "bin" / "python"


def has_pip(interpreter: Path) -> bool:
    """True when the interpreter exists, runs and has pip."""
    if not interpreter.exists():
        return False
    probe = subprocess.run([interpreter, "-m", "pip", "--version"], capture_output=True)
    return probe.returncode == 0


def make_environment() -> None:
    """Create `.venv` with venv, or with virtualenv fetched for the purpose."""
    if has_pip(python()):
        return
    say("making .venv")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True)
    if made.returncode == 0 and has_pip(python()):
        return
    say("python3-venv is missing here, so virtualenv is fetched instead")
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder]
        subprocess.run([*install, "virtualenv"], check=True)
        path = {**os.environ, "PYTHONPATH": folder}
        subprocess.run([sys.executable, "-m", "virtualenv", "--clear", VENV], env=path, check=True)


def fingerprint(extras: str) -> str:
    """Identify what should be installed: the extras asked for and pyproject.toml."""
    content = (ROOT / "pyproject.toml").read_bytes() + extras.encode()
    return hashlib.sha256(content).hexdigest()


def install(extras: str) -> None:
    """Install the project, editable, with its extras, unless that was done before."""
    stamp = VENV / f".installed-{extras.replace(',', '-')}"
    wanted = fingerprint(extras)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing draftproof[{extras}] with pip (a minute on a new machine)")
    pip = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", f"{ROOT}[{extras}]"], check=True)
    stamp.write_text(wanted)


def main() -> int:
    """Make the environment ready; one sentence when it cannot be."""
    if len(sys.argv) != 2:
        print("usage: python3 scripts/bootstrap.py EXTRAS", file=sys.stderr)
        return 2
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        print(
            f"draftproof needs Python 3.11 or newer and this is {found}; name a newer one, for "
            f"example: make PYTHON=python3.12 demo",
            file=sys.stderr,
        )
        return 2
    try:
        make_environment()
        install(sys.argv[1])
    except subprocess.CalledProcessError as error:
        print(f"draftproof: this step failed: {error.cmd}; its output is above.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
