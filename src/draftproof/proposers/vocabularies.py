"""Draft models over another vocabulary than the target's, without loss.

Two ways. `Intersected` keeps the draft's law: what only one of them can say is masked *before*
sampling, so the row a token is drawn from is known and any rule may compare p with q. `ByText`
keeps the draft's text: whatever it wrote is read again in the target's tokens, which are then
guesses without a law (one-hot rows), for rules that take those.

Source: Timor et al. 2025, arXiv 2502.05202, algorithms 4 (token-level intersection) and 2
(string-level exact match).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Lazily, Predictor, Proposer, Text
from draftproof.dist import Row, normalised
from draftproof.errors import VocabularyMismatch

Ids: TypeAlias = npt.NDArray[np.intp]
Reread: TypeAlias = Callable[[Text], Text]
"""Reads tokens of one vocabulary as text, and gives that text in tokens of the other."""

Piece: TypeAlias = str | bytes


def shared_ids(target_pieces: Sequence[Piece], draft_pieces: Sequence[Piece]) -> tuple[Ids, Ids]:
    """Give the ids, in either vocabulary, of the pieces that both have.

    Empty pieces, which is how most vocabularies spell their control tokens, are not shared; of
    several ids for one piece the first counts.

    Raises
    ------
    VocabularyMismatch
        If no piece is in both.

    Examples
    --------
    >>> [ids.tolist() for ids in shared_ids(["a", "b", "ab"], ["b", "c", "a"])]
    [[0, 1], [2, 0]]
    """
    known: dict[Piece, int] = {}
    for at, piece in enumerate(draft_pieces):
        known.setdefault(piece, at)
    pairs: dict[Piece, tuple[int, int]] = {}
    for at, piece in enumerate(target_pieces):
        if piece and piece in known:
            pairs.setdefault(piece, (at, known[piece]))
    if not pairs:
        raise VocabularyMismatch(
            f"the target's {len(target_pieces)} tokens and the draft's {len(draft_pieces)} have no "
            f"piece of text in common; use another draft model, or draft by text."
        )
    both = np.array(list(pairs.values()), dtype=np.intp)
    return both[:, 0], both[:, 1]


class Intersected:
    """A draft model as a predictor over the target's tokens: its law on what both can say.

    The row is ``q(x) / q(shared)`` for shared x and 0 for every other token. Where the model gives
    all shared tokens probability 0, they are equally likely. Draft from it with any proposer.

    Parameters
    ----------
    draft
        The draft model, over its own tokens.
    target_pieces, draft_pieces
        The text of every token, by id.
    to_draft
        Gives target tokens, read as text, in draft tokens.

    Raises
    ------
    VocabularyMismatch
        If the two vocabularies have no piece in common.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> over = Intersected(Table([0.25, 0.5, 0.25]), ["a", "b", "ab"], ["b", "c", "a"],
    ...                    to_draft=lambda text: ())
    >>> over.rows((), Draft.empty())[0].tolist()
    [0.5, 0.5, 0.0]
    """

    def __init__(
        self,
        draft: Predictor,
        target_pieces: Sequence[Piece],
        draft_pieces: Sequence[Piece],
        *,
        to_draft: Reread,
    ) -> None:
        self._draft, self._to_draft = draft, to_draft
        self._size = len(target_pieces)
        self._ours, self._theirs = shared_ids(target_pieces, draft_pieces)
        self._seen: dict[Text, Row] = {}

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one row after `text`, then one after each draft node, over the target's tokens."""
        nodes = (ROOT, *range(len(draft)))
        return Lazily(len(nodes), lambda at: self._row((*text, *draft.prefix(nodes[at]))))

    def _row(self, text: Text) -> Row:
        theirs = self._draft.rows(self._to_draft(text), Draft.empty())[0][self._theirs]
        row = np.zeros(self._size, dtype=theirs.dtype)
        row[self._ours] = normalised(theirs) if theirs.any() else _even(theirs)
        return row


def _even(like: Row) -> Row:
    share = Fraction(1, len(like))
    return np.full_like(like, share if like.dtype == object else float(share))


class ByText:
    """Draft in the draft's own tokens, and offer the text in the target's.

    The text so far goes over to the draft's vocabulary, the proposer writes on, and the whole
    comes back in the target's tokens. What follows the text so far is the draft, cut at k. Where
    the way there and back does not begin with the text so far, nothing is drafted.

    The rows are one-hot: the token was not drawn from any law over the target's tokens. Rules
    that judge such drafts exactly are ``exact-match``, ``point-mass``, ``token-wise``, ``block``.

    Parameters
    ----------
    proposer
        Drafts in the draft's tokens.
    vocab_size
        Number of the target's tokens.
    to_draft, to_target
        Give tokens, read as text, in tokens of the other vocabulary.
    name
        Short name for reports.
    exact
        Give rows of whole numbers, for a proof with fractions, instead of floats.
    """

    def __init__(
        self,
        proposer: Proposer,
        vocab_size: int,
        *,
        to_draft: Reread,
        to_target: Reread,
        name: str | None = None,
        exact: bool = False,
    ) -> None:
        self._proposer = proposer
        self._nothing: Row = np.zeros(vocab_size, dtype=object if exact else np.float64)
        self._to_draft, self._to_target = to_draft, to_target
        self.name = name or f"{proposer.name} by text"

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft at most `k` of the target's tokens."""
        before = self._to_draft(text)
        written = self._proposer.propose(chance, before, k).tokens
        whole = self._to_target((*before, *written))
        if whole[: len(text)] != text:
            return Draft.empty()
        tokens = whole[len(text) :][:k]
        return Draft.chain(tokens, [self._certain(token) for token in tokens])

    def _certain(self, token: int) -> Row:
        row = self._nothing.copy()
        row[token] = 1
        return row
