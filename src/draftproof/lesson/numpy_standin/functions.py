"""The functions of the stand-in, on rows and tables of numbers."""

from __future__ import annotations

import bisect
import builtins
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from .arithmetic import Pairwise, binary, bitwise, by_rows, larger, lift, smaller
from .arithmetic import clip as _clip
from .arithmetic import true_divide as _true_divide
from .array import FLAT, RANK, as_array, kind_of, ndarray, spread, table_of
from .grid import Grid
from .scalars import (
    bool_,
    complain,
    dtype,
    float64,
    inf,
    int64,
    lacks,
    nan,
    remainder,
    scalar,
)
from .scalars import (
    floor_divide as _floor_divide,
)
from .scalars import (
    power as _power,
)

# -- making arrays ------------------------------------------------------------------------------


def _lengths(shape: Any) -> list[int]:
    sizes = [int(size) for size in ([shape] if isinstance(shape, int) else shape)]
    if not 1 <= len(sizes) <= 2:
        raise lacks(FLAT if sizes else "arrays without dimensions")
    if builtins.min(sizes) < 0:
        raise ValueError("negative dimensions are not allowed")
    return sizes


def asarray(a: Any, dtype: Any = None) -> Any:
    """Return a as an array, without a copy where it is one already; a number as a scalar."""
    if isinstance(a, (int, float)):
        return as_array([a], dtype)[0]
    return as_array(a, dtype)


def array(a: Any, dtype: Any = None) -> Any:
    """Return a new array with the elements of a; of a number, a scalar."""
    made = asarray(a, dtype)
    return made.copy() if made is a else made


def full(shape: Any, fill_value: Any, dtype: Any = None) -> ndarray:
    """Return an array of one value."""
    *above, width = _lengths(shape)
    row = as_array([fill_value] * width, dtype)
    return table_of([row.copy() for _ in range(above[0])]) if above else row


def zeros(shape: Any, dtype: Any = float) -> ndarray:
    """Return an array of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Any = float) -> ndarray:
    """Return an array of ones."""
    return full(shape, 1, dtype)


empty = zeros


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> ndarray:
    """Return an array of one value, of the size and dtype of a."""
    like = as_array(a)
    return full(like.shape, fill_value, like.dtype if dtype is None else dtype)


def zeros_like(a: Any, dtype: Any = None) -> ndarray:
    """Return zeros, of the size and dtype of a."""
    return full_like(a, 0, dtype)


def ones_like(a: Any, dtype: Any = None) -> ndarray:
    """Return ones, of the size and dtype of a."""
    return full_like(a, 1, dtype)


empty_like = zeros_like


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Return start, start + step, ... up to, not including, stop."""
    first, last = (0, start) if stop is None else (start, stop)
    count = builtins.max(0, math.ceil((last - first) / step))
    return as_array(
        [first + index * step for index in range(count)] or [], dtype or _kind(first, step)
    )


def _kind(*values: Any) -> dtype:
    return dtype({"f": float, "i": int, "b": int}[kind_of(values)])


def linspace(start: float, stop: float, num: int = 50) -> ndarray:
    """Return num evenly spaced numbers from start to stop, both included."""
    step = (stop - start) / (num - 1) if num > 1 else 0.0
    return ndarray.of([float(start + index * step) for index in range(num)], "f")


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> ndarray:
    """Return a table with ones on the diagonal, or k to the right of it."""
    width = N if M is None else M
    return as_array([[int(j - i == k) for j in range(width)] for i in range(N)], dtype)


def identity(n: int, dtype: Any = float) -> ndarray:
    """Return a square table with ones on the diagonal."""
    return eye(n, dtype=dtype)


def diag(v: Any) -> ndarray:
    """Return a table with the row v on its diagonal, or the diagonal of the table v."""
    values = as_array(v)
    if isinstance(values, Grid):
        return values.diagonal()
    made = zeros((len(values), len(values)), values.dtype)
    fill_diagonal(made, values)
    return made


def fill_diagonal(a: Any, val: Any) -> None:
    """Set the diagonal of a table."""
    if not isinstance(a, Grid):
        raise ValueError("array must be at least 2-d")
    size = builtins.min(a.shape)
    for index, item in enumerate(spread(val, size)):
        a[index, index] = item


