"""What serving engines count about speculation: read, named, and turned into acceptances.

The same word, "acceptance", is used for four different numbers (`Definition`). With rounds of k
drafts that never end early they are tied to each other; averages of ratios over requests are tied
to nothing, so counts are *pooled*: added first and divided once. Where an engine gives only means,
nothing can be pooled, and `notes` says what was done instead.

Formats and their sources
-------------------------
vLLM counters and log line
    ``vllm/v1/spec_decode/metrics.py`` (vllm-project/vllm, commit 016a8587).
SGLang gauges and log line
    see `draftproof.planner.sglang`.
llama.cpp counters, log line and ``timings`` object
    recorded from its server, ``xllamacpp`` 2026.10.11549.

Any other OpenMetrics text is read if its counters have the same endings, whatever their prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from draftproof.errors import InvalidInput
from draftproof.planner.acceptance import acceptance_of_mean_draft, conditionals
from draftproof.planner.figures import MOST_DRAFTS


class Definition(Enum):
    """What a reported acceptance divides by what."""

    CONDITIONAL = "kept / looked at, at this position (conditional)"
    SURVIVAL = "kept / rounds, at this position (unconditional)"
    PER_DRAFTED = "kept / drafted, all positions together"
    LENGTH = "tokens per round, the target's own one included"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Counts of speculation, pooled over requests, or the ratios an engine gave instead.

    Parameters
    ----------
    source
        Which engine and form they come from.
    drafts
        Rounds in which something was drafted; None where the source does not say.
    drafted, accepted
        Draft tokens verified, and kept; None where the source gives only ratios.
    kept
        For each position, the rounds that kept it and all before it.
    length, share
        Tokens per round, and kept over drafted, as the source gives them where there are no counts.
    k
        Drafts per round as configured, where the source says so.
    names
        Each metric read, with its definition.
    notes
        What was left out or could not be done properly, in sentences.
    running
        Whether it counts from the start of the server on, as counters do; a request or a log line
        counts only itself.
    """

    source: str
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    kept: tuple[int, ...] = ()
    length: float | None = None
    share: float | None = None
    k: int | None = None
    names: tuple[tuple[str, Definition], ...] = ()
    notes: tuple[str, ...] = ()
    running: bool = True

    def __post_init__(self) -> None:
        for name, value in self._counts():
            if value < 0:
                raise InvalidInput(
                    f"{self.source}: {name} is {value}; a counter cannot be below 0."
                )
        accepted, drafted = self.accepted, self.drafted
        if accepted is not None and drafted is not None and accepted > drafted:
            raise InvalidInput(
                f"{self.source}: {accepted} draft tokens were accepted of {drafted} drafted; "
                f"give the counters of one server at one moment."
            )
        steps = (self.drafts, *self.kept) if self.drafts is not None else self.kept
        for at, (before, after) in enumerate(pairwise(steps)):
            if after > before:
                raise InvalidInput(
                    f"{self.source}: position {at} was kept {after} times after {before}; a "
                    f"position is kept at most as often as the one before it."
                )

    def _counts(self) -> list[tuple[str, int]]:
        named = [("drafts", self.drafts), ("drafted", self.drafted), ("accepted", self.accepted)]
        named += [(f"accepted at position {at}", one) for at, one in enumerate(self.kept)]
        return [(name, value) for name, value in named if value is not None]

    @property
    def empty(self) -> bool:
        """True when nothing was drafted, so that there is no acceptance to speak of."""
        return self.drafted == 0 or self.drafts == 0 or self.length == 0

    @property
    def mean_length(self) -> float | None:
        """Tokens per round with the target's own one; None when nothing was drafted."""
        if self.empty:
            return None
        if self.accepted is not None and self.drafts:
            return 1 + self.accepted / self.drafts
        return self.length

    @property
    def rate(self) -> float | None:
        """Kept over drafted; None when nothing was drafted.

        With constant acceptance it falls as k grows, so two rates compare only at the same k.
        """
        if self.empty:
            return None
        if self.accepted is not None and self.drafted:
            return self.accepted / self.drafted
        return self.share

    @property
    def survival(self) -> tuple[float, ...]:
        """Share of the rounds that kept each position: the unconditional acceptance."""
        return tuple(kept / self.drafts for kept in self.kept) if self.drafts else ()

    @property
    def conditional(self) -> tuple[float, ...]:
        """Share that was kept of those whose earlier positions were: the conditional one."""
        return conditionals(self.survival)

    @property
    def varied(self) -> bool:
        """True when rounds drafted fewer tokens than there are positions.

        A position that was not drafted then counts as not kept, so `conditional` is a lower
        bound, and right for this draft only.
        """
        if self.drafts is None or self.drafted is None:
            return False
        return self.drafted < self.drafts * len(self.kept)

    def acceptance(self, k: int | None = None) -> float | tuple[float, ...]:
        """Give the conditional acceptance to plan from: per position if known, else constant.

        Parameters
        ----------
        k
            Drafts per round of that server, used only where the source says neither that nor
            positions: what a server counted does not depend on the k that is planned for.

        Raises
        ------
        InvalidInput
            If nothing was drafted, or the source and `k` do not tell it or contradict each other.

        Examples
        --------
        >>> found = Metrics(source="vllm", drafts=10, drafted=30, accepted=9)
        >>> round(found.acceptance(), 3), found.acceptance(8) == found.acceptance()
        (0.509, True)
        """
        if self.empty:
            raise InvalidInput(f"{self.source}: nothing was drafted, so there is no acceptance.")
        if self.conditional:
            return self.conditional
        depth = self._mean_draft() or k
        if not depth:
            raise InvalidInput(
                f"{self.source}: it does not say how many tokens a round drafted; give -k."
            )
        length = self.mean_length
        if length is None and self.rate is not None:
            length = 1 + self.rate * depth
        if length is None:
            raise InvalidInput(
                f"{self.source}: it does not say how many drafted tokens were accepted; give what "
                f"it counts as accepted too."
            )
        return self._constant(length, depth)

    def _mean_draft(self) -> float | None:
        """Drafts per round as the source tells them: configured, or counted."""
        if self.k or not self.drafted or not self.drafts:
            return self.k
        return self.drafted / self.drafts

    def _constant(self, length: float, depth: float) -> float:
        if length > depth + 1 or depth > MOST_DRAFTS:
            raise InvalidInput(
                f"{self.source}: a round emits {length:g} tokens and drafts {depth:g}; it emits at "
                f"most one more than it drafts, which is at most {MOST_DRAFTS}, so give the true "
                f"-k, or numbers of one server at one moment."
            )
        return acceptance_of_mean_draft(length, depth)


