"""Opening models for the OpenVINO back end, and finding how to run them on this machine.

Which profile is right depends on the processor, so it is measured, once: `choose_profile` puts
the profiles through a quick conformance check and keeps the result in the cache folder.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.backends import weights
from draftproof.backends.conformance import check_backend
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.backends.paged import PROFILES, Profile, machine
from draftproof.errors import UnreadableModel

UNKNOWN_CONTEXT = 2048
"""Context limit of a model folder that does not state one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the check on this machine decided.

    `gap` is the largest logit difference seen, 0.0 for ``"bit-exact"``; `total_variation` the
    largest total variation.
    """

    profile: Profile
    engine: str
    gap: float
    total_variation: float


def choose_profile(folder: Path, progress: weights.Progress = lambda step: None) -> Choice:
    """Find how to run a model on this machine, once: the fastest profile that is bit-exact.

    Each profile that the processor supports is compiled and put through a quick conformance
    check, the fastest first, until one shows no difference at all; if none does, the one with
    the smallest difference is taken and called ``"tolerance"``. The result is kept in the cache
    folder under a key made of the model and the machine, so a different processor, thread count
    or library version is checked anew.
    """
    place = _record(folder)
    if (known := _read_choice(place)) is not None:
        return known
    seen: list[Choice] = []
    for profile in (p for p in PROFILES if p.needs in machine()["abilities"].split()):
        progress(f"checking on this machine: {profile.name}")
        backend = OpenVinoBackend(
            folder, profile, name=profile.name, engine="bit-exact", context_limit=UNKNOWN_CONTEXT
        )
        report = check_backend(backend, quick=True)
        engine = "bit-exact" if report.holds else "tolerance"
        seen.append(Choice(profile, engine, report.logit_gap, report.total_variation))
        if report.holds:
            break
    best = min(seen, key=lambda choice: choice.gap)
    weights.write_json(place, _as_json(best))
    return best


def _record(folder: Path) -> Path:
    """Give the file where this model's choice on this machine is kept."""
    names = [folder / weights.MODEL, (folder / weights.MODEL).with_suffix(".bin")]
    files = [[str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns] for f in names]
    profiles = [[profile.name, profile.settings] for profile in PROFILES]
    key = json.dumps([files, machine(), profiles], sort_keys=True)
    digest = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    return weights.cache_folder() / "checks" / f"{digest}.json"


def _as_json(choice: Choice) -> dict[str, Any]:
    return {
        "profile": choice.profile.name,
        "engine": choice.engine,
        "gap": choice.gap,
        "total_variation": choice.total_variation,
        "machine": machine(),
    }


def _read_choice(place: Path) -> Choice | None:
    """Read a kept choice; None when there is none, or none that can be understood."""
    by_name = {profile.name: profile for profile in PROFILES}
    try:
        kept = json.loads(place.read_text("utf-8"))
        return Choice(
            by_name[kept["profile"]],
            str(kept["engine"]),
            float(kept["gap"]),
            float(kept["total_variation"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def open_default(progress: weights.Progress = lambda step: None) -> OpenVinoBackend:
    """Open the default model, prepared before by `draftproof setup`."""
    weights.require_openvino()
    return open_folder(weights.find_default(), name=weights.DEFAULT, progress=progress)


def open_path(path: Path, progress: weights.Progress = lambda step: None) -> OpenVinoBackend:
    """Open a GGUF file, or a folder with an OpenVINO model."""
    weights.require_openvino()
    if path.is_dir():
        return open_folder(path, name=path.name, progress=progress)
    prepared = weights.prepare_gguf(path, progress)
    return open_folder(prepared.path, name=path.stem, progress=progress)


def open_folder(
    folder: Path, *, name: str, progress: weights.Progress = lambda step: None
) -> OpenVinoBackend:
    """Open a folder that holds ``openvino_model.xml`` and its tokenizer.

    Raises
    ------
    UnreadableModel
        If the model is missing or cannot be run on a paged cache.
    """
    for needed in (weights.MODEL, "openvino_model.bin", "openvino_tokenizer.xml"):
        if not (folder / needed).is_file():
            raise UnreadableModel(f"{folder} holds no {needed}, so it is not a model folder.")
    note = weights.read_note(folder)
    limit = note.get("context_length") or note.get("max_position_embeddings") or UNKNOWN_CONTEXT
    choice = choose_profile(folder, progress)
    return OpenVinoBackend(
        folder, choice.profile, name=name, engine=choice.engine, context_limit=int(limit)
    )
