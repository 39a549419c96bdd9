"""What an audit tries a function on: one case per input, each with the law it must have.

A case is a finite set of outcomes, the law wanted over them, the laws the suspects would give,
a way to run the function once, and a way to enumerate it. A step has tokens as outcomes, a block
verifier texts of k + 1 tokens; everything after this module treats them alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from draftproof.audit.blocks import BLOCK_WORLDS, BatchSampler, BlockSampler, BlockWorld
from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.enumerate import Enumeration, enumerate_sampler
from draftproof.audit.foreign import (
    LUCK,
    Fault,
    Foreign,
    as_array,
    check_choice,
    each,
    read_token,
    unchanged,
)
from draftproof.audit.pairs import PAIRS, Pair, spelled
from draftproof.audit.shapes import Text
from draftproof.audit.suspects import Suspect, laws_of, same_law
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS
from draftproof.backends.table import Table
from draftproof.dist import Row, RowLike, check_pair
from draftproof.errors import InvalidInput

CALL_SECONDS = 2.0
"""Time one call of the audited function may take."""

MOST_TEXTS = 512
"""Largest joint law a block audit looks at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One input to try a function on.

    Parameters
    ----------
    name, rows
        What the input is called, and what it is, in words.
    outcomes
        What can come out, in a fixed order; an index into it is a sample.
    wanted
        The law over `outcomes` that a correct function has.
    laws
        The law of every suspect that has one here.
    sample
        Runs the function once with floats: an index, or what went wrong.
    enumerate
        Finds the law of the function exactly, or raises `NeedsNumbers`.
    noticed
        What `sample` noticed beside the outcomes so far: inputs changed in place.
    tied
        Whether two tokens of a row are equally likely, so that their order is the code's affair.
    companions
        Further cases to sample where this one cannot be enumerated.
    """

    name: str
    rows: str
    outcomes: Sequence[Hashable]
    wanted: Row
    laws: Mapping[str, Row]
    sample: Callable[[np.random.Generator], int | Fault]
    enumerate: Callable[[], Enumeration]
    noticed: dict[str, None] = field(default_factory=dict)
    tied: bool = False
    companions: tuple[Case, ...] = ()

    def visible(self) -> dict[str, Row]:
        """Give the laws of the suspects that show on this input."""
        return {name: law for name, law in self.laws.items() if not same_law(law, self.wanted)}

    def label(self, at: int) -> str:
        """Write an outcome down."""
        outcome = self.outcomes[at]
        return " ".join(map(str, outcome)) if isinstance(outcome, tuple) else str(outcome)

    def as_row(self, law: Mapping[Hashable, Fraction]) -> Row:
        """Give a law over outcomes as a row; faults are left out."""
        return np.array([law.get(outcome, Fraction(0)) for outcome in self.outcomes], dtype=object)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a function gets its luck: see `draftproof.audit.foreign.Foreign`."""

    luck: str = "numpy"
    uniforms: int | None = None

    def __post_init__(self) -> None:
        check_choice("luck", self.luck, LUCK)
        if self.uniforms is not None and (isinstance(self.uniforms, bool) or self.uniforms < 1):
            raise InvalidInput(f"uniforms is {self.uniforms!r}; it must be 1 or more, or None.")

    def of(self, fn: Callable[..., Any]) -> Foreign:
        """Give the function, to be called once on luck that is drawn."""
        return Foreign(fn, self.luck, self.uniforms, CALL_SECONDS)

    @property
    def options(self) -> dict[str, Any]:
        """Give what `enumerate_sampler` is told about it."""
        return {"luck": self.luck, "uniforms": self.uniforms, "seconds": CALL_SECONDS}


WATCHED_CALLS = 2_000
"""In so many of the first sampled calls of a function its inputs are compared afterwards."""


