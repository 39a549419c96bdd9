"""The audit of a whole decode loop: somebody else's, with models whose every row is known.

A loop is given a prompt and its luck, and returns the tokens it emits. What it emits must follow
the law of plain decoding, jointly over all of its tokens; that law is a product of known rows.
Where the loop's luck can be followed the comparison is a proof, elsewhere it is evidence at a
stated level, and a loop that is refuted is weighed against `draftproof.audit.loop_bugs`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.auditing import Audit, prepared
from draftproof.audit.cases import Case
from draftproof.audit.enumerate import enumerated
from draftproof.audit.evidence import Floats
from draftproof.audit.explore import Luck
from draftproof.audit.findings import Report
from draftproof.audit.foreign import Fault, Foreign, read_tokens
from draftproof.audit.loop_bugs import loop_laws
from draftproof.audit.loop_world import LoopWorld
from draftproof.audit.sequential import Budget
from draftproof.audit.shapes import Examined, Explore, Rows
from draftproof.backends.table import Table
from draftproof.contracts import Text
from draftproof.dist import Row, RowLike, normalised

Generate: TypeAlias = Callable[[Text, Any], Any]
"""``generate(prompt, rng)`` giving the tokens that come after the prompt."""

CALL_SECONDS = 10.0
"""Time one call of a loop may take."""


def audit_loop(
    generate: Generate,
    target: RowLike | Table,
    draft: RowLike | Table,
    *,
    prompt: Text = (),
    k: int = 2,
    tokens: int = 3,
    stop: Iterable[int] = (),
    luck: str = "numpy",
    budget: Budget | None = None,
) -> Report:
    """Say whether a decode loop emits what plain decoding would, and which bug it has if not.

    Parameters
    ----------
    generate
        The loop: ``generate(prompt, rng)`` returns the tokens emitted after the prompt, `tokens`
        of them or fewer when a stop id ends the text.
    target, draft
        The rows its two models have after every text, prompt included: a row, or a table.
    prompt
        Token ids it starts from.
    k
        Tokens it drafts per round; only the suspects look at this.
    tokens
        Tokens to emit; their joint law is compared.
    stop
        Ids that end a text.
    luck
        ``"numpy"`` when `rng` is what it draws from, ``"torch"`` when it draws from PyTorch.
    budget
        Error level, size to exclude, samples, seconds, seed.

    Raises
    ------
    InvalidInput
        If the joint law is too large, or the rows have different lengths.

    Examples
    --------
    Two tokens, one of them drafted; a rejection draws from p instead of from the residual.

    >>> p = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    >>> q = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    >>> def loop(prompt, rng):
    ...     first = rng.choice(3, p=q)
    ...     if rng.random() >= min(1, p[first] / q[first]):
    ...         first = rng.choice(3, p=p)
    ...     return [first, rng.choice(3, p=p)]
    >>> report = audit_loop(loop, p, q, k=1, tokens=2)
    >>> report.verdict, report.method, report.diagnosis.best
    ('refuted', 'enumeration', 'resample from p')
    """
    tables = [rows if isinstance(rows, Table) else Table(rows) for rows in (target, draft)]
    world = LoopWorld(
        name="the loop",
        target=tables[0],
        draft=tables[1],
        prompt=tuple(prompt),
        k=k,
        tokens=tokens,
        stop=frozenset(stop),
    )
    return prepare_loops([(generate, world)], luck=luck, budget=budget).run()


def prepare_loops(
    loops: Sequence[tuple[Generate, LoopWorld]],
    *,
    luck: str = "numpy",
    budget: Budget | None = None,
    name: str | None = None,
) -> Audit:
    """Get the audit of one loop in several worlds ready, so that its cost is known beforehand.

    Examples
    --------
    >>> from draftproof.audit.loop_bugs import LOOP_WORLDS
    >>> def loop(prompt, rng):
    ...     return [0, 0, 0]
    >>> ready = prepare_loops([(loop, world) for world in LOOP_WORLDS[:1]])
    >>> ready.signature, ready.run().verdict
    ('loop', 'refuted')
    """
    called = name or str(getattr(loops[0][0], "__qualname__", type(loops[0][0]).__name__))

    def cases(watched: Callable[[Generate], Generate]) -> list[Case]:
        return [loop_case(watched(generate), world, luck) for generate, world in loops]

    return prepared(cases, signature="loop", budget=budget, name=called)


def loop_case(generate: Generate, world: LoopWorld, luck: str = "numpy") -> Case:
    """Give the case of a decode loop in one world: the joint law of everything it emits."""
    foreign = Foreign(partial(generate, world.prompt), luck, seconds=CALL_SECONDS)
    place = {text: at for at, text in enumerate(world.texts)}
    wanted = world.wanted()

    def sample(rng: np.random.Generator) -> int | Fault:
        text = read_loop(foreign.sampled(rng), world)
        return text if isinstance(text, Fault) else place[text]

    def examine(
        code: Foreign, _rows: Rows, _lengths: tuple[int, ...], explore: Explore
    ) -> Examined:
        inputs = code.inputs()
        found = Examined(dict[Hashable, Fraction](wanted.items()))

        def play(rng: Luck) -> Hashable:
            return read_loop(code(rng, inputs), world)

        found.law = dict(found.count(explore(play, [()], Fraction(1)), inputs))
        return found

    first = world.target.row(world.prompt), world.draft.row(world.prompt)
    return Case(
        name=world.name,
        rows=_in_words(world),
        outcomes=world.texts,
        wanted=world.over_texts(wanted),
        laws=loop_laws(world),
        sample=sample,
        enumerate=lambda: enumerated(examine, foreign, Rows.of(*first)),
    )


def read_loop(value: Any, world: LoopWorld) -> Text | Fault:
    """Read what a loop emitted, or say what came instead.

    Examples
    --------
    >>> from draftproof.audit.loop_bugs import LOOP_WORLDS
    >>> read_loop([1, 0], LOOP_WORLDS[1]), read_loop([1, 0, 2], LOOP_WORLDS[1]).what
    ((1, 0), 'it emitted 3 tokens where the text ends after 2')
    """
    if isinstance(value, Fault):
        return value
    emitted = read_tokens(value, world.tokens + world.k + 1, world.size)
    if not isinstance(emitted, tuple):
        return emitted if isinstance(emitted, Fault) else Fault(f"it emitted {emitted}")
    text = tuple(token for token in emitted if isinstance(token, int))
    ended = world.ended(text)
    if len(ended) < len(text):
        return Fault(f"it emitted {len(text)} tokens where the text ends after {len(ended)}")
    if not world.is_over(text):
        return Fault(f"it emitted {len(text)} tokens and ended before the text did")
    return text


def _in_words(world: LoopWorld) -> str:
    ends = f", ids {sorted(world.stop)} end it" if world.stop else ""
    after = f" after the prompt {world.prompt}" if world.prompt else ""
    return f"{world.tokens} tokens{after}, at most {world.k} drafted at a time{ends}"


def as_fractions(row: Floats) -> Row:
    """Give a row of floats as fractions that sum to 1, each within 2**-40 of its float.

    Examples
    --------
    >>> as_fractions(np.array([0.5, 0.25, 0.25])).tolist()
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    parts = np.array([Fraction(round(float(entry) * 2**40), 2**40) for entry in row], dtype=object)
    return normalised(parts)
