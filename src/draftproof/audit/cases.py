"""What an audit tries a function on: one case per input, each with the law it must have.

A case is a finite set of outcomes, the law wanted over them, the laws the suspects would give,
a way to run the function once, and a way to enumerate it. A step has tokens as outcomes, a block
verifier texts of k + 1 tokens; everything after this module treats them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from draftproof.audit.blocks import BLOCK_WORLDS, BlockSampler, BlockWorld
from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.enumerate import Enumeration, enumerate_sampler
from draftproof.audit.foreign import LUCK, Fault, Foreign, check_choice, read_token
from draftproof.audit.pairs import PAIRS, Pair, spelled
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
    """

    name: str
    rows: str
    outcomes: Sequence[Hashable]
    wanted: Row
    laws: Mapping[str, Row]
    sample: Callable[[np.random.Generator], int | Fault]
    enumerate: Callable[[], Enumeration]

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


def step_case(
    fn: Callable[..., Any], pair: Pair, suspects: Sequence[Suspect], source: Source = Source()
) -> Case:
    """Give the case of a speculative step ``fn(p, q, rng)`` on one pair of rows."""
    p, q = pair.p.astype(np.float64), pair.q.astype(np.float64)
    size, foreign = len(p), source.of(fn)

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
    )


def block_case(fn: Callable[..., Any], world: BlockWorld, source: Source = Source()) -> Case:
    """Give the case of a block verifier in one world."""
    texts = world.texts
    place = {text: at for at, text in enumerate(texts)}
    play = BlockSampler(world, source.of(fn))

    def sample(rng: np.random.Generator) -> int | Fault:
        text = play(rng)
        return text if isinstance(text, Fault) else place[text]

    p, q = world.target.row(()), world.draft.row(())
    return Case(
        name=world.name,
        rows=f"k = {world.k}, first rows p = {spelled(p)}, q = {spelled(q)}",
        outcomes=texts,
        wanted=world.wanted(),
        laws=block_laws(world),
        sample=sample,
        enumerate=lambda: enumerate_sampler(
            fn, world.target, world.draft, signature="block", k=world.k, **source.options
        ),
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

    Enumeration looks at the batch as a whole, neighbours and slots included; sampling watches
    one request beside a neighbour that needs no luck.
    """

    @cache
    def whole() -> Enumeration:
        return enumerate_sampler(
            fn, world.target, world.draft, signature="batch", k=LENGTHS, **source.options
        )

    def alone(request: int) -> Case:
        own = world.rolled(request, LENGTHS[request])
        case = block_case(_beside_a_neighbour(fn, request), own, source)
        return replace(case, enumerate=lambda: _of_request(whole(), request))

    return [alone(request) for request in range(len(LENGTHS))]


def _of_request(found: Enumeration, request: int) -> Enumeration:
    """Give what an enumerated batch says about one request."""

    def own(law: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction]:
        parts = ((key, weight) for key, weight in law.items() if isinstance(key, tuple))
        return {key[1]: weight for key, weight in parts if key[0] == request}

    return replace(found, law=own(found.law), wanted=own(found.wanted))


def _beside_a_neighbour(fn: Callable[..., Any], slot: int) -> Callable[..., Any]:
    """Turn a batched verifier into a block verifier: one request watched, one beside it.

    The neighbour drafts one token that both models are certain of, so its length differs and it
    needs no luck.
    """

    def judge(target: Any, draft: Any, tokens: Any, rng: Any) -> Any:
        sure = target[:1] * 0
        sure[:, 0] = 1
        both = sure.repeat(2, 1) if hasattr(sure, "new_zeros") else np.repeat(sure, 2, axis=0)
        requests = [(target, draft, tokens), (both, sure, tokens[:1] * 0)]
        ordered = requests if slot == 0 else requests[::-1]
        answers = fn(*([part[at] for part in ordered] for at in range(3)), rng)
        if not isinstance(answers, list | tuple) or len(answers) != len(ordered):
            return answers
        return answers[slot]

    return judge


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