def diag_indices(n: int) -> tuple[ndarray, ndarray]:
    """Return the rows and the columns of the diagonal of a square table."""
    return arange(n), arange(n)


def outer(a: Any, b: Any) -> ndarray:
    """Return the table of the products a[i] * b[j]."""
    return multiply.outer(a, b)


def concatenate(arrays: Any, axis: int | None = 0) -> ndarray:
    """Join arrays end to end; tables below each other, or with axis=1 side by side."""
    parts = [as_array(part) for part in arrays]
    if axis is None or all_flat(parts):
        return as_array([item for part in parts for item in part.flatten().tolist()], _top(parts))
    if not builtins.all(isinstance(part, Grid) for part in parts):
        raise ValueError("all the input array dimensions must match: rows and tables are mixed")
    if axis in (1, -1):
        return transpose(concatenate([part.T for part in parts])).copy()
    return table_of([row.copy() for part in parts for row in part])


def all_flat(parts: list[ndarray]) -> bool:
    """Tell whether none of these is a table."""
    return not builtins.any(isinstance(part, Grid) for part in parts)


def _top(parts: list[ndarray]) -> dtype:
    return builtins.max((part.dtype for part in parts), key=lambda one: RANK[one.kind])


def stack(arrays: Any, axis: int = 0) -> ndarray:
    """Make a table of rows; with axis=1, of columns."""
    rows = [as_array(part).copy() for part in arrays]
    if not all_flat(rows):
        raise lacks(FLAT)
    made = table_of(rows)
    return made.T.copy() if axis in (1, -1) else made


def vstack(tup: Any) -> ndarray:
    """Put rows and tables below each other."""
    parts = [as_array(part) for part in tup]
    return concatenate([part if isinstance(part, Grid) else part[None, :] for part in parts])


def hstack(tup: Any) -> ndarray:
    """Join rows end to end, and tables side by side."""
    parts = [as_array(part) for part in tup]
    return concatenate(parts, axis=0 if all_flat(parts) else 1)


def column_stack(tup: Any) -> ndarray:
    """Put columns side by side."""
    parts = [as_array(part) for part in tup]
    return hstack([part if isinstance(part, Grid) else part[:, None] for part in parts])


def append(a: Any, values: Any) -> ndarray:
    """Return a with values at its end, all in one row."""
    more = values if isinstance(values, (list, tuple, ndarray)) else [values]
    return concatenate([a, more], axis=None)


def transpose(a: Any) -> ndarray:
    """Return a table with rows and columns exchanged, as a view."""
    return as_array(a).T


def copy(a: Any) -> ndarray:
    """Return a copy."""
    return as_array(a).copy()


# -- element by element -------------------------------------------------------------------------


class Ufunc:
    """A function of two operands of any size, with the keywords ``out`` and ``where``."""

    def __init__(self, combine: Pairwise, name: str) -> None:
        self._combine, self.__name__ = combine, name

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"`np.{self.__name__}.{name}`")

    def __call__(self, x: Any, y: Any, out: Any = None, *, where: Any = True) -> Any:
        """Combine two operands."""
        if where is True:
            return _into(out, self._combine(x, y))
        return _masked(self._combine, (x, y), out, where)

    def reduce(self, array: Any, axis: int | None = 0) -> Any:
        """Combine all elements of a row; of a table all rows, or with axis=1 all columns."""
        values = as_array(array)
        if axis is None:
            values = values.flatten()
        elif isinstance(values, Grid) and axis in (1, -1):
            values = values.T
        if not len(values):
            raise lacks(f"`np.{self.__name__}.reduce` of nothing")
        return functools.reduce(self._combine, values)

    def accumulate(self, array: Any, axis: int = 0) -> ndarray:
        """Return the results of combining the first element, the first two, and so on."""
        values = as_array(array)
        if isinstance(values, Grid) and axis in (1, -1):
            return transpose(self.accumulate(values.T)).copy()
        made = list(itertools.accumulate(values, self._combine))
        return as_array(made, None if made else values.dtype)

    def outer(self, a: Any, b: Any) -> ndarray:
        """Combine every element of a with every element of b."""
        right = as_array(b).flatten()
        return table_of([self._combine(x, right) for x in as_array(a).flatten()])

    def at(self, a: ndarray, indices: Any, b: Any) -> None:
        """Combine in place, once for every index, also where one comes several times."""
        if isinstance(indices, int):
            indices, b = [indices], [b] if isinstance(b, (int, float)) else b
        if isinstance(indices, tuple):
            size = builtins.max(len(as_array(part)) for part in indices)
            keys: list[Any] = list(zip(*(spread(part, size) for part in indices), strict=True))
        else:
            keys = [int(place) for place in arange(len(a))[indices]]
        if isinstance(a, Grid) and not isinstance(indices, tuple):
            raise lacks(f"`np.{self.__name__}.at` on whole rows of a table")
        for key, item in zip(keys, spread(b, len(keys)), strict=True):
            a[key] = self._combine(a[key], item)


