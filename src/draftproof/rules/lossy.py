"""Rules in use that keep more than an exact rule may, and pay with the law of the text.

They are here to be measured: `draftproof.proof.prove` gives the law each one induces and how far
it is from the target. The decoding loop refuses them unless asked for by name.

Each docstring says what is drawn after a rejection, because the sources often do not, and it
decides the law. With the strictest setting of its parameters, every one of them but `typical` and
`top_k_relaxed` is an exact rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.chance import Chance
from draftproof.contracts import Draft, Guarantee, Rule, Source, Trial, Verdict, require_chain
from draftproof.dist import Row, likeliest
from draftproof.errors import InvalidInput
from draftproof.rules.branching import Choice, Fork, walk
from draftproof.rules.judging import bonus, correction, guarded, verdict

Admits = Callable[[Row, int], bool]


def lenience(factor: Any = Fraction(1, 2)) -> Rule:
    """Keep x with probability ``min(1, p(x) / (factor q(x)))``.

    No token comes out with more than ``p / factor``, plus what corrections add. After a rejection
    the token is drawn from the exact rule's residual, ``max(0, p - q)``; that choice is ours, the
    paper gives the acceptance only. A factor of 1 is token-wise verification.

    Source: Leviathan et al. 2023, arXiv 2211.17192, appendix A.5.

    Raises
    ------
    InvalidInput
        If the factor is not above 0 and at most 1.
    """
    _between(factor, "factor")

    @guarded
    def verify(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
        require_chain(draft, "lenience")
        trials: list[Trial] = []
        for node, token in enumerate(draft.tokens):
            p, q = rows[node], draft.rows[node]
            asked = factor * q[token]
            kept = chance.at("coin", node).accepts(p[token], asked)
            trials.append(Trial(node, token, p[token], asked, kept))
            if not kept:
                last = chance.at("residual", node).pick(correction(p, q))
                return verdict(draft, range(node), last, Source.RESIDUAL, trials)
        return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)

    return _lossy("lenience", verify, "Leviathan et al. 2023, appendix A.5")


def typical(epsilon: Any = Fraction(9, 100), delta: Any = Fraction(3, 10)) -> Rule:
    """Keep x iff ``p(x) > min(epsilon, delta exp(-H(p)))``, H the entropy in nats; no coin.

    After a rejection, and after a fully kept draft, the token is drawn from p. Medusa's code adds
    1e-5 inside the logarithm of H and, with its default settings, takes the likeliest token there
    instead of a draw.

    Source: Cai et al. 2024, arXiv 2401.10774, typical acceptance; FasterDecoding/Medusa,
    medusa/model/utils.py.
    """
    _between(epsilon, "epsilon")
    _between(delta, "delta")

    def admits(p: Row, token: int) -> bool:
        return bool(min(float(epsilon), float(delta) * math.exp(-entropy(p))) < p[token])

    return _lossy("typical", _admitting("typical", admits), "Cai et al. 2024, arXiv 2401.10774")


def entropy(p: Row) -> float:
    """Entropy in nats.

    Examples
    --------
    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    positive = p[p > 0].astype(np.float64)
    return float(-(positive * np.log(positive)).sum())


def top_k_relaxed(top: int = 2, delta: Any = Fraction(1, 2)) -> Rule:
    """Keep x iff it is one of the target's `top` likeliest and ``p(x) >= max p - delta``; no coin.

    After a rejection, and after a fully kept draft, the token is drawn from p. TensorRT-LLM's
    relaxed acceptance, from which the test is taken, emits the likeliest token there, and relaxes
    only while a model thinks.

    Source: NVIDIA/TensorRT-LLM, mtpRelaxedAcceptanceKernel in mtpKernels.cu.
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InvalidInput(f"top is {top!r}; it must be an integer of at least 1.")
    if not 0 <= delta <= 1:
        raise InvalidInput(f"delta is {delta}; it must lie between 0 and 1.")

    def admits(p: Row, token: int) -> bool:
        return bool(delta + p[token] >= p.max()) and token in likeliest(p, top)

    verify = _admitting("top-k-relaxed", admits)
    return _lossy("top-k-relaxed", verify, "TensorRT-LLM, mtpRelaxedAcceptanceKernel")


def threshold(single: Any = Fraction(1, 2), accumulated: Any = Fraction(4, 5)) -> Rule:
    """Keep x if ``p(x) >= single``, else if one coin falls below the summed p over `accumulated`.

    The candidates of a position are tried in turn with one coin: x is kept when the coin is at
    most the sum of p over it and its elder siblings, divided by `accumulated`. After all are
    rejected the token is drawn from p without them. With both at 1 it is the rule
    ``tree-target-only`` (for a chain, ``point-mass``).

    Source: SGLang, TreeSpeculativeSamplingTargetOnly in speculative_sampling.cuh (options
    speculative-accept-threshold-single and -acc).
    """
    _between(single, "single")
    _between(accumulated, "accumulated")

    def choose(fork: Fork) -> Choice:
        left, room = fork.p.copy(), accumulated
        trials: list[Trial] = []
        for node in fork.nodes:
            token = fork.draft.tokens[node]
            part = left[token]
            if part > 0 and single <= part:
                return Choice(node, token, (*trials, Trial(node, token, part, part, kept=True)))
            trials.append(fork.coin(node, part, room))
            if trials[-1].kept:
                return Choice(node, token, tuple(trials))
            room, left[token] = room - part, 0
        return Choice(None, fork.rest(left if left.any() else fork.p), tuple(trials))

    return _lossy("threshold", walk(choose), "SGLang, TreeSpeculativeSamplingTargetOnly")


def _admitting(name: str, admits: Admits) -> Any:
    """Make a rule that keeps a token on the word of `admits`, and draws from p where it stops."""

    @guarded
    def verify(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
        require_chain(draft, name)
        trials: list[Trial] = []
        for node, token in enumerate(draft.tokens):
            p, q = rows[node], draft.rows[node]
            kept = admits(p, token)
            trials.append(Trial(node, token, p[token], q[token], kept, coin=False))
            if not kept:
                last = chance.at("residual", node).pick(p)
                return verdict(draft, range(node), last, Source.TARGET, trials)
        return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)

    return verify


def _between(value: Any, name: str) -> None:
    known = isinstance(value, int | float | Fraction | np.number) and not isinstance(value, bool)
    if not known or not 0 < value <= 1:
        raise InvalidInput(f"{name} is {value!r}; it must be a number above 0 and at most 1.")


def _lossy(name: str, verify: Any, source: str) -> Rule:
    return Rule(name=name, guarantee=Guarantee.LOSSY, verify=verify, source=source)


LOSSY_RULES = (lenience(), typical(), top_k_relaxed(), threshold())