def noticing(
    fn: Callable[..., Any], names: Sequence[str], noted: dict[str, None]
) -> Callable[..., Any]:
    """Give the function; what its first calls change in place is written into `noted`.

    Examples
    --------
    >>> noted = {}
    >>> halve = noticing(lambda p, q, rng: p.__itruediv__(2), ("p", "q"), noted)
    >>> _ = halve(np.ones(2), np.ones(2), None)
    >>> list(noted)
    ['it changes its input p in place']
    """
    calls = itertools.count()

    def watched(*arguments: Any) -> Any:
        if next(calls) >= WATCHED_CALLS:
            return fn(*arguments)
        before = [each(_copied, argument) for argument in arguments[: len(names)]]
        try:
            return fn(*arguments)
        finally:
            for name, given, kept in zip(names, arguments, before, strict=False):
                if not unchanged(given, kept):
                    noted[f"it changes its input {name} in place"] = None

    return watched


def _copied(argument: Any) -> Row:
    return as_array(argument).copy()


def step_case(
    fn: Callable[..., Any], pair: Pair, suspects: Sequence[Suspect], source: Source = Source()
) -> Case:
    """Give the case of a speculative step ``fn(p, q, rng)`` on one pair of rows."""
    p, q = pair.p.astype(np.float64), pair.q.astype(np.float64)
    size, noted = len(p), dict[str, None]()
    foreign = source.of(noticing(fn, ("p", "q"), noted))

    def sample(rng: np.random.Generator) -> int | Fault:
        value = foreign.sampled(rng, p.copy(), q.copy())
        return value if isinstance(value, Fault) else read_token(value, size)

    return Case(
        name=pair.name,
        rows=str(pair),
        outcomes=range(size),
        wanted=pair.p,
        laws=laws_of(suspects, pair.p if size <= 64 else p, pair.q if size <= 64 else q),
        sample=sample,
        enumerate=lambda: enumerate_sampler(fn, pair.p, pair.q, **source.options),
        noticed=noted,
        tied=_has_ties(pair.p) or _has_ties(pair.q),
    )


def _has_ties(row: Row) -> bool:
    possible = row[row > 0].tolist()
    return len(set(possible)) < len(possible)


BLOCK_INPUTS = ("target_rows", "draft_rows", "draft_tokens")


def block_case(fn: Callable[..., Any], world: BlockWorld, source: Source = Source()) -> Case:
    """Give the case of a block verifier in one world."""
    noted: dict[str, None] = {}
    play = BlockSampler(world, source.of(noticing(fn, BLOCK_INPUTS, noted)))

    def whole() -> Enumeration:
        return enumerate_sampler(
            fn, world.target, world.draft, signature="block", k=world.k, **source.options
        )

    return replace(_over_texts(world, play, whole), noticed=noted)


def _over_texts(
    world: BlockWorld,
    play: Callable[[np.random.Generator], Text | Fault],
    find: Callable[[], Enumeration],
) -> Case:
    """Give the case of a request in one world, whose rounds `play` plays."""
    place = {text: at for at, text in enumerate(world.texts)}

    def sample(rng: np.random.Generator) -> int | Fault:
        text = play(rng)
        return text if isinstance(text, Fault) else place[text]

    p, q = world.target.row(()), world.draft.row(())
    return Case(
        name=world.name,
        rows=f"k = {world.k}, first rows p = {spelled(p)}, q = {spelled(q)}",
        outcomes=world.texts,
        wanted=world.wanted(),
        laws=block_laws(world),
        sample=sample,
        enumerate=find,
    )


@cache
def block_laws(world: BlockWorld) -> dict[str, Row]:
    """Give the joint law of every block suspect in one world, by enumeration."""
    return {
        suspect.name: world.over_texts(world.law_of(suspect.judge)) for suspect in BLOCK_SUSPECTS
    }


LENGTHS = (1, 2)
"""Tokens drafted by the two requests of a batch."""


