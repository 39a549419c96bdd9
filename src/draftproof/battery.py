"""The stated battery: small worlds in which every rule is tried when no rows are given.

Each world has context-dependent rows of fractions. Between them they cover: a residual of one
token and of several, p = 0 < q and q = 0 < p, one-hot p, one-hot q, p = q, and disjoint supports.
A rule that is right only where rows do not depend on the text, or only where the residual has one
token, fails in one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from draftproof.backends.table import Table, fractions
from draftproof.contracts import Rule
from draftproof.dist import Row, overlap
from draftproof.proof import Instance, varied
from draftproof.proposers import DraftModel

WORKED_P = fractions("1/2", "3/10", "1/5")
WORKED_Q = fractions("1/4", "1/2", "1/4")


@dataclass(frozen=True, slots=True)
class World:
    """A target and a draft law over one small vocabulary, as tables."""

    name: str
    target: Table
    draft: Table


def constant_world(p: Row, q: Row, name: str = "the rows given") -> World:
    """Give the world in which the rows never change with the text."""
    return World(name, Table(p), Table(q))


def _world(name: str, target: tuple[str, ...], draft: tuple[str, ...]) -> World:
    p, q = ([fractions(*row.split()) for row in rows] for rows in (target, draft))
    return World(name, Table(varied(p)), Table(varied(q)))


WORLDS = (
    constant_world(WORKED_P, WORKED_Q, "the worked pair"),
    _world(
        "residuals of several tokens",
        ("2/5 3/10 1/5 1/10", "1/10 2/5 1/10 2/5", "1/4 1/4 1/4 1/4"),
        ("1/10 1/5 3/10 2/5", "1/2 1/6 1/6 1/6", "3/4 1/12 1/12 1/12"),
    ),
    _world(
        "zeros on either side",
        ("1/2 1/2 0", "0 1/3 2/3", "1/5 0 4/5"),
        ("0 1/2 1/2", "1/4 3/4 0", "1/3 1/3 1/3"),
    ),
    _world(
        "one-hot rows",
        ("1 0 0", "1/4 1/2 1/4", "0 0 1"),
        ("1/3 1/3 1/3", "0 1 0", "0 1/2 1/2"),
    ),
    _world(
        "equal rows beside unequal ones",
        ("1/6 1/3 1/2", "1/2 1/4 1/4"),
        ("1/6 1/3 1/2", "1/8 1/8 3/4"),
    ),
    _world(
        "disjoint supports",
        ("1/2 1/2 0 0", "1/3 0 2/3 0"),
        ("0 0 1/4 3/4", "0 1/2 0 1/2"),
    ),
    _world("two tokens", ("2/3 1/3", "1/5 4/5", "1 0"), ("1/3 2/3", "1/2 1/2", "1/7 6/7")),
)


def instance(world: World, rule: Rule, *, k: int) -> Instance:
    """Give the world as an instance for `rule`, drafting k tokens the way the rule expects."""
    p, q = world.target.row(()), world.draft.row(())
    return Instance(
        name=world.name,
        target=world.target,
        proposer=DraftModel(world.draft),
        k=k,
        optimum=overlap(p, q),
    )
