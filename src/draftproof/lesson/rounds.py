"""Rounds of two greedy models that look at the last token only, played by the library's own loop.

The page has a twin of this module in TypeScript; both are tested on
``tests/lesson/round_cases.json``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draftproof import decode
from draftproof.backends.table import Table
from draftproof.chance import Dice
from draftproof.contracts import Text
from draftproof.dist import Row
from draftproof.proposers.model import DraftModel
from draftproof.rules import find_rule


@dataclass(frozen=True)
class Turn:
    """One round: what was drafted, what the target writes at each place, what was kept and added.

    ``due`` has one entry more than ``drafted``; ``added`` is cut where the text ends.
    """

    start: int
    drafted: Text
    due: Text
    kept: int
    added: Text


def play(
    target: Text, draft: Text, prompt: Text, *, k: int, stop: int, limit: int
) -> tuple[Turn, ...]:
    """Play rounds until the stop token or ``limit`` new tokens.

    Parameters
    ----------
    target, draft
        What each model writes after each token.
    prompt
        The text to start from.
    k
        Drafted tokens per round.
    stop, limit
        The token that ends a text, and the most tokens to add.

    Examples
    --------
    >>> (turn,) = play((1, 2, 3, 0), (1, 2, 0, 0), (0,), k=3, stop=3, limit=9)
    >>> turn.drafted, turn.due, turn.kept, turn.added
    ((1, 2, 0), (1, 2, 3, 1), 2, (1, 2, 3))
    """
    text, turns = prompt, []
    for one in decode.rounds(
        Dice(0),
        Table(lambda seen: _certain(target, seen)),
        DraftModel(Table(lambda seen: _certain(draft, seen))),
        find_rule("token-wise"),
        prompt,
        k=k,
        limits=decode.Limits(max_tokens=limit, stop=frozenset({stop})),
    ):
        drafted = one.draft.tokens
        due = tuple(target[token] for token in (text[-1], *drafted))
        turns.append(Turn(len(text), drafted, due, one.verdict.accepted, one.emitted))
        text += one.emitted
    return tuple(turns)


def _certain(nexts: Text, text: Text) -> Row:
    """Return the row of a model that is certain of its next token."""
    row = np.zeros(len(nexts))
    row[nexts[text[-1]]] = 1
    return row
