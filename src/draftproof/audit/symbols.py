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

import functools
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.chance import Branch
from draftproof.errors import DraftproofError

OWN = (str(Path(__file__).parent), str(Path(np.__file__).parent), f"{os.sep}torch{os.sep}")
"""Parts of the paths of files whose frames are not foreign code."""

DOUBLE = Fraction(1, 2**50)
"""Rounding allowed for each edge of a law found with 64-bit floats: four times their epsilon."""

SINGLE = Fraction(1, 2**21)
"""The same for 32-bit floats, and the most there is: a number stored in fewer bits is compared as
the number it is, so what its own rounding does to the law is a fault of the code."""


REFUSALS: list[NeedsNumbers] = []
"""What was refused during the call that runs now; foreign code may have caught it."""


class NeedsNumbers(DraftproofError, TypeError):
    """The code did something with a random number that only a plain float can answer."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        REFUSALS[:] = [self]


class HiddenLuck(NeedsNumbers):
    """The same luck gave another result: the code has luck, or a memory, of its own."""

    def __init__(self) -> None:
        super().__init__(
            "given the same luck twice, the code did two different things: it draws from a source "
            "that was not handed to it, or remembers earlier calls"
        )


def exactly(value: Any) -> Fraction:
    """Give a real number as a fraction: fractions and integers as they are, floats bit for bit."""
    if isinstance(value, Rational):
        return Fraction(value)
    try:
        return Fraction(float(value))
    except (TypeError, ValueError, OverflowError):
        raise NeedsNumbers(f"a random number was compared with {value!r}") from None


@dataclass(eq=False, slots=True)
class Ledger:
    """What one run asked of its luck: its uniforms, and the coarsest rounding its numbers met.

    `rounding` stays 0 while every number compared is a fraction or an integer; then the law is
    exact, and only then.
    """

    rounding: Fraction = Fraction(0)
    drawn: list[Interval] = field(default_factory=list)

    def note(self, rounding: Fraction) -> None:
        """Remember the coarsest rounding."""
        self.rounding = max(self.rounding, rounding)

    def exactly(self, value: Any) -> Fraction:
        """Give a number as a fraction; a float that is no whole number was rounded."""
        fraction = exactly(value)
        if not isinstance(value, Rational) and fraction.denominator != 1:
            self.note(rounding_of(getattr(value, "dtype", None)))
        return fraction


def rounding_of(dtype: Any) -> Fraction:
    """Rounding allowed for each edge when numbers of this NumPy type were compared.

    Examples
    --------
    >>> rounding_of(np.dtype("float32")) == 2**29 * rounding_of(np.dtype("float64"))
    True
    """
    if not isinstance(dtype, np.dtype) or dtype.kind != "f":
        return DOUBLE
    return min(4 * Fraction(float(np.finfo(dtype).eps)), SINGLE)


@dataclass(eq=False, slots=True)
class Interval:
    """What is known of one uniform: it lies in [low, high). `lines` are where it was compared."""

    branch: Branch
    ledger: Ledger
    name: str
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    lines: dict[str, None] = field(default_factory=dict)

    def below(self, bound: Fraction) -> bool:
        """Decide whether the number is below `bound`, splitting the interval if both can be."""
        if self.branch.over:
            raise HiddenLuck  # a number that was kept from an earlier run
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
    while frame.f_back is not None and any(own in frame.f_code.co_filename for own in OWN):
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

    def _refuse(self, *_: Any) -> Any:
        raise NeedsNumbers("the code did arithmetic with a random number that is not followed")

    __abs__ = __pos__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __divmod__ = __rdivmod__ = __complex__ = __index__ = __rtruediv__ = _refuse

    def __format__(self, _: str) -> str:
        raise NeedsNumbers("the code wrote a random number into a text")

    def __str__(self) -> str:
        raise NeedsNumbers("the code wrote a random number into a text")

    @classmethod
    def __torch_function__(cls, func: Any, *_: Any, **__: Any) -> Any:
        """Let PyTorch's functions take symbols as far as `torch_luck`, which dresses them."""
        raise NeedsNumbers(f"torch.{getattr(func, '__name__', func)} was called on a random number")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NeedsNumbers(f"the code took .{name} of a random number")


def _one_number(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Leave arrays and tensors to their own operators, which come back item by item."""

    @functools.wraps(method)
    def operator(self: Any, other: Any) -> Any:
        container = isinstance(other, np.ndarray) or hasattr(other, "__torch_function__")
        if container and not isinstance(other, Symbol):
            return NotImplemented
        return method(self, other)

    return operator


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
            return self._extended(other)
        value = float(other)
        self._known.ledger.note(DOUBLE)
        return self._extended(math.exp(value) if value < 700 else math.inf)

    def _extended(self, value: Any) -> Fraction:
        """Give a threshold as a fraction, infinities as something beyond every uniform."""
        if not isinstance(value, Rational) and math.isinf(float(value)):
            return Fraction(10**400) if value > 0 else Fraction(-(10**400))
        return self._known.ledger.exactly(value)

    @_one_number
    def __lt__(self, other: Any) -> bool:
        return not _is_nan(other) and self._less(other)

    @_one_number
    def __le__(self, other: Any) -> bool:
        return not _is_nan(other) and self._less(other)

    @_one_number
    def __gt__(self, other: Any) -> bool:
        return not _is_nan(other) and not self._less(other)

    @_one_number
    def __ge__(self, other: Any) -> bool:
        return not _is_nan(other) and not self._less(other)

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

    def _number(self, other: Any) -> Fraction:
        if isinstance(other, Symbol):
            raise NeedsNumbers("the code calculated with two random numbers")
        return self._known.ledger.exactly(other)

    @_one_number
    def __mul__(self, other: Any) -> Any:
        return self._affine(self._number(other), Fraction(0))

    __rmul__ = __mul__

    @_one_number
    def __add__(self, other: Any) -> Any:
        return self._affine(Fraction(1), self._number(other))

    __radd__ = __add__

    @_one_number
    def __sub__(self, other: Any) -> Any:
        return self._affine(Fraction(1), -self._number(other))

    @_one_number
    def __rsub__(self, other: Any) -> Any:
        return self._affine(Fraction(-1), self._number(other))

    def __neg__(self) -> Any:
        return self._affine(Fraction(-1), Fraction(0))

    @_one_number
    def __truediv__(self, other: Any) -> Any:
        divisor = self._number(other)
        if divisor == 0:
            raise NeedsNumbers("the code divided a random number by zero")
        return self._affine(1 / divisor, Fraction(0))

    def log(self) -> Uniform:
        """Natural logarithm, as numpy asks an object for it."""
        if self._inverse:
            raise NeedsNumbers("the code took the logarithm of a logarithm")
        return Uniform(self._known, self._slope, self._shift, "log")


def _is_nan(value: Any) -> bool:
    """Tell whether a comparison with `value` is false whichever way it is put."""
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


class Exponential(Symbol):
    """One Exp(1) variate that may only divide a weight, once: the noise of an exponential race."""

    __slots__ = ("_branch", "_ledger", "_used")

    def __init__(self, branch: Branch, ledger: Ledger) -> None:
        self._branch, self._ledger, self._used = branch, ledger, False

    def __rtruediv__(self, weight: Any) -> Runner:
        if self._used:
            raise NeedsNumbers("one exponential noise ran in two races, which are not independent")
        self._used = True
        return Runner(self._branch, self._ledger.exactly(weight))


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
