"""The built files of the lesson pages: scripts, styles, fonts, formulas, Python for the browser.

They are made by ``scripts/build_web.py`` into the folder ``static`` beside this module, and are
part of every wheel. Names carry a hash of the content, so a browser may keep a file for ever.
Without them (a checkout that never built them) the pages can still be read.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable

MANIFEST = "manifest.json"
FORMULAS = "maths.json"

MIME = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".zip": "application/zip",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file to send: its path below the folder, its bytes and its media type."""

    name: str
    data: bytes
    mime: str


@dataclass(frozen=True)
class Assets:
    """The built files below `root`.

    Parameters
    ----------
    root
        The folder.
    files
        Built name of each source, as in ``{"main.js": "main-3F2A.js"}``; empty when nothing is
        built.
    formulas
        MathML of each formula of the lessons, by its TeX with the dollar signs.

    Examples
    --------
    >>> import pathlib
    >>> nothing = Assets(pathlib.Path("/nowhere"))
    >>> nothing.built, nothing.url("main.js"), nothing.find("../pyproject.toml")
    (False, '', None)
    """

    root: Traversable
    files: dict[str, str] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Traversable) -> Assets:
        """Read the manifest of a folder; a folder without one has no files."""
        manifest = root / MANIFEST
        if not manifest.is_file():
            return cls(root)
        files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        formulas = json.loads((root / FORMULAS).read_text(encoding="utf-8"))
        return cls(root, files, formulas)

    @property
    def built(self) -> bool:
        """Say whether the files are there."""
        return bool(self.files)

    @property
    def worker(self) -> str:
        """Name of the script that runs Python, which gets a content policy of its own."""
        return self.files.get("worker.js", "")

    @property
    def pyodide(self) -> str:
        """Name of the folder with Python for the browser."""
        return self.files.get("pyodide", "")

    def url(self, source: str) -> str:
        """Address of a built file by the name of its source, or ``""`` when it is not built."""
        name = self.files.get(source)
        return f"/static/{name}" if name else ""

    def find(self, path: str) -> File | None:
        """Give the file at `path`, or None; only names that the folder lists are looked at."""
        file = self._known.get(path)
        suffix = path[path.rfind(".") :]
        if file is None or suffix not in MIME:
            return None
        return File(path, file.read_bytes(), MIME[suffix])

    @functools.cached_property
    def _known(self) -> dict[str, Traversable]:
        return dict(_walk(self.root)) if self.built else {}


def _walk(folder: Traversable, prefix: str = "") -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        name = prefix + entry.name
        found += _walk(entry, f"{name}/") if entry.is_dir() else [(name, entry)]
    return found


def shipped() -> Assets:
    """Give the files that came with this package."""
    return Assets.read(resources.files("draftproof.lesson") / "static")
