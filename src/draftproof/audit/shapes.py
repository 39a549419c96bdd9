"""The law of a sampler of each signature, in terms of laws that one exploration gives.

A block is explored once for each chain that can be drafted, and the conditional laws are mixed
with the exact probabilities of the chains; what it emits is completed by the target to k + 1
tokens, so that the joint law can be held against plain decoding. The requests of a batch get the
same, each beside neighbours, with two further questions: does anything change when the request
stands alone or elsewhere, and do two requests share luck.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from draftproof.audit.explore import Explored, Luck, Play
from draftproof.audit.foreign import (
    Fault,
    Foreign,
    Inputs,
    Outcome,
    parts_of,
    read_batch,
    read_token,
    read_tokens,
    read_verdict,
)
from draftproof.audit.symbols import exactly
from draftproof.backends.table import Table
from draftproof.dist import Row, RowLike, check_pair

Text: TypeAlias = tuple[int, ...]
Law: TypeAlias = dict[Hashable, Fraction]
Explore: TypeAlias = Callable[[Play, Sequence[Text], Fraction], Explored]
"""Explores a play that begins after one of some texts and has a share in the law that is sought;
0 for a play that is only compared with others."""

SLACK = 16
"""Two laws of one function are called different beyond so many roundings."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Target and draft rows after every text, in one arithmetic."""

    target: Table
    draft: Table
    fractions: bool

    @classmethod
    def of(cls, p: RowLike | Table, q: RowLike | Table) -> Rows:
        """Give rows or tables as tables over one vocabulary."""
        target, draft = (x if isinstance(x, Table) else Table(x) for x in (p, q))
        first, second = check_pair(target.row(()), draft.row(()))
        return cls(target, draft, first.dtype == object and second.dtype == object)

    def as_floats(self) -> Rows:
        """Give the same rows as floats."""
        if not self.fractions:
            return self
        target, draft = self.target, self.draft
        return Rows(
            Table(lambda text: target.row(text).astype(np.float64)),
            Table(lambda text: draft.row(text).astype(np.float64)),
            fractions=False,
        )

    def rolled(self, by: int) -> Rows:
        """Give the rows with their tokens renamed, so that requests of a batch differ."""
        target, draft = self.target, self.draft
        return Rows(
            Table(lambda text: np.roll(target.row(text), by)),
            Table(lambda text: np.roll(draft.row(text), by)),
            self.fractions,
        )

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self.target.row(()))

    def target_rows(self, chain: Text) -> Row:
        """Give the k + 1 target rows along a chain."""
        return np.array([self.target.row(chain[:at]) for at in range(len(chain) + 1)])

    def draft_rows(self, chain: Text) -> Row:
        """Give the k draft rows along a chain."""
        rows = [self.draft.row(chain[:at]) for at in range(len(chain))]
        return np.array(rows).reshape(len(chain), self.size)

    def chains(self, k: int) -> Iterator[tuple[Text, Fraction]]:
        """Give every chain that can be drafted, with its probability."""
        for chain in itertools.product(range(self.size), repeat=k):
            weight = self._weight(self.draft, (), chain)
            if weight > 0:
                yield chain, weight

    def completed(self, begun: Text, length: int) -> Iterator[tuple[Text, Fraction]]:
        """Continue a text by the target to `length` tokens, every way it can go."""
        if len(begun) >= length:
            yield begun[:length], Fraction(1)
            return
        for rest in itertools.product(range(self.size), repeat=length - len(begun)):
            weight = self._weight(self.target, begun, rest)
            if weight > 0:
                yield begun + rest, weight

    def _weight(self, table: Table, text: Text, tokens: Text) -> Fraction:
        weight = Fraction(1)
        for at, token in enumerate(tokens):
            weight *= exactly(table.row(text + tokens[:at])[token])
        return weight

    def likely_edges(self, text: Text) -> Iterator[float]:
        """Where a uniform is likely to be compared: cumulative sums and acceptance ratios."""
        p, q = (table.row(text).astype(np.float64) for table in (self.target, self.draft))
        yield from np.cumsum(q).tolist()
        yield from np.cumsum(p).tolist()
        yield from (p[q > 0] / q[q > 0]).tolist()
        under = np.maximum(p - q, 0)
        if under.sum() > 0:
            yield from np.cumsum(under / under.sum()).tolist()


