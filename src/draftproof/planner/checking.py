"""What every part of the planner accepts as a probability, a time or a count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from draftproof.errors import InvalidInput


def as_sequence(value: Any, name: str) -> tuple[Any, ...]:
    """Give the entries of a list, a tuple, or an array of one dimension.

    Examples
    --------
    >>> as_sequence(np.array([0.9, 0.5]), "acceptance")
    (0.9, 0.5)
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(value)
    raise InvalidInput(
        f"{name} is {value!r:.60}; it must be a sequence: a list, a tuple, or an array of one "
        f"dimension."
    )


def check_probability(value: Any, name: str) -> Any:
    """Give a number in [0, 1] back, as the fraction or the float it is."""
    number = value if isinstance(value, Fraction) else as_float(value, name)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} is {value}; it is a probability and must lie in [0, 1].")
    return number


def check_time(value: Any, name: str, *, zero: bool = True) -> Any:
    """Give a finite time in seconds back; 0 only where `zero` allows it."""
    size = as_float(value, name)
    number = value if isinstance(value, Fraction) else size
    if number < 0 or (size == 0 and not zero) or math.isinf(size):
        least = "0 or more" if zero else "above 0"
        raise InvalidInput(f"{name} is {value}; it must be a finite time in seconds, {least}.")
    return number


def check_count(value: Any, name: str, least: int = 0) -> int:
    """Give a whole number of at least `least` back."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInput(f"{name} is {value!r}; it must be an integer of {least} or more.")
    return int(value)


def as_float(value: Any, name: str) -> float:
    """Give a real number as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{name} is {value!r}; it must be a number.")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidInput(f"{name} is too large for a float; give a smaller number.") from None
    if math.isnan(number):
        raise InvalidInput(f"{name} is NaN; it must be a number.")
    return number