_ufunc = Ufunc


def _into(out: Any, result: Any) -> Any:
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result
    out[...] = result
    return out


def _masked(combine: Callable[..., Any], operands: tuple[Any, ...], out: Any, where: Any) -> Any:
    """Combine where a mask says so; elsewhere ``out`` keeps what it has."""
    if isinstance(out, tuple):
        (out,) = out
    given = (where, *operands) if out is None else (where, *operands, out)
    if builtins.any(isinstance(one, Grid) for one in map(_arrays, given)):

        def masked(mask: Any, *rows: Any) -> Any:
            sides = rows[: len(operands)]
            return _masked(combine, sides, None if out is None else rows[-1], mask)

        return _into(out, by_rows(masked, *map(_arrays, given)))
    mask = as_array(where)
    positions = [index for index, yes in enumerate(mask.tolist()) if yes]
    sides = [_at(as_array(one), positions, len(mask)) if _many(one) else one for one in operands]
    part = as_array(combine(*sides)) if positions else ndarray.of([], "f")
    result = zeros(len(mask)) if out is None else out.copy()
    result[positions] = part
    return _into(out, result)


def _many(value: Any) -> bool:
    return isinstance(value, (list, tuple, ndarray))


def _arrays(value: Any) -> Any:
    return as_array(value) if _many(value) else value


def _at(row: ndarray, positions: list[int], size: int) -> ndarray:
    return row[positions] if len(row) == size else row


add = _ufunc(lift(operator.add), "add")
subtract = _ufunc(lift(operator.sub), "subtract")
multiply = _ufunc(lift(operator.mul), "multiply")
divide = true_divide = _ufunc(_true_divide, "divide")
floor_divide = _ufunc(lift(_floor_divide), "floor_divide")
mod = _ufunc(lift(remainder), "mod")
power = _ufunc(lift(_power), "power")
maximum = _ufunc(lift(larger), "maximum")
minimum = _ufunc(lift(smaller), "minimum")
greater = _ufunc(lift(operator.gt, "b"), "greater")
greater_equal = _ufunc(lift(operator.ge, "b"), "greater_equal")
less = _ufunc(lift(operator.lt, "b"), "less")
less_equal = _ufunc(lift(operator.le, "b"), "less_equal")
equal = _ufunc(lift(operator.eq, "b"), "equal")
not_equal = _ufunc(lift(operator.ne, "b"), "not_equal")
logical_and = _ufunc(lift(lambda x, y: bool(x and y), "b"), "logical_and")
logical_or = _ufunc(lift(lambda x, y: bool(x or y), "b"), "logical_or")
bitwise_and = _ufunc(lift(bitwise(operator.and_)), "bitwise_and")
bitwise_or = _ufunc(lift(bitwise(operator.or_)), "bitwise_or")


def _unary(function: Callable[[Any], Any], name: str, kind: str = "f") -> Callable[..., Any]:
    def plain(x: Any) -> Any:
        if isinstance(x, (int, float)):
            return scalar(function(x))
        values = as_array(x)
        if isinstance(values, Grid):
            return by_rows(plain, values)
        return ndarray.of([function(item) for item in values.tolist()], kind or values.dtype.kind)

    def ufunc(x: Any, out: Any = None, *, where: Any = True) -> Any:
        return _into(out, plain(x)) if where is True else _masked(plain, (x,), out, where)

    ufunc.__name__ = ufunc.__qualname__ = name
    return ufunc


