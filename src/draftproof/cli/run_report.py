"""The JSON object of a run."""

from __future__ import annotations

from typing import Any

from draftproof.session import Comparison, Session, Transcript

COMPARED = (
    "plain", "speedup", "speedup_pairs", "speedup_verdict", "must_be_equal", "equal", "numeric_gap",
)  # fmt: skip
"""The fields that a comparison adds."""


def report(
    session: Session,
    script: Transcript,
    found: Comparison | None,
    *,
    comparing: bool = False,
    interrupted: bool = False,
) -> dict[str, Any]:
    """Give the JSON object of a run; with a comparison its figures are of the median run.

    A comparison that was asked for and not finished leaves its fields null.
    """
    timed = script if found is None else found.speculative
    tally, options = script.tally, session.options
    answer = {
        "text": script.text,
        "tokens": script.tokens,
        "rounds": tally.rounds,
        "drafted": tally.drafted,
        "accepted": tally.accepted,
        "emitted": tally.emitted,
        "acceptance_rate": tally.acceptance_rate,
        "acceptance_per_test": tally.acceptance_per_test,
        "tokens_per_round": tally.tokens_per_round,
        "accepted_per_position": tally.accepted_per_position,
        "tokens_per_second": timed.tokens_per_second,
        "tokens_per_second_with_prefill": timed.tokens_per_second_with_prefill,
        "seconds": {
            "prefill": timed.prefill,
            "draft": timed.tally.draft_seconds,
            "target": timed.tally.target_seconds,
            "other": timed.tally.other_seconds,
        },
        "target": session.target.backend.name,
        "draft": options.draft,
        "vocabulary": options.vocabulary,
        "rule": session.rule.name,
        "k": options.k,
        "drafts": session.drafts,
        "guarantee": session.rule.guarantee.value,
        "engine": session.target.engine,
        "seed": options.seed,
        "temperature": options.warp.temperature,
        "ends": script.ends,
        "interrupted": interrupted,
    }
    if found is not None:
        return {**answer, **_compared(found)}
    return {**answer, **dict.fromkeys(COMPARED)} if comparing else answer


def _compared(found: Comparison) -> dict[str, Any]:
    gap, parting = found.gap, found.parting
    return {
        "plain": {
            "text": found.plain.text,
            "tokens": found.plain.tokens,
            "tokens_per_second": found.plain.tokens_per_second,
        },
        "speedup": found.speedup,
        "speedup_pairs": list(found.ratios),
        "speedup_verdict": found.verdict,
        "must_be_equal": found.must_agree,
        "equal": parting is None,
        "numeric_gap": {
            "positions": gap.positions,
            "median": gap.median,
            "p95": gap.p95,
            "max": gap.max,
            "first_difference": None if parting is None else parting.position,
            "margin": None if parting is None else parting.margin,
        },
    }
