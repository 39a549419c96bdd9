"""Random numbers that are not drawn yet: an interval, narrowed by each comparison.

Foreign code asks for a uniform and compares it. Given a `Uniform` instead of a float, each
comparison either follows from the interval the number is known to lie in, or splits that
interval in two, and the exploration visits both parts with their exact lengths. So code that was
written to be run is enumerated, without being changed (the replay enumeration of algorithms
that use uniforms only through ``u < threshold``).

A number that meets an operation these symbols cannot follow raises `NeedsNumbers`; the caller
then falls back to plain floats.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.chance import Branch

OWN = (__file__, str(Path(np.__file__).parent))
"""Files whose frames are not foreign code."""


class NeedsNumbers(TypeError):
    """The code did something with a random number that only a plain float can answer."""


def exactly(value: Any) -> Fraction:
    """Give a real number as a fraction: fractions and integers as they are, floats bit for bit."""
    if isinstance(value, Rational):
        return Fraction(value)
    try:
        return Fraction(float(value))
    except (TypeError, ValueError, OverflowError):
        raise NeedsNumbers(f"a random number was compared with {value!r}") from None


@dataclass(eq=False, slots=True)
class Interval:
    """What is known of one uniform: it lies in [low, high). `lines` are where it was compared."""

    branch: Branch
    name: str
    low: Fraction
    high: Fraction
    lines: dict[str, None] = field(default_factory=dict)

    def below(self, bound: Fraction) -> bool:
        """Decide whether the number is below `bound`, splitting the interval if both can be."""
        self.lines[_caller()] = None
        if bound >= self.high:
            return True
        if bound <= self.low:
            return False
        share = (bound - self.low) / (self.high - self.low)
        under = self.branch.choose([(True, share), (False, 1 - share)])
        if under:
            self.high = bound
        else:
            self.low = bound
        return under


def _caller() -> str:
    """Name the line of foreign code that made the comparison: not ours, not NumPy's."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_name}, line {frame.f_lineno}"


class Symbol:
    """Base of the symbolic numbers: refuses whatever a subclass does not follow."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        raise NeedsNumbers("the code turned a random number into a float")

    def __int__(self) -> int:
        raise NeedsNumbers("the code turned a random number into an integer")

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NeedsNumbers(f"the code took .{name} of a random number")


class Uniform(Symbol):
    """``slope * u + shift`` for a uniform u known to an interval; monotone maps stay exact.

    Equality with a number has probability 0 and is False. `inverse` undoes a monotone map that
    was applied last (a logarithm), so that thresholds are carried back to u.
    """

    __slots__ = ("_inverse", "_known", "_shift", "_slope")

    def __init__(
        self,
        known: Interval,
        slope: Fraction = Fraction(1),
        shift: Fraction = Fraction(0),
        inverse: str | None = None,
    ) -> None:
        self._known, self._slope, self._shift, self._inverse = known, slope, shift, inverse

    def _less(self, other: Any) -> bool:
        if isinstance(other, Symbol):
            return self._less_than_itself(other)
        bound = self._carried_back(other)
        at = (bound - self._shift) / self._slope
        return self._known.below(at) if self._slope > 0 else not self._known.below(at)

    def _less_than_itself(self, other: Symbol) -> bool:
        """Compare two maps of the same uniform (a binary search compares its key with itself)."""
        if not isinstance(other, Uniform) or other._known is not self._known:
            raise NeedsNumbers("the code compared two random numbers with each other")
        if self._inverse != other._inverse:
            raise NeedsNumbers("the code compared a random number with its logarithm")
        slope, shift = self._slope - other._slope, other._shift - self._shift
        if slope == 0:
            return shift > 0
        at = shift / slope
        return self._known.below(at) if slope > 0 else not self._known.below(at)

    def _carried_back(self, other: Any) -> Fraction:
        if self._inverse != "log":
            return _extended(other)
        value = float(other)
        return _extended(math.exp(value) if value < 700 else math.inf)

    def __lt__(self, other: Any) -> bool:
        return self._less(other)

    def __le__(self, other: Any) -> bool:
        return self._less(other)

    def __gt__(self, other: Any) -> bool:
        return not self._less(other)

    def __ge__(self, other: Any) -> bool:
        return not self._less(other)

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def _affine(self, slope: Fraction, shift: Fraction) -> Any:
        if self._inverse:
            raise NeedsNumbers("the code calculated with the logarithm of a random number")
        if slope == 0:
            return shift
        return Uniform(self._known, self._slope * slope, self._shift * slope + shift)

    def __mul__(self, other: Any) -> Any:
        return self._affine(exactly(_number(other)), Fraction(0))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self._affine(Fraction(1), exactly(_number(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._affine(Fraction(1), -exactly(_number(other)))

    def __rsub__(self, other: Any) -> Any:
        return self._affine(Fraction(-1), exactly(_number(other)))

    def __neg__(self) -> Any:
        return self._affine(Fraction(-1), Fraction(0))

    def __truediv__(self, other: Any) -> Any:
        divisor = exactly(_number(other))
        if divisor == 0:
            raise NeedsNumbers("the code divided a random number by zero")
        return self._affine(1 / divisor, Fraction(0))

    def log(self) -> Uniform:
        """Natural logarithm, as numpy asks an object for it."""
        if self._inverse:
            raise NeedsNumbers("the code took the logarithm of a logarithm")
        return Uniform(self._known, self._slope, self._shift, "log")


def _extended(value: Any) -> Fraction:
    """Give a threshold as a fraction, infinities as something beyond every uniform."""
    if isinstance(value, Rational):
        return Fraction(value)
    number = float(value)
    if math.isnan(number):
        raise NeedsNumbers("a random number was compared with NaN")
    if math.isinf(number):
        return Fraction(10**400) if number > 0 else Fraction(-(10**400))
    return Fraction(number)


def _number(other: Any) -> Any:
    if isinstance(other, Symbol):
        raise NeedsNumbers("the code calculated with two random numbers")
    return other


class Exponential(Symbol):
    """One Exp(1) variate that may only divide a weight: the noise of an exponential race."""

    __slots__ = ("_branch",)

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    def __rtruediv__(self, weight: Any) -> Runner:
        return Runner(self._branch, exactly(weight))


class Runner(Symbol):
    """``weight / Exp(1)``, compared with its like by an argmax.

    The largest of several runners wins with probability proportional to its weight, and who won
    says nothing about the winning value; so the winner of a comparison goes on as a runner of
    the summed weight, and a knock-out in any order has the law of the whole race.
    """

    __slots__ = ("_beaten", "_branch", "_mass")

    def __init__(self, branch: Branch, mass: Fraction) -> None:
        if mass < 0:
            raise NeedsNumbers(f"an exponential race was run with the weight {mass}")
        self._branch, self._mass, self._beaten = branch, mass, False

    def _beats(self, other: Any) -> bool:
        if not isinstance(other, Runner):
            raise NeedsNumbers("a weight divided by exponential noise met a plain number")
        if self._beaten or other._beaten:
            raise NeedsNumbers("the loser of an exponential race was compared again")
        total = self._mass + other._mass
        if total == 0:
            return False
        share = self._mass / total
        wins = self._branch.choose([(True, share), (False, 1 - share)])
        winner, loser = (self, other) if wins else (other, self)
        winner._mass, loser._beaten = total, True
        return wins

    def __gt__(self, other: Any) -> bool:
        return self._beats(other)

    def __ge__(self, other: Any) -> bool:
        return self._beats(other)

    def __lt__(self, other: Any) -> bool:
        return not self._beats(other)

    def __le__(self, other: Any) -> bool:
        return not self._beats(other)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other
