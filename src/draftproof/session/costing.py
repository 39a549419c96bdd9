"""The costs behind `-k auto`: measured once for a model, a draft and a machine, then kept.

They are constants of a run, so k depends on the seed and the text only. They are kept in the cache
folder beside the model's self-check; delete the file to have them measured anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from draftproof.backends import weights
from draftproof.contracts import Predictor, Proposer, Text
from draftproof.planner.policy import round_times
from draftproof.planner.timing import Timings, time_drafts, time_parts

AUTO_MAX_K = 12
"""Largest k that `-k auto` asks for."""

AUTO_COUNTS = (1, 2, 3, 4, 5, 7, 9, 13)
REPEATS = 9


def round_seconds(
    target: Predictor,
    proposer: Proposer,
    text: Text,
    *,
    key: Sequence[object] | None,
    tick: Callable[[], None] = lambda: None,
) -> tuple[float, ...]:
    """Give the seconds of rounds of 0, 1, ... drafts, kept under `key` if it was measured before.

    Parameters
    ----------
    target, proposer, text
        What to time, if it has to be.
    key
        What the costs belong to (model, profile, draft); None keeps nothing.
    tick
        Called ``REPEATS`` times while it measures; never if it need not.
    """
    place = None if key is None else _place(key)
    if place is not None and (kept := _read(place)) is not None:
        return kept
    found = _measure(target, proposer, text, tick)
    if place is not None:
        weights.write_json(place, {"seconds": list(found)})
    return found


def _measure(
    target: Predictor, proposer: Proposer, text: Text, tick: Callable[[], None]
) -> tuple[float, ...]:
    timed = time_parts(target, proposer, text, repeats=REPEATS, counts=AUTO_COUNTS, tick=tick)
    drafts = time_drafts(proposer, text, AUTO_MAX_K)
    calm = Timings(passes=_rising(timed), draft=(min(drafts),), row=(min(timed.row),))
    return round_times(calm.costs(), AUTO_MAX_K)


def _rising(timed: Timings) -> dict[int, Sequence[float]]:
    """Fastest samples, which load disturbs least, and which never fall with the tokens."""
    risen: dict[int, Sequence[float]] = {}
    highest = 0.0
    for count, samples in sorted(timed.passes.items()):
        highest = max(highest, min(samples))
        risen[count] = (highest,)
    return risen


def _place(key: Sequence[object]) -> Path:
    from draftproof.backends.paged import machine  # loads the model library

    text = json.dumps([list(key), machine(), AUTO_MAX_K], sort_keys=True, default=str)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return weights.cache_folder() / "costs" / f"{digest}.json"


def _read(place: Path) -> tuple[float, ...] | None:
    """Read kept costs; None when there are none, or none that can be understood."""
    try:
        kept = tuple(float(one) for one in json.loads(place.read_text("utf-8"))["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kept if kept and min(kept) > 0 else None
