"""The one-dimensional array of the stand-in, and what it shares with the table in ``grid``.

Values live in a plain list of Python floats, integers or truth values, so that every operation is
one list comprehension. A slice is a view of its array, as in NumPy.
"""

from __future__ import annotations

import functools
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
    int64,
    lacks,
    nan,
    scalar,
)

RANK = {"b": 0, "i": 1, "f": 2}
FLAT = "arrays of more than two dimensions"


class AxisError(ValueError, IndexError):
    """There is no such axis."""


def highest(kinds: Iterable[str]) -> str:
    """Return the kind that holds the numbers of all of these."""
    return max(kinds, key=RANK.__getitem__)


def one_index(key: Any) -> bool:
    """Tell whether a key is a single whole number."""
    return isinstance(key, int) and not isinstance(key, (bool, bool_))


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a method that reduces a row to a number the arguments ``axis`` and ``keepdims``."""

    @functools.wraps(function)
    def method(
        self: ndarray, axis: int | None = None, *, keepdims: bool = False, **options: Any
    ) -> Any:
        one_axis(axis)
        value = function(self, **options)
        return as_array([value]) if keepdims else value

    return method


def one_axis(axis: int | None) -> None:
    """Refuse an axis that a row does not have."""
    if axis not in (None, 0, -1):
        raise AxisError(f"axis {axis} is out of bounds for array of dimension 1")


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

    __slots__ = ("_values", "dtype")
    __hash__ = None  # type: ignore[assignment]
    ndim = 1

    _values: list[Any]
    dtype: dtype

    @classmethod
    def of(cls, values: list[Any], kind: str) -> ndarray:
        """Wrap a list of plain Python numbers of this kind."""
        self = object.__new__(ndarray)
        self._values, self.dtype = values, DTYPES[kind]
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
    def shape(self) -> tuple[int, ...]:
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
        """Return a copy in another shape; one of its numbers may be -1."""
        wanted = shape if len(shape) != 1 or isinstance(shape[0], int) else tuple(shape[0])
        if len(wanted) > 2 or not wanted:
            raise lacks(FLAT)
        known = math.prod(number for number in wanted if number != -1)
        sizes = [len(self) // known if known and n == -1 else n for n in wanted]
        if math.prod(sizes) != len(self) or list(wanted).count(-1) > 1:
            raise ValueError(f"cannot reshape array of size {len(self)} into shape {wanted}")
        if len(sizes) == 1:
            return self.copy()
        width, values = sizes[1], self._values
        return table_of(
            [
                ndarray.of(values[i * width : (i + 1) * width], self.dtype.kind)
                for i in range(sizes[0])
            ]
        )

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
        if isinstance(key, tuple) and len(key) == 1:
            return self._positions(key[0])
        if isinstance(key, tuple):
            raise IndexError(
                f"too many indices for array: it is 1-dimensional, but {len(key)} were indexed"
            )
        if isinstance(key, float):
            raise IndexError(
                "only integers, slices and integer or boolean arrays are valid indices"
            )
        return self._listed(key)

    def _listed(self, key: Any) -> list[int]:
        """Turn a mask or a list of indices into positions."""
        if key is None:
            raise lacks("assignments with None in the key")
        chosen = as_array(key) if len(key) else ndarray.of([], "i")
        if chosen.ndim == 2:
            raise lacks("tables as indices")
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
            return View.on(self, key)
        if key is None or (isinstance(key, tuple) and None in key):
            return self._as_table(key)
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

    def _as_table(self, key: Any) -> ndarray:
        """Return the view ``[:, None]``, a column, or ``[None, :]``, a single row."""
        whole = slice(None)
        if key is None or key in ((None,), (None, whole), (None, Ellipsis)):
            return table_of([View.on(self, whole)])
        if key in ((whole, None), (Ellipsis, None)):
            return table_of([View.on(self, slice(i, i + 1)) for i in range(len(self))])
        raise lacks(FLAT)

    def _at(self, key: int) -> Any:
        try:
            return self._values[key]
        except IndexError:
            raise IndexError(
                f"index {int(key)} is out of bounds for axis 0 with size {len(self)}"
            ) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        cast = self.dtype.cast
        if isinstance(key, int) and not isinstance(key, (bool, bool_)):
            self._at(key)
            self._put([key], [cast(value)])
            return
        positions = self._positions(key)
        new = spread(value, len(positions))
        for index in positions:
            self._at(index)
        self._put(positions, list(map(cast, new)))

    def _take(self, new: Any) -> None:
        """Take the values of a result of the same size."""
        self._put(range(len(self)), spread(new, len(self)))

    def _put(self, positions: Iterable[int], items: list[Any]) -> None:
        """Write items at positions; everything that changes an array comes here."""
        for index, item in zip(positions, items, strict=True):
            self._values[index] = item

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[:] = value

    def sort(self) -> None:
        """Sort in place."""
        self._put(range(len(self)), sorted(self._values))

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

    @reduction
    def sum(self) -> Any:
        """Return the sum."""
        return scalar(sum(self._values, 0.0 if self.dtype.kind == "f" else 0))

    @reduction
    def prod(self) -> Any:
        """Return the product."""
        return scalar(math.prod(self._values))

    @reduction
    def mean(self) -> Any:
        """Return the mean."""
        return float64(divide(float(sum(self._values)), len(self)))

    @reduction
    def var(self, ddof: float = 0) -> Any:
        """Return the variance: the sum of squares divided by the size less ddof."""
        mean = float(self.mean())
        return float64(divide(sum((x - mean) ** 2 for x in self._values), len(self) - ddof))

    @reduction
    def std(self, ddof: float = 0) -> Any:
        """Return the standard deviation."""
        return float64(math.sqrt(self.var(ddof=ddof)))

    def _extreme(self, choose: Callable[[list[Any]], Any], name: str) -> Any:
        if not self._values:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if self.dtype.kind == "f" and any(x != x for x in self._values):
            return nan
        return choose(self._values)

    @reduction
    def max(self) -> Any:
        """Return the largest element, nan if there is one."""
        return self.dtype.type(self._extreme(max, "maximum"))

    @reduction
    def min(self) -> Any:
        """Return the smallest element, nan if there is one."""
        return self.dtype.type(self._extreme(min, "minimum"))

    def _where_extreme(self, choose: Callable[[list[Any]], Any], name: str) -> Any:
        best = self._extreme(choose, name)
        return int64(next(i for i, x in enumerate(self._values) if x == best or x != x))

    @reduction
    def argmax(self) -> Any:
        """Return the position of the first largest element."""
        return self._where_extreme(max, "argmax")

    @reduction
    def argmin(self) -> Any:
        """Return the position of the first smallest element."""
        return self._where_extreme(min, "argmin")

    @reduction
    def any(self) -> Any:
        """Tell whether some element is true."""
        return bool_(any(self._values))

    @reduction
    def all(self) -> Any:
        """Tell whether every element is true."""
        return bool_(all(self._values))

    def cumsum(self, axis: int | None = None) -> ndarray:
        """Return the running sums."""
        return self._running(operator.add, axis)

    def cumprod(self, axis: int | None = None) -> ndarray:
        """Return the running products."""
        return self._running(operator.mul, axis)

    def _running(self, combine: Callable[[Any, Any], Any], axis: int | None) -> ndarray:
        one_axis(axis)
        kind = "i" if self.dtype.kind == "b" else self.dtype.kind
        numbers = map(DTYPES[kind].cast, self._values)
        return ndarray.of(list(itertools.accumulate(numbers, combine)), kind)

    def transpose(self) -> ndarray:
        """Return the array itself: a row has nothing to transpose."""
        return self

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """Return the elements at these positions."""
        if self.ndim == 1 or axis is None:
            return self.flatten()[indices]
        return self[indices] if axis == 0 else self[:, indices]

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Return every element several times."""
        if self.ndim == 1 or axis is None:
            flat = self.flatten()
            return flat[_repeated(len(flat), repeats)]
        if axis == 0:
            return self[_repeated(len(self), repeats)]
        return self[:, _repeated(self.shape[1], repeats)]

    def argsort(self) -> ndarray:
        """Return the positions in increasing order of their elements."""
        return ndarray.of(sorted(range(len(self)), key=self._values.__getitem__), "i")

    def nonzero(self) -> tuple[ndarray, ...]:
        """Return the positions of the elements that are not zero, in a tuple of one."""
        return (ndarray.of([i for i, x in enumerate(self._values) if x], "i"),)

    def round(self, decimals: int = 0) -> ndarray:
        """Round to a number of decimals."""
        return ndarray.of([round(x, decimals) for x in self._values], self.dtype.kind)


