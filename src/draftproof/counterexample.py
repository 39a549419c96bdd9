"""A refutation in words: which text comes out too often, and by which drafts and coins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from draftproof.contracts import Draft, Text, Trial
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


def describe(worst: Difference, leaves: Sequence[Leaf], where: str) -> str:
    """Put a refutation into words: where, the text, and the likeliest ways the rule reaches it."""
    lines = [f"{where}: {sentence(worst)}"]
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
    return " and ".join(show(draft.prefix(leaf)) for leaf in leaves) or "nothing"


def _coin(trial: Trial) -> str:
    """Say for which coins the token had this fate; nothing where no coin decided."""
    if not trial.coin:
        return ""
    bound = min(Fraction(1), Fraction(trial.p) / Fraction(trial.q)) if trial.q else Fraction(1)
    return f" (coin below {bound})" if trial.kept else f" (coin from {bound} up)"
