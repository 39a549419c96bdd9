"""The one-dimensional array of the stand-in.

Values live in a plain list of Python floats, integers or truth values, so that every operation is
one list comprehension. A slice is a copy here, not a view; writing to one is refused rather than
silently different from NumPy.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .scalars import (
    bool_,
    divide,
    dtype,
    float64,
    floor_divide,
    int64,
    lacks,
    nan,
    power,
    remainder,
    scalar,
)

RANK = {"b": 0, "i": 1, "f": 2}
Pairwise = Callable[[Any, Any], Any]


def kind_of(values: Iterable[Any]) -> str:
    """Return the kind that holds all these Python numbers."""
    kinds = {type(value) for value in values}
    if not kinds or float in kinds or float64 in kinds:
        return "f"
    if kinds <= {bool, bool_}:
        return "b"
    if kinds <= {int, int64, bool, bool_}:
        return "i"
    odd = next(k for k in kinds if k not in (int, int64, bool, bool_))
    raise lacks(f"arrays of {odd.__name__}")


class ndarray:
    """A row of numbers. Make one with ``np.array``."""

    __slots__ = ("_values", "_whole", "dtype")
    __hash__ = None  # type: ignore[assignment]
    ndim = 1

    _values: list[Any]
    _whole: bool
    dtype: dtype

    @classmethod
    def of(cls, values: list[Any], kind: str, *, whole: bool = True) -> ndarray:
        """Wrap a list of plain Python numbers of this kind."""
        self = object.__new__(cls)
        self._values, self.dtype, self._whole = values, _DTYPES[kind], whole
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"`ndarray.{name}`")

    # -- size and conversion ------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return len(self._values)

    @property
    def shape(self) -> tuple[int]:
        """Return the size as a tuple of one."""
        return (len(self._values),)

    @property
    def T(self) -> ndarray:
        """Return the array itself: a row has nothing to transpose."""
        return self

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return map(self.dtype.type, self._values)

    def __contains__(self, value: Any) -> bool:
        return value in self._values

    def __bool__(self) -> bool:
        if len(self._values) == 1:
            return bool(self._values[0])
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()"
        )

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __repr__(self) -> str:
        return f"array([{', '.join(map(_short, self._values))}])"

    def __str__(self) -> str:
        return f"[{' '.join(map(_short, self._values))}]"

    def tolist(self) -> list[Any]:
        """Return a list of plain Python numbers."""
        return list(self._values)

    def item(self, index: int = 0) -> Any:
        """Return an element as a plain Python number; without an index, the only one."""
        if index == 0 and len(self._values) != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._values[index]

    def copy(self) -> ndarray:
        """Return a copy."""
        return ndarray.of(self._values[:], self.dtype.kind)

    def astype(self, kind: Any) -> ndarray:
        """Return a copy with another dtype."""
        new = dtype(kind)
        return ndarray.of(list(map(new.cast, self._values)), new.kind)

    def reshape(self, *shape: Any) -> ndarray:
        """Return a copy; only -1 and the array's own size are shapes of a row."""
        if shape not in ((-1,), (len(self),), ((-1,),), ((len(self),),)):
            raise lacks("arrays of more than one dimension")
        return self.copy()

    def flatten(self) -> ndarray:
        """Return a copy."""
        return self.copy()

    ravel = squeeze = flatten

    # -- indexing -----------------------------------------------------------------------------

    def _positions(self, key: Any) -> list[int]:
        """Turn a slice, a mask or a list of indices into positions."""
        if isinstance(key, slice):
            return list(range(*key.indices(len(self._values))))
        if key is Ellipsis:
            return list(range(len(self._values)))
        if key is None or (isinstance(key, tuple) and len(key) != 1):
            raise lacks("arrays of more than one dimension")
        if isinstance(key, tuple):
            return self._positions(key[0])
        chosen = as_array(key) if len(key) else ndarray.of([], "i")
        if chosen.dtype.kind == "f":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if chosen.dtype.kind == "i":
            return chosen._values
        if len(chosen) != len(self):
            raise IndexError(
                f"boolean index did not match indexed array: size is {len(self)} but size of "
                f"boolean index is {len(chosen)}"
            )
        return [index for index, yes in enumerate(chosen._values) if yes]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and not isinstance(key, (bool, bool_)):
            return self.dtype.type(self._at(key))
        if isinstance(key, slice):
            return ndarray.of(self._values[key], self.dtype.kind, whole=False)
        if isinstance(key, float):
            raise IndexError(
                "only integers, slices and integer or boolean arrays are valid indices"
            )
        values = self._values
        try:
            picked = [values[index] for index in self._positions(key)]
        except IndexError as error:
            raise (
                error
                if "arrays" in str(error) or "boolean" in str(error)
                else IndexError(f"an index is out of bounds for axis 0 with size {len(self)}")
            ) from None
        return ndarray.of(picked, self.dtype.kind)

    def _at(self, key: int) -> Any:
        try:
            return self._values[key]
        except IndexError:
            raise IndexError(
                f"index {int(key)} is out of bounds for axis 0 with size {len(self)}"
            ) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self._writable()
        cast = self.dtype.cast
        if isinstance(key, int) and not isinstance(key, (bool, bool_)):
            self._at(key)
            self._values[key] = cast(value)
            return
        positions = self._positions(key)
        new = _spread(value, len(positions))
        for index, item in zip(positions, new, strict=True):
            self._at(index)
            self._values[index] = cast(item)

    def _writable(self) -> None:
        if not self._whole:
            raise lacks(
                "writing through a slice kept under another name (write to the array itself)"
            )

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[:] = value

    def sort(self) -> None:
        """Sort in place."""
        self._writable()
        self._values.sort()

    # -- arithmetic ---------------------------------------------------------------------------

    def __neg__(self) -> ndarray:
        return ndarray.of([-x for x in self._values], self.dtype.kind)

    def __pos__(self) -> ndarray:
        return self.copy()

    def __abs__(self) -> ndarray:
        return ndarray.of([abs(x) for x in self._values], self.dtype.kind)

    def __invert__(self) -> ndarray:
        if self.dtype.kind == "f":
            raise TypeError("`~` works on truth values and integers, not on floats")
        if self.dtype.kind == "b":
            return ndarray.of([not x for x in self._values], "b")
        return ndarray.of([~x for x in self._values], "i")

    # -- reductions ---------------------------------------------------------------------------

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum."""
        _one_axis(axis)
        return scalar(sum(self._values, 0.0 if self.dtype.kind == "f" else 0))

    def prod(self, axis: int | None = None) -> Any:
        """Return the product."""
        _one_axis(axis)
        return scalar(math.prod(self._values))

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean."""
        _one_axis(axis)
        return float64(divide(float(sum(self._values)), len(self)))

    def var(self) -> Any:
        """Return the variance (divided by the size)."""
        mean = float(self.mean())
        return float64(divide(sum((x - mean) ** 2 for x in self._values), len(self)))

    def std(self) -> Any:
        """Return the standard deviation."""
        return float64(math.sqrt(self.var()))

    def _extreme(self, choose: Callable[[list[Any]], Any], name: str) -> Any:
        if not self._values:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if self.dtype.kind == "f" and any(x != x for x in self._values):
            return nan
        return choose(self._values)

    def max(self, axis: int | None = None) -> Any:
        """Return the largest element, nan if there is one."""
        _one_axis(axis)
        return self.dtype.type(self._extreme(max, "maximum"))

    def min(self, axis: int | None = None) -> Any:
        """Return the smallest element, nan if there is one."""
        _one_axis(axis)
        return self.dtype.type(self._extreme(min, "minimum"))

    def _where_extreme(self, choose: Callable[[list[Any]], Any], name: str) -> Any:
        best = self._extreme(choose, name)
        return int64(next(i for i, x in enumerate(self._values) if x == best or x != x))

    def argmax(self) -> Any:
        """Return the position of the first largest element."""
        return self._where_extreme(max, "argmax")

    def argmin(self) -> Any:
        """Return the position of the first smallest element."""
        return self._where_extreme(min, "argmin")

    def any(self, axis: int | None = None) -> Any:
        """Tell whether some element is true."""
        _one_axis(axis)
        return bool_(any(self._values))

    def all(self, axis: int | None = None) -> Any:
        """Tell whether every element is true."""
        _one_axis(axis)
        return bool_(all(self._values))

    def cumsum(self) -> ndarray:
        """Return the running sums."""
        kind = "i" if self.dtype.kind == "b" else self.dtype.kind
        return ndarray.of(list(itertools.accumulate(map(_DTYPES[kind].cast, self._values))), kind)

    def argsort(self) -> ndarray:
        """Return the positions in increasing order of their elements."""
        return ndarray.of(sorted(range(len(self)), key=self._values.__getitem__), "i")

    def nonzero(self) -> tuple[ndarray]:
        """Return the positions of the elements that are not zero, in a tuple of one."""
        return (ndarray.of([i for i, x in enumerate(self._values) if x], "i"),)

    def dot(self, other: Any) -> Any:
        """Return the sum of the products."""
        return binary(self, as_array(other), operator.mul).sum()

    __matmul__ = dot

    def clip(self, low: Any = None, high: Any = None) -> ndarray:
        """Limit every element to lie between low and high."""
        out = self
        if low is not None:
            out = binary(out, low, _larger)
        return out if high is None else binary(out, high, _smaller)

    def round(self, decimals: int = 0) -> ndarray:
        """Round to a number of decimals."""
        return ndarray.of([round(x, decimals) for x in self._values], self.dtype.kind)


