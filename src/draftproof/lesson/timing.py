"""What speculation costs and gains on the reader's own machine, for the page to draw.

This is `draftproof plan --measure` on a single text, with one draft and one rule: the same
measurement (`draftproof.session.measuring`), short enough to wait for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any, TypeAlias

from draftproof.errors import DraftproofError
from draftproof.planner.replay import LEVEL, Prediction
from draftproof.session.measuring import Candidate, measure
from draftproof.session.running import Session

Json: TypeAlias = dict[str, Any]

PLACES = 64
SECONDS = 20.0
"""Tokens of the text that are looked at, and the time after which no further one is."""


class Halted(DraftproofError):
    """The measurement was stopped before it had a result."""


class Timing:
    """One measurement; `result` makes it, and `stop` ends it from anywhere within one pass.

    Parameters
    ----------
    session
        The model, and the draft and the rule to measure.
    prompt
        The text to continue.
    most_k
        Longest draft.
    release
        Called when it is over, however it ends.
    """

    def __init__(
        self, session: Session, prompt: str, most_k: int, release: Callable[[], None]
    ) -> None:
        self._session = session
        self._prompt = prompt
        self._most_k = most_k
        self._release = release
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the measurement; nobody waits for it any more."""
        self._stopped.set()

    def result(self) -> Json:
        """Measure, and give times in milliseconds and the prediction for every k.

        Raises
        ------
        Halted
            After `stop`.
        """
        try:
            (found,) = measure(
                [self._session],
                [self._prompt],
                rules=[self._session.rule.name],
                places=PLACES,
                seconds=SECONDS,
                max_k=self._most_k,
                clock=self._clock,
            )
        finally:
            self._release()
        return {"target": self._session.target.backend.name, **_shown(found)}

    def _clock(self) -> float:
        """Read the clock, which every part of the measurement does, and stop there if asked to."""
        if self._stopped.is_set():
            raise Halted("the measurement was stopped.")
        return time.perf_counter()


def _shown(found: Candidate) -> Json:
    timings = found.timings
    passes = [[n, 1000 * median(each)] for n, each in sorted(timings.passes.items())]
    return {
        "draft": found.draft,
        "places": sum(map(len, found.texts)),
        "level": LEVEL,
        "passes": passes,
        "t_draft": 1000 * median(timings.draft),
        "acceptance": list(found.acceptance),
        "predictions": [_prediction(one) for one in found.predictions],
        "best_k": found.best.k,
        "verdict": found.best.verdict if found.best.k else "does not pay",
    }


def _prediction(one: Prediction) -> Json:
    return {
        "k": one.k,
        "tokens": one.expected_tokens,
        "speedup": one.speedup,
        "interval": list(one.interval),
    }
