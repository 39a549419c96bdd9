"""A refutation in words: which text comes out too often, and by which drafts and coins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from draftproof.contracts import Draft, Predictor, Text, Trial
from draftproof.laws import Difference, Leaf


def show(tokens: Text) -> str:
    """Give tokens as a person reads them."""
    return "[" + " ".join(map(str, tokens)) + "]"


def sentence(worst: Difference) -> str:
    """Say how likely a text is, how likely it should be, and the difference."""
    direction = "too much" if worst.seen > worst.wanted else "too little"
    return (
        f"the text {show(worst.text)} comes out with probability {worst.seen}; the target gives "
        f"it {worst.wanted}: {worst.gap} {direction}."
    )


MOST_WAYS = 3
"""Ways to a text that are told one by one."""


def describe(
    worst: Difference, leaves: Sequence[Leaf], where: str, target: Predictor, text: Text
) -> str:
    """Put a refutation into words: where, the text, and the likeliest ways the rule reaches it.

    The probabilities of all ways sum to that of the text.
    """
    ways: dict[str, Any] = {}
    for leaf in leaves:
        begun = leaf.verdict.emitted[: len(worst.text)]
        if begun == worst.text[: len(begun)]:
            rest = worst.text[len(begun) :]
            story = _story(leaf, len(worst.text)) + (f", then {show(rest)} plainly" if rest else "")
            likely = leaf.weight * _plainly(target, (*text, *begun), rest)
            ways[story] = ways.get(story, 0) + likely
    told = sorted((way for way in ways if ways[way] > 0), key=lambda way: ways[way], reverse=True)
    lines = [f"  with probability {ways[story]}: {story}" for story in told[:MOST_WAYS]]
    if others := told[MOST_WAYS:]:
        together = sum(ways[story] for story in others)
        lines.append(f"  with probability {together}: {len(others)} more")
    return "\n".join([f"{where}: {sentence(worst)}", *lines])


def _plainly(target: Predictor, text: Text, rest: Text) -> Any:
    """Give the probability that plain decoding goes on with `rest` after `text`."""
    likely: Any = Fraction(1)
    for token in rest:
        likely *= target.rows(text, Draft.empty())[0][token]
        text = (*text, token)
    return likely


def _story(leaf: Leaf, length: int) -> str:
    """Tell how one way of falling goes, as far as the first `length` tokens of it matter."""
    draft, verdict = leaf.draft, leaf.verdict
    depths = [len(draft.path(trial.node)) for trial in verdict.trials]
    if depths != sorted(depths):  # judged from the end back: what lies deeper came first
        length = max(len(draft), length)
    said = [f"drafted {_show_draft(draft, length)}"]
    for trial, depth in zip(verdict.trials, depths, strict=True):
        if depth <= length:
            said.append(f"token {trial.token} {'kept' if trial.kept else 'rejected'}{_coin(trial)}")
    if verdict.accepted < length:
        said.append(f"then {verdict.emitted[-1]} from the {verdict.sources[-1].value}")
    return ", ".join(said)


def _show_draft(draft: Draft, length: int) -> str:
    """Give the first `length` drafted tokens; branch by branch where there are several."""
    near = [node for node in range(len(draft)) if len(draft.path(node)) <= length]
    parents = {draft.parents[node] for node in near}
    ends = [node for node in near if node not in parents]
    return " and ".join(show(draft.prefix(node)) for node in ends) or "nothing"


def _coin(trial: Trial) -> str:
    """Say for which coins the token had this fate; nothing where no coin decided."""
    if not trial.coin:
        return ""
    bound = min(Fraction(1), Fraction(trial.p) / Fraction(trial.q)) if trial.q else Fraction(1)
    return f" (coin below {bound})" if trial.kept else f" (coin from {bound} up)"
