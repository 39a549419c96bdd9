"""An n-gram model as draft: real probability rows for the price of a few table look-ups.

It knows two texts: one that the target wrote beforehand (`Grams`, shipped with the package for
the default model) and the one being written now. Orders 4 to 2 are mixed by interpolated
Witten-Bell smoothing; what is left goes to the most frequent single tokens::

    P_n(w | h) = (c(h w) + b * D(h) * P_(n-1)(w | h')) / (c(h) + b * D(h))

where c counts (tokens of the present text count `RECENT` times), D(h) is the number of different
tokens seen after h, and h' is h without its oldest token. A mixture spreads more widely than the
law it imitates, so its logits are ``SHARPNESS * log P``; the warp follows, and what comes out is
the row that is sampled, whatever it is. ``scripts/build_ngram.py`` prints how much of the target
it covers. Source: Witten and Bell 1991, "The
zero-frequency problem"; Chen and Goodman 1999, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.chance import Chance
from draftproof.contracts import Draft, Text
from draftproof.dist import Row
from draftproof.errors import InvalidInput, NotADistribution
from draftproof.proposers.lookup import TextIndex
from draftproof.warp import Ids, Past, Warp

Keys: TypeAlias = npt.NDArray[np.uint64]
Counts: TypeAlias = npt.NDArray[np.float64]
Seen: TypeAlias = tuple[Ids, Counts, float, int]
"""Tokens seen after a context, their counts, the total count, the number of different tokens."""

ORDERS = (4, 3, 2)
"""Lengths of n-grams, context and continuation together, longest first."""

BITS = 16
"""Width of a token id in a key; four of them fill 64 bits."""

WIDTH = 32
"""Most continuations kept for a context, and ..."""

SINGLES = 64
"""... most single tokens kept; both choose the most frequent."""

RECENT = 64.0
"""How much more a token of the present text counts than one of the learnt text."""

BACK_OFF = 1.0
"""The b of the formula: how much an unseen continuation is expected."""

SHARPNESS = 1.75
"""Power to which the mixture is taken."""

SHIPPED = "smollm2-ngram.npz"


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """All n-grams of one order, grouped by context: keys ascending, group i from starts[i]."""

    contexts: Keys
    starts: Ids
    tokens: Ids
    counts: Counts
    totals: Counts
    distinct: Ids

    def after(self, context: int) -> Seen | None:
        key = np.uint64(context)
        at = int(self.contexts.searchsorted(key))
        if at == len(self.contexts) or self.contexts[at] != key:
            return None
        span = slice(self.starts[at], self.starts[at + 1])
        return self.tokens[span], self.counts[span], self.totals[at], self.distinct[at]


@dataclass(frozen=True, slots=True, eq=False)
class Grams:
    """What an n-gram model learnt from texts: the counts of every order.

    Parameters
    ----------
    tables
        One table for each of `ORDERS`.
    singles
        The most frequent tokens, ascending, and their shares.
    temperature
        The temperature the texts were sampled at; the model's logits are multiplied by it, so
        that a warp with the same temperature changes nothing.
    """

    tables: tuple[_Table, ...]
    singles: tuple[Ids, Counts]
    temperature: float = 1.0

    @classmethod
    def learn(cls, texts: Sequence[Past], *, temperature: float = 1.0) -> Grams:
        """Count the n-grams of these texts; none reaches over the end of a text.

        Examples
        --------
        >>> Grams.learn([[5, 6, 5, 7]]).singles[0].tolist()
        [5, 6, 7]
        """
        tokens = np.concatenate([np.asarray(text, dtype=np.int64) for text in texts])
        if tokens.size == 0 or tokens.min() < 0 or tokens.max() >= 1 << BITS:
            raise InvalidInput(
                f"texts must hold token ids from 0 to {(1 << BITS) - 1}, at least one; "
                f"got {tokens.size} tokens."
            )
        owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        tables = tuple(_count(tokens.astype(np.uint64), owner, order) for order in ORDERS)
        return cls(tables, _most_frequent(tokens), temperature)

    @classmethod
    def shipped(cls) -> Grams:
        """Give the model that comes with the package: learnt from SmolLM2-135M-Instruct."""
        file = resources.files("draftproof.data") / SHIPPED
        with file.open("rb") as stream, np.load(stream) as saved:
            texts = np.split(saved["tokens"], saved["starts"][1:])
            return cls.learn(texts, temperature=float(saved["temperature"]))


def _count(tokens: Keys, owner: Ids, order: int) -> _Table:
    length = max(len(tokens) - order + 1, 0)
    keys = np.zeros(length, dtype=np.uint64)
    for step in range(order):
        keys = keys << np.uint64(BITS) | tokens[step : step + length]
    within = owner[:length] == owner[order - 1 :][:length]
    grams, counts = np.unique(keys[within], return_counts=True)
    contexts, starts = np.unique(grams >> np.uint64(BITS), return_index=True)
    edges = np.append(starts, len(grams))
    distinct = np.diff(edges)
    totals = np.add.reduceat(counts, starts) if len(starts) else np.zeros(0)
    kept = _best_of_each(counts, distinct)
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    last = grams[kept] & np.uint64((1 << BITS) - 1)
    return _Table(
        contexts,
        kept_before[edges].astype(np.intp),
        last.astype(np.intp),
        counts[kept].astype(np.float64),
        totals.astype(np.float64),
        distinct.astype(np.intp),
    )


def _best_of_each(counts: Ids, sizes: Ids) -> npt.NDArray[np.bool]:
    """Mark the `WIDTH` most frequent continuations of each context."""
    kept = np.ones(len(counts), dtype=np.bool)
    ends = np.cumsum(sizes)
    for group in np.flatnonzero(sizes > WIDTH):
        start, end = ends[group] - sizes[group], ends[group]
        rarest_first = np.argsort(counts[start:end], kind="stable")
        kept[start + rarest_first[:-WIDTH]] = False
    return kept


def _most_frequent(tokens: npt.NDArray[np.int64]) -> tuple[Ids, Counts]:
    ids, counts = np.unique(tokens, return_counts=True)
    best = np.sort(np.argsort(-counts, kind="stable")[:SINGLES])
    return ids[best].astype(np.intp), counts[best] / counts[best].sum()


class _Recent(TextIndex):
    """The n-grams of the present text."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self.following: dict[Text, dict[int, float]] = {}

    def learn(self, text: Text, end: int) -> None:
        for order in ORDERS:
            if order <= end + 1:
                seen = self.following.setdefault(text[end - order + 1 : end], {})
                seen[text[end]] = seen.get(text[end], 0.0) + RECENT

    def after(self, context: Text) -> Seen | None:
        seen = self.following.get(context)
        if seen is None:
            return None
        counts = np.array(list(seen.values()))
        return np.array(list(seen), dtype=np.intp), counts, float(counts.sum()), len(seen)


