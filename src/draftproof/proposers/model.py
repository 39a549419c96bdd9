"""A second model as draft, and the two checks every proposer stands behind."""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.chance import Chance
from draftproof.contracts import ROOT, Draft, Predictor, Proposer, Text
from draftproof.dist import Row
from draftproof.errors import InvalidInput, VocabularyMismatch

SHOWN = 3
"""How many differing ids a refusal lists."""


class DraftModel:
    """Draw the draft token by token from another predictor.

    Parameters
    ----------
    predictor
        The draft model: a warped back end, or a table of fractions for a proof.
    name
        Short name for reports.
    eos
        A draft ends after one of these ids; the id stays in the draft and is verified.
    context_limit
        Most tokens the draft model may see; drafts get shorter near it, down to none. None means
        that there is no limit.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> draft = DraftModel(Table([0.0, 1.0])).propose(Dice(0), (0,), 2)
    >>> draft.tokens, draft.rows[0].tolist()
    ((1, 1), [0.0, 1.0])
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        name: str = "draft-model",
        eos: tuple[int, ...] = (),
        context_limit: int | None = None,
    ) -> None:
        self.predictor, self.name = predictor, name
        self.eos, self.context_limit = frozenset(eos), context_limit

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft up to `k` tokens, each drawn by `draw` from the row it carries."""
        tokens: list[int] = []
        rows: list[Row] = []
        for node in range(min(k, self._room(text))):
            row = self.predictor.rows((*text, *tokens), Draft.empty())[0]
            token = self.draw(chance, node, row)
            tokens.append(token)
            rows.append(row)
            if token in self.eos:
                break
        return Draft.chain(tokens, rows)

    def draw(self, chance: Chance, node: int, row: Row) -> int:
        """Draw the token of one node from its row."""
        return chance.at("draft", node).pick(row)

    def _room(self, text: Text) -> int:
        """Give the number of draft tokens whose rows the model can still compute."""
        if self.context_limit is None:
            return 1 << 62
        return max(0, self.context_limit - len(text) + 1)


def propose(proposer: Proposer, chance: Chance, text: Text, k: int) -> Draft:
    """Ask for at most `k` tokens and hold the proposer to it; ``k = 0`` asks nobody.

    Raises
    ------
    InvalidInput
        If `k` is not a whole number of at least 0, or the draft is deeper than `k`. A longer
        draft is refused, not cut: cutting belongs to whoever knows how its tokens were chosen.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> len(propose(DraftModel(Table([0.0, 1.0])), Dice(0), (0,), 0))
    0
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InvalidInput(f"k is {k!r}; the number of tokens to draft is a whole number >= 0.")
    if k == 0:
        return Draft.empty()
    draft = proposer.propose(chance, text, k)
    depth = _depth(draft)
    if depth > k:
        raise InvalidInput(
            f"proposer {proposer.name!r} drafted {depth} tokens deep where at most k = {k} were "
            f"asked for; mend the proposer, its draft is not cut for it."
        )
    return draft


def _depth(draft: Draft) -> int:
    depths: list[int] = []
    for parent in draft.parents:
        depths.append(1 if parent == ROOT else depths[parent] + 1)
    return max(depths, default=0)


def check_same_vocabulary(
    target_pieces: Sequence[str | bytes], draft_pieces: Sequence[str | bytes]
) -> None:
    """Refuse a draft model whose token ids do not mean what the target's mean.

    Parameters
    ----------
    target_pieces, draft_pieces
        The text of every token, by id.

    Raises
    ------
    VocabularyMismatch
        Gives both sizes and the first ids that differ.

    Examples
    --------
    >>> check_same_vocabulary(["a", "b"], ["a", "c", "d"])
    Traceback (most recent call last):
    draftproof.errors.VocabularyMismatch: the target has 2 tokens and the draft has 3, and ids \
1 ('b' / 'c') differ; use a draft model with the target's own vocabulary.
    """
    sizes = len(target_pieces), len(draft_pieces)
    pairs = enumerate(zip(target_pieces, draft_pieces, strict=False))
    differing = [(token, one, other) for token, (one, other) in pairs if one != other]
    if sizes[0] == sizes[1] and not differing:
        return
    shown = ", ".join(f"{token} ({one!r} / {other!r})" for token, one, other in differing[:SHOWN])
    more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    where = f"ids {shown}{more} differ" if differing else f"ids from {min(sizes)} on exist in one"
    raise VocabularyMismatch(
        f"the target has {sizes[0]} tokens and the draft has {sizes[1]}, and {where}; use a draft "
        f"model with the target's own vocabulary."
    )