_DTYPES = {kind: dtype(python) for kind, python in (("f", float), ("i", int), ("b", bool))}


def _short(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _one_axis(axis: int | None) -> None:
    if axis not in (None, 0, -1):
        raise lacks("arrays of more than one dimension")


def _larger(x: Any, y: Any) -> Any:
    return x if x >= y or x != x else y


def _smaller(x: Any, y: Any) -> Any:
    return x if x <= y or x != x else y


def as_array(value: Any, kind: Any = None) -> ndarray:
    """Return the value as an array; an array of the right dtype comes back itself."""
    if isinstance(value, ndarray):
        return value if kind is None or value.dtype == dtype(kind) else value.astype(kind)
    if not isinstance(value, (list, tuple, range)):
        raise lacks(f"arrays made of a {type(value).__name__} (give a list)")
    if any(isinstance(item, (list, tuple, ndarray)) for item in value):
        raise lacks("arrays of more than one dimension")
    new = dtype(kind) if kind is not None else _DTYPES[kind_of(value)]
    return ndarray.of(list(map(new.cast, value)), new.kind)


def _spread(value: Any, size: int) -> list[Any]:
    """Return the values to be combined with ``size`` others: a scalar or one value is repeated."""
    if isinstance(value, (int, float)):
        return [value] * size
    values = as_array(value)._values
    if len(values) == 1:
        return values * size
    if len(values) != size:
        raise ValueError(
            f"operands could not be broadcast together with shapes ({size},) ({len(values)},)"
        )
    return values


def _plain(value: Any) -> tuple[Any, str]:
    """Return a scalar as a Python number, with its kind."""
    kind = kind_of([value])
    return _DTYPES[kind].cast(value), kind


def binary(left: Any, right: Any, function: Pairwise, result: str = "") -> Any:
    """Combine two operands element by element; ``result`` is the kind, if not the larger one."""
    if not isinstance(left, ndarray) and isinstance(left, (list, tuple)):
        left = as_array(left)
    if not isinstance(right, ndarray) and isinstance(right, (list, tuple)):
        right = as_array(right)
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


def _both(left: ndarray, right: ndarray, function: Pairwise, result: str) -> ndarray:
    xs, ys = left._values, right._values
    if len(xs) != len(ys):
        size = max(len(xs), len(ys)) if 1 in (len(xs), len(ys)) else len(xs)
        xs, ys = _spread(left, size), _spread(right, size)
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
        self._writable()
        new = function(self, other)
        if RANK[new.dtype.kind] > RANK[self.dtype.kind]:
            raise TypeError(
                f"cannot cast the result from {new.dtype!r} to {self.dtype!r}: this array holds no "
                "such values, make it with dtype=float"
            )
        self._values[:] = new._values
        return self

    setattr(ndarray, f"__{name}__", forward)
    if swapped:
        setattr(ndarray, f"__r{name}__", backward)
        setattr(ndarray, f"__i{name}__", in_place)


def _operand(value: Any) -> bool:
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
