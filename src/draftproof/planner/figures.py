"""Figures as engines print them: decimals in log lines, counters, gauges, positions."""

from __future__ import annotations

import re
from typing import Any

from draftproof.errors import InvalidInput

MOST_DRAFTS = 1000
"""Tokens that a round drafts at the most; nobody drafts more, and a file that says so is broken."""

MOST_COUNTED = 10**15
"""Largest count: up to there, each is a whole number in the floats that metrics are written in."""

DECIMAL = re.compile(r"[0-9]{1,16}(\.[0-9]{0,30})?")
WHOLE = re.compile(r"[0-9]{1,16}")


def decimal(text: str, what: str) -> float:
    """Read a number of a log line; `what` is what the error says it is.

    Examples
    --------
    >>> decimal("2.80", "accept len")
    2.8
    """
    if not DECIMAL.fullmatch(text):
        raise InvalidInput(f"{what} is {text!r:.60}; it must be a number like 2.80.")
    return float(text)


def share(value: float, what: str) -> float:
    """Give a share in [0, 1] back."""
    if not 0 <= value <= 1:
        raise InvalidInput(f"{what} is {_shown(value)}; a share lies between 0 and 1.")
    return float(value)


def count(value: Any, what: str) -> int:
    """Give a count back: an integer, a float that is whole, or the digits of a log line.

    Examples
    --------
    >>> count(1800.0, "drafts"), count("29", "drafts")
    (1800, 29)
    """
    if isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if not number or not 0 <= value <= MOST_COUNTED or value != int(value):
        raise InvalidInput(
            f"{what} is {_shown(value)}; a counter is 0 or more, and whole, up to 10^15."
        )
    return int(value)


def length(value: float, what: str) -> float:
    """Give a mean of tokens per round back: 0 where nothing ran, else at least 1."""
    if not (value == 0 or 1 <= value <= MOST_DRAFTS + 1):
        raise InvalidInput(
            f"{what} is {_shown(value)}; with the target's own token a round emits from 1 to "
            f"{MOST_DRAFTS + 1} tokens, and 0 means that none ran."
        )
    return float(value)


def drafts(value: float, what: str) -> int:
    """Give a number of drafted tokens per round back."""
    if not 0 <= value <= MOST_DRAFTS or value != int(value):
        raise InvalidInput(
            f"{what} is {_shown(value)}; it must be a whole number from 0 to {MOST_DRAFTS}."
        )
    return int(value)


def position(label: str | None, what: str) -> int:
    """Read the label that says which draft position is counted."""
    if label is None or not WHOLE.fullmatch(label) or int(label) >= MOST_DRAFTS:
        shown = "no position" if label is None else f"position {label!r:.60}"
        raise InvalidInput(
            f"{what} has {shown}; its label must be a whole number from 0 to {MOST_DRAFTS - 1}."
        )
    return int(label)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r:.60}"
