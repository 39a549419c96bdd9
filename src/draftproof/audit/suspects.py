"""What a suspect is: a known bug as code that runs, with the law of what it emits.

A step suspect is written the way foreign code is, ``step(p, q, rng) -> token``, so that it can be
audited like anything else. Beside it stands its law in closed form, a fast twin that serves as a
bet while evidence is gathered; the tests hold the twin equal to the enumeration of the code.

Most suspects are speculative sampling with one part exchanged, so `exchanged` builds both from
the same parts: which row is taken for the target's, from which law the draft really comes, with
which probability a drafted token is kept, and what a rejection draws from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from draftproof.dist import Row, normalised
from draftproof.rules.judging import correction

Step: TypeAlias = Callable[[Row, Row, np.random.Generator], int]
Law: TypeAlias = Callable[[Row, Row], Row]

SAME = 2.0**-30
"""Two laws closer than this everywhere count as one law; no experiment would tell them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A known bug of one speculative step.

    Parameters
    ----------
    name, about
        A short name, and one sentence on what the code does wrong.
    references
        Public reports of this bug.
    step
        The wrong code: ``step(p, q, rng) -> token``.
    law
        What it emits, from rows of floats or of fractions.
    probe
        The smallest input on which it shows, in words.
    most
        Largest vocabulary for which the law is worth its time.
    parts
        The parts it was put together from, where it is speculative sampling with some exchanged.
    """

    name: str
    about: str
    references: tuple[str, ...] = ()
    step: Step
    law: Law
    probe: str = ""
    most: int = 2**31
    parts: Parts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquitted:
    """A rule that was reported as wrong and is exact: the audit must find it consistent."""

    name: str
    about: str
    references: tuple[str, ...]
    step: Step


# ---------------------------------------------------------------- the parts of a step


def draw(rng: np.random.Generator, weights: Row) -> int:
    """Draw an index in proportion to its weight."""
    return int(rng.choice(len(weights), p=normalised(weights)))


def same_row(row: Row, _other: Row) -> Row:
    """Give the first row as it is."""
    return row


def ratio(p: Row, q: Row) -> Row:
    """Probability with which a drafted token is kept: ``min(1, p / q)``."""
    return np.asarray(np.minimum(p, q) / np.where(q > 0, q, 1))


def one_hot_at(row: Row, token: int) -> Row:
    """Give the row that is certain of `token`, in the numbers of `row`."""
    sure = np.zeros_like(row)
    sure[token] = Fraction(1) if row.dtype == object else 1.0
    return sure


def likeliest_of(row: Row) -> Row:
    """Give the row that is certain of the likeliest token, the lowest id on a tie."""
    return one_hot_at(row, int(row.argmax()))


Part: TypeAlias = Callable[[Row, Row], Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The exchangeable parts of speculative sampling; each is a function of (p, q).

    `target` is what the code takes for p, `drawn` the law its draft really comes from, `keeps`
    the probability of keeping each token, `rest` the weights drawn from after a rejection. The
    last two see the row of `target`.
    """

    target: Part = same_row
    drawn: Part = lambda _p, q: q
    keeps: Part = ratio
    rest: Part = correction

    def step(self, p: Row, q: Row, rng: np.random.Generator) -> int:
        """Run it once."""
        target = self.target(p, q)
        token = draw(rng, self.drawn(p, q))
        if rng.random() < self.keeps(target, q)[token]:
            return token
        return draw(rng, self.rest(target, q))

    def law(self, p: Row, q: Row) -> Row:
        """Give the law of `step`: what is kept, and the rest for what is not."""
        target = self.target(p, q)
        kept = normalised(self.drawn(p, q)) * self.keeps(target, q)
        lost = 1 - kept.sum()
        return np.asarray(kept + lost * normalised(self.rest(target, q)))


def exchanged(name: str, about: str, *references: str, probe: str = "", **parts: Part) -> Suspect:
    """Give the suspect that is speculative sampling with these parts exchanged."""
    made = Parts(**parts)
    return Suspect(
        name=name,
        about=about,
        references=references,
        step=made.step,
        law=made.law,
        probe=probe,
        parts=made,
    )


# ---------------------------------------------------------------- what a set of suspects says


def same_law(one: Row, other: Row) -> bool:
    """Say whether two laws are one law.

    Examples
    --------
    >>> same_law(np.array([0.5, 0.5]), np.array([0.5, 0.5 + 1e-12]))
    True
    """
    gaps = np.abs(one.astype(np.float64) - other.astype(np.float64))
    return bool(gaps.max() < SAME)


def laws_of(suspects: Iterable[Suspect], p: Row, q: Row) -> dict[str, Row]:
    """Give the law of every suspect on one pair of rows, by name.

    A suspect whose law is not worth its time on so many tokens is left out.
    """
    return {s.name: s.law(p, q) for s in suspects if s.most >= len(p)}


def grouped(laws: Sequence[tuple[str, Sequence[Row | None]]]) -> list[tuple[str, ...]]:
    """Group names whose laws agree on every input: no input here tells them apart.

    Examples
    --------
    >>> half, sure = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    >>> grouped([("a", [half]), ("b", [sure]), ("c", [half])])
    [('a', 'c'), ('b',)]
    """
    groups: list[tuple[Sequence[Row | None], list[str]]] = []
    for name, rows in laws:
        twins = next((names for seen, names in groups if _agree(seen, rows)), None)
        if twins is None:
            groups.append((rows, [name]))
        else:
            twins.append(name)
    return [tuple(names) for _, names in groups]


def _agree(some: Sequence[Row | None], others: Sequence[Row | None]) -> bool:
    return all(_same(one, other) for one, other in zip(some, others, strict=True))


def _same(one: Row | None, other: Row | None) -> bool:
    if one is None or other is None:
        return one is other
    return same_law(one, other)
