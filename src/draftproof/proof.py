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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from zlib import crc32

from draftproof.chance import Chance, outcomes
from draftproof.contracts import Draft, Guarantee, Predictor, Proposer, Rule, Text, Trial, Verdict
from draftproof.decode import Limits, Schedule, generate
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
        return draft, rule.verify(luck, draft, target.rows(text, draft))

    return [Leaf(draft, verdict, weight) for (draft, verdict), weight in outcomes(play)]


def _refuse_floats(weights: Iterable[Any]) -> None:
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

    def play(chance: Chance) -> Text:
        return generate(
            chance, target, proposer, rule, text, k=k, limits=limits, allow_lossy=True
        ).tokens

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


def _clearest_difference(seen: Law, wanted: Law) -> Difference:
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


def total_variation(seen: Mapping[Text, Any], wanted: Mapping[Text, Any]) -> Any:
    """Total variation between two laws: half the sum of absolute differences."""
    texts = {**wanted, **seen}
    return sum(abs(seen.get(t, Fraction(0)) - wanted.get(t, Fraction(0))) for t in texts) / 2


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
    `counterexample` puts the worst one into words.
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
    _refuse_floats(leaf.weight for leaf in leaves)
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
        counterexample=None
        if worst.gap == 0
        else _describe(_clearest_difference(seen, wanted), leaves, instance),
    )


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
    _refuse_floats(seen.values())
    worst = largest_difference(seen, plain_law(target, text, limits))
    return LoopProof(
        exact=worst.gap == 0,
        branches=branches,
        gap=worst.gap,
        law=seen,
        counterexample=None if worst.gap == 0 else f"After {_show(text)}, {_sentence(worst)}",
    )


def _first_token_law(leaves: Sequence[Leaf], instance: Instance) -> tuple[Any, ...]:
    size = len(instance.target.rows(instance.text, Draft.empty())[0])
    first = [Fraction(0)] * size
    for leaf in leaves:
        first[leaf.verdict.emitted[0]] += leaf.weight
    return tuple(first)


def _show(tokens: Text) -> str:
    return "[" + " ".join(map(str, tokens)) + "]"


def _sentence(worst: Difference) -> str:
    direction = "too much" if worst.seen > worst.wanted else "too little"
    return (
        f"the text {_show(worst.text)} comes out with probability {worst.seen}; the target gives "
        f"it {worst.wanted}: {worst.gap} {direction}."
    )


def _describe(worst: Difference, leaves: Sequence[Leaf], instance: Instance) -> str:
    """Put a refutation into words: the text, and the likeliest ways the rule reaches it."""
    lines = [f"In {instance.name}, after {_show(instance.text)}: {_sentence(worst)}"]
    ways: dict[str, Any] = {}
    for leaf in leaves:
        if _agree(worst.text, leaf.verdict.emitted):
            story = _story(leaf, len(worst.text))
            ways[story] = ways.get(story, 0) + leaf.weight
    for story in sorted(ways, key=lambda way: ways[way], reverse=True)[:3]:
        lines.append(f"  with probability {ways[story]}: {story}")
    return "\n".join(lines)


def _agree(one: Text, other: Text) -> bool:
    """Say whether one text begins with the other."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _story(leaf: Leaf, length: int) -> str:
    """Tell how one way of falling goes, as far as the first `length` tokens of it matter."""
    said = [f"drafted {_show_draft(leaf.draft)}"]
    for trial in leaf.verdict.trials:
        said.append(f"token {trial.token} {'kept' if trial.kept else 'rejected'}{_coin(trial)}")
    if leaf.verdict.accepted < length:
        last, source = leaf.verdict.emitted[-1], leaf.verdict.sources[-1].value
        said.append(f"then {last} from the {source}")
    return ", ".join(said)


def _show_draft(draft: Draft) -> str:
    """Give the drafted tokens; branch by branch where there are several."""
    leaves = [node for node in range(len(draft)) if node not in draft.parents]
    return " and ".join(_show(draft.prefix(leaf)) for leaf in leaves) or "nothing"


def _coin(trial: Trial) -> str:
    """Say for which coins the token had this fate; nothing where no coin decided."""
    if not trial.coin:
        return ""
    bound = min(Fraction(1), Fraction(trial.p) / Fraction(trial.q)) if trial.q else Fraction(1)
    return f" (coin below {bound})" if trial.kept else f" (coin from {bound} up)"


def varied(rows: Sequence[Any]) -> Callable[[Text], Any]:
    """Give a function of the text that goes through `rows` irregularly: context-dependent rows.

    Examples
    --------
    >>> follow = varied(["a", "b", "c"])
    >>> [follow(text) for text in [(), (0,), (1,), (0, 0)]]
    ['a', 'b', 'a', 'a']
    """
    return lambda text: rows[crc32(bytes(text)) % len(rows)]
