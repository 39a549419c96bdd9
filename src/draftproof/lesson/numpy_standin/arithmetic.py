"""The arithmetic of the stand-in's arrays: element by element, by NumPy's rules."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import Any

from .array import DTYPES, RANK, as_array, kind_of, ndarray, spread
from .grid import Grid
from .scalars import divide, floor_divide, lacks, power, remainder, scalar

Pairwise = Callable[[Any, Any], Any]


def larger(x: Any, y: Any) -> Any:
    """Return the larger of two numbers, nan if one is nan."""
    return x if x >= y or x != x else y


def smaller(x: Any, y: Any) -> Any:
    """Return the smaller of two numbers, nan if one is nan."""
    return x if x <= y or x != x else y


def _plain(value: Any) -> tuple[Any, str]:
    """Return a scalar as a Python number, with its kind."""
    kind = kind_of([value])
    return DTYPES[kind].cast(value), kind


def binary(left: Any, right: Any, function: Pairwise, result: str = "") -> Any:
    """Combine two operands element by element; ``result`` is the kind, if not the larger one."""
    if not isinstance(left, ndarray) and isinstance(left, (list, tuple)):
        left = as_array(left)
    if not isinstance(right, ndarray) and isinstance(right, (list, tuple)):
        right = as_array(right)
    if isinstance(left, Grid) or isinstance(right, Grid):
        return by_rows(lambda x, y: binary(x, y, function, result), left, right)
    if isinstance(left, ndarray) and isinstance(right, ndarray):
        return _both(left, right, function, result)
    if isinstance(left, ndarray):
        y, other = _plain(right)
        kind = result or max(left.dtype.kind, other, key=RANK.__getitem__)
        return ndarray.of([function(x, y) for x in left._values], kind)
    if isinstance(right, ndarray):
        x, other = _plain(left)
        kind = result or max(right.dtype.kind, other, key=RANK.__getitem__)
        return ndarray.of([function(x, y) for y in right._values], kind)
    return scalar(function(_plain(left)[0], _plain(right)[0]))


def by_rows(combine: Callable[..., Any], *operands: Any) -> Grid:
    """Combine operands of which one is a table, row by row; what is no table serves every row."""
    count = max(len(one) for one in operands if isinstance(one, Grid))
    spreads = [_rows(one, count) for one in operands]
    return Grid.of_rows([as_array(combine(*rows)) for rows in zip(*spreads, strict=True)])


def _rows(operand: Any, count: int) -> list[Any]:
    if not isinstance(operand, Grid):
        return [operand] * count
    if len(operand) not in (1, count):
        raise ValueError(
            f"operands could not be broadcast together: one has {len(operand)} rows, one {count}"
        )
    return list(operand) * (count if len(operand) == 1 else 1)


def _both(left: ndarray, right: ndarray, function: Pairwise, result: str) -> ndarray:
    xs, ys = left._values, right._values
    if len(xs) != len(ys):
        size = max(len(xs), len(ys)) if 1 in (len(xs), len(ys)) else len(xs)
        xs, ys = spread(left, size), spread(right, size)
    kind = result or max(left.dtype.kind, right.dtype.kind, key=RANK.__getitem__)
    return ndarray.of(list(map(function, xs, ys)), kind)


def true_divide(left: Any, right: Any) -> Any:
    """Divide element by element; the fast way first, since zeros are rare."""
    try:
        return binary(left, right, operator.truediv, "f")
    except ZeroDivisionError:
        return binary(left, right, divide, "f")


def bitwise(function: Pairwise) -> Pairwise:
    """Return `&`, `|` or `^`, which need truth values or integers."""

    def combine(x: Any, y: Any) -> Any:
        if isinstance(x, float) or isinstance(y, float):
            raise TypeError(
                "`&`, `|` and `^` combine truth values; put parentheses around comparisons"
            )
        return function(x, y)

    return combine


def _install(name: str, function: Pairwise, *, swapped: bool = True) -> None:
    """Give the array an operator, its reflected and its in-place form."""

    def forward(self: ndarray, other: Any) -> Any:
        return function(self, other) if _operand(other) else NotImplemented

    def backward(self: ndarray, other: Any) -> Any:
        return function(other, self) if _operand(other) else NotImplemented

    def in_place(self: ndarray, other: Any) -> ndarray:
        new = function(self, other)
        if RANK[new.dtype.kind] > RANK[self.dtype.kind]:
            raise TypeError(
                f"cannot cast the result from {new.dtype!r} to {self.dtype!r}: this array holds no "
                "such values, make it with dtype=float"
            )
        self._take(new)
        return self

    setattr(ndarray, f"__{name}__", forward)
    if swapped:
        setattr(ndarray, f"__r{name}__", backward)
        setattr(ndarray, f"__i{name}__", in_place)


def _operand(value: Any) -> bool:
    if isinstance(value, numbers.Number) and not isinstance(value, (int, float)):
        raise lacks(f"arithmetic with a {type(value).__name__}")
    return isinstance(value, (int, float, ndarray, list, tuple))


def lift(function: Pairwise, result: str = "") -> Pairwise:
    """Turn a function of two numbers into one of two operands of any size."""
    return lambda left, right: binary(left, right, function, result)


for _name, _function in {
    "add": lift(operator.add),
    "sub": lift(operator.sub),
    "mul": lift(operator.mul),
    "truediv": true_divide,
    "floordiv": lift(floor_divide),
    "mod": lift(remainder),
    "pow": lift(power),
    "and": lift(bitwise(operator.and_)),
    "or": lift(bitwise(operator.or_)),
    "xor": lift(bitwise(operator.xor)),
}.items():
    _install(_name, _function)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _install(_name, lift(getattr(operator, _name), "b"), swapped=False)


def dot(self: ndarray, other: Any) -> Any:
    """Return the sum of the products: of rows of the left with columns of the right."""
    right = as_array(other)
    if self.shape[-1] != right.shape[0]:
        raise ValueError(f"shapes {self.shape} and {right.shape} not aligned")
    if isinstance(self, Grid):
        made = [dot(row, right) for row in self]
        return Grid.of_rows(made) if isinstance(right, Grid) else as_array(made)
    if isinstance(right, Grid):
        return as_array([dot(self, column) for column in right.columns()])
    return binary(self, right, operator.mul).sum()


def clip(  # NumPy's names, which hide Python's
    self: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    """Limit every element to lie between two bounds, given in order or as min= and max=."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    out = self if low is None else binary(self, low, larger)
    return out if high is None else binary(out, high, smaller)


for _name, _method in {"dot": dot, "__matmul__": dot, "clip": clip}.items():
    setattr(ndarray, _name, _method)
