"""Choosing k while a text is being decoded: `-k auto`.

Before each round the policy estimates, from the rounds before it, how many tokens every k would
emit and what that would take, and asks for the k that emits most per second. It uses counts of
kept tokens, drafted lengths, and costs that were measured *before* decoding began; never the
clock, and never the draft of the round it decides about. So k is a function of the text and the
luck of earlier rounds: one seed gives one text, and an exact rule stays exact, because whether a
position is verified is settled before its token is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from draftproof.contracts import Text
from draftproof.decode import Round
from draftproof.errors import InvalidInput
from draftproof.planner.checking import as_sequence, check_count, check_probability, check_time
from draftproof.planner.costs import Costs, check_costs

FADE = 0.985
"""What one round of drafting leaves of the weight of all rounds before it."""

PRIOR = 0.8
"""Acceptance assumed before anything was seen."""

WEIGHT = 2.0
"""Rounds that an assumption counts for."""

HOPE = 0.3
"""How far a position is drawn back from its worse predecessor to what was assumed at first."""

FIRST_REACH = 5
"""Largest k of the first round; keeping n tokens allows 2 n + 2 from then on."""

FIRST_GAP, LAST_GAP = 8, 256
"""Plain rounds before the first probe, and at most; a probe in vain doubles them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Faded counts, one entry for each position.

    `asked`: rounds whose k reached the position; `drafted`: of these, the rounds whose draft did;
    `looked`: rounds that asked for it and kept all before it; `kept`: of these, the ones that kept
    it. A position that was asked for and not drafted was not kept.
    """

    asked: tuple[float, ...]
    drafted: tuple[float, ...]
    looked: tuple[float, ...]
    kept: tuple[float, ...]

    @classmethod
    def nothing(cls, depth: int) -> Seen:
        """No round yet."""
        return cls(*((0.0,) * depth for _ in range(4)))

    def after(self, k: int, drafted: int, accepted: int) -> Seen:
        """Count one more round."""
        return Seen(
            _faded(self.asked, k),
            _faded(self.drafted, drafted),
            _faded(self.looked, min(k, accepted + 1)),
            _faded(self.kept, accepted),
        )

    def halved(self) -> Seen:
        """Trust what was seen half as much."""
        halves = (
            tuple(one / 2 for one in each)
            for each in (self.asked, self.drafted, self.looked, self.kept)
        )
        return Seen(*halves)


def _faded(counts: tuple[float, ...], depth: int) -> tuple[float, ...]:
    return tuple(FADE * one + (at < depth) for at, one in enumerate(counts))


def shares(hits: Sequence[float], trials: Sequence[float], prior: float) -> list[float]:
    """Smoothed shares: each position is drawn towards the one before it, the first to `prior`.

    Where that one is below `prior` it is drawn a little less, so that a poor first position
    does not hide good ones behind it for ever.

    Examples
    --------
    >>> [round(one, 3) for one in shares((8.0, 0.0), (8.0, 0.0), 0.5)]
    [0.9, 0.9]
    """
    found: list[float] = []
    before = prior
    for hit, trial in zip(hits, trials, strict=True):
        share = (hit + WEIGHT * before) / (trial + WEIGHT)
        found.append(share)
        before = share + HOPE * max(prior - share, 0.0)
    return found


@dataclass(frozen=True, slots=True)
class _State:
    """What the policy remembers between rounds."""

    seen: Seen
    reach: int = FIRST_REACH
    quiet: int = 0
    gap: int = FIRST_GAP
    probing: bool = False


def _learnt(state: _State, last: Round) -> _State:
    """Count a round; a probe that kept something sets the gap back, one in vain doubles it."""
    seen, gap = state.seen, state.gap
    if state.probing and last.accepted > 0:
        seen, gap = seen.halved(), FIRST_GAP
    elif state.probing:
        gap = min(2 * gap, LAST_GAP)
    seen = seen.after(last.k, depth_of(last), last.accepted)
    reach = max(state.reach, 2 * last.accepted + 2)
    return replace(state, seen=seen, reach=reach, gap=gap, probing=False)


class Adaptive:
    """A schedule that learns, round by round, which k emits most tokens per second.

    When plain decoding does, it drafts nothing, and tries again after 8 rounds, 16, 32, up to 256.
    A try of which something is kept sets the wait back to 8 and halves the trust in what was seen
    before: the text may have changed.

    Parameters
    ----------
    seconds
        Time of a round that drafts 0, 1, 2, ... tokens; see `round_times`.
    prior
        Acceptance to begin with.

    Raises
    ------
    InvalidInput
        If a time is not above 0, or there is none.

    Examples
    --------
    >>> policy = Adaptive((0.010, 0.011, 0.012, 0.013))
    >>> policy((1, 2), None)
    3
    >>> Adaptive((0.010, 0.020, 0.030))((1, 2), None)
    0
    """

    def __init__(self, seconds: Sequence[float], *, prior: float = PRIOR) -> None:
        each = as_sequence(seconds, "seconds")
        if not each:
            raise InvalidInput("seconds is empty; give at least the time of a plain step.")
        self.seconds = tuple(
            float(check_time(one, f"seconds[{k}]", zero=False)) for k, one in enumerate(each)
        )
        self.prior = float(check_probability(prior, "prior"))
        self._steps = tuple(after - before for before, after in pairwise(self.seconds))
        self._state = _State(Seen.nothing(len(self._steps)))

    def __call__(self, text: Text, last: Round | None) -> int:
        """Choose k for the round after `text`; `last` is the round before, None at the start."""
        if last is None:
            self._state = _State(Seen.nothing(len(self._steps)))
        elif last.k > 0:
            self._state = _learnt(self._state, last)
        return self._decide()

    def _decide(self) -> int:
        state = self._state
        rates = self.rates(state.seen)[: state.reach + 1]
        best = max(range(len(rates)), key=rates.__getitem__)
        if best > 0 or len(rates) == 1:
            self._state = replace(state, quiet=0)
            return best
        if state.quiet < state.gap:
            self._state = replace(state, quiet=state.quiet + 1)
            return 0
        self._state = replace(state, quiet=0, probing=True)
        return max(range(1, len(rates)), key=rates.__getitem__)

    def rates(self, seen: Seen) -> list[float]:
        """Estimated tokens per second of every k."""
        kept = shares(seen.kept, seen.looked, self.prior)
        drafted = shares(seen.drafted, seen.asked, 1.0)
        tokens, seconds, alive = 1.0, self.seconds[0], 1.0
        found = [tokens / seconds]
        for a, reached, step in zip(kept, drafted, self._steps, strict=True):
            alive *= a
            tokens += alive
            seconds += reached * step
            found.append(tokens / seconds)
        return found


def depth_of(one: Round) -> int:
    """Give the positions a round drafted: its length for a chain, its depth for a tree."""
    if one.draft.is_chain:
        return len(one.draft)
    return max(len(one.draft.path(node)) for node in range(len(one.draft)))


def round_times(costs: Costs, max_k: int) -> tuple[float, ...]:
    """Give the seconds of rounds of 0, 1, ... drafts, as far as the costs are known.

    Examples
    --------
    >>> round_times(Costs(t_target=0.010, t_verify=0.012, t_draft=0.001), 2)
    (0.01, 0.013000000000000001, 0.014)
    """
    check_costs(costs)
    ks = [k for k in range(check_count(max_k, "max_k") + 1) if costs.knows(k)]
    together = [k for at, k in enumerate(ks) if k == at]
    return tuple(float(costs.round_seconds(k)) for k in together)
