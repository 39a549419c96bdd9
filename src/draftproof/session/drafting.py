"""The proposer that a rule needs: one chain, several drafts for a position, or a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from draftproof.chance import Dice
from draftproof.contracts import Draft, Lazily, Predictor, Proposer, Rule, Text
from draftproof.dist import Row
from draftproof.errors import UnsupportedDraft
from draftproof.proposers import DraftModel, Setting, proposer_named
from draftproof.proposers.branching import GumbelDraft, Siblings, TreeModel
from draftproof.session.models import Model
from draftproof.warp import Warped

CERTAIN = ("prompt-lookup", "suffix")
"""Drafts that make one guess, without luck: there is no law to draw several from."""

BRANCHING_DEPTH = 2
"""A tree branches at its first positions only and goes on as chains."""


class Guesses:
    """The law that a proposer's next token is drawn from, as a predictor.

    Where the proposer has no guess, every token is as likely as any other.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> guesses = Guesses(DraftModel(Table([0.25, 0.75])), vocab_size=2)
    >>> guesses.rows((0,), Draft.empty())[0].tolist()
    [0.25, 0.75]
    """

    def __init__(self, proposer: Proposer, *, vocab_size: int) -> None:
        self._proposer, self._vocab_size = proposer, vocab_size

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one row after `text`, then one after each draft node."""
        return Lazily(len(draft) + 1, lambda at: self._row((*text, *draft.prefix(at - 1))))

    def _row(self, text: Text) -> Row:
        guess = self._proposer.propose(Dice(0), text, 1)
        if len(guess):
            return guess.rows[0]
        return np.full(self._vocab_size, 1 / self._vocab_size)


def named_proposer(
    rule: Rule, name: str, setting: Setting, drafts: int, context_limit: int
) -> Proposer:
    """Give the draft of this name in the shape that `rule` judges."""
    single = proposer_named(name, setting)
    if rule.shape == "chain" and (rule.scheme != "coupled" or name in CERTAIN):
        return single
    if name in CERTAIN:
        raise UnsupportedDraft(
            f"draft {name!r} makes one guess and rule {rule.name!r} takes several; use --draft "
            f"ngram or a model."
        )
    law = Guesses(single, vocab_size=setting.vocab_size)
    return shaped(rule, law, setting.eos, drafts, name=name, context_limit=context_limit)


def model_proposer(
    rule: Rule, model: Model, setting: Setting, drafts: int, context_limit: int
) -> Proposer:
    """Give a draft model in the shape that `rule` judges."""
    law = Warped(model.backend, setting.warp, prompt=setting.prompt)
    limit = min(context_limit, model.backend.context_limit)
    return shaped(rule, law, setting.eos, drafts, name=model.backend.name, context_limit=limit)


def shaped(
    rule: Rule,
    law: Predictor,
    eos: tuple[int, ...],
    drafts: int,
    *,
    name: str,
    context_limit: int,
) -> Proposer:
    """Draw from `law` the drafts for which the promise of `rule` holds."""
    if rule.scheme == "coupled":
        return GumbelDraft(law, name=name, eos=eos, context_limit=context_limit)
    if rule.shape == "chain":
        return DraftModel(law, name=name, eos=eos, context_limit=context_limit)
    if rule.shape == "tree":
        scheme = "without-replacement" if rule.scheme == "any" else rule.scheme
        widths = (drafts,) * BRANCHING_DEPTH
        return TreeModel(law, widths, scheme, name=name, context_limit=context_limit)
    scheme = "iid" if rule.scheme == "any" else rule.scheme
    return Siblings(law, drafts, scheme, name=name, context_limit=context_limit)
