"""Predictors, proposers and loops that are wrong on purpose, as runnable code.

The rule is right in all of them; what is wrong is what the loop is built from: a row index, a
cache that is rolled back badly, a penalty that does not follow the draft, a token that is dropped.
"""

import itertools
from fractions import Fraction

import numpy as np

from draftproof.contracts import ROOT, Draft, Lazily
from draftproof.proposers import DraftModel


class OffByOne:
    """A predictor whose rows inside the block are those of the node before."""

    def __init__(self, table):
        self.table = table

    def rows(self, text, draft):
        rows = self.table.rows(text, draft)
        return [rows[0], *(rows[node] for node in range(len(draft)))]


class Cached:
    """A predictor with a cache of tokens, rolled back to what it shares with the next call.

    `stale` tokens too many are kept after a rollback: 0 is right, 1 is the classic off-by-one in
    which the first rejected token stays in the cache and the text continues behind it.
    """

    def __init__(self, table, *, stale):
        self.table, self.stale = table, stale
        self.cache = ()

    def rows(self, text, draft):
        shared = sum(1 for _ in itertools.takewhile(_same, zip(self.cache, text, strict=False)))
        kept = self.cache[: shared + (self.stale if shared < len(self.cache) else 0)]
        self.cache = (*kept, *text[len(kept) :])
        before = self.cache
        self.cache = (*before, *draft.tokens)
        return self.table.rows(before, draft)


def _same(pair):
    return pair[0] == pair[1]


def penalised(base, text):
    """The row `base` with the weight of every token of `text` halved, in fractions."""
    weights = np.array(
        [weight / (2 if token in text else 1) for token, weight in enumerate(base)], dtype=object
    )
    return weights / weights.sum()


class Penalised:
    """A predictor with a repetition penalty that follows the draft."""

    def __init__(self, table):
        self.table = table

    def rows(self, text, draft):
        rows = self.table.rows(text, draft)
        return Lazily(len(rows), lambda at: penalised(rows[at], text + self.drafted(draft, at - 1)))

    def drafted(self, draft, node):
        return draft.prefix(node) if node != ROOT else ()


class StalePenalty(Penalised):
    """The same with a penalty that knows only what was there when the block began."""

    def drafted(self, draft, node):
        return ()


class Misreporting(DraftModel):
    """A proposer that draws from one row and hands over another, as after a second softmax."""

    def propose(self, chance, text, k):
        draft = super().propose(chance, text, k)
        flat = [np.array([Fraction(1, len(row))] * len(row), dtype=object) for row in draft.rows]
        return Draft.chain(draft.tokens, flat)


class Choosy(DraftModel):
    """A proposer that drops a token after it has seen which one it drew."""

    def __init__(self, predictor, *, drops):
        super().__init__(predictor)
        self.drops = drops

    def propose(self, chance, text, k):
        draft = super().propose(chance, text, k)
        fine = sum(1 for _ in itertools.takewhile(lambda t: t not in self.drops, draft.tokens))
        return Draft.chain(draft.tokens[:fine], draft.rows[:fine])


class Lookahead(DraftModel):
    """A proposer that stops before a token of small probability: again after seeing it."""

    def propose(self, chance, text, k):
        draft = super().propose(chance, text, k)
        pairs = zip(draft.tokens, draft.rows, strict=True)
        sure = sum(1 for _ in itertools.takewhile(lambda pair: 3 * pair[1][pair[0]] >= 1, pairs))
        return Draft.chain(draft.tokens[:sure], draft.rows[:sure])


def past_the_stop(chance, target, proposer, rule, text, *, k, limits):
    """A loop that looks for a stop id only at the end of each round."""
    start, budget = len(text), limits.budget(text)
    while (left := budget - (len(text) - start)) > 0:
        luck = chance.after(len(text))
        draft = proposer.propose(luck, text, min(k, left - 1))
        text += rule.verify(luck, draft, target.rows(text, draft)).emitted[:left]
        if text[-1] in limits.stop:
            break
    return text[start:]


def stop_thrown_away(chance, target, proposer, rule, text, *, k, limits):
    """A loop that ends at a stop id without giving it out."""
    start, budget = len(text), limits.budget(text)
    while (left := budget - (len(text) - start)) > 0:
        luck = chance.after(len(text))
        draft = proposer.propose(luck, text, min(k, left - 1))
        for token in rule.verify(luck, draft, target.rows(text, draft)).emitted[:left]:
            if token in limits.stop:
                return text[start:]
            text += (token,)
    return text[start:]


def same_luck_every_round(chance, target, proposer, rule, text, *, k, limits):
    """A loop that seeds every round alike."""
    start, budget = len(text), limits.budget(text)
    while (left := budget - (len(text) - start)) > 0:
        luck = chance.after(0)
        draft = proposer.propose(luck, text, min(k, left - 1))
        text += rule.verify(luck, draft, target.rows(text, draft)).emitted[:left]
    return text[start:]
