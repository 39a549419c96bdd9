"""What every rule shares: looking at rows with care, and putting a verdict together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import Draft, Lazily, Source, Text, Trial, Verdict, Verify
from draftproof.dist import Row, excess
from draftproof.errors import InvalidInput, NotADistribution


def guarded(verify: Verify) -> Verify:
    """Let `verify` see only rows that are numbers, one for each node and one more.

    A target row is checked when it is looked at, so rows that are computed lazily stay lazy.
    Whether a row sums to 1 is the business of whoever made it (`draftproof.dist.check_row`).

    Raises
    ------
    NotADistribution
        Names the row with a NaN, an infinity or no mass.
    InvalidInput
        If the number of rows does not fit the draft, or a drafted token is not in its row.
    """

    @wraps(verify)
    def checked(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
        if len(rows) != len(draft) + 1:
            raise InvalidInput(
                f"rows has {len(rows)} entries for a draft of {len(draft)} tokens; give one row "
                f"after the text and one after each drafted token."
            )
        for node, (token, row) in enumerate(zip(draft.tokens, draft.rows, strict=True)):
            _numbers(row, f"draft.rows[{node}]")
            if not 0 <= token < len(row):
                raise InvalidInput(
                    f"draft.tokens[{node}] is {token}, which is not one of the {len(row)} tokens "
                    f"its row is over."
                )
        return verify(
            chance, draft, Lazily(len(rows), lambda at: _numbers(rows[at], f"rows[{at}]"))
        )

    return checked


def _numbers(row: Row, name: str) -> Row:
    total = row.sum()
    if not (total > 0 and math.isfinite(total)):
        at = int(np.flatnonzero(~np.isfinite(row.astype(np.float64)))[0]) if total != 0 else 0
        raise NotADistribution(
            f"{name}[{at}] is {row[at]} and the row sums to {total}; a probability row holds "
            f"finite numbers that sum to 1."
        )
    return row


def correction(p: Row, q: Row) -> Row:
    """Weights of the residual, not normalised; p itself where p and q agree everywhere."""
    under = excess(p, q)
    return under if under.any() else p


def without(row: Row, token: int) -> Row:
    """Give the row with one token taken out, not normalised; the row itself if nothing is left."""
    rest = row.copy()
    rest[token] = 0
    return rest if rest.any() else row


def share(part: Any, whole: Any) -> Any:
    """Give ``min(1, part / whole)``; 1 where both are 0, as in a state left with probability 0.

    Examples
    --------
    >>> share(1.0, 4.0), share(0.0, 0.0), share(3.0, 2.0)
    (0.25, 1, 1)
    """
    return 1 if part >= whole else part / whole


def verdict(
    draft: Draft, path: Sequence[int], last: int, source: Source, trials: Sequence[Trial]
) -> Verdict:
    """Give what a round lets out: the tokens of the kept nodes, then one more."""
    kept: Text = tuple(draft.tokens[node] for node in path)
    return Verdict(
        emitted=(*kept, last),
        sources=(*(Source.DRAFT,) * len(kept), source),
        path=tuple(path),
        trials=tuple(trials),
    )


def bonus(
    chance: Chance, draft: Draft, path: Sequence[int], row: Row, trials: Sequence[Trial]
) -> Verdict:
    """End a round whose draft was kept to its end: one more token, from the target's own row."""
    source = Source.BONUS if draft.tokens else Source.TARGET
    return verdict(draft, path, chance.at("bonus", len(path)).pick(row), source, trials)
