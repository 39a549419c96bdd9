"""The two-dimensional array of the stand-in: a list of rows.

Rows are one-dimensional arrays, and what is picked with whole numbers and slices shares its numbers
with the table, as in NumPy: ``table[i]``, ``table[:, j]``, ``table[1:]`` and ``table.T`` are views.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .array import (
    DTYPES,
    AxisError,
    View,
    as_array,
    highest,
    ndarray,
    one_index,
    spread,
)
from .scalars import lacks

__all__ = ["Grid"]


class Column(ndarray):
    """One column of a table: reads from it and writes to it."""

    __slots__ = ("_lines", "_place")

    _lines: list[ndarray]
    _place: int

    @classmethod
    def on(cls, lines: list[ndarray], place: int) -> Column:
        """Make a view of one place in each of these rows."""
        self = object.__new__(cls)
        self._lines, self._place, self.dtype = lines, place, lines[0].dtype
        return self

    @property
    def _values(self) -> list[Any]:  # type: ignore[override]
        return [line._values[self._place] for line in self._lines]

    def _put(self, positions: Iterable[int], items: list[Any]) -> None:
        for index, item in zip(positions, items, strict=True):
            self._lines[index]._put([self._place], [item])


class Grid(ndarray):
    """A table of numbers: rows of equal length and one dtype."""

    __slots__ = ("_rows",)
    ndim = 2

    _rows: list[ndarray]

    @classmethod
    def of_rows(cls, rows: list[ndarray]) -> Grid:
        """Wrap rows, without a copy where they have one dtype already."""
        if not rows:
            raise lacks("tables without rows")
        if len({len(row) for row in rows}) > 1:
            raise ValueError(
                "setting an array element with a sequence: the rows are not equally long"
            )
        kind = highest(row.dtype.kind for row in rows)
        self = object.__new__(cls)
        self._rows = [row if row.dtype.kind == kind else row.astype(DTYPES[kind]) for row in rows]
        self.dtype = self._rows[0].dtype
        return self

    def _mapped(self, change: Callable[[ndarray], ndarray]) -> Grid:
        return Grid.of_rows([change(row) for row in self._rows])

    # -- size and conversion ------------------------------------------------------------------

    @property
    def _values(self) -> list[Any]:  # type: ignore[override]
        return [value for row in self._rows for value in row._values]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return len(self._rows) * len(self._rows[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the numbers of rows and of columns."""
        return len(self._rows), len(self._rows[0])

    @property
    def T(self) -> Grid:
        """Return the table with rows and columns exchanged, as a view."""
        return Grid.of_rows(self.columns())

    def transpose(self) -> Grid:
        """Return the table with rows and columns exchanged, as a view."""
        return self.T

    def columns(self) -> list[ndarray]:
        """Return the columns, as views."""
        return [Column.on(self._rows, place) for place in range(self.shape[1])]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"array([{', '.join(repr(row)[6:-1] for row in self._rows)}])"

    def __str__(self) -> str:
        return "[" + "\n ".join(map(str, self._rows)) + "]"

    def tolist(self) -> list[Any]:
        """Return a list of lists of plain Python numbers."""
        return [row.tolist() for row in self._rows]

    def item(self, *index: int) -> Any:
        """Return an element as a plain Python number; without an index, the only one."""
        if len(index) == 2:
            return self[index].item()
        return self.flatten().item(*index)

    def copy(self) -> Grid:
        """Return a copy."""
        return self._mapped(ndarray.copy)

    def astype(self, kind: Any) -> Grid:
        """Return a copy with another dtype."""
        return self._mapped(lambda row: row.astype(kind))

    def flatten(self) -> ndarray:
        """Return a copy as one row."""
        return ndarray.of(self._values, self.dtype.kind)

    ravel = flatten

    def reshape(self, *shape: Any) -> ndarray:
        """Return a copy in another shape."""
        return self.flatten().reshape(*shape)

    def squeeze(self) -> ndarray:
        """Return the table as a row if it has a single row or column."""
        return self.flatten() if 1 in self.shape else self.copy()

    # -- indexing -----------------------------------------------------------------------------

    def _lines(self, key: Any) -> list[ndarray]:
        """Return the rows that a key picks: themselves, not copies."""
        return [self._rows[index] for index in _places(key, len(self._rows))]

    def __getitem__(self, key: Any) -> Any:
        if one_index(key):
            return self._lines(key)[0]
        mask = _mask(key, self)
        if mask is not None:
            return ndarray.of([self._rows[i]._values[j] for i, j in mask], self.dtype.kind)
        rows, columns = _two_keys(key)
        if one_index(rows):
            return self._lines(rows)[0][columns]
        if _is_list(rows) and _is_list(columns):
            return as_array([self._rows[i][j] for i, j in self._pairs(rows, columns)])
        lines = self._lines(rows)
        if one_index(columns):
            _places(columns, self.shape[1])
            picked = Column.on(lines, columns) if lines else ndarray.of([], self.dtype.kind)
            return picked.copy() if _is_list(rows) else picked
        if _is_list(columns):
            return Grid.of_rows([line[columns] for line in lines])
        made = Grid.of_rows([View.on(line, columns) for line in lines])
        return made.copy() if _is_list(rows) else made

    def _pairs(self, rows: Any, columns: Any) -> list[tuple[int, int]]:
        left, right = _places(rows, self.shape[0]), _places(columns, self.shape[1])
        size = max(len(left), len(right))
        return list(
            zip(spread(list(left), size), spread(list(right), size), strict=True) if size else []
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        value = value.copy() if isinstance(value, ndarray) else value
        pairs = _mask(key, self)
        rows, columns = (None, None) if pairs is not None else _two_keys(key)
        if pairs is None and _is_list(rows) and _is_list(columns):
            pairs = self._pairs(rows, columns)
        if pairs is not None:
            for (i, j), item in zip(pairs, spread(value, len(pairs)), strict=True):
                self._rows[i][j] = item
        elif one_index(rows):
            self._lines(rows)[0][columns] = value
        else:
            lines = self._lines(rows)
            for line, part in zip(lines, _parts(value, len(lines), columns), strict=True):
                line[columns] = part

    def _take(self, new: Any) -> None:
        """Take the values of a result of the same shape."""
        if new.shape != self.shape:
            raise ValueError(f"a result of shape {new.shape} does not fit into {self.shape}")
        for row, part in zip(self._rows, new._rows, strict=True):
            row._take(part)

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[:] = value

    def sort(self) -> None:
        """Sort each row in place."""
        for row in self._rows:
            row.sort()

    # -- the whole table ----------------------------------------------------------------------

    def __neg__(self) -> Grid:
        return self._mapped(operator.neg)

    def __abs__(self) -> Grid:
        return self._mapped(abs)

    def __invert__(self) -> Grid:
        return self._mapped(operator.invert)

    def round(self, decimals: int = 0) -> Grid:
        """Round to a number of decimals."""
        return self._mapped(lambda row: row.round(decimals))

    def argsort(self) -> Grid:
        """Return, for each row, the positions in increasing order of their elements."""
        return self._mapped(ndarray.argsort)

    def nonzero(self) -> tuple[ndarray, ...]:
        """Return the rows and the columns of the elements that are not zero."""
        found = [(i, j) for i, row in enumerate(self._rows) for j in row.nonzero()[0].tolist()]
        return tuple(ndarray.of([pair[side] for pair in found], "i") for side in (0, 1))

    def diagonal(self) -> ndarray:
        """Return a copy of the diagonal."""
        size = min(self.shape)
        return ndarray.of([self._rows[i]._values[i] for i in range(size)], self.dtype.kind)

    def trace(self) -> Any:
        """Return the sum of the diagonal."""
        return self.diagonal().sum()


# -- keys ---------------------------------------------------------------------------------------


def _places(key: Any, size: int) -> list[int]:
    """Turn any key along one axis into positions, checked against its size."""
    every = ndarray.of(list(range(size)), "i")
    if one_index(key):
        return [int(every[key])]
    return [int(place) for place in every[key]]


def _is_list(key: Any) -> bool:
    return not one_index(key) and not isinstance(key, slice)


def _two_keys(key: Any) -> tuple[Any, Any]:
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) > 1 and keys[0] is Ellipsis:
        keys = (slice(None),) * (3 - len(keys)) + keys[1:]
    keys = tuple(slice(None) if one is Ellipsis else one for one in keys)
    if any(one is None for one in keys):
        raise lacks("arrays of more than two dimensions")
    if len(keys) > 2:
        raise IndexError(f"too many indices for a table: 2 fit, and {len(keys)} were given")
    keys += (slice(None),) * (2 - len(keys))
    return keys[0], keys[1]


