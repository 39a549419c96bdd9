"""What a learner has done, kept on disk so that it survives a restart and another port.

One file, ``progress.json``, holds a revision number and whatever the page wants remembered. A
writer names the revision it started from; when another tab was faster, `ProgressStore.save`
raises `Conflict` with the newer state and the page merges. Nothing is ever lost silently:

* a file is replaced in one step (written beside, flushed, renamed);
* a file that cannot be read is set aside under another name and mentioned in `Progress.notice`;
* before a save that drops something, the state it would lose is kept for `ProgressStore.undo`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs

from draftproof.errors import DraftproofError, InvalidInput

Data: TypeAlias = dict[str, Any]

KIND = "draftproof-progress"
"""Marks an exported file, so that another JSON file is not imported by mistake."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One state of the progress file.

    Parameters
    ----------
    rev
        Number of saves so far; 0 when nothing was ever saved.
    data
        What the page asked to remember.
    undo
        True when `ProgressStore.undo` has something to bring back.
    notice
        A sentence for the learner when a damaged file was set aside, else None.
    """

    rev: int
    data: Data = field(default_factory=dict)
    undo: bool = False
    notice: str | None = None

    def public(self) -> Data:
        """Give the fields the page sees."""
        seen = {"rev": self.rev, "data": self.data, "undo": self.undo}
        return seen | ({"notice": self.notice} if self.notice else {})


class Conflict(DraftproofError):
    """The state was changed by another tab since the writer read it."""

    def __init__(self, current: Progress) -> None:
        super().__init__(
            f"progress was saved elsewhere in the meantime: it is now at revision {current.rev}; "
            "merge with that state and save again."
        )
        self.current = current


def default_folder() -> Path:
    """Give the folder in which this user's progress lives."""
    return Path(platformdirs.user_data_dir("draftproof", appauthor=False)) / "lesson"


class ProgressStore:
    """The progress file of one learner.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ProgressStore(Path(folder))
    ...     saved = store.save(0, {"predict": "yes"})
    ...     saved.rev, store.load().data
    (1, {'predict': 'yes'})
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "progress.json"
        self.previous = folder / "progress.previous.json"
        self._one_at_a_time = threading.Lock()
        self._notice: str | None = None
        self._learner = secrets.token_hex(16)

    def learner(self) -> str:
        """Give the random name of this folder, made at the first call and kept in it.

        A browser keeps unsaved work under this name, so that it never reaches another folder.

        Examples
        --------
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first, again = (ProgressStore(Path(folder)).learner() for _ in range(2))
        ...     first == again, first == ProgressStore(Path(folder) / "other").learner()
        (True, False)
        """
        file = self.folder / "learner.txt"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(file, "x", encoding="utf-8") as out:
                out.write(self._learner)
        except FileExistsError:
            return file.read_text(encoding="utf-8").strip()
        except OSError:  # nothing can be kept here; the page says so when it saves
            pass
        return self._learner

    def load(self) -> Progress:
        """Read the current state; a damaged file is set aside first and a fresh one begun."""
        try:
            rev, data = _read(self.file)
        except FileNotFoundError:
            rev, data = 0, {}
        except (ValueError, KeyError, TypeError):
            rev, data = 0, {}
            self._set_aside()
        return Progress(rev, data, self.previous.exists(), self._notice)

    def save(self, rev: int, data: Data) -> Progress:
        """Store `data` as the successor of revision `rev`.

        Raises
        ------
        Conflict
            When `rev` is not the current revision; it carries the current state.
        """
        with self._one_at_a_time:
            current = self.load()
            if rev != current.rev:
                raise Conflict(current)
            return self._replace(current, data)

    def restore(self, document: object) -> Progress:
        """Take over an exported document, whatever the current revision; it can be undone.

        Raises
        ------
        InvalidInput
            When the document is not one that `draftproof learn` exported.
        """
        ours = isinstance(document, dict) and document.get("kind") == KIND
        data = document.get("data") if isinstance(document, dict) and ours else None
        if not isinstance(data, dict):
            raise InvalidInput(
                "the file to import is not exported progress; choose a .json file that "
                "the lesson's Export or `draftproof learn --export FILE.json` wrote."
            )
        with self._one_at_a_time:
            return self._replace(self.load(), data)

    def undo(self) -> Progress:
        """Bring back what the last losing save dropped; a second call undoes the undo.

        Raises
        ------
        InvalidInput
            When nothing was dropped yet.
        """
        with self._one_at_a_time:
            current = self.load()
            try:
                _, before = _read(self.previous)
            except (OSError, ValueError, KeyError, TypeError):
                raise InvalidInput("there is nothing to undo: no earlier state is kept.") from None
            self._keep(current)
            _write(self.file, current.rev + 1, before)
            return self.load()

    def _replace(self, current: Progress, data: Data) -> Progress:
        if loses(current.data, data):
            self._keep(current)
        _write(self.file, current.rev + 1, data)
        return self.load()

    def _keep(self, current: Progress) -> None:
        _write(self.previous, current.rev, current.data)

    def _set_aside(self) -> None:
        number = 1
        while (aside := self.folder / f"progress.damaged-{number}.json").exists():
            number += 1
        os.replace(self.file, aside)
        self._notice = (
            f"The saved progress could not be read. It was kept as {aside.name} in the progress "
            "folder, and the lesson starts afresh."
        )


def loses(old: object, new: object) -> bool:
    """Say whether `new` lacks a key that `old` has, at any depth.

    Examples
    --------
    >>> loses({"a": {"tries": 1}}, {"a": {"tries": 2}, "b": 0})
    False
    >>> loses({"a": {"tries": 1}}, {"a": {}})
    True
    """
    if not isinstance(old, dict) or not old:
        return False
    if not isinstance(new, dict):
        return True
    return any(key not in new or loses(value, new[key]) for key, value in old.items())


def _read(file: Path) -> tuple[int, Data]:
    saved = json.loads(file.read_text(encoding="utf-8"))
    rev, data = saved["rev"], saved["data"]
    if type(rev) is not int or rev < 0 or not isinstance(data, dict):
        raise ValueError("not a progress file")
    return rev, data


def _write(file: Path, rev: int, data: Data) -> None:
    """Replace `file` in one step: a crash leaves the old file or the new one, nothing between."""
    try:
        text = json.dumps({"rev": rev, "data": data}, allow_nan=False)
    except ValueError:
        raise InvalidInput(
            "data holds a number that JSON cannot carry (NaN or infinity)."
        ) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=".progress-", suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