def batch_cases(fn: Callable[..., Any], world: BlockWorld, source: Source = Source()) -> list[Case]:
    """Give the cases of a batched verifier in one world: one for each request of a batch of two.

    Enumeration looks at the batch as a whole, neighbours and slots included. Where it cannot,
    each request is sampled in either slot beside the other, which drafts another number of
    tokens, and the first tokens of the two are sampled together: shared luck shows there.
    """

    @cache
    def whole() -> Enumeration:
        return enumerate_sampler(
            fn, world.target, world.draft, signature="batch", k=LENGTHS, **source.options
        )

    noted: dict[str, None] = {}
    own = [world.rolled(request, LENGTHS[request]) for request in range(len(LENGTHS))]
    foreign = source.of(noticing(fn, BLOCK_INPUTS, noted))
    plays = [BatchSampler(own, foreign), BatchSampler(own[::-1], foreign)]

    def of(request: int, slot: int) -> Case:
        play = plays[slot != request]
        case = _over_texts(
            own[request], lambda rng: play(rng)[slot], lambda: _of_request(whole(), request)
        )
        where = case.name if slot == request else f"{case.name}, in the other slot"
        return replace(case, name=where, noticed=noted)

    together = _together(world, own, plays[0], lambda: _of_request(whole(), 0))
    return [
        replace(of(0, 0), companions=(of(0, 1), together)),
        replace(of(1, 1), companions=(of(1, 0),)),
    ]


def _together(
    world: BlockWorld,
    own: Sequence[BlockWorld],
    play: BatchSampler,
    find: Callable[[], Enumeration],
) -> Case:
    """Give the case of what two requests of a batch emit first, jointly."""
    size = world.rows.size
    first, second = (one.target.row(()) for one in own)

    def sample(rng: np.random.Generator) -> int | Fault:
        texts = play(rng)
        fault = next((text for text in texts if isinstance(text, Fault)), None)
        if fault is not None:
            return fault
        one, other = (text[0] for text in texts if not isinstance(text, Fault))
        return one * size + other

    return Case(
        name=f"{world.name}, both requests together",
        rows=f"the first token of each, rows {spelled(first)} and {spelled(second)}",
        outcomes=tuple(itertools.product(range(size), repeat=2)),
        wanted=np.outer(first, second).ravel(),
        laws={},
        sample=sample,
        enumerate=find,
    )


def _of_request(found: Enumeration, request: int) -> Enumeration:
    """Give what an enumerated batch says about one request."""

    def own(law: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction]:
        parts = ((key, weight) for key, weight in law.items() if isinstance(key, tuple))
        return {key[1]: weight for key, weight in parts if key[0] == request}

    return replace(found, law=own(found.law), wanted=own(found.wanted))


def cases_for(
    fn: Callable[..., Any],
    p: RowLike | None,
    q: RowLike | None,
    signature: str,
    source: Source = Source(),
) -> list[Case]:
    """Give the cases of an audit: the rows given, or the stated battery."""
    if signature not in ("step", "block", "batch"):
        raise InvalidInput(f"signature is {signature!r}; choose one of step, block, batch.")
    if (p is None) != (q is None):
        missing = "p" if p is None else "q"
        raise InvalidInput(f"{missing} is missing; give both rows, or neither.")
    given = None if p is None or q is None else Pair("the rows given", *check_pair(p, q))
    if signature == "step":
        return [
            step_case(fn, pair, STEP_SUSPECTS, source) for pair in ([given] if given else PAIRS)
        ]
    worlds = [_constant_world(given)] if given else BLOCK_WORLDS
    if signature == "block":
        return [block_case(fn, world, source) for world in worlds]
    return [case for world in worlds for case in batch_cases(fn, world, source)]


def _constant_world(pair: Pair) -> BlockWorld:
    size = len(pair.p)
    if size**2 > MOST_TEXTS:
        raise InvalidInput(
            f"p has {size} tokens; an audit of blocks looks at joint laws, so give rows of at "
            f"most {int(MOST_TEXTS**0.5)} tokens."
        )
    p, q = (row if row.dtype == object else _as_fractions(row) for row in (pair.p, pair.q))
    return BlockWorld(pair.name, Table(p), Table(q), 2 if size**3 <= MOST_TEXTS else 1)


def _as_fractions(row: Row) -> Row:
    """Give a row of floats as fractions that sum to exactly 1."""
    whole = np.array([Fraction(float(entry)) for entry in row], dtype=object)
    return np.asarray(whole / whole.sum())