def pooled(several: Sequence[Metrics]) -> Metrics:
    """Add the counts of several servers or moments; ratios are then taken once.

    Examples
    --------
    >>> few = Metrics(source="a", drafted=10, accepted=1)
    >>> many = Metrics(source="a", drafted=1000, accepted=900)
    >>> round(pooled([few, many]).rate, 3), round((few.rate + many.rate) / 2, 3)
    (0.892, 0.5)
    """
    if not several:
        raise InvalidInput("there is nothing to pool; give at least one reading.")
    first = several[0]
    if len(several) == 1:
        return first
    counted = [one for one in several if one.drafts != 0]
    depth = max((len(one.kept) for one in counted), default=0)
    if not all(one.kept for one in counted):
        depth = 0
    return replace(
        first,
        drafts=_total(one.drafts for one in several),
        drafted=_total(one.drafted for one in several),
        accepted=_total(one.accepted for one in several),
        kept=tuple(
            sum(one.kept[at] for one in several if at < len(one.kept)) for at in range(depth)
        ),
    )


def _total(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def between(before: Metrics, after: Metrics) -> Metrics:
    """Give what was counted between two readings of the same server.

    Raises
    ------
    InvalidInput
        If the two are not counters of the same kind that ran on from the one to the other, or one
        went backwards: the server was restarted in between.

    Examples
    --------
    >>> first = Metrics(source="vllm", drafts=10, drafted=40, accepted=20)
    >>> later = Metrics(source="vllm", drafts=30, drafted=120, accepted=50)
    >>> between(first, later).rate
    0.375
    """
    _check_comparable(before, after)
    new = dict(after._counts())
    for name, value in before._counts():
        if new.get(name, 0) < value:
            raise InvalidInput(
                f"{after.source}: {name} went backwards, from {value} to {new.get(name, 0)}; the "
                f"server was restarted between the two readings, so give two of one run, older "
                f"first."
            )
    kept = (*before.kept, *(0 for _ in after.kept))
    positions = after.kept if before.kept or not before.accepted else ()
    return replace(
        after,
        drafts=_less(after.drafts, before.drafts),
        drafted=_less(after.drafted, before.drafted),
        accepted=_less(after.accepted, before.accepted),
        kept=tuple(one - kept[at] for at, one in enumerate(positions)),
    )


def _check_comparable(before: Metrics, after: Metrics) -> None:
    if before.source != after.source:
        raise InvalidInput(
            f"{after.source}: the reading before it is {before.source}, and between two different "
            f"things nothing was counted; give two readings of the same counters, older first."
        )
    if not before._counts() or not after._counts():
        raise InvalidInput(
            f"{after.source}: it gives ratios and no counters, so two readings have no difference; "
            f"give one."
        )
    if not (before.running and after.running):
        raise InvalidInput(
            f"{after.source}: each counts only itself and not from the start of the server on, so "
            f"two have no difference; give them in one file to add them up, or counters of "
            f"/metrics."
        )


def _less(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
