"""Speculative against plain decoding in one run, and how exactly the engine repeats itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from draftproof.contracts import Backend, Draft, Text
from draftproof.dist import Row
from draftproof.session.running import Session, Transcript
from draftproof.warp import Warp

GAP_POSITIONS = 64
"""Most positions at which the numeric gap is measured."""

USUAL_K = 4
"""Tokens per pass at which the gap is measured when k changes from round to round."""

PAIRS, MOST_PAIRS = 3, 7
"""Fewest and most timed runs of either kind; odd, so that a median is one of them."""

PATIENCE = 4.0
"""Seconds of timing after which no more than ``PAIRS`` are made."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Total variation between rows from block passes and rows computed one by one.

    Both are softmax rows at temperature 1 after the same tokens. All zero means that this engine
    gives the same row however a text is split into passes.
    """

    positions: int
    median: float
    p95: float
    max: float


@dataclass(frozen=True, slots=True)
class Parting:
    """The first token at which two texts differ.

    `margin` is the largest minus the second largest probability (softmax at temperature 1) of
    the target's row there: a small margin is a near tie that rounding can decide.
    """

    position: int
    plain: int | None
    speculative: int | None
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Plain and speculative decoding of one prompt with one seed, timed in turn.

    `speculative` and `plain` are the runs of median speed; `ratios` holds the ratio of every
    adjacent pair of runs and `speedup` is the median of these ratios, so that it never lies
    outside the pairs. `must_agree` says whether the two texts have to be equal.
    """

    speculative: Transcript
    plain: Transcript
    ratios: tuple[float, ...]
    must_agree: bool
    parting: Parting | None
    gap: Gap

    @property
    def speedup(self) -> float | None:
        """Speculative over plain tokens per second, median of the pairs; None without a pair."""
        return median(self.ratios) if self.ratios else None

    @property
    def verdict(self) -> str | None:
        """``"faster"`` or ``"slower"`` when every pair of runs says so, else ``"cannot tell"``."""
        if not self.ratios:
            return None
        if min(self.ratios) > 1:
            return "faster"
        return "slower" if max(self.ratios) < 1 else "cannot tell"

    @property
    def holds(self) -> bool:
        """False when two texts that must be equal are not."""
        return not self.must_agree or self.parting is None


def compare(
    session: Session,
    text: Text,
    *,
    tick: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Decode the prompt `text` plainly and speculatively in turn, three to seven times each.

    The order alternates (plain first, then speculative first, ...), so that a machine that
    slows down or speeds up meanwhile favours neither; medians ignore the odd disturbed run.

    Parameters
    ----------
    session
        What to run.
    text
        The prompt, from `Session.encode`.
    tick
        Told what comes next, for a progress line.
    clock
        Seconds, to decide how many pairs there is time for.
    """
    plain: list[Transcript] = []
    speculative: list[Transcript] = []
    began = clock()
    while _one_more(len(plain), clock() - began):
        for kind in (True, False) if len(plain) % 2 == 0 else (False, True):
            name = "plain" if kind else "speculative"
            tick(f"timing {name} decoding, run {len(plain if kind else speculative) + 1}")
            (plain if kind else speculative).append(_run(session, text, plain=kind))
    tick("measuring how exactly this engine repeats its rows")
    one, other = _middle(speculative), _middle(plain)
    return Comparison(
        speculative=one,
        plain=other,
        ratios=tuple(_ratios(speculative, plain)),
        must_agree=session.texts_must_agree,
        parting=_parting(session.target.backend, text, other, one),
        gap=measure_gap(session.target.backend, text, tuple(one.tokens), _span(session.options.k)),
    )


def _one_more(pairs: int, seconds: float) -> bool:
    """Say whether another pair is timed: at least three, an odd number, seven if they are short."""
    return pairs < PAIRS or pairs % 2 == 0 or (pairs < MOST_PAIRS and seconds < PATIENCE)


def _span(k: int | str) -> int:
    """Give the tokens per pass at which the gap is measured; a chosen k has no one number."""
    return max(k, 1) if isinstance(k, int) else USUAL_K


def _run(session: Session, text: Text, *, plain: bool) -> Transcript:
    script = Transcript()
    for _ in session.run(text, script, plain=plain):
        pass
    return script


def _middle(scripts: list[Transcript]) -> Transcript:
    return sorted(scripts, key=lambda script: script.tokens_per_second or 0.0)[len(scripts) // 2]


def _ratios(speculative: list[Transcript], plain: list[Transcript]) -> Iterator[float]:
    for one, other in zip(speculative, plain, strict=True):
        if one.tokens_per_second and other.tokens_per_second:
            yield one.tokens_per_second / other.tokens_per_second


def measure_gap(backend: Backend, prompt: Text, tokens: Text, k: int) -> Gap:
    """Measure how far rows from passes of k + 1 tokens are from rows computed one by one.

    Parameters
    ----------
    backend
        The engine.
    prompt
        What comes first.
    tokens
        The decoded text, along which rows are compared; at most the first ``GAP_POSITIONS``.
    k
        Tokens drafted per pass.
    """
    room = max(backend.context_limit - len(prompt), 0)
    tokens = tokens[: min(GAP_POSITIONS, room)]
    whole = prompt + tokens
    single = [
        _row(backend, whole[: len(prompt) + at], Draft.empty(), 0) for at in range(len(tokens))
    ]
    gaps: list[float] = []
    for start in range(0, len(tokens), k):
        block = tokens[start : start + k]
        seen = backend.logits(whole[: len(prompt) + start], _certain(block))
        for at in range(len(block)):
            distance = np.abs(_softmax(seen[at]) - single[start + at]).sum() / 2
            gaps.append(float(distance))
    if not gaps:
        return Gap(0, 0.0, 0.0, 0.0)
    return Gap(len(gaps), median(gaps), float(np.quantile(gaps, 0.95)), max(gaps))


def _certain(block: Text) -> Draft:
    """Give a draft for a back end, which reads its tokens and not its rows."""
    one = np.ones(1)
    return Draft.chain(block, [one] * len(block))


def _row(backend: Backend, text: Text, draft: Draft, at: int) -> Row:
    return _softmax(backend.logits(text, draft)[at])


def _softmax(logits: Row) -> Row:
    return Warp().row(logits)


def _parting(
    backend: Backend, prompt: Text, plain: Transcript, speculative: Transcript
) -> Parting | None:
    one, other = plain.tokens, speculative.tokens
    if one == other:
        return None
    at = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    row = np.sort(_row(backend, (*prompt, *one[:at]), Draft.empty(), 0))
    return Parting(
        position=at,
        plain=one[at] if at < len(one) else None,
        speculative=other[at] if at < len(other) else None,
        margin=float(row[-1] - row[-2]),
    )