@dataclass(slots=True)
class Examined:
    """What came out of all explorations together."""

    wanted: Law
    law: Law = field(default_factory=dict)
    runs: int = 0
    rounding: Fraction = Fraction(0)
    findings: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)
    asked: bool = True

    @property
    def faulty(self) -> bool:
        """True when something other than tokens came out."""
        return any(isinstance(part, Fault) for o in self.law for part in parts_of(o))

    def add(self, outcome: Hashable, weight: Fraction) -> None:
        """Add to the law."""
        self.law[outcome] = self.law.get(outcome, Fraction(0)) + weight

    def count(self, explored: Explored, inputs: Inputs) -> Law:
        """Take in what one exploration says beside its law, and give the law."""
        self.runs += explored.runs
        self.rounding = max(self.rounding, explored.rounding)
        self.asked = self.asked and explored.asked
        for name in inputs.changed():
            self.findings[f"it changes its input {name} in place"] = None
        self.remarks.update(dict.fromkeys(explored.reused))
        return explored.law

    def differ(self, seen: Fraction, other: Fraction) -> bool:
        """Tell whether two probabilities differ by more than rounding."""
        return abs(seen - other) > SLACK * self.rounding


def examine_step(
    foreign: Foreign, rows: Rows, _lengths: tuple[int, ...], explore: Explore
) -> Examined:
    """Explore one whole speculative step."""
    inputs = foreign.inputs(p=rows.target.row(()), q=rows.draft.row(()))
    found = Examined({text[0]: weight for text, weight in rows.completed((), 1)})

    def play(rng: Luck) -> Hashable:
        value = foreign(rng, inputs)
        return value if isinstance(value, Fault) else read_token(value, rows.size)

    found.law = dict(found.count(explore(play, [()], Fraction(1)), inputs))
    return found


def examine_round(
    foreign: Foreign, rows: Rows, lengths: tuple[int, ...], explore: Explore
) -> Examined:
    """Explore a whole round, drafting included; its emission is completed by the target."""
    inputs, length = foreign.inputs(), lengths[0] + 1
    found = Examined(dict(rows.completed((), length)))

    def play(rng: Luck) -> Hashable:
        value = foreign(rng, inputs)
        return value if isinstance(value, Fault) else read_tokens(value, length, rows.size)

    law = found.count(explore(play, [()], Fraction(1)), inputs)
    _complete(found, rows, law, Fraction(1), length)
    return found


def _complete(found: Examined, rows: Rows, law: Law, weight: Fraction, length: int) -> None:
    """Mix a law of emitted texts into the joint law of `length` tokens."""
    for outcome, share in law.items():
        if not isinstance(outcome, tuple):
            found.add(outcome, weight * share)
            continue
        for whole, onward in rows.completed(outcome, length):
            found.add(whole, weight * share * onward)


def examine_block(
    foreign: Foreign, rows: Rows, lengths: tuple[int, ...], explore: Explore
) -> Examined:
    """Explore the verification of every chain of k tokens."""
    k = lengths[0]
    found = Examined(dict(rows.completed((), k + 1)))

    def conditional(chain: Text, target_rows: Row, share: Fraction) -> Law:
        inputs = foreign.inputs(
            target_rows=target_rows,
            draft_rows=rows.draft_rows(chain),
            draft_tokens=np.array(chain, dtype=np.int64),
        )

        def play(rng: Luck) -> Hashable:
            value = foreign(rng, inputs)
            return value if isinstance(value, Fault) else read_verdict(value, chain, rows.size)

        prefixes = [chain[:at] for at in range(k + 1)]
        return found.count(explore(play, prefixes, share), inputs)

    chains = sorted(rows.chains(k), key=lambda item: -item[1])
    for turn, (chain, weight) in enumerate(chains):
        law = conditional(chain, rows.target_rows(chain), weight)
        _complete(found, rows, law, weight, k + 1)
        if turn < LOOKED_AT:
            _what_is_read(found, rows, chain, law, conditional)
    return found


LOOKED_AT = 3
"""For so many of the likeliest chains, rows are changed to see which of them are read."""


def _what_is_read(
    found: Examined,
    rows: Rows,
    chain: Text,
    law: Law,
    conditional: Callable[[Text, Row, Fraction], Law],
) -> None:
    """Change target rows after a position; what stops at or before it should not notice.

    A rule that judges token by token must not notice any later row. A block rule may read the
    rows of later drafted tokens, but not the bonus row, after which nothing was drafted.
    """
    k = len(chain)
    for stop in range(k):
        changed = rows.target_rows(chain)
        for at in range(stop + 1, k + 1):
            changed[at] = _another(changed[at])
        before, after = _stopped(law, stop), _stopped(conditional(chain, changed, _ZERO), stop)
        if not any(found.differ(before.get(o, _ZERO), after.get(o, _ZERO)) for o in before | after):
            continue
        if stop == k - 1:
            found.findings["the bonus row, after the last drafted token, changes what is kept"] = (
                None
            )
        else:
            found.remarks[
                "whether it stops at a position depends on target rows after it: right for a rule "
                "that judges the block as a whole, wrong for one that judges token by token"
            ] = None


