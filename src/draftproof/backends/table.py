"""A predictor with every row written down: for proofs, lessons and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from draftproof.contracts import ROOT, Draft, Lazily, Text
from draftproof.dist import Row, RowLike, check_row
from draftproof.errors import InvalidInput


class Table:
    """A predictor that looks its rows up.

    Parameters
    ----------
    row_after
        The row that follows a text: a function of the text, a mapping from texts to rows, or
        one row used after every text. Rows may hold floats or fractions.

    Examples
    --------
    >>> table = Table([Fraction(1, 2), Fraction(1, 2)])
    >>> table.rows((0,), Draft.empty())[0].tolist()
    [Fraction(1, 2), Fraction(1, 2)]
    """

    def __init__(
        self, row_after: Callable[[Text], RowLike] | Mapping[Text, RowLike] | RowLike
    ) -> None:
        self._row_after = _lookup(row_after)
        self._seen: dict[Text, Row] = {}

    def row(self, text: Text) -> Row:
        """Give the row that follows `text`: the same object for the same text, read-only."""
        if text not in self._seen:
            row = check_row(self._row_after(text), name=f"the row after {text}").view()
            row.flags.writeable = False
            self._seen[text] = row
        return self._seen[text]

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one row after `text`, then one after each draft node."""
        nodes = (ROOT, *range(len(draft)))
        return Lazily(len(nodes), lambda at: self.row((*text, *draft.prefix(nodes[at]))))


def _lookup(
    source: Callable[[Text], RowLike] | Mapping[Text, RowLike] | RowLike,
) -> Callable[[Text], RowLike]:
    if callable(source):
        return source
    if isinstance(source, Mapping):
        table = source

        def find(text: Text) -> RowLike:
            if text not in table:
                raise InvalidInput(f"the table has no row after {text}; write one down.")
            return table[text]

        return find
    row = check_row(source, name="the row")
    return lambda _: row


def fractions(*parts: str | int | Fraction) -> Row:
    """Write a row of fractions: ``fractions("1/2", "3/10", "1/5")``.

    Examples
    --------
    >>> fractions("1/2", "1/2").sum()
    Fraction(1, 1)
    """
    return np.array([Fraction(part) for part in parts], dtype=object)
