"""Reading one TOML table field by field, with complaints that name the place and the field."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeVar

from draftproof.errors import InvalidInput
from draftproof.lesson.content import Json

Made = TypeVar("Made")


class Fields:
    """One TOML table being read; remembers where it is and which keys nobody asked for."""

    def __init__(self, table: Json, where: str) -> None:
        self._table = dict(table)
        self.where = where

    def fail(self, key: str, problem: str) -> InvalidInput:
        """Return the error for a bad value under ``key``."""
        return InvalidInput(f"{self.where}: {key} {problem}")

    def take(self, key: str, kind: type[Made], default: Made | None = None) -> Made:
        """Take the value under ``key``, which must be of this type."""
        if key not in self._table:
            if default is None:
                raise self.fail(key, "is missing")
            return default
        value = self._table.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fail(key, f"must be of type {kind.__name__}, got {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Take a string without the blank lines around it; empty only if the default is."""
        value = self.take(key, str, default).strip("\n")
        if not value.strip() and default is None:
            raise self.fail(key, "is empty")
        return value

    def one_of(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """Take a string out of a fixed set."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.fail(key, f"must be one of {', '.join(allowed)}, got {value!r}")
        return value

    def strings(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """Take a list of strings."""
        values = self.take(key, list, [] if optional else None)
        if not all(isinstance(value, str) for value in values):
            raise self.fail(key, f"must be a list of strings, got {values!r}")
        if not values and not optional:
            raise self.fail(key, "is empty")
        return tuple(value.strip("\n") for value in values)

    def integers(self, key: str) -> tuple[int, ...]:
        """Take a list of integers."""
        values = self.take(key, list)
        if not values or not all(type(value) is int for value in values):
            raise self.fail(key, f"must be a list of integers, got {values!r}")
        return tuple(values)

    def fractions(self, key: str, *, optional: bool = False) -> tuple[Fraction, ...]:
        """Take a list of fractions written as strings."""
        values = self.strings(key, optional=optional)
        try:
            return tuple(Fraction(value) for value in values)
        except (ValueError, ZeroDivisionError):
            raise self.fail(key, f"must hold fractions such as '3/10', got {values!r}") from None

    def fraction(self, key: str) -> Fraction:
        """Take one fraction written as a string."""
        try:
            return Fraction(self.text(key))
        except (ValueError, ZeroDivisionError):
            raise self.fail(key, "must be a fraction such as '3/10'") from None

    def nested(self, key: str) -> Any:
        """Take a value of an argument: an integer, a fraction as a string, or lists of them."""
        value = self._table.pop(key)
        try:
            return _nested(value)
        except (ValueError, ZeroDivisionError, TypeError):
            raise self.fail(
                key, f"must hold integers, fractions such as '3/10' or lists of them, got {value!r}"
            ) from None

    def has(self, key: str) -> bool:
        """Tell whether a key is still there to be taken."""
        return key in self._table

    def rest(self) -> tuple[str, ...]:
        """Return the keys that nobody has taken yet."""
        return tuple(self._table)

    def row(self, key: str) -> tuple[Fraction, ...]:
        """Take a probability row: fractions that are not negative and sum to exactly 1."""
        row = self.fractions(key)
        if min(row) < 0 or sum(row) != 1:
            raise self.fail(key, f"must be probabilities with sum 1, got {[str(x) for x in row]}")
        return row

    def tables(self, key: str, *, optional: bool = False) -> Iterator[Fields]:
        """Take an array of tables, each ready to be read."""
        values = self.take(key, list, [] if optional else None)
        if not values and not optional:
            raise self.fail(key, "is empty")
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.fail(f"{key}[{index}]", f"must be a table, got {value!r}")
            name = value.get("id", index)
            yield Fields(value, f"{self.where}, {key} {name!r}")

    def done(self, made: Made) -> Made:
        """``made``, unless a key was left over."""
        if self._table:
            raise self.fail(", ".join(sorted(self._table)), "is not a known field here")
        return made


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_nested(item) for item in value)
    if isinstance(value, str):
        return Fraction(value)
    if type(value) is int:
        return value
    raise TypeError


def same_length(fields: Fields, **rows: tuple[Any, ...]) -> None:
    """Complain unless the rows are equally long."""
    if len({len(row) for row in rows.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(row)}" for name, row in rows.items())
        raise fields.fail(" and ".join(rows), f"must be equally long, but {lengths}")


def pair(fields: Fields) -> Json:
    """Take ``p`` and ``q``, rows over the same tokens."""
    p, q = fields.row("p"), fields.row("q")
    same_length(fields, p=p, q=q)
    return {"p": p, "q": q}
