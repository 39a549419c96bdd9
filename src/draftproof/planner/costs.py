"""What a round costs: a time, a curve over the tokens verified, or a line fitted to a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from draftproof.errors import InvalidInput
from draftproof.planner.checking import as_sequence, check_count, check_time


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of one pass as a function of the tokens in it.

    A round that drafts k tokens verifies k + 1: the last token of the text, and the drafts.
    Between two points the curve is a straight line; outside them it is unknown.

    Parameters
    ----------
    points
        Pairs of a number of tokens and seconds, by ascending number.
    name
        The argument that errors talk about.

    Raises
    ------
    InvalidInput
        If there is no point, a point is no pair, a number of tokens is below 1 or does not ascend,
        or a time is not above 0.

    Examples
    --------
    >>> Curve(((1, 0.010), (5, 0.030))).at(2)
    0.015
    """

    points: tuple[tuple[int, Any], ...]
    name: str = "t_verify"

    def __post_init__(self) -> None:
        points = [_pair(one, self.name) for one in as_sequence(self.points, self.name)]
        if not points:
            raise InvalidInput(f"{self.name} has no point; give at least one, like 1:9.7ms.")
        counts = [count for count, _ in points]
        if counts[0] < 1 or any(after <= before for before, after in pairwise(counts)):
            raise InvalidInput(
                f"{self.name} has its points at {counts} tokens; they must be 1 or more and ascend."
            )
        for _, seconds in points:
            check_time(seconds, self.name, zero=False)

    @property
    def first(self) -> int:
        """Smallest number of tokens at which the curve is known."""
        return self.points[0][0]

    @property
    def last(self) -> int:
        """Largest number of tokens at which the curve is known."""
        return self.points[-1][0]

    def at(self, tokens: int) -> Any:
        """Give the seconds of a pass over `tokens` tokens.

        Raises
        ------
        InvalidInput
            If `tokens` lies outside the points.
        """
        check_count(tokens, "tokens")
        for count, seconds in self.points:
            if count == tokens:
                return seconds
        for (low, fast), (high, slow) in pairwise(self.points):
            if low < tokens < high:
                return fast + (slow - fast) * (tokens - low) / (high - low)
        raise InvalidInput(
            f"{self.name} is known from {self.first} to {self.last} tokens, and one over "
            f"{tokens} was asked for; add a point, or choose a k that needs none outside."
        )

    def shared_by(self, batch: int) -> Curve:
        """Give the curve over the tokens of *each* of `batch` sequences that share a pass.

        Raises
        ------
        InvalidInput
            If the curve does not reach `batch` tokens.

        Examples
        --------
        >>> Curve(((1, 0.010), (8, 0.024))).shared_by(4).points
        ((1, 0.016), (2, 0.024))
        """
        size = check_count(batch, "batch", 1)
        each = range(-(-self.first // size), self.last // size + 1)
        if size > self.last:
            raise InvalidInput(
                f"batch is {size} and {self.name} is known up to {self.last} tokens; add a point "
                f"at {size} tokens, and more for its drafts."
            )
        return Curve(tuple((n, self.at(size * n)) for n in each), self.name)


def _pair(point: Any, name: str) -> tuple[int, Any]:
    if not isinstance(point, Sequence) or len(point) != 2 or isinstance(point, str | bytes):
        raise InvalidInput(
            f"{name} has the point {point!r:.60}; a point is a number of tokens and its seconds, "
            f"like (5, 0.030)."
        )
    return check_count(point[0], f"the number of tokens of a point of {name}"), point[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a token and a round cost, in seconds.

    Parameters
    ----------
    t_target
        One plain decoding step, with all that belongs to it.
    t_verify
        One verification pass: a single time for every k, or a `Curve` over its k + 1 tokens.
    t_draft
        One drafted token (0 is a free draft); or a `Curve` of the *whole* draft over k, for a
        draft whose tokens are made in parallel.
    t_overhead
        Everything else in a round that drafts.
    """

    t_target: Any
    t_verify: Any
    t_draft: Any = 0
    t_overhead: Any = 0

    def __post_init__(self) -> None:
        check_time(self.t_target, "t_target", zero=False)
        check_time(self.t_overhead, "t_overhead")
        if not isinstance(self.t_draft, Curve):
            check_time(self.t_draft, "t_draft")
        if not isinstance(self.t_verify, Curve):
            check_time(self.t_verify, "t_verify", zero=False)

    def knows(self, k: int) -> bool:
        """Say whether the time of a round of k drafts can be told."""
        return check_count(k, "k") == 0 or (
            _within(self.t_verify, k + 1) and _within(self.t_draft, k)
        )

    def draft_seconds(self, k: int) -> Any:
        """Give the seconds it takes to draft k tokens."""
        if check_count(k, "k") == 0:
            return 0
        return self.t_draft.at(k) if isinstance(self.t_draft, Curve) else k * self.t_draft

    def round_seconds(self, k: int) -> Any:
        """Give the seconds of a round of k drafts; k = 0 is a plain decoding step."""
        if check_count(k, "k") == 0:
            return self.t_target
        verify = self.t_verify.at(k + 1) if isinstance(self.t_verify, Curve) else self.t_verify
        return verify + self.draft_seconds(k) + self.t_overhead


def check_costs(value: Any, name: str = "costs") -> Costs:
    """Give costs back."""
    if not isinstance(value, Costs):
        raise InvalidInput(
            f"{name} is {value!r:.60}; give Costs, like Costs(t_target=0.010, t_verify=0.012)."
        )
    return value


def _within(time: Any, count: int) -> bool:
    return not isinstance(time, Curve) or time.first <= count <= time.last


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearTime:
    """Seconds of a pass of a batch: ``fixed + per_token * tokens + per_context * context``.

    The least honest model of a server: below some batch the fixed part rules and extra tokens are
    almost free; above it every verified token costs as much as an emitted one.

    Parameters
    ----------
    fixed
        Seconds of any pass.
    per_token
        Seconds for each token in it, all sequences together.
    per_context
        Seconds for each token of context read, all sequences together.

    Examples
    --------
    >>> LinearTime(fixed=0.006, per_token=2e-5).seconds(tokens=100)
    0.008
    """

    fixed: float
    per_token: float = 0.0
    per_context: float = 0.0

    def __post_init__(self) -> None:
        for name in ("fixed", "per_token", "per_context"):
            check_time(getattr(self, name), name)

    def seconds(self, *, tokens: int, context: int = 0) -> float:
        """Give the seconds of a pass over `tokens` tokens that reads `context` tokens."""
        check_count(tokens, "tokens")
        check_count(context, "context")
        return self.fixed + self.per_token * tokens + self.per_context * context


def batch_costs(
    verify: LinearTime,
    draft: LinearTime | float,
    *,
    batch: int,
    context: int,
    overhead: float = 0.0,
    max_k: int = 16,
) -> Costs:
    """Costs of one step of a batch of sequences that all draft k tokens.

    Parameters
    ----------
    verify
        The target's pass.
    draft
        The pass that makes a whole draft; or a number: the share of the verification pass it
        takes (an n-gram draft on the host, about 0.006).
    batch
        Sequences decoded together; 1 or more.
    context
        Tokens of context of each.
    overhead
        Seconds of every step, plain ones included.
    max_k
        Largest k whose cost is wanted.

    Returns
    -------
    Costs of a *step*, in which every sequence emits one round: speed-ups are those of the server,
    tokens per second are per sequence.
    """
    if not isinstance(verify, LinearTime):
        raise InvalidInput(
            f"verify is {verify!r:.60}; give a LinearTime, like LinearTime(fixed=0.006)."
        )
    size, depth = check_count(batch, "batch", 1), check_count(context, "context")
    check_time(overhead, "overhead")
    ks = range(1, check_count(max_k, "max_k", 1) + 1)
    passes = {
        n: verify.seconds(tokens=size * n, context=size * depth) for n in (1, *map(_next, ks))
    }
    drafts = {
        k: draft.seconds(tokens=size * k, context=size * depth)
        if isinstance(draft, LinearTime)
        else check_time(draft, "draft") * passes[k + 1]
        for k in ks
    }
    free = not any(drafts.values())
    return Costs(
        t_target=passes[1] + overhead,
        t_verify=Curve(tuple(passes.items())),
        t_draft=0 if free else Curve(tuple(drafts.items()), "t_draft"),
        t_overhead=overhead,
    )


def _next(k: int) -> int:
    return k + 1
