"""Scalars and dtypes of the stand-in: numbers that divide by zero as NumPy's do.

A Python float raises ``ZeroDivisionError``; a NumPy float gives ``inf`` or ``nan`` and warns. The
classes here are Python numbers with NumPy's arithmetic.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

nan, inf = math.nan, math.inf

ADVICE = "run `draftproof learn check LESSON FILE` in a terminal to use the real one"


class NotInStandIn(AttributeError, NotImplementedError):
    """The real NumPy has this; the page's stand-in does not."""

    is_sentence = True


def lacks(what: str) -> NotInStandIn:
    """Return the error for something the stand-in does not have."""
    return NotInStandIn(f"the page's small stand-in for NumPy lacks {what}; {ADVICE}")


class errstate:
    """``with errstate(divide="ignore", invalid="ignore"):`` silences these warnings."""

    modes: dict[str, str] = {"divide": "warn", "invalid": "warn"}  # noqa: RUF012 - shared

    def __init__(self, **modes: str) -> None:
        every = modes.pop("all", None)
        self._new = dict.fromkeys(self.modes, every) if every else {}
        self._new |= {name: mode for name, mode in modes.items() if name in self.modes}
        self._old: dict[str, str] = {}

    def __enter__(self) -> errstate:
        self._old = dict(self.modes)
        self.modes.update({name: mode for name, mode in self._new.items() if mode})
        return self

    def __exit__(self, *_: object) -> None:
        self.modes.update(self._old)


def complain(kind: str, name: str) -> None:
    """Warn of, or raise, a division by zero (``divide``) or a meaningless result (``invalid``)."""
    text = f"{'divide by zero' if kind == 'divide' else 'invalid value'} encountered in {name}"
    mode = errstate.modes[kind]
    if mode == "raise":
        raise FloatingPointError(text)
    if mode == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def divide(x: float, y: float) -> float:
    """Divide as IEEE 754 does: 1/0 is inf, 0/0 is nan."""
    if y:
        return x / y
    if x == 0 or x != x or y != y:
        complain("invalid", "divide")
        return nan
    complain("divide", "divide")
    return math.copysign(inf, x) * math.copysign(1.0, y)


def floor_divide(x: float, y: float) -> float:
    """Divide and round down; by zero as in :func:`divide`, and 0 for integers."""
    if y:
        return x // y
    if isinstance(x, int) and isinstance(y, int):
        complain("divide", "floor_divide")
        return 0
    return divide(x, y)


def remainder(x: float, y: float) -> float:
    """Return the remainder of the floor division."""
    if y:
        return x % y
    complain("invalid", "remainder")
    return 0 if isinstance(x, int) and isinstance(y, int) else nan


def power(x: float, y: float) -> float:
    """Raise to a power, with inf for an overflow and nan where there is no real result."""
    try:
        result = x**y
    except OverflowError:
        return inf
    except ZeroDivisionError:
        complain("divide", "power")
        return inf
    if isinstance(result, complex):
        complain("invalid", "power")
        return nan
    return float(result) if isinstance(x, float) or isinstance(y, float) else int(result)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value)
    return int(value) if isinstance(value, int) else value


def scalar(value: Any) -> Any:
    """Wrap a Python number in the stand-in's scalar of its kind."""
    if isinstance(value, bool):
        return bool_(value)
    return int64(value) if isinstance(value, int) else float64(value)


Binary = Callable[[Any, Any], Any]


def _operators(name: str, function: Binary) -> tuple[Binary, Binary]:
    def forward(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return scalar(function(_plain(self), _plain(other)))

    def backward(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        return scalar(function(_plain(other), _plain(self)))

    forward.__name__, backward.__name__ = f"__{name}__", f"__r{name}__"
    return forward, backward


def _numeric(cls: type) -> type:
    """Give a class of numbers NumPy's arithmetic."""
    for name, function in {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "truediv": divide,
        "floordiv": floor_divide,
        "mod": remainder,
        "pow": power,
    }.items():
        forward, backward = _operators(name, function)
        setattr(cls, forward.__name__, forward)
        setattr(cls, backward.__name__, backward)
    return cls


class _Scalar:
    """What all scalars share."""

    ndim, size = 0, 1
    shape: tuple[int, ...] = ()

    def item(self) -> Any:
        """Return the plain Python number."""
        return _plain(self)

    def tolist(self) -> Any:
        """Return the plain Python number."""
        return self.item()

    def __repr__(self) -> str:
        return f"np.{type(self).__name__}({_plain(self)!r})"

    def __str__(self) -> str:
        return str(_plain(self))

    def __format__(self, spec: str) -> str:
        return format(_plain(self), spec)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"`{type(self).__name__}.{name}`")


@_numeric
class float64(_Scalar, float):
    """A float; division by zero gives inf or nan."""

    def __neg__(self) -> float64:
        return float64(-float(self))

    def __abs__(self) -> float64:
        return float64(abs(float(self)))


@_numeric
class int64(_Scalar, int):
    """An integer; division by zero gives inf or nan."""

    def __neg__(self) -> int64:
        return int64(-int(self))

    def __abs__(self) -> int64:
        return int64(abs(int(self)))


class bool_(_Scalar, int):
    """A truth value; ``~`` negates it."""

    def __new__(cls, value: object = False) -> bool_:  # noqa: FBT002
        """Make a truth value of anything."""
        return int.__new__(cls, bool(value))

    def item(self) -> bool:
        """Return the plain Python truth value."""
        return bool(self)

    def __invert__(self) -> bool_:
        return bool_(not self)

    def __and__(self, other: Any) -> Any:
        return bool_(self and other) if isinstance(other, (bool, bool_)) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return bool_(self or other) if isinstance(other, (bool, bool_)) else NotImplemented

    __rand__, __ror__ = __and__, __or__

    def __repr__(self) -> str:
        return f"np.{bool(self)}"

    def __str__(self) -> str:
        return str(bool(self))


class dtype:
    """One of three: ``float64``, ``int64`` and ``bool``. Equal to its Python and NumPy types."""

    def __init__(self, spec: Any = float) -> None:
        self.kind: str = spec.kind if isinstance(spec, dtype) else _KINDS.get(spec, "")
        if not self.kind:
            raise lacks(f"the dtype {getattr(spec, '__name__', spec)!r}")
        self.name, self.cast, self.type = _TYPES[self.kind]

    def __eq__(self, other: object) -> bool:
        kind = other.kind if isinstance(other, dtype) else _KINDS.get(other)
        return kind == self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"dtype('{self.name}')"

    def __str__(self) -> str:
        return self.name


_TYPES: dict[str, tuple[str, Callable[[Any], Any], type]] = {
    "f": ("float64", float, float64),
    "i": ("int64", int, int64),
    "b": ("bool", bool, bool_),
}
_KINDS: dict[Any, str] = {
    **dict.fromkeys((float, float64, "float", "float64", "f8", "d"), "f"),
    **dict.fromkeys((int, int64, "int", "int64", "i8"), "i"),
    **dict.fromkeys((bool, bool_, "bool", "?"), "b"),
}
