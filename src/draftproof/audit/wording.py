"""What a report says in sentences, alike on the terminal and on the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from draftproof.audit.findings import Report


def bound_words(report: Report) -> str:
    """Say what total variation was excluded, and over which partition."""
    bound = report.tv_bound
    if bound is None:
        return "no bound is stated"
    if bound.value == 0:
        return "none, in every case (from the law itself)"
    return f"at most {bound.value:.3g} in every case ({bound.partition})"


def facts_in_words(facts: Mapping[str, Any]) -> list[str]:
    """Say what the audit of a server found beside its verdict: one sentence for each fact.

    Examples
    --------
    >>> facts_in_words({"drafts_verified": {"seen": True, "how": "the metrics count 9 drafted "
    ...     "tokens, 4 accepted", "drafted": 9, "accepted": 4}})
    ['Drafts were verified: the metrics count 9 drafted tokens, 4 accepted.']
    >>> facts_in_words({"control": None})
    ['There was no control: the server cannot be asked without drafts, and no twin was given.']
    """
    return [_SENTENCES[name](fact) for name, fact in facts.items() if name in _SENTENCES]


def _drafts(fact: Mapping[str, Any]) -> str:
    said = "Drafts were verified" if fact["seen"] else "No draft was seen to be verified"
    return f"{said}: {fact['how']}."


def _control(fact: Mapping[str, Any] | None) -> str:
    if fact is None:
        return (
            "There was no control: the server cannot be asked without drafts, and no twin was "
            "given."
        )
    evidence = fact["log10_e"]
    against = "an impossible token" if evidence == float("inf") else f"10^{evidence:.2f} to 1"
    verdict = "is refuted too" if fact["refuted"] else "is not refuted"
    return (
        f"The control ({fact['kind']}) {verdict}: {fact['samples']:,} tokens, evidence {against}."
    )


def _cost(fact: Mapping[str, Any]) -> str:
    if not fact:
        return "Nothing was announced, because nothing could be asked."
    return (
        f"Announced beforehand: at most {fact['requests']:,} requests for {fact['samples']:,} "
        f"samples, about {fact['minutes']:.3g} minutes at {fact['seconds_per_request']:.3g} s each."
    )


def _requests(fact: int) -> str:
    return f"{fact:,} requests were made."


def _numerics(fact: Mapping[str, Any]) -> str:
    return (
        f"Numerics: the same row, asked for twice, differed by up to {fact['allowance']:.2g} in "
        f"logprob; rows of one position without speculation by up to {fact['row_gap']:.2g}."
    )


_SENTENCES: dict[str, Callable[[Any], str]] = {
    "drafts_verified": _drafts,
    "control": _control,
    "cost_estimate": _cost,
    "requests": _requests,
    "numerics": _numerics,
}


BOUND = re.compile(r"(?<=at most )\d+\.\d+")


def notes(report: Report) -> list[str]:
    """Give every remark once, with the inputs that it was made on.

    Remarks that differ in the figure of a bound only are one, with the range of the figure.
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for remark in dict.fromkeys(report.remarks):
        names = [one.name for one in report.findings if remark.startswith(f"{one.name}: ")]
        name = max(names, key=len, default="")
        said = remark.removeprefix(f"{name}: ")
        kinds.setdefault(BOUND.sub("#", said) if name else said, []).append((name, said))
    return [_one_note(some, len(report.findings)) for some in kinds.values()]


def _one_note(some: list[tuple[str, str]], of: int) -> str:
    names = list(dict.fromkeys(name for name, _ in some if name))
    said = _with_ranges([said for _, said in some])
    if not names:
        return said
    return f"{f'on all {of} inputs' if len(names) == of > 1 else ', '.join(names)}: {said}"


def _with_ranges(texts: list[str]) -> str:
    """Give texts that differ in bounds only as one."""
    columns = zip(*(BOUND.findall(text) for text in texts), strict=True)
    figures = iter([sorted(set(column), key=float) for column in columns])

    def ranged(_: re.Match[str]) -> str:
        few = next(figures)
        return few[0] if len(few) == 1 else f"{few[0]} to {few[-1]}"

    return BOUND.sub(ranged, texts[0])
