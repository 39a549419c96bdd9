"""What every part of the planner accepts as a probability, a time or a count."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from draftproof.errors import InvalidInput


def check_probability(value: Any, name: str) -> Any:
    """Give a number in [0, 1] back, as the fraction or the float it is."""
    number = value if isinstance(value, Fraction) else as_float(value, name)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} is {value}; it is a probability and must lie in [0, 1].")
    return number


def check_time(value: Any, name: str, *, zero: bool = True) -> Any:
    """Give a finite time in seconds back; 0 only where `zero` allows it."""
    number = value if isinstance(value, Fraction) else as_float(value, name)
    endless = isinstance(number, float) and math.isinf(number)
    if number < 0 or (number == 0 and not zero) or endless:
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
        raise InvalidInput(f"{name} is an integer too large for a float.") from None
    if math.isnan(number):
        raise InvalidInput(f"{name} is NaN; it must be a number.")
    return number
