"""The decoding loop: `rounds` yields, `generate` collects.

One round: draft at most k tokens, ask the target for one row after the text and one after each
drafted token (a single parallel pass), let the rule decide, emit. With k = 0 a round is one plain
decoding step, so plain decoding is this very loop with nothing drafted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from draftproof.chance import Chance
from draftproof.contracts import Draft, Guarantee, Predictor, Proposer, Rule, Text, Verdict
from draftproof.errors import ContextFull, InexactRule, InvalidInput
from draftproof.proposers import propose

Schedule: TypeAlias = Callable[[Text, "Round | None"], int]
"""Chooses k for the next round from the text so far and the round before it, never from luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a text ends.

    Parameters
    ----------
    max_tokens
        Most tokens to emit; 0 emits none.
    stop
        Token ids that end the text; the one that does is emitted.
    context_limit
        Most tokens the models can hold, prompt included; None means no limit.
    """

    max_tokens: int = 128
    stop: frozenset[int] = frozenset()
    context_limit: int | None = None

    def __post_init__(self) -> None:
        if not _is_count(self.max_tokens):
            raise InvalidInput(f"max_tokens is {self.max_tokens!r}; it must be 0 or more.")
        if self.context_limit is not None and not _is_count(self.context_limit):
            raise InvalidInput(
                f"context_limit is {self.context_limit!r}; it must be 0 or more, or None."
            )

    def budget(self, text: Text) -> int:
        """Give how many tokens may follow the prompt `text`.

        The last token emitted never has to be read back by the model, so a text may end one
        token beyond the context.

        Raises
        ------
        ContextFull
            If the prompt alone exceeds the context.
        """
        if self.context_limit is None:
            return self.max_tokens
        room = self.context_limit - len(text)
        if room < 0:
            raise ContextFull(
                f"the prompt has {len(text)} tokens and the model holds {self.context_limit}; "
                f"shorten it by {-room} tokens."
            )
        return min(self.max_tokens, room + 1)


@dataclass(frozen=True, slots=True)
class Seconds:
    """Wall-clock seconds of one round: drafting, the target's pass, everything else."""

    draft: float
    target: float
    other: float


@dataclass(frozen=True, slots=True)
class Round:
    """One round of draft and verify.

    `emitted` is the verdict's tokens cut at a stop id and at the budget; `accepted` counts the
    drafted tokens among them. `k` is what was asked for, ``len(draft)`` what was drafted.
    `ends` is None while the text goes on, else "stop" or "length".
    """

    index: int
    start: int
    k: int
    draft: Draft
    verdict: Verdict
    emitted: Text
    ends: str | None
    seconds: Seconds = field(compare=False)

    @property
    def accepted(self) -> int:
        """Number of emitted tokens that were drafted."""
        return min(self.verdict.accepted, len(self.emitted))


def rounds(
    chance: Chance,
    target: Predictor,
    proposer: Proposer,
    rule: Rule,
    text: Text,
    *,
    k: int | Schedule = 4,
    limits: Limits | None = None,
    allow_lossy: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Round]:
    """Decode after `text`, one round at a time.

    The emitted text follows the target's law exactly when `rule` is exact and drafts carry the
    rows they were drawn from; `draftproof.proof.prove_loop` checks this function itself.

    Parameters
    ----------
    chance
        The luck; the round that starts after n tokens uses ``chance.after(n)`` only.
    target, proposer, rule
        The three borders of `draftproof.contracts`.
    text
        The prompt as token ids.
    k
        Tokens to draft per round, or a schedule that chooses them. A round never drafts more
        than could still be emitted beside the token that ends it.
    limits
        Where the text ends.
    allow_lossy
        Set to use a rule that changes the distribution.
    clock
        Seconds, for the timings a round carries.

    Raises
    ------
    InexactRule
        If the rule is lossy and `allow_lossy` is not set.
    ContextFull, InvalidInput
        If the prompt is too long, k is negative, or the rule's answer is no verdict. Rounds
        already yielded stay valid after any error.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> from draftproof.proposers import DraftModel
    >>> from draftproof.rules import find_rule
    >>> coin = Table([0.5, 0.5])
    >>> done = list(rounds(Dice(1), coin, DraftModel(coin), find_rule("token-wise"), (0,),
    ...                    k=2, limits=Limits(max_tokens=6)))
    >>> [len(one.emitted) for one in done]
    [3, 3]
    """
    where = limits or Limits()
    admit(rule, allow_lossy=allow_lossy)
    schedule = _schedule(k)
    budget = where.budget(text)
    return _rounds(chance, target, proposer, rule, text, schedule, where.stop, budget, clock)


