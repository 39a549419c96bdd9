"""Measure here: what passes and drafts cost, what is kept, and whether a prediction holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from draftproof.chance import Dice
from draftproof.contracts import Text
from draftproof.errors import InvalidInput
from draftproof.planner.replay import Prediction, Spots, acceptance_per_position, look, predict
from draftproof.planner.timing import Timings, time_drafts, time_parts
from draftproof.rules import find_rule
from draftproof.session.running import Options, Session, Transcript

PROMPTS = (
    "Why is the sky blue? Answer in a few sentences.",
    "Write a short story about a lighthouse keeper.",
    "Correct the spelling and print the whole text again: The quick brown fox jumps over the lazy "
    "dog. The dog sleps in the sun, and the fox runs home thruogh the tall grass.",
    "Write a Python function that returns the sum of the squares of a list of numbers.",
)
"""Built-in prompts: an answer, prose, an edit that copies, code."""

EXACT_RULES = ("token-wise", "block")
"""Rules tried at a temperature above 0; at 0 they all keep the same tokens."""

MAX_K = 16
"""Longest draft looked at."""

REPEATS = 7
"""Samples of each timing."""

CHECKS = 2
"""Timed runs of either kind per prompt in the check."""

LONG_ENOUGH = 20.0
"""Seconds after which a busy machine is timed no further, and then checked no further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One draft judged by one rule: what was kept, what it costs, and every k's prediction."""

    draft: str
    rule: str
    texts: tuple[Spots, ...]
    timings: Timings
    predictions: tuple[Prediction, ...]

    @property
    def best(self) -> Prediction:
        """The k with the largest predicted speed-up."""
        return max(self.predictions, key=lambda one: one.speedup)

    @property
    def acceptance(self) -> tuple[float, ...]:
        """Conditional acceptance per position."""
        return acceptance_per_position(self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Measured speed of plain decoding and of the recommendation, tokens per second."""

    plain: float
    speculative: float

    @property
    def speedup(self) -> float:
        """Speculative over plain."""
        return self.speculative / self.plain


def measure(
    sessions: Sequence[Session],
    prompts: Sequence[str] = PROMPTS,
    *,
    rules: Sequence[str] | None = None,
    places: int = 48,
    seconds: float = 60.0,
    max_k: int = MAX_K,
    tick: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Candidate]:
    """Measure every draft of `sessions` under every rule.

    Parameters
    ----------
    sessions
        One for each draft, over the same target.
    prompts
        What is decoded to see what is kept.
    rules
        Names of rules for chains; None tries the exact ones that differ at this temperature.
    places
        Tokens looked at after each prompt.
    seconds
        Time after which no further text is begun or continued; what was seen until then counts.
    max_k
        Longest draft.
    tick
        Told what is done next.
    clock
        Seconds.
    """
    if not prompts:
        raise InvalidInput("prompts is empty; give at least one.")
    names = rules or (EXACT_RULES[:1] if sessions[0].options.warp.greedy else EXACT_RULES)
    judges = [find_rule(name) for name in names]
    if wrong := [rule.name for rule in judges if rule.shape != "chain"]:
        raise InvalidInput(f"rule {wrong[0]!r} does not judge a chain; plan compares chains only.")
    texts: list[dict[str, list[Spots]]] = [{name: [] for name in names} for _ in sessions]
    timings = _timed(sessions, prompts, max_k, tick, clock)
    ends = clock() + seconds
    for at, prompt in enumerate(prompts):
        for which, session in enumerate(sessions):
            tick(f"text {at + 1} of {len(prompts)}, draft {session.options.draft}")
            text = session.encode(prompt)
            seen = look(
                Dice(session.options.seed), session.predictor(text), session.proposer(text),
                judges, text, k=max_k, places=places, stop=frozenset(session.target.eos),
                more=lambda: clock() < ends,
            )  # fmt: skip
            for name, spots in seen.items():
                texts[which][name].append(spots)
    return list(_candidates(sessions, texts, timings, max_k))


def steps(sessions: Sequence[Session], prompts: Sequence[str]) -> int:
    """Give how often `measure` and `check` together tell `tick` what is done next."""
    return REPEATS + len(prompts) * (len(sessions) + CHECKS)


def _candidates(
    sessions: Sequence[Session],
    texts: list[dict[str, list[Spots]]],
    timings: list[Timings],
    max_k: int,
) -> Iterator[Candidate]:
    for session, seen, timed in zip(sessions, texts, timings, strict=True):
        for rule, spots in seen.items():
            yield Candidate(
                draft=session.options.draft,
                rule=rule,
                texts=tuple(spots),
                timings=timed,
                predictions=tuple(predict(spots, timed, k) for k in range(max_k + 1)),
            )


def _timed(
    sessions: Sequence[Session],
    prompts: Sequence[str],
    max_k: int,
    tick: Callable[[str], None],
    clock: Callable[[], float],
) -> list[Timings]:
    """Time the target once, and every draft."""
    first, ends = sessions[0], clock() + LONG_ENOUGH
    text = longest(first, prompts)
    counts = range(1, max_k + 2)
    shared = time_parts(
        first.predictor(text), first.proposer(text), text, repeats=REPEATS, counts=counts,
        clock=clock, tick=lambda: tick(f"timing passes of 1 to {max_k + 1} tokens"),
        more=lambda: clock() < ends,
    )  # fmt: skip
    others = [
        replace(shared, draft=time_drafts(session.proposer(text), text, max_k, clock=clock))
        for session in sessions[1:]
    ]
    return [shared, *others]


def longest(session: Session, prompts: Sequence[str]) -> Text:
    """Give the prompt with the most tokens."""
    return max((session.encode(prompt) for prompt in prompts), key=len)


def check(
    session: Session,
    prompts: Sequence[str],
    *,
    k: int,
    rule: str,
    max_tokens: int = 48,
    tick: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Check:
    """Decode every prompt plainly and with the recommendation, in turn, and give both speeds.

    On a machine so busy that it takes long, later prompts are left out.
    """
    options = replace(session.options, k=k, rule=rule, max_tokens=max_tokens)
    trial = Session(options, find_rule(rule), session.target, session.second)
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
    ends = clock() + LONG_ENOUGH
    for turn in range(CHECKS):
        for at, prompt in enumerate(prompts):
            tick(f"checking the prediction, {turn * len(prompts) + at + 1}")
            if sums[True][0] and clock() > ends:
                continue
            for plain in (True, False) if (turn + at) % 2 == 0 else (False, True):
                script = _run(trial, trial.encode(prompt), plain=plain)
                sums[plain][0] += script.tally.emitted
                sums[plain][1] += script.seconds
    speeds = {kind: tokens / seconds for kind, (tokens, seconds) in sums.items()}
    return Check(plain=speeds[True], speculative=speeds[False])


def _run(session: Session, text: Text, *, plain: bool) -> Transcript:
    script = Transcript()
    for _ in session.run(text, script, plain=plain):
        pass
    return script


def options_of(options: Options, draft: str) -> Options:
    """Give the options with this draft; earlier texts are for ``suffix`` alone."""
    return replace(options, draft=draft, earlier=options.earlier if draft == "suffix" else ())


def sessions_for(options: Options, drafts: Sequence[str], first: Session) -> list[Session]:
    """Give a session for each named draft over the model that `first` has opened."""
    return [
        Session(options_of(options, draft), first.rule, first.target)
        if draft != first.options.draft
        else first
        for draft in drafts
    ]