def _log(x: float) -> float:
    if x > 0:
        return math.log(x)
    complain("divide" if x == 0 else "invalid", "log")
    return -inf if x == 0 else nan


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return inf


def _sqrt(x: float) -> float:
    if x >= 0:
        return math.sqrt(x)
    complain("invalid", "sqrt")
    return nan


def _fractional(x: float) -> bool:
    return isinstance(x, float) and math.isfinite(x)


exp, log, sqrt = _unary(_exp, "exp"), _unary(_log, "log"), _unary(_sqrt, "sqrt")
abs = absolute = _unary(operator.abs, "absolute", "")
negative = _unary(operator.neg, "negative", "")
square = _unary(lambda x: x * x, "square", "")
sign = _unary(lambda x: x if x != x else type(x)((x > 0) - (x < 0)), "sign", "")
floor = _unary(lambda x: float(math.floor(x)) if _fractional(x) else x, "floor", "")
ceil = _unary(lambda x: float(math.ceil(x)) if _fractional(x) else x, "ceil", "")
isnan = _unary(lambda x: x != x, "isnan", "b")
isfinite = _unary(math.isfinite, "isfinite", "b")
isinf = _unary(math.isinf, "isinf", "b")
logical_not = _unary(operator.not_, "logical_not", "b")


clip = _clip


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose from x where the condition holds and from y elsewhere; alone, list the positions."""
    if x is None and y is None:
        return as_array(condition).nonzero()
    if builtins.any(isinstance(_arrays(one), Grid) for one in (condition, x, y)):
        return by_rows(where, *map(_arrays, (condition, x, y)))
    if isinstance(condition, (int, float)):
        condition = [bool(condition)]
    sides = [
        as_array(side) if isinstance(side, (list, tuple, ndarray)) else as_array([side])
        for side in (x, y)
    ]
    mask = as_array(condition)
    size = builtins.max(map(len, (mask, *sides)))
    yes, left, right = (_stretch(part, size) for part in (mask, *sides))
    kind = builtins.max((side.dtype.kind for side in sides), key=RANK.__getitem__)
    cast = dtype({"f": float, "i": int, "b": bool}[kind]).cast
    return ndarray.of(
        [cast(a if ok else b) for ok, a, b in zip(yes, left, right, strict=True)], kind
    )


def _stretch(a: ndarray, size: int) -> list[Any]:
    values = a.tolist()
    if len(values) not in (1, size):
        raise ValueError(
            f"operands could not be broadcast together with shapes ({len(values)},) ({size},)"
        )
    return values * size if len(values) == 1 and size != 1 else values


def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    """Replace nan by a number and infinities by the largest floats."""
    huge = 1.7976931348623157e308
    fix = _unary(
        lambda v: nan if v != v else builtins.max(-huge, builtins.min(huge, v)), "nan_to_num", ""
    )
    return fix(x)


# -- reductions ---------------------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    def function(a: Any, *args: Any, **kwargs: Any) -> Any:
        values = as_array([a]) if isinstance(a, (int, float)) else as_array(a)
        return getattr(values, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    return function


sum, prod, mean, std, var = map(_method, ("sum", "prod", "mean", "std", "var"))
max, min = amax, amin = _method("max"), _method("min")
argmax, argmin, argsort = map(_method, ("argmax", "argmin", "argsort"))
any, all, nonzero = map(_method, ("any", "all", "nonzero"))
cumsum, cumprod, take, repeat = map(_method, ("cumsum", "cumprod", "take", "repeat"))
dot = matmul = _method("dot")
round = around = _method("round")


def trace(a: Any) -> Any:
    """Return the sum of the diagonal of a table."""
    return diag(a).sum()


def shape(a: Any) -> tuple[int, ...]:
    """Return the size along each dimension."""
    return () if isinstance(a, (int, float)) else as_array(a).shape


def ndim(a: Any) -> int:
    """Return the number of dimensions."""
    return len(shape(a))


def average(a: Any, axis: int | None = None, weights: Any = None) -> Any:
    """Return the mean, weighted if there are weights."""
    values = as_array(a)
    if weights is None:
        return values.mean(axis=axis)
    heavy = as_array(weights)
    if isinstance(values, Grid) and not isinstance(heavy, Grid):
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        heavy = heavy[:, None] if axis in (0, -2) else heavy
        heavy = binary(zeros_like(values), heavy, operator.add)
    total = as_array(_listed(heavy.sum(axis=axis)))
    if 0 in total.tolist():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return _true_divide(multiply(values, heavy).sum(axis=axis), heavy.sum(axis=axis))


def _listed(value: Any) -> Any:
    return value if isinstance(value, ndarray) else [value]


def digitize(x: Any, bins: Any, right: bool = False) -> Any:  # noqa: FBT001, FBT002 - NumPy's
    """Return the number of the increasing bin in which x lies."""
    edges = as_array(bins).tolist()
    if edges != sorted(edges):
        raise lacks("`np.digitize` with decreasing bins")
    return searchsorted(edges, x, side="left" if right else "right")


def size(a: Any) -> int:
    """Return the number of elements."""
    return 1 if isinstance(a, (int, float)) else as_array(a).size


def count_nonzero(a: Any) -> int:
    """Count the elements that are not zero."""
    return len(as_array(a).nonzero()[0])


def flatnonzero(a: Any) -> Any:
    """Return the positions of the elements that are not zero."""
    return as_array(a).flatten().nonzero()[0]


def sort(a: Any) -> ndarray:
    """Return a sorted copy."""
    out = as_array(a).copy()
    out.sort()
    return out


def diff(a: Any) -> Any:
    """Return the differences of neighbours."""
    values = as_array(a)
    if isinstance(values, Grid):
        return subtract(values[:, 1:], values[:, :-1])
    return subtract(values[1:], values[:-1])


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> ndarray:
    """Count how often each of 0, 1, 2, ... occurs; with weights, add them up."""
    values = as_array(x)
    if isinstance(values, Grid):
        raise ValueError("object too deep for desired array")
    if values.dtype.kind == "f" and len(values):
        raise TypeError("Cannot cast array data from dtype('float64') to dtype('int64')")
    tokens = [int(v) for v in values.tolist()]
    if tokens and builtins.min(tokens) < 0:
        raise ValueError("'list' argument must have no negative elements")
    top = builtins.max(minlength, 1 + builtins.max(tokens, default=-1))
    if weights is None:
        counts: list[Any] = [0] * top
        for token in tokens:
            counts[token] += 1
        return ndarray.of(counts, "i")
    sums = [0.0] * top
    for token, weight in zip(tokens, as_array(weights).tolist(), strict=True):
        sums[token] += weight
    return ndarray.of(sums, "f")


def unique(a: Any, *, return_counts: bool = False) -> Any:
    """Return the different elements in order, and how often each occurs."""
    values = as_array(a)
    found = sorted(set(values.tolist()))
    distinct = ndarray.of(found, values.dtype.kind)
    if not return_counts:
        return distinct
    tally = dict.fromkeys(found, 0)
    for value in values.tolist():
        tally[value] += 1
    return distinct, ndarray.of(list(tally.values()), "i")


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Return where v would be inserted into the sorted a."""
    values = as_array(a).tolist()
    find = {"left": bisect.bisect_left, "right": bisect.bisect_right}[side]
    if isinstance(v, (int, float)):
        return int64(find(values, v))
    wanted = as_array(v)
    if isinstance(wanted, Grid):
        return by_rows(lambda row: searchsorted(values, row, side), wanted)
    return ndarray.of([find(values, item) for item in wanted.tolist()], "i")


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False
) -> Any:
    """Tell, element by element, whether |a - b| <= atol + rtol * |b|."""

    def close(x: float, y: float) -> bool:
        if x != x or y != y:
            return equal_nan and x != x and y != y
        if math.isinf(x) or math.isinf(y):
            return x == y
        return math.fabs(x - y) <= atol + rtol * math.fabs(y)

    return binary(a, b, close, "b")


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False
) -> bool:
    """Tell whether all elements are close."""
    close = isclose(a, b, rtol, atol, equal_nan=equal_nan)
    return bool(close.all()) if isinstance(close, ndarray) else bool(close)


def array_equal(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same size and elements."""
    return as_array(a).tolist() == as_array(b).tolist()


def isscalar(x: Any) -> bool:
    """Tell whether x is a number."""
    return isinstance(x, (int, float, bool_, float64))
