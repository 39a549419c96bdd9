"""The stated battery: small worlds in which every rule is tried when no rows are given.

Each world has context-dependent rows of fractions. Between them they cover: a residual of one
token and of several, p = 0 < q and q = 0 < p, one-hot p, one-hot q, p = q, and disjoint supports.
A rule that is right only where rows do not depend on the text, or only where the residual has one
token, fails in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import mul

from draftproof.backends.table import Table, fractions
from draftproof.contracts import Proposer, Rule, Text
from draftproof.decode import Limits
from draftproof.dist import Row, overlap
from draftproof.proof import Instance, Proof, prove, prove_loop, varied
from draftproof.proposers import DraftModel
from draftproof.proposers.branching import GumbelDraft, Siblings, TreeModel, one_hot
from draftproof.rules import RULES, find_rule
from draftproof.rules.optimum import most_accepted, optimal_acceptance

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


MAX_DRAFTS = 256
"""A tree branches at every level if it can be drafted in at most so many ways; otherwise at one
level at a time, each in an instance of its own."""


def instance(world: World, rule: Rule, *, k: int, drafts: int = 2) -> Instance:
    """Give the world as an instance for `rule`, drafting k positions the way the rule expects."""
    return instances(world, rule, k=k, drafts=drafts)[0]


def instances(world: World, rule: Rule, *, k: int, drafts: int = 2) -> list[Instance]:
    """Give the world as one instance for each way of drafting that `rule` promises to judge."""
    where = at_temperature_zero(world) if rule.one_hot else world
    schemes = ("iid", "without-replacement") if _any_tree(rule) else (rule.scheme,)
    return [
        _instance(where, rule, scheme, one, k, drafts)
        for scheme in schemes
        for one in proposers(where.draft, rule.shape, scheme, k=k, drafts=drafts)
    ]


def _any_tree(rule: Rule) -> bool:
    return rule.shape != "chain" and rule.scheme == "any"


def _instance(
    world: World, rule: Rule, scheme: str, proposer: Proposer, k: int, drafts: int
) -> Instance:
    p, q = world.target.row(()), world.draft.row(())
    alone = rule.shape == "chain"
    if isinstance(proposer, TreeModel) and proposer.shape:
        drafts = proposer.shape[0]
    return Instance(
        name=world.name,
        target=world.target,
        proposer=proposer,
        k=k,
        optimum=overlap(p, q) if alone else optimal_acceptance(p, q, drafts, scheme),
        most_accepted=most_accepted(world.target, world.draft, (), k) if alone else None,
    )


def proposers(draft: Table, shape: str, scheme: str, *, k: int, drafts: int) -> Sequence[Proposer]:
    """Give what drafts in this shape and scheme from the rows of `draft`.

    One proposer, except for a tree that could be drafted in too many ways: then one for each
    level, branching there only (see `MAX_DRAFTS`).
    """
    if scheme == "coupled":
        return [GumbelDraft(draft)]
    if shape == "chain":
        return [DraftModel(draft)]
    if shape != "tree":
        return [Siblings(draft, drafts, scheme)]
    return [TreeModel(draft, widths, scheme) for widths in _trees(draft, scheme, k, drafts)]


def _trees(draft: Table, scheme: str, k: int, drafts: int) -> list[tuple[int, ...]]:
    """Give the children per node, level by level, of every tree to try."""
    whole = (drafts,) * k
    if scheme == "deterministic" or len(draft.row(())) ** _nodes(whole) <= MAX_DRAFTS:
        return [whole]
    return [(1,) * level + (drafts,) + (1,) * (k - level - 1) for level in range(k)]


def _nodes(widths: Sequence[int]) -> int:
    return sum(accumulate(widths, mul))


def at_temperature_zero(world: World) -> World:
    """Give the world whose target always says its likeliest token, the lowest id on a tie."""

    def certain(text: Text) -> Row:
        row = world.target.row(text)
        return one_hot(row, int(row.argmax()))

    return World(f"{world.name}, at temperature 0", Table(certain), world.draft)


def prove_rule(
    rule: Rule | str,
    *,
    k: int = 2,
    drafts: int = 2,
    worlds: Sequence[World] = WORLDS,
) -> Proof:
    """Prove or refute a rule in every one of `worlds`, and its loop over three tokens.

    Parameters
    ----------
    rule
        A rule, or the name of one.
    k
        Positions drafted per round.
    drafts
        Drafts per position, for rules that take several.
    worlds
        The stated battery by default. The loop is proved on the battery's last world only; for
        worlds of your own there is no loop proof, one round carries over by induction. The last
        rounds of a text draft fewer than k tokens, so every smaller k is tried too, 0 included.

    Examples
    --------
    >>> prove_rule("block", k=1).exact
    True
    """
    judge = find_rule(rule) if isinstance(rule, str) else rule
    tried = [
        one
        for depth in range(k, -1, -1)
        for world in worlds
        for one in instances(world, judge, k=depth, drafts=drafts)
    ]
    proof = replace(prove(judge, tried), notes=tuple(_notes(judge, worlds, k, drafts)))
    return _with_loop(proof, judge, k, drafts) if worlds is WORLDS else proof


def _notes(rule: Rule, worlds: Sequence[World], k: int, drafts: int) -> Iterator[str]:
    """Say what was proved where it is not what the arguments alone would suggest."""
    if rule.one_hot:
        yield "at temperature 0: the target's likeliest token is certain, whatever its row says"
    if rule.shape == "tree" and any(
        len(_trees(world.draft, scheme, k, drafts)) > 1
        for world in worlds
        for scheme in (("iid",) if rule.scheme == "any" else (rule.scheme,))
    ):
        yield (
            f"trees that could be drafted in more than {MAX_DRAFTS} ways branch at one level at a "
            f"time: {drafts} children for each node of that level, one everywhere else"
        )


def prove_all(*, k: int = 2, drafts: int = 2, worlds: Sequence[World] = WORLDS) -> Iterator[Proof]:
    """Prove or refute every rule there is, one after the other."""
    for rule in RULES.values():
        yield prove_rule(rule, k=k, drafts=drafts, worlds=worlds)


LOOP_TOKENS = 3
"""Tokens of the loop proof: at least two rounds of one drafted position."""


def _with_loop(proof: Proof, rule: Rule, k: int, drafts: int) -> Proof:
    """Add what the loop does over several rounds to what one round does."""
    world = instance(WORLDS[-1], rule, k=min(k, LOOP_TOKENS - 1), drafts=drafts)
    limits = Limits(max_tokens=LOOP_TOKENS, stop=frozenset({1}))
    loop = prove_loop(rule, world.target, world.proposer, k=1, limits=limits)
    where = f"In the loop, in {world.name}, up to {LOOP_TOKENS} tokens or the end token 1. "
    return replace(
        proof,
        exact=proof.exact and loop.exact,
        branches=proof.branches + loop.branches,
        instances=proof.instances + 1,
        gap=max(proof.gap, loop.gap),
        total_variation=max(proof.total_variation, loop.total_variation),
        counterexample=proof.counterexample
        or (None if loop.counterexample is None else where + loop.counterexample),
    )
