"""The speed model: throughput, latency, speed-up, and the best k.

A round drafts k tokens, verifies them in one pass and emits N of them, the target's own token
included (Leviathan, Kalman and Matias 2023, arXiv 2211.17192, theorem 3.8)::

    throughput = E[N] / (t_verify + k * t_draft + t_overhead)

It is a model of speed, not a proof of correctness: what makes the output follow the target is the
verification rule, whatever the acceptance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from draftproof.planner.acceptance import (
    check_acceptance,
    expected_tokens,
    length_law,
    positions,
    survivals,
)
from draftproof.planner.checking import check_count, check_time
from draftproof.planner.costs import Costs, check_costs


def throughput(acceptance: Any, k: int, *, t_verify: float, t_draft: float) -> Any:
    """Tokens per second: expected tokens of a round over its time ``t_verify + k * t_draft``.

    Parameters
    ----------
    acceptance, k
        As in `expected_tokens`.
    t_verify
        Seconds of one verification pass, above 0.
    t_draft
        Seconds per drafted token, 0 or more.

    Examples
    --------
    >>> round(throughput(0.8, 4, t_verify=0.012, t_draft=0.001), 1)
    210.1
    """
    tokens = expected_tokens(acceptance, k)
    seconds = check_time(t_verify, "t_verify", zero=False) + k * check_time(t_draft, "t_draft")
    return tokens / seconds


def speedup(acceptance: Any, k: int, *, t_target: float, t_verify: float, t_draft: float) -> Any:
    """Throughput over that of plain decoding at `t_target` seconds per token.

    Examples
    --------
    >>> round(speedup(0.8, 4, t_target=0.010, t_verify=0.012, t_draft=0.001), 3)
    2.101
    """
    plain = check_time(t_target, "t_target", zero=False)
    return throughput(acceptance, k, t_verify=t_verify, t_draft=t_draft) * plain


def operations(acceptance: Any, k: int, *, draft_share: float = 0.0) -> Any:
    """Arithmetic per emitted token, relative to plain decoding (theorem 3.11).

    Speculation buys time with arithmetic: k + 1 target tokens are computed for E[N] emitted.

    Parameters
    ----------
    acceptance, k
        As in `expected_tokens`.
    draft_share
        Arithmetic of one drafted token in units of one target token.

    Examples
    --------
    >>> round(operations(0.8, 5), 2)
    1.63
    """
    share, tokens = check_time(draft_share, "draft_share"), expected_tokens(acceptance, k)
    return (k * share + k + 1) / tokens


@dataclass(frozen=True, slots=True)
class Choice:
    """One k, and what it gives: tokens per round, tokens per second, speed-up over k = 0."""

    k: int
    expected_tokens: Any
    throughput: Any
    speedup: Any

    @property
    def latency(self) -> Any:
        """Seconds between tokens, on average."""
        return 1 / self.throughput

    @property
    def round_latency(self) -> Any:
        """Seconds a reader waits for the next batch of tokens: the time of one round."""
        return self.expected_tokens / self.throughput


def choices(acceptance: Any, costs: Costs, max_k: int = 16) -> tuple[Choice, ...]:
    """Give every k from 0 to `max_k` whose cost and acceptance are known.

    k = 0 is plain decoding, with speed-up 1.

    Examples
    --------
    >>> costs = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    >>> [round(one.speedup, 3) for one in choices(0.8, costs, 4)]
    [1.0, 1.385, 1.743, 1.968, 2.101]
    """
    a, known = check_acceptance(acceptance), check_costs(costs)
    return tuple(_choices(a, known, min(check_count(max_k, "max_k"), positions(a))))


def _choices(a: Any, costs: Costs, max_k: int) -> Iterator[Choice]:
    expected: Any = 1
    for k, alive in enumerate((0, *survivals(a, max_k))):
        expected = expected + alive
        if costs.knows(k):
            seconds = costs.round_seconds(k)
            yield Choice(k, expected, expected / seconds, costs.t_target * expected / seconds)


def best_choice(acceptance: Any, costs: Costs, max_k: int = 16) -> Choice:
    """Give the k with the largest speed-up, the smallest such k on a tie; 0: do not speculate.

    Examples
    --------
    >>> lesson = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    >>> best = best_choice(0.8, lesson)
    >>> best.k, round(best.speedup, 3)
    (6, 2.195)
    >>> from draftproof.planner.costs import Curve
    >>> dear = Costs(t_target=0.0097, t_verify=Curve(((1, 0.0097), (5, 0.030))))
    >>> best_choice(0.5, dear).k
    0
    """
    return max(choices(acceptance, costs, max_k), key=lambda one: one.speedup)


def seconds_for(tokens: int, acceptance: Any, k: int, costs: Costs) -> Any:
    """Expected seconds until `tokens` tokens are out, the cut at the end included.

    The last rounds draft less, because no more tokens than are missing are drafted; the time of
    n tokens is that of one round plus the expected time of what is left after it.

    Examples
    --------
    >>> lesson = Costs(t_target=0.010, t_verify=0.012, t_draft=0.001)
    >>> round(seconds_for(1, 0.8, 4, lesson), 3), round(seconds_for(100, 0.8, 4, lesson), 2)
    (0.01, 0.48)
    """
    wanted, costs = check_count(tokens, "tokens"), check_costs(costs)
    laws = {depth: length_law(acceptance, depth) for depth in range(check_count(k, "k") + 1)}
    left: list[Any] = [0]
    for missing in range(1, wanted + 1):
        depth = min(k, missing - 1)
        rest = sum(share * left[missing - at - 1] for at, share in enumerate(laws[depth]))
        left.append(costs.round_seconds(depth) + rest)
    return left[wanted]