def _rounds(
    chance: Chance,
    target: Predictor,
    proposer: Proposer,
    rule: Rule,
    text: Text,
    schedule: Schedule,
    stop: frozenset[int],
    budget: int,
    clock: Callable[[], float],
) -> Iterator[Round]:
    last: Round | None = None
    index = 0
    while budget > 0 and (last is None or last.ends is None):
        luck = chance.after(len(text))
        wanted = min(schedule(text, last), budget - 1)
        began = clock()
        draft = propose(proposer, luck, text, wanted)
        drafted = clock()
        rows = target.rows(text, draft)
        passed = clock()
        verdict = rule.judge(luck, draft, rows)
        emitted, ends = _cut(verdict.emitted, stop, budget)
        seconds = Seconds(drafted - began, passed - drafted, clock() - passed)
        last = Round(index, len(text), wanted, draft, verdict, emitted, ends, seconds)
        text, budget, index = text + emitted, budget - len(emitted), index + 1
        yield last


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _schedule(k: int | Schedule) -> Schedule:
    if callable(k):
        return lambda text, last: _check_k(k(text, last))
    _check_k(k)
    return lambda _text, _last: k


def _check_k(k: int) -> int:
    if not _is_count(k):
        raise InvalidInput(f"k is {k!r}; it must be an integer of 0 or more (0 drafts nothing).")
    return k


def _cut(emitted: Text, stop: frozenset[int], budget: int) -> tuple[Text, str | None]:
    for at, token in enumerate(emitted[:budget]):
        if token in stop:
            return emitted[: at + 1], "stop"
    return emitted[:budget], "length" if len(emitted) >= budget else None


def admit(rule: Rule, *, allow_lossy: bool = False) -> Rule:
    """Give the rule back, unless it is lossy and nobody asked for that.

    Raises
    ------
    InexactRule
        If the rule is lossy and `allow_lossy` is not set.
    """
    if rule.guarantee is Guarantee.LOSSY and not allow_lossy:
        raise InexactRule(
            f"rule {rule.name!r} changes the distribution; ask for it with allow_lossy=True if "
            f"that is what you want."
        )
    return rule


class NoDraft:
    """The proposer that never drafts: plain decoding.

    Examples
    --------
    >>> len(NoDraft().propose(None, (1, 2), 4))
    0
    """

    name = "none"

    def propose(self, chance: Chance | None, text: Text, k: int) -> Draft:
        """Draft nothing."""
        return Draft.empty()


@dataclass(slots=True)
class Tally:
    """Running counts over the rounds of one or more texts.

    * ``acceptance_rate`` = accepted / drafted; None when nothing was drafted.
    * ``acceptance_per_test`` = accepted / drafted tokens that were looked at before the round
      ended. With a constant acceptance a this one estimates a; the first is smaller.
    * ``accepted_per_position[i]`` = of the rounds that looked at position i, the share that
      kept it (conditional acceptance).
    """

    rounds: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    emitted: int = 0
    draft_seconds: float = 0.0
    target_seconds: float = 0.0
    other_seconds: float = 0.0
    looked: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def add(self, one: Round) -> None:
        """Count one more round."""
        self.rounds += 1
        self.drafted += len(one.draft)
        self.accepted += one.accepted
        self.emitted += len(one.emitted)
        self.draft_seconds += one.seconds.draft
        self.target_seconds += one.seconds.target
        self.other_seconds += one.seconds.other
        depth = _tested_depth(one)
        self.tested += depth
        self._grow(depth)
        for position in range(depth):
            self.looked[position] += 1
            self.kept[position] += position < one.accepted

    def _grow(self, depth: int) -> None:
        missing = depth - len(self.looked)
        self.looked.extend([0] * missing)
        self.kept.extend([0] * missing)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over drafted, or None when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def acceptance_per_test(self) -> float | None:
        """Accepted over tested, or None when nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_round(self) -> float | None:
        """Emitted tokens per round, or None before the first round."""
        return self.emitted / self.rounds if self.rounds else None

    @property
    def accepted_per_position(self) -> list[float]:
        """Conditional acceptance of each draft position that was ever looked at."""
        return [kept / looked for kept, looked in zip(self.kept, self.looked, strict=True)]


def _tested_depth(one: Round) -> int:
    """Positions of the draft that were looked at, as far as the text reached."""
    deepest = max((len(one.draft.path(trial.node)) for trial in one.verdict.trials), default=0)
    return min(deepest, len(one.emitted))


@dataclass(frozen=True, slots=True)
class Generation:
    """A finished text: what was emitted, why it ended ("stop" or "length"), and the counts."""

    tokens: Text
    ends: str
    tally: Tally


def generate(
    chance: Chance,
    target: Predictor,
    proposer: Proposer,
    rule: Rule,
    text: Text,
    *,
    k: int | Schedule = 4,
    limits: Limits | None = None,
    allow_lossy: bool = False,
) -> Generation:
    """Decode after `text` to its end; `rounds` with the results collected.

    Examples
    --------
    >>> from draftproof.backends.table import Table
    >>> from draftproof.chance import Dice
    >>> from draftproof.rules import find_rule
    >>> generate(Dice(1), Table([0.0, 1.0]), NoDraft(), find_rule("token-wise"), (0,),
    ...          limits=Limits(max_tokens=3)).tokens
    (1, 1, 1)
    """
    tally, tokens, ends = Tally(), list[int](), "length"
    for one in rounds(
        chance, target, proposer, rule, text, k=k, limits=limits, allow_lossy=allow_lossy
    ):
        tally.add(one)
        tokens.extend(one.emitted)
        ends = one.ends or ends
    return Generation(tuple(tokens), ends, tally)
