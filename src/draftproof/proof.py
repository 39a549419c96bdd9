"""Exact laws, by going through all of the luck of the code that runs.

`prove` asks whether a rule keeps the guarantee it declares; `prove_loop` asks the same of the
whole decoding loop, with end-of-sequence tokens, length budgets and a k that changes between
rounds. Both compare with plain decoding, text by text, as fractions: equal or not equal, no
tolerance.

What the finite check covers. A rule is exact when, after one round, completing the text with
ordinary draws from the target gives the joint law of k + 1 tokens that the target gives; rounds
compose by induction because each uses fresh luck. What it cannot cover is a vocabulary or a draft
too large to enumerate, or a rule that treats small cases differently on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from zlib import crc32

from draftproof.contracts import Draft, Guarantee, Predictor, Proposer, Rule, Text
from draftproof.counterexample import describe, sentence, show
from draftproof.decode import Limits, Schedule
from draftproof.laws import (
    Law,
    Leaf,
    clearest_difference,
    largest_difference,
    loop_law,
    plain_law,
    refuse_floats,
    round_law,
    round_leaves,
    total_variation,
)

__all__ = [
    "Instance",
    "Law",
    "Leaf",
    "LoopProof",
    "Proof",
    "largest_difference",
    "loop_law",
    "plain_law",
    "prove",
    "prove_instance",
    "prove_loop",
    "round_law",
    "round_leaves",
    "total_variation",
    "varied",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One small world to try a rule in: target and proposer, a text, and how much to draft.

    `optimum` is the best acceptance of any exact rule at the first position, `most_accepted` the
    best expected number of kept tokens in a round; None where nobody knows it.
    """

    name: str
    target: Predictor
    proposer: Proposer
    k: int
    text: Text = ()
    optimum: Any = None
    most_accepted: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What enumeration found, instance by instance, summed up.

    `exact` says whether every law was equal to plain decoding's. `law`, `acceptance`,
    `expected_accepted`, `optimal_acceptance` and `most_accepted` are those of the first instance,
    which `world` names; `gap` and `total_variation` are the largest over all of them, and
    `counterexample` puts the worst one into words. `notes` say where what was proved is not what
    the arguments alone would suggest.
    """

    rule: str
    guarantee: Guarantee
    world: str
    exact: bool
    branches: int
    instances: int
    law: tuple[Any, ...]
    gap: Any
    total_variation: Any
    acceptance: Any
    expected_accepted: Any
    optimal_acceptance: Any
    most_accepted: Any
    counterexample: str | None
    notes: tuple[str, ...] = ()

    @property
    def gap_to_optimum(self) -> Any:
        """How much acceptance the rule leaves; below 0 only for a rule that is not exact."""
        if self.optimal_acceptance is None:
            return None
        return self.optimal_acceptance - self.acceptance

    @property
    def kept(self) -> bool:
        """True when the rule keeps the guarantee it declares (a lossy rule declares nothing)."""
        return self.exact or self.guarantee is Guarantee.LOSSY

    def __bool__(self) -> bool:
        raise TypeError("a Proof is not a yes or no; ask .exact or .kept, and read .counterexample")


def prove_instance(rule: Rule, instance: Instance) -> Proof:
    """Prove or refute `rule` in one small world.

    Examples
    --------
    >>> from draftproof.backends.table import Table, fractions
    >>> from draftproof.proposers import DraftModel
    >>> from draftproof.rules import find_rule
    >>> target = Table(fractions("1/2", "3/10", "1/5"))
    >>> draft = DraftModel(Table(fractions("1/4", "1/2", "1/4")))
    >>> world = Instance(name="worked pair", target=target, proposer=draft, k=1)
    >>> prove_instance(find_rule("token-wise"), world).exact
    True
    """
    leaves = round_leaves(rule, instance.target, instance.proposer, instance.text, instance.k)
    refuse_floats(leaf.weight for leaf in leaves)
    depth = max(len(leaf.verdict.emitted) for leaf in leaves)
    length = max(instance.k + 1, depth)
    seen = round_law(leaves, instance.target, instance.text, length)
    wanted = plain_law(instance.target, instance.text, Limits(max_tokens=length))
    worst = largest_difference(seen, wanted)
    return Proof(
        rule=rule.name,
        guarantee=rule.guarantee,
        world=instance.name,
        exact=worst.gap == 0,
        branches=len(leaves),
        instances=1,
        law=_first_token_law(leaves, instance),
        gap=worst.gap,
        total_variation=total_variation(seen, wanted),
        acceptance=sum((leaf.weight for leaf in leaves if leaf.verdict.path), Fraction(0)),
        expected_accepted=sum(
            (leaf.weight * leaf.verdict.accepted for leaf in leaves), Fraction(0)
        ),
        optimal_acceptance=instance.optimum,
        most_accepted=instance.most_accepted,
        counterexample=None if worst.gap == 0 else _refutation(seen, wanted, leaves, instance),
    )


def _refutation(seen: Law, wanted: Law, leaves: Sequence[Leaf], instance: Instance) -> str:
    where = f"In {instance.name}, after {show(instance.text)}"
    worst = clearest_difference(seen, wanted)
    return describe(worst, leaves, where, instance.target, instance.text)


def prove(rule: Rule, instances: Sequence[Instance]) -> Proof:
    """Prove or refute `rule` in every one of `instances`; the worst gap decides."""
    proofs = [prove_instance(rule, instance) for instance in instances]
    worst = max(proofs, key=lambda proof: proof.gap)
    return replace(
        proofs[0],
        exact=all(proof.exact for proof in proofs),
        branches=sum(proof.branches for proof in proofs),
        instances=len(proofs),
        gap=worst.gap,
        total_variation=max(proof.total_variation for proof in proofs),
        counterexample=worst.counterexample,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopProof:
    """What enumeration of the whole loop found: branches, and the worst text if not equal."""

    exact: bool
    branches: int
    gap: Any
    total_variation: Any
    law: Law
    counterexample: str | None


def prove_loop(
    rule: Rule,
    target: Predictor,
    proposer: Proposer,
    text: Text = (),
    *,
    k: int | Schedule,
    limits: Limits,
) -> LoopProof:
    """Prove or refute that the loop emits what plain decoding emits, over several rounds.

    Examples
    --------
    >>> from draftproof.backends.table import Table, fractions
    >>> from draftproof.proposers import DraftModel
    >>> from draftproof.rules import find_rule
    >>> target, draft = Table(fractions("2/3", "1/3")), Table(fractions("1/4", "3/4"))
    >>> prove_loop(find_rule("token-wise"), target, DraftModel(draft), k=2,
    ...            limits=Limits(max_tokens=3, stop=frozenset({1}))).exact
    True
    """
    seen, branches = loop_law(rule, target, proposer, text, k=k, limits=limits)
    refuse_floats(seen.values())
    wanted = plain_law(target, text, limits)
    worst = largest_difference(seen, wanted)
    return LoopProof(
        exact=worst.gap == 0,
        branches=branches,
        gap=worst.gap,
        total_variation=total_variation(seen, wanted),
        law=seen,
        counterexample=None if worst.gap == 0 else f"After {show(text)}, {sentence(worst)}",
    )


def _first_token_law(leaves: Sequence[Leaf], instance: Instance) -> tuple[Any, ...]:
    size = len(instance.target.rows(instance.text, Draft.empty())[0])
    first = [Fraction(0)] * size
    for leaf in leaves:
        first[leaf.verdict.emitted[0]] += leaf.weight
    return tuple(first)


def varied(rows: Sequence[Any]) -> Callable[[Text], Any]:
    """Give a function of the text that goes through `rows` irregularly: context-dependent rows.

    Examples
    --------
    >>> follow = varied(["a", "b", "c"])
    >>> [follow(text) for text in [(), (0,), (1,), (0, 0)]]
    ['a', 'b', 'a', 'a']
    """
    return lambda text: rows[crc32(bytes(text)) % len(rows)]