_ZERO = Fraction(0)


def _stopped(law: Law, stop: int) -> Law:
    """Give the part of a law that emits at most ``stop + 1`` tokens."""
    return {o: w for o, w in law.items() if not isinstance(o, tuple) or len(o) <= stop + 1}


def _another(row: Row) -> Row:
    """Give a row that differs from this one."""
    rolled = np.roll(row, 1)
    if (rolled != row).any():
        return rolled
    certain = np.zeros_like(row)
    certain[0] = 1
    return certain


Seat: TypeAlias = tuple[int, Text]
"""A request of a batch, by its number, and its drafted chain."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batched verifier, and the joint law of any seating of requests."""

    foreign: Foreign
    requests: list[Rows]
    explore: Explore
    found: Examined

    def joint(self, seats: Sequence[Seat], share: Fraction) -> Law:
        """Explore one batch: the joint law of what its requests emit."""
        inputs = self.foreign.inputs(
            target_rows=[self.requests[r].target_rows(chain) for r, chain in seats],
            draft_rows=[self.requests[r].draft_rows(chain) for r, chain in seats],
            draft_tokens=[np.array(chain, dtype=np.int64) for _, chain in seats],
        )
        size = self.requests[0].size

        def play(rng: Luck) -> tuple[Outcome, ...]:
            return read_batch(self.foreign(rng, inputs), [chain for _, chain in seats], size)

        return self.found.count(self.explore(play, [()], share), inputs)

    def alone(self, seats: Sequence[Seat], slot: int) -> Law:
        """Law of the request in one slot."""
        return marginal(self.joint(seats, _ZERO), slot)


def marginal(joint: Law, slot: int) -> Law:
    """Give the law of one part of an outcome that is a tuple."""
    law: Law = {}
    for outcome, weight in joint.items():
        assert isinstance(outcome, tuple)
        law[outcome[slot]] = law.get(outcome[slot], Fraction(0)) + weight
    return law


def examine_batch(
    foreign: Foreign, rows: Rows, lengths: tuple[int, ...], explore: Explore
) -> Examined:
    """Explore each request of a batch beside its neighbours, alone, and in another slot."""
    found = Examined({})
    requests = [rows.rolled(r) for r in range(len(lengths))]
    batch = _Batch(foreign, requests, explore, found)
    ranked = [
        [chain for chain, _ in sorted(own.chains(k), key=lambda item: -item[1])]
        for own, k in zip(requests, lengths, strict=True)
    ]
    for r, own in enumerate(requests):
        length = lengths[r] + 1
        found.wanted.update({(r, text): w for text, w in own.completed((), length)})
        mixed = Examined({})
        for chain, weight in own.chains(lengths[r]):
            likely = [(o, chain if o == r else ranked[o][0]) for o in range(len(lengths))]
            other = [(o, chain if o == r else ranked[o][-1]) for o in range(len(lengths))]
            joint = batch.joint(likely, weight)
            law = marginal(joint, r)
            _complete(mixed, own, law, weight, length)
            _note_shared_luck(found, joint, len(lengths))
            _note_neighbours(found, r, chain, law, batch.alone([(r, chain)], 0), "alone")
            turned = batch.alone(other[::-1], len(lengths) - 1 - r)
            _note_neighbours(found, r, chain, law, turned, "in another slot beside other drafts")
        for outcome, weight in mixed.law.items():
            found.add((r, outcome), weight)
    return found


def _note_neighbours(
    found: Examined, request: int, chain: Text, law: Law, elsewhere: Law, where: str
) -> None:
    begins = f"request {request} of the batch comes out otherwise {where}"
    if any(finding.startswith(begins) for finding in found.findings):
        return
    for outcome in law | elsewhere:
        here, there = law.get(outcome, _ZERO), elsewhere.get(outcome, _ZERO)
        if found.differ(here, there):
            found.findings[
                f"{begins}: drafted {chain}, it emits {outcome} with probability "
                f"{float(here):.6g} in the batch and {float(there):.6g} {where}"
            ] = None
            return


def _note_shared_luck(found: Examined, joint: Law, size: int) -> None:
    laws = [marginal(joint, slot) for slot in range(size)]
    for parts in itertools.product(*laws):
        apart = Fraction(1)
        for law, part in zip(laws, parts, strict=True):
            apart *= law[part]
        if found.differ(joint.get(parts, _ZERO), apart):
            found.findings["two requests of the batch share luck: they are not independent"] = None
            return


Examiner: TypeAlias = Callable[[Foreign, Rows, tuple[int, ...], Explore], Examined]

EXAMINERS: dict[str, Examiner] = {
    "step": examine_step,
    "block": examine_block,
    "batch": examine_batch,
    "round": examine_round,
}
