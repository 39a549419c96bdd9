"""Calling somebody else's verifier, and reading what it returns.

Three signatures. ``step``: ``fn(p, q, rng) -> token``, one whole speculative step. ``block``:
``fn(target_rows, draft_rows, draft_tokens, rng) -> (accepted, token)``, the verification of a
chain that was drafted from `draft_rows`. ``batch``: the same over lists, one entry per request,
returning one pair per request.

Whatever the function does is an observation, not a failure of the audit: an exception, a float,
nothing at all, an id outside the vocabulary become a `Fault`, with a probability like any token.
"""

from __future__ import annotations

import signal
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.explore import TooManyBranches
from draftproof.audit.symbols import NeedsNumbers
from draftproof.dist import Row
from draftproof.errors import InvalidInput

SIGNATURES = ("step", "block", "batch")

OWN_ERRORS = (NeedsNumbers, TooManyBranches)
"""Exceptions of ours that pass through foreign code on their way out."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something other than a token: what happened, in words."""

    what: str

    def __str__(self) -> str:
        return self.what


Outcome: TypeAlias = int | Fault | tuple[int | Fault, ...]


class OutOfTime(Exception):
    """The function did not come back within its time."""


def read_token(value: Any, size: int) -> int | Fault:
    """Read a token id, or say what came instead.

    Examples
    --------
    >>> read_token(np.int64(1), 3), read_token(1.0, 3).what
    (1, 'it returned 1.0, a float, where a token id belongs')
    """
    if value is None:
        return Fault("it returned nothing")
    if isinstance(value, bool | np.bool_):
        return Fault(f"it returned {value}, a bool, where a token id belongs")
    scalar = _unboxed(value)
    if not isinstance(scalar, int | np.integer):
        kind = type(scalar).__name__
        return Fault(f"it returned {_short(scalar)}, a {kind}, where a token id belongs")
    token = int(scalar)
    if not 0 <= token < size:
        return Fault(f"it returned {token}, outside the vocabulary of {size}")
    return token


def _unboxed(value: Any) -> Any:
    """Take a single item out of an array or a tensor of one element."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(-1)[0]
    item = getattr(value, "item", None)
    if item is not None and not isinstance(value, np.ndarray | np.generic):
        try:
            return item()
        except (RuntimeError, ValueError):
            return value
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_verdict(value: Any, drafted: tuple[int, ...], size: int) -> Outcome:
    """Read ``(accepted, token)`` as the tokens that come out, or say what came instead.

    Examples
    --------
    >>> read_verdict((1, 2), (0, 1), 3)
    (0, 2)
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        return Fault(f"it returned {_short(value)}, where (accepted, token) belongs")
    accepted, token = _unboxed(value[0]), read_token(value[1], size)
    if isinstance(accepted, bool) or not isinstance(accepted, int | np.integer):
        return Fault(f"it returned {_short(accepted)} as the number accepted")
    if not 0 <= accepted <= len(drafted):
        return Fault(f"it accepted {int(accepted)} of {len(drafted)} drafted tokens")
    if isinstance(token, Fault):
        return token
    return (*drafted[: int(accepted)], token)


def guarded(call: Callable[[], Any]) -> Any:
    """Call foreign code; an exception it raises becomes a `Fault`."""
    try:
        return call()
    except OWN_ERRORS:
        raise
    except OutOfTime as slow:
        return Fault(str(slow))
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises is an observation
        return Fault(f"it raised {type(error).__name__}: {_short(str(error))}")


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt foreign code after `seconds`, where the platform can (main thread, POSIX)."""
    possible = hasattr(signal, "setitimer")
    if seconds is None or not possible or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_signal: int, _frame: types.FrameType | None) -> None:
        raise OutOfTime(f"it did not return within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Inputs:
    """Rows handed to foreign code: fresh copies each time, and a note when they come back changed.

    Examples
    --------
    >>> inputs = Inputs(p=np.array([0.5, 0.5]))
    >>> inputs.fresh()["p"][0] = 0.0
    >>> inputs.changed()
    ('p',)
    """

    def __init__(self, **rows: Row) -> None:
        self._kept = {name: row.copy() for name, row in rows.items()}
        self._given: dict[str, Row] = {}
        self._changed: dict[str, None] = {}

    def fresh(self) -> dict[str, Row]:
        """Give copies to hand out."""
        self.changed()
        self._given = {name: row.copy() for name, row in self._kept.items()}
        return self._given

    def changed(self) -> tuple[str, ...]:
        """Name the arguments that were changed in place so far."""
        for name, row in self._given.items():
            if not np.array_equal(row, self._kept[name]):
                self._changed[name] = None
        self._given = {}
        return tuple(self._changed)


def check_signature(signature: str) -> str:
    """Give a signature back if there is one of that name."""
    if signature not in SIGNATURES:
        raise InvalidInput(f"signature is {signature!r}; choose one of {', '.join(SIGNATURES)}.")
    return signature
