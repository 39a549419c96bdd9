"""The stated battery: small worlds in which every rule is tried when no rows are given.

Each world has context-dependent rows of fractions. Between them they cover: a residual of one
token and of several, p = 0 < q and q = 0 < p, one-hot p, one-hot q, p = q, and disjoint supports.
A rule that is right only where rows do not depend on the text, or only where the residual has one
token, fails in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
"""A tree branches at every level while it can be drafted in at most so many ways."""


def instance(world: World, rule: Rule, *, k: int, drafts: int = 2) -> Instance:
    """Give the world as an instance for `rule`, drafting k positions the way the rule expects."""
    return instances(world, rule, k=k, drafts=drafts)[0]


def instances(world: World, rule: Rule, *, k: int, drafts: int = 2) -> list[Instance]:
    """Give the world as one instance for each way of drafting that `rule` promises to judge."""
    where = at_temperature_zero(world) if rule.one_hot else world
    schemes = ("iid", "without-replacement") if _any_tree(rule) else (rule.scheme,)
    return [_instance(where, rule, scheme, k, drafts) for scheme in schemes]


def _any_tree(rule: Rule) -> bool:
    return rule.shape != "chain" and rule.scheme == "any"


def _instance(world: World, rule: Rule, scheme: str, k: int, drafts: int) -> Instance:
    p, q = world.target.row(()), world.draft.row(())
    alone = rule.shape == "chain"
    return Instance(
        name=world.name,
        target=world.target,
        proposer=proposer(world.draft, rule.shape, scheme, k=k, drafts=drafts),
        k=k,
        optimum=overlap(p, q) if alone else optimal_acceptance(p, q, drafts, scheme),
        most_accepted=most_accepted(world.target, world.draft, (), k) if alone else None,
    )


def proposer(draft: Table, shape: str, scheme: str, *, k: int, drafts: int) -> Proposer:
    """Give the proposer that drafts in this shape and scheme from the rows of `draft`."""
    if scheme == "coupled":
        return GumbelDraft(draft)
    if shape == "chain":
        return DraftModel(draft)
    if shape != "tree":
        return Siblings(draft, drafts, scheme)
    nodes = sum(drafts**depth for depth in range(1, k + 1))
    ways = 1 if scheme == "deterministic" else len(draft.row(())) ** nodes
    return TreeModel(draft, (drafts,) * (k if ways <= MAX_DRAFTS else 1), scheme)


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
        worlds of your own there is no loop proof, one round carries over by induction.

    Examples
    --------
    >>> prove_rule("block", k=1).exact
    True
    """
    judge = find_rule(rule) if isinstance(rule, str) else rule
    tried = [one for world in worlds for one in instances(world, judge, k=k, drafts=drafts)]
    proof = prove(judge, tried)
    return _with_loop(proof, judge, k, drafts) if worlds is WORLDS else proof


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
    return replace(
        proof,
        exact=proof.exact and loop.exact,
        branches=proof.branches + loop.branches,
        instances=proof.instances + 1,
        gap=max(proof.gap, loop.gap),
        counterexample=proof.counterexample or loop.counterexample,
    )
