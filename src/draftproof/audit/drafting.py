"""Were drafts really verified? An audit of a server that did not draft would say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.audit.asking import Prompt
from draftproof.audit.client import Client, Completion
from draftproof.errors import InvalidInput, ServerError
from draftproof.planner.metrics import Metrics, between
from draftproof.planner.reading import read_metrics

STREAMS = 3
"""Answers that are streamed where nothing else tells."""

STREAMED = 48
"""Tokens of a streamed answer that is timed."""

SUDDEN = 0.2
"""A token that comes within this part of the usual pause came together with the one before."""

OFTEN = 0.1
"""Share of sudden tokens from which on timing counts as a sign of drafts."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """Whether drafts were verified, how it is known, and how many where that is counted."""

    seen: bool
    how: str
    drafted: int | None = None
    accepted: int | None = None


class Meter:
    """Counts drafts while an audit runs: in the answers, in the metrics, and at last by timing."""

    def __init__(self, client: Client, metrics_url: str | None) -> None:
        self._client, self._demanded = client, metrics_url
        self._url = metrics_url or f"{client.root}/metrics"
        self._drafted, self._accepted, self._counted = 0, 0, False
        self._before = self._read()

    def note(self, done: Completion) -> None:
        """Take in what an answer says about its drafts."""
        if done.drafted is not None:
            self._counted = True
            self._drafted += done.drafted
            self._accepted += done.accepted or 0

    def finished(self, prompts: Sequence[Prompt]) -> Drafting:
        """Say what was found."""
        if self._drafted:
            how = f"the answers count {self._drafted:,} drafted tokens, {self._accepted:,} accepted"
            return Drafting(seen=True, how=how, drafted=self._drafted, accepted=self._accepted)
        after = self._read()
        if self._before is not None and after is not None:
            try:
                return _counted(between(self._before, after))
            except InvalidInput as error:
                return Drafting(seen=False, how=str(error))
        if self._counted:
            return Drafting(
                seen=False, how="the answers count no drafted token", drafted=0, accepted=0
            )
        return self._timed(prompts)

    def _read(self) -> Metrics | None:
        try:
            return read_metrics(self._client.get(self._url), self._url)
        except (ServerError, InvalidInput):
            if self._demanded is not None:
                raise
            return None

    def _timed(self, prompts: Sequence[Prompt]) -> Drafting:
        try:
            pauses = [self._client.pauses(prompt, STREAMED) for prompt in prompts[:STREAMS]]
        except ServerError as error:
            return Drafting(seen=False, how=f"neither metrics nor timing tell ({error})")
        gaps = [gap for some in pauses for gap in some]
        share = sudden(gaps)
        how = f"{share:.0%} of {len(gaps)} streamed tokens came together with the one before"
        return Drafting(seen=share >= OFTEN, how=how)


def _counted(metrics: Metrics) -> Drafting:
    drafted, accepted = metrics.drafted or 0, metrics.accepted or 0
    how = f"the metrics count {drafted:,} drafted tokens, {accepted:,} accepted"
    return Drafting(seen=drafted > 0, how=how, drafted=drafted, accepted=accepted)


def sudden(gaps: Sequence[float]) -> float:
    """Give the share of pauses far below the usual one.

    Examples
    --------
    >>> sudden([0.1, 0.11, 0.1, 0.09]), sudden([0.1, 0.0, 0.1, 0.0])
    (0.0, 0.5)
    """
    if not gaps:
        return 0.0
    usual = sorted(gaps)[int(0.75 * (len(gaps) - 1))]
    return sum(gap < SUDDEN * usual for gap in gaps) / len(gaps)
