"""The laws a proof compares: of plain decoding, of one round, of the whole loop.

`plain_law` multiplies rows and nothing else, so that it is obviously right; the others go through
every way the luck of the code that runs can fall.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from draftproof.chance import Chance, outcomes
from draftproof.contracts import Draft, Lazily, Predictor, Proposer, Rule, Text, Verdict
from draftproof.decode import Limits, Schedule, generate
from draftproof.dist import Row
from draftproof.errors import InvalidInput

Law = dict[Text, Any]


def plain_law(target: Predictor, text: Text, limits: Limits) -> Law:
    """Law of what plain decoding emits after `text`: products of the target's rows.

    Computed from the definition, without the decoding loop, so that the loop can be held to it.

    Examples
    --------
    >>> from draftproof.backends.table import Table, fractions
    >>> plain_law(Table(fractions("1/2", "1/2")), (), Limits(max_tokens=1))
    {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    """
    open_texts: Law = {(): Fraction(1)}
    closed: Law = {}
    for _ in range(limits.budget(text)):
        grown: Law = {}
        for tokens, weight in open_texts.items():
            row = target.rows(text + tokens, Draft.empty())[0]
            for token, probability in enumerate(row):
                if probability > 0:
                    where = closed if token in limits.stop else grown
                    where[(*tokens, token)] = weight * probability
        open_texts = grown
    return {**closed, **open_texts}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One way a round can go: what was drafted, what the rule said, and how likely that is."""

    draft: Draft
    verdict: Verdict
    weight: Any


def round_leaves(
    rule: Rule, target: Predictor, proposer: Proposer, text: Text, k: int
) -> list[Leaf]:
    """Go through every way one round after `text` can fall."""

    def play(chance: Chance) -> tuple[Draft, Verdict]:
        luck = chance.after(len(text))
        draft = proposer.propose(luck, text, k)
        return draft, _judge(rule, luck, draft, Unchanged(target).rows(text, draft))

    return [Leaf(draft, verdict, weight) for (draft, verdict), weight in outcomes(play)]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A predictor whose rows cannot be written to: a rule must not change what it is held to."""

    target: Predictor

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give the target's rows, read-only."""
        found = self.target.rows(text, draft)
        return Lazily(len(found), lambda at: _read_only(found[at]))


def _read_only(row: Row) -> Row:
    if not row.flags.writeable:
        return row
    seen = row.view()
    seen.flags.writeable = False
    return seen


def _judge(rule: Rule, luck: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    try:
        return rule.judge(luck, draft, rows)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise InvalidInput(
            f"rule {rule.name!r} changes a row it was given; copy a row before you change it."
        ) from error


def refuse_floats(weights: Iterable[Any]) -> None:
    """Refuse a proof whose branches have weights of floats: it would prove nothing."""
    for weight in weights:
        if isinstance(weight, float):
            raise InvalidInput(
                f"a branch has the weight {weight}, a float; a proof needs rows of fractions, for "
                f"example fractions('1/2', '3/10', '1/5') from draftproof.backends.table."
            )


def round_law(leaves: Iterable[Leaf], target: Predictor, text: Text, length: int) -> Law:
    """Joint law of `length` tokens: one round, completed by plain draws from the target."""
    emitted: Law = {}
    for leaf in leaves:
        begun = leaf.verdict.emitted[:length]
        emitted[begun] = emitted.get(begun, 0) + leaf.weight
    law: Law = {}
    for begun, weight in emitted.items():
        rest = plain_law(target, text + begun, Limits(max_tokens=length - len(begun)))
        for tokens, onward in rest.items():
            whole = begun + tokens
            law[whole] = law.get(whole, 0) + weight * onward
    return law


def loop_law(
    rule: Rule,
    target: Predictor,
    proposer: Proposer,
    text: Text,
    *,
    k: int | Schedule,
    limits: Limits,
) -> tuple[Law, int]:
    """Law of what the shipped loop emits after `text`, and the number of branches it took."""
    law: Law = {}
    branches = 0
    judging = replace(rule, verify=partial(_judge, rule))

    def play(chance: Chance) -> Text:
        return generate(
            chance, Unchanged(target), proposer, judging, text, k=k, limits=limits,
            allow_lossy=True,
        ).tokens  # fmt: skip

    for tokens, weight in outcomes(play):
        law[tokens] = law.get(tokens, 0) + weight
        branches += 1
    return law, branches


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two laws differ most: the text, and its probability in each."""

    text: Text
    seen: Any
    wanted: Any

    @property
    def gap(self) -> Any:
        """Absolute difference."""
        return abs(self.seen - self.wanted)


def largest_difference(seen: Mapping[Text, Any], wanted: Mapping[Text, Any]) -> Difference:
    """Give the text on which two laws differ most; its gap is 0 when they are equal.

    Examples
    --------
    >>> largest_difference({(0,): Fraction(1)}, {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}).gap
    Fraction(1, 2)
    """
    texts = {**wanted, **seen}
    every = (
        Difference(text, seen.get(text, Fraction(0)), wanted.get(text, Fraction(0)))
        for text in texts
    )
    return max(every, key=lambda difference: difference.gap)


def clearest_difference(seen: Law, wanted: Law) -> Difference:
    """Give the text most over-represented among the shortest beginnings whose laws differ."""
    for length in range(1, max(map(len, wanted)) + 1):
        some, other = _beginnings(seen, length), _beginnings(wanted, length)
        every = (Difference(text, some[text], other.get(text, Fraction(0))) for text in some)
        worst = max(every, key=lambda difference: difference.seen - difference.wanted)
        if worst.seen > worst.wanted:
            return worst
    return largest_difference(seen, wanted)


def _beginnings(law: Law, length: int) -> Law:
    short: Law = {}
    for text, weight in law.items():
        short[text[:length]] = short.get(text[:length], 0) + weight
    return short


def total_variation(seen: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Any:
    """Total variation between two laws: half the sum of absolute differences."""
    texts = {**wanted, **seen}
    return sum(abs(seen.get(t, Fraction(0)) - wanted.get(t, Fraction(0))) for t in texts) / 2