class View(ndarray):
    """A slice of an array: reads from it and writes to it."""

    __slots__ = ("_base", "_key")

    _base: ndarray
    _key: slice

    @classmethod
    def on(cls, base: ndarray, key: slice) -> View:
        """Make a view of a slice of an array."""
        self = object.__new__(cls)
        self._base, self._key, self.dtype = base, key, base.dtype
        return self

    @property
    def _values(self) -> list[Any]:  # type: ignore[override]
        return self._base._values[self._key]

    def _put(self, positions: Iterable[int], items: list[Any]) -> None:
        places = range(*self._key.indices(len(self._base)))
        self._base._put([places[index] for index in positions], items)


DTYPES = {kind: dtype(python) for kind, python in (("f", float), ("i", int), ("b", bool))}


def _repeated(size: int, repeats: Any) -> list[int]:
    counts = spread(repeats, size)
    return [index for index, count in enumerate(counts) for _ in range(count)]


def _short(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def table_of(rows: list[ndarray]) -> ndarray:
    """Return a table of these rows."""
    from .grid import Grid  # which is built on this module

    return Grid.of_rows(rows)


def as_array(value: Any, kind: Any = None) -> ndarray:
    """Return the value as an array; an array of the right dtype comes back itself."""
    if isinstance(value, ndarray):
        return value if kind is None or value.dtype == dtype(kind) else value.astype(kind)
    if not isinstance(value, (list, tuple, range)):
        raise lacks(f"arrays made of a {type(value).__name__} (give a list)")
    if any(isinstance(item, (list, tuple, ndarray)) for item in value):
        return _nested(value, kind)
    new = dtype(kind) if kind is not None else DTYPES[kind_of(value)]
    return ndarray.of(list(map(new.cast, value)), new.kind)


def _nested(value: Any, kind: Any) -> ndarray:
    """Return a list of rows as a table, with numbers of its own."""
    if not all(isinstance(item, (list, tuple, ndarray)) for item in value):
        raise ValueError("setting an array element with a sequence: rows and numbers are mixed")
    rows = [as_array(item, kind).copy() for item in value]
    if any(row.ndim == 2 for row in rows):
        raise lacks(FLAT)
    return table_of(rows)


def spread(value: Any, size: int) -> list[Any]:
    """Return the values to be combined with ``size`` others: a scalar or one value is repeated."""
    if isinstance(value, (int, float)):
        return [value] * size
    row = as_array(value)
    if row.ndim == 2 and len(row) > 1:
        raise ValueError(f"a table of shape {row.shape} does not fit into a row of size {size}")
    values = row._values
    if len(values) == 1:
        return values * size
    if len(values) != size:
        raise ValueError(
            f"operands could not be broadcast together with shapes ({size},) ({len(values)},)"
        )
    return values