class NGram:
    """Draft from n-grams of what the target wrote before and of the present text.

    Parameters
    ----------
    vocab_size
        Length of the rows.
    grams
        What was learnt beforehand; None knows the present text only.
    warp, prompt, eos
        As for the target: the same `Warp`, the same number of prompt tokens, and the ids after
        which a draft ends.

    Examples
    --------
    >>> from draftproof.chance import Dice
    >>> grams = Grams.learn([[1, 2, 3, 4, 1, 2, 3, 4]])
    >>> NGram(5, grams, warp=Warp(temperature=0)).propose(Dice(0), (1, 2), 3).tokens
    (3, 4, 1)
    """

    name = "ngram"

    def __init__(
        self,
        vocab_size: int,
        grams: Grams | None = None,
        *,
        warp: Warp | None = None,
        prompt: int = 0,
        eos: tuple[int, ...] = (),
    ) -> None:
        self.vocab_size, self.grams = vocab_size, grams
        self.warp, self.prompt, self.eos = warp or Warp(), prompt, frozenset(eos)
        self._recent = _Recent()
        self._check_grams()

    def _check_grams(self) -> None:
        if self.grams is None:
            return
        largest = max(int(self.grams.singles[0][-1]), *(_largest(t) for t in self.grams.tables))
        if largest >= self.vocab_size:
            raise InvalidInput(
                f"grams knows token {largest}, and the vocabulary has {self.vocab_size} tokens; "
                f"learn from texts of this vocabulary."
            )

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft up to `k` tokens, each drawn under ``at("draft", i)`` from the row it carries.

        Fewer come out only after an end-of-sequence id, or where the model knows no possible
        token at all.
        """
        self._recent.read(text)
        tokens: list[int] = []
        rows = np.zeros((k, self.vocab_size))
        for node in range(k):
            known = self._law(text, tokens)
            if known is None:
                break
            ids, law = known
            rows[node, ids] = law
            tokens.append(int(ids[chance.at("draft", node).pick(law)]))
            if tokens[-1] in self.eos:
                break
        return Draft.chain(tokens, list(rows[: len(tokens)]))

    def _law(self, text: Text, drafted: Sequence[int]) -> tuple[Ids, Row] | None:
        """Give the ids the model thinks possible next, ascending, with their law."""
        ids, shares = self._mixture((*text[1 - ORDERS[0] :], *drafted))
        if ids.size == 0:
            return None
        learnt_at = 1.0 if self.grams is None else self.grams.temperature
        logits = learnt_at * SHARPNESS * np.log(shares)
        past = (*text, *drafted) if self.warp.looks_back else ()
        try:
            return self.warp.row_on(ids, logits, past, prompt=self.prompt, name="the n-gram row")
        except NotADistribution:
            return None

    def _mixture(self, text: Text) -> tuple[Ids, Counts]:
        ids: list[Ids] = []
        shares: list[Counts] = []
        left = 1.0
        for seen in self._contexts(text):
            total = sum(part[2] for part in seen)
            expected = BACK_OFF * sum(part[3] for part in seen)
            share = left / (total + expected)
            for tokens, counts, _, _ in seen:
                ids.append(tokens)
                shares.append(counts * share)
            left *= expected / (total + expected)
        if self.grams is not None:
            ids.append(self.grams.singles[0])
            shares.append(self.grams.singles[1] * left)
        return _summed(ids, shares)

    def _contexts(self, text: Text) -> list[list[Seen]]:
        """Give what was seen after the longest context, then after shorter ones."""
        found: list[list[Seen]] = []
        for place, order in enumerate(ORDERS):
            context = text[len(text) - order + 1 :]
            if len(context) < order - 1:
                continue
            seen = [self._recent.after(context), self._learnt(place, context)]
            present = [part for part in seen if part is not None]
            if present:
                found.append(present)
        return found

    def _learnt(self, place: int, context: Text) -> Seen | None:
        if self.grams is None or max(context) >= 1 << BITS:
            return None
        key = 0
        for token in context:
            key = key << BITS | token
        return self.grams.tables[place].after(key)


def _largest(table: _Table) -> int:
    return int(table.tokens.max(initial=0))


def _summed(ids: list[Ids], shares: list[Counts]) -> tuple[Ids, Counts]:
    """Add up the shares of equal ids; ids ascending."""
    if not ids:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    every = np.concatenate(ids)
    order = every.argsort(kind="stable")
    every = every[order]
    first = np.flatnonzero(np.diff(every, prepend=-1))
    return every[first], np.add.reduceat(np.concatenate(shares)[order], first)
