"""The functions of the stand-in, one row of numbers at a time."""

from __future__ import annotations

import bisect
import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from .arithmetic import RANK, Pairwise, binary, bitwise, larger, lift, smaller
from .arithmetic import true_divide as _true_divide
from .array import as_array, kind_of, ndarray
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


def _length(shape: Any) -> int:
    if isinstance(shape, tuple) and len(shape) == 1:
        shape = shape[0]
    if not isinstance(shape, int):
        raise lacks("arrays of more than one dimension")
    if shape < 0:
        raise ValueError("negative dimensions are not allowed")
    return int(shape)


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
    return as_array([fill_value] * _length(shape), dtype)


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
    return full(len(like), fill_value, like.dtype if dtype is None else dtype)


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


def concatenate(arrays: Any) -> ndarray:
    """Join arrays end to end."""
    return as_array([item for part in arrays for item in as_array(part).tolist()])


def append(a: Any, values: Any) -> ndarray:
    """Return a with values at its end."""
    return concatenate([a, values if isinstance(values, (list, tuple, ndarray)) else [values]])


def copy(a: Any) -> ndarray:
    """Return a copy."""
    return as_array(a).copy()


# -- element by element -------------------------------------------------------------------------


def _ufunc(combine: Pairwise, name: str) -> Callable[..., Any]:
    """Give a function of two operands the keywords ``out`` and ``where``."""

    def ufunc(x: Any, y: Any, out: Any = None, *, where: Any = True) -> Any:
        if isinstance(out, tuple):
            (out,) = out
        if where is True:
            result = combine(x, y)
        else:
            result, out = _masked(combine, x, y, out, where)
        if out is None:
            return result
        out[:] = result
        return out

    ufunc.__name__ = ufunc.__qualname__ = name
    return ufunc


def _masked(combine: Pairwise, x: Any, y: Any, out: Any, where: Any) -> tuple[Any, Any]:
    mask = as_array(where)
    positions = [index for index, yes in enumerate(mask.tolist()) if yes]
    left, right = (
        as_array(side)[positions] if isinstance(side, (list, tuple, ndarray)) else side
        for side in (x, y)
    )
    part = as_array(combine(left, right)) if positions else ndarray.of([], "f")
    result = zeros(len(mask)) if out is None else out.copy()
    result[positions] = part
    return result, out


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


def _unary(function: Callable[[Any], Any], name: str, kind: str = "f") -> Callable[[Any], Any]:
    def ufunc(x: Any) -> Any:
        if isinstance(x, (int, float)):
            return scalar(function(x))
        values = as_array(x)
        return ndarray.of([function(item) for item in values.tolist()], kind or values.dtype.kind)

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


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Limit every element to lie between a_min and a_max."""
    out = a
    if a_min is not None:
        out = binary(out, a_min, larger)
    return out if a_max is None else binary(out, a_max, smaller)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose from x where the condition holds and from y elsewhere; alone, list the positions."""
    if x is None and y is None:
        return as_array(condition).nonzero()
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
any, all, cumsum, nonzero = map(_method, ("any", "all", "cumsum", "nonzero"))
dot, round = _method("dot"), _method("round")


def size(a: Any) -> int:
    """Return the number of elements."""
    return len(as_array(a))


def count_nonzero(a: Any) -> int:
    """Count the elements that are not zero."""
    return len(as_array(a).nonzero()[0])


def flatnonzero(a: Any) -> Any:
    """Return the positions of the elements that are not zero."""
    return as_array(a).nonzero()[0]


def sort(a: Any) -> ndarray:
    """Return a sorted copy."""
    out = as_array(a).copy()
    out.sort()
    return out


def diff(a: Any) -> Any:
    """Return the differences of neighbours."""
    values = as_array(a)
    return subtract(values[1:], values[:-1])


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> ndarray:
    """Count how often each of 0, 1, 2, ... occurs; with weights, add them up."""
    values = as_array(x)
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
    return ndarray.of([find(values, item) for item in as_array(v).tolist()], "i")


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
