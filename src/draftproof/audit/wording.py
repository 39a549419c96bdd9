"""What a report says in sentences, alike on the terminal and on the page."""

from __future__ import annotations

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
