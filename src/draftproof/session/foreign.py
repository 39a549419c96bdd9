"""A draft model over other tokens than the target's: its law on what both can say, or its text."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from draftproof.contracts import Proposer, Rule, Text
from draftproof.errors import VocabularyMismatch
from draftproof.proposers import DraftModel, Setting, check_same_vocabulary
from draftproof.proposers.vocabularies import ByText, Intersected, Reread, shared_ids
from draftproof.session.drafting import shaped
from draftproof.session.models import Model
from draftproof.warp import Warp, Warped

ONE_GUESS = ("exact-match", "point-mass", "token-wise", "block")
"""Rules that judge a guess without a law exactly."""


def check_vocabularies(
    target: Model, draft: Model, use: Literal["same", "intersection", "text"]
) -> None:
    """Refuse a draft model that cannot be used in this way.

    Raises
    ------
    VocabularyMismatch
        If the tokens have to be the same and are not, or have to share a piece and do not.
    """
    if use == "intersection":
        shared_ids(target.pieces, draft.pieces)
    if use != "same":
        return
    try:
        check_same_vocabulary(target.pieces, draft.pieces)
    except VocabularyMismatch as error:
        raise VocabularyMismatch(
            f"{str(error).rstrip('.')}, or set --vocabulary intersection or text."
        ) from None


def foreign_proposer(
    rule: Rule, target: Model, draft: Model, setting: Setting, drafts: int, *, by_text: bool
) -> Proposer:
    """Give a draft model over other tokens, in the shape that `rule` judges.

    Parameters
    ----------
    rule, target, draft
        What judges, what is followed, and what drafts.
    setting
        Of the target's run; what it says of single token ids does not hold for the draft.
    drafts
        Drafts per position, for rules that take several.
    by_text
        Offer the text it writes, without a law; else its law on the pieces that both have.
    """
    law = Warped(draft.backend, _without_ids(setting.warp))
    limit = draft.backend.context_limit
    name = f"{draft.backend.name} by {'text' if by_text else 'intersection'}"
    to_draft = _reader(target, draft)
    if by_text:
        chain = DraftModel(law, name=draft.backend.name, eos=(*draft.eos,), context_limit=limit)
        to_target = _reader(draft, target)
        return ByText(chain, setting.vocab_size, to_draft=to_draft, to_target=to_target, name=name)
    shared = Intersected(law, target.pieces, draft.pieces, to_draft=to_draft)
    return shaped(rule, shared, setting.eos, drafts, name=name, context_limit=limit)


def _without_ids(warp: Warp) -> Warp:
    """Leave out what is said of the target's token ids, which mean others in the draft."""
    return replace(warp, logit_bias={}, min_tokens=0, eos=())


def _reader(one: Model, other: Model) -> Reread:
    """Read tokens of one model as text, and give that text in tokens of the other."""

    def reread(text: Text) -> Text:
        spelt = b"".join(one.pieces[token] for token in text).decode("utf-8", errors="ignore")
        return other.encode(spelt, chat=False) if spelt else ()

    return reread