def _mask(key: Any, table: Grid) -> list[tuple[int, int]] | None:
    """Return the places that a table of truth values picks, or None for any other key."""
    if isinstance(key, list) and any(isinstance(item, (list, ndarray)) for item in key):
        key = as_array(key)
    if not isinstance(key, Grid):
        return None
    if key.dtype.kind != "b":
        raise lacks("tables of integers as indices")
    if key.shape != table.shape:
        raise IndexError(f"a mask of shape {key.shape} does not fit a table of {table.shape}")
    rows, columns = key.nonzero()
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _parts(value: Any, count: int, columns: Any) -> list[Any]:
    """Divide what is assigned among rows."""
    if isinstance(value, (int, float)):
        return [value] * count
    value = as_array(value)
    if isinstance(value, Grid):
        if len(value) not in (1, count) or one_index(columns):
            raise ValueError(f"a value of shape {value.shape} does not fit {count} rows")
        return value._rows * (count if len(value) == 1 else 1)
    return spread(value, count) if one_index(columns) else [value] * count


# -- reductions along an axis -------------------------------------------------------------------


def _along(name: str) -> Callable[..., Any]:
    plain = getattr(ndarray, name)

    def method(
        self: Grid, axis: int | None = None, *, keepdims: bool = False, **options: Any
    ) -> Any:
        if axis is None:
            value = plain(self.flatten(), **options)
            return Grid.of_rows([as_array([value])]) if keepdims else value
        made = as_array([plain(line, **options) for line in lines_along(self, axis)])
        if not keepdims:
            return made
        return Grid.of_rows([made]) if axis in (0, -2) else made[:, None]

    method.__name__ = method.__qualname__ = name
    return method


def lines_along(table: Grid, axis: int) -> list[ndarray]:
    """Return the rows for axis 1, the columns for axis 0."""
    if axis not in (0, 1, -1, -2):
        raise AxisError(f"axis {axis} is out of bounds for array of dimension 2")
    return table._rows if axis in (1, -1) else table.columns()


def _running(name: str) -> Callable[..., Any]:
    plain = getattr(ndarray, name)

    def method(self: Grid, axis: int | None = None) -> Any:
        if axis is None:
            return plain(self.flatten())
        made = Grid.of_rows([plain(line) for line in lines_along(self, axis)])
        return made if axis in (1, -1) else made.T.copy()

    method.__name__ = method.__qualname__ = name
    return method


for _name in ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin"):
    setattr(Grid, _name, _along(_name))
for _name in ("cumsum", "cumprod"):
    setattr(Grid, _name, _running(_name))
