"""Wrong judging: the suspects whose coin, residual or luck is not what the rule asks for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from draftproof.audit.suspects import (
    Parts,
    Suspect,
    draw,
    exchanged,
    likeliest_of,
    one_hot_at,
    ratio,
)
from draftproof.chance import Chance, shared_race
from draftproof.dist import Row, normalised
from draftproof.rules.judging import correction, without

# ---------------------------------------------------------------- the coin


def inverted(p: Row, q: Row) -> Row:
    """``min(1, q / p)``: the ratio upside down."""
    return np.asarray(np.where(p > 0, np.minimum(p, q) / np.where(p > 0, p, 1), 1))


def certain(yes: Row, like: Row) -> Row:
    """Give truth values as probabilities 0 and 1, in the numbers of `like`."""
    return np.asarray(yes.astype(np.int64) * one_hot_at(like, 0)[0])


def on_a_grid(p: Row, q: Row, steps: int = 256) -> Row:
    """Chance that a coin of `steps` equal values, 0 among them, is at most ``p / q``."""
    values = np.floor_divide(ratio(p, q) * steps, 1) + 1
    return np.asarray(np.minimum(values / (Fraction(steps) if p.dtype == object else steps), 1))


def coarse_coin(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Speculative sampling with a coin of 8 bits, compared with <=."""
    token = draw(rng, q)
    if rng.integers(256) <= 256 * ratio(p, q)[token]:
        return token
    return draw(rng, correction(p, q))


COIN = (
    exchanged(
        "always accept",
        "every drafted token is kept, so the draft's law comes out",
        "huggingface/transformers#28508",
        "ohdearquant/lattice#243",
        "1bit-MONSTER/1bit-MONSTER#111",
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
        keeps=lambda p, q: certain(q >= 0, p),
    ),
    exchanged(
        "coin stuck at zero",
        "the coin is always 0, so every token the target can say at all is kept",
        "vllm-project/vllm-ascend#13766",
        probe="p = (1/2, 1/2, 0), q = (0, 1/2, 1/2): tell it from always accept",
        keeps=lambda p, _q: certain(p > 0, p),
    ),
    exchanged(
        "inverted ratio",
        "a token is kept with probability min(1, q/p)",
        "feifeibear/LLMSpeculativeSampling#36",
        probe="p = (2/5, 3/10, 1/5, 1/10), q its reverse",
        keeps=inverted,
    ),
    exchanged(
        "p and q swapped",
        "ratio and residual both take the draft's row for the target's",
        "feifeibear/LLMSpeculativeSampling#36",
        probe="p = (2/5, 3/10, 1/5, 1/10), q its reverse",
        keeps=inverted,
        rest=lambda p, q: correction(q, p),
    ),
    exchanged(
        "accept iff p >= q",
        "no coin is tossed: a token is kept exactly when p(x) >= q(x)",
        "vllm-project/vllm-project.github.io#80",
        probe="p = (2/5, 3/5), q = (3/5, 2/5)",
        keeps=lambda p, q: certain(p >= q, p),
    ),
    exchanged(
        "accept iff ratio > 1/2",
        "no coin is tossed: a token is kept exactly when p(x)/q(x) > 1/2",
        "realizar 0.8.6 (documentation)",
        probe="p = (2/5, 3/5), q = (3/5, 2/5)",
        keeps=lambda p, q: certain(2 * p > q, p),
    ),
    Suspect(
        name="coarse coin",
        about="the coin has 8 bits and is compared with <=, so even p(x) = 0 is kept at times",
        references=("meta-pytorch/gpt-fast", "sgl-project/sglang#35771"),
        step=coarse_coin,
        law=Parts(keeps=on_a_grid).law,
        probe="p = (999/1000, 1/1000), q = (0, 1)",
    ),
    exchanged(
        "argmax match, else p",
        "a draft is kept when it is the target's likeliest token, and else p is drawn from",
        "tanishqkumar/ssd",
        probe="p = q = (3/5, 2/5)",
        keeps=lambda p, _q: likeliest_of(p),
        rest=lambda p, _q: p,
    ),
)

# ---------------------------------------------------------------- the residual


def all_but_the_rejected(p: Row, q: Row, rng: np.random.Generator) -> int:
    """After a rejection, draw from p without the rejected token, whatever q was."""
    token = draw(rng, q)
    if rng.random() < ratio(p, q)[token]:
        return token
    return draw(rng, without(p, token))


def all_but_the_rejected_law(p: Row, q: Row) -> Row:
    """``min(p, q) + p(y) sum over x != y of lost(x) / (1 - p(x))``."""
    return _kept_and_others(p, q, ratio(p, q))


def _kept_and_others(p: Row, q: Row, keeps: Row) -> Row:
    lost = q * (1 - keeps)
    share = np.where(p < 1, lost / np.where(p < 1, 1 - p, 1), 0)
    stuck = np.where(p < 1, 0, lost)
    return np.asarray(q * keeps + p * (share.sum() - share) + stuck)


def zeroed_in_place(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Prepare the residual in the target's own row before the coin is tossed."""
    token = draw(rng, q)
    row = without(p, token)
    if rng.random() < ratio(row, q)[token]:
        return token
    return draw(rng, row)


def _zeroed_law(p: Row, q: Row) -> Row:
    return _kept_and_others(p, q, np.where(p < 1, 0, ratio(p, q)))


def match_then_redraw(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Compare the draft with a draw from p, and on a mismatch draw from p again."""
    token = draw(rng, q)
    return token if draw(rng, p) == token else draw(rng, p)


RESIDUAL = (
    exchanged(
        "resample from p",
        "a rejection draws from p instead of from the residual",
        "NJUNLP/MCSD#5 (suspected there)",
        probe="p = (1/2, 3/10, 1/5), q = (1/4, 1/2, 1/4)",
        rest=lambda p, _q: p,
    ),
    exchanged(
        "absolute residual",
        "a rejection draws from |p - q|, not from the positive part of p - q",
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
        rest=lambda p, q: np.abs(p - q) if (p != q).any() else p,
    ),
    exchanged(
        "argmax of the residual",
        "a rejection emits the likeliest token of the residual instead of drawing one",
        probe="p = (2/5, 3/10, 1/5, 1/10), q its reverse: two tokens in the residual",
        rest=lambda p, q: likeliest_of(correction(p, q)),
    ),
    Suspect(
        name="p without the rejected token",
        about="a rejection draws from p without the rejected token, as is right only for a "
        "one-hot q",
        references=("vllm-project/vllm-ascend#2881",),
        step=all_but_the_rejected,
        law=all_but_the_rejected_law,
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
    ),
    Suspect(
        name="target row zeroed too early",
        about="the drafted token is taken out of the target's own row before its coin is tossed",
        references=("vllm-project/vllm-ascend#2881",),
        step=zeroed_in_place,
        law=_zeroed_law,
        probe="p = q = (1/2, 1/2)",
    ),
    exchanged(
        "coin of a one-hot draft, residual of q",
        "the coin takes q(x) = 1 and the residual the real q: two rules mixed",
        "vllm-project/vllm#44869",
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
        keeps=lambda p, _q: p,
    ),
    exchanged(
        "one-hot draft, resampled from p",
        "kept with probability p(x), and a rejection forgets that x is out of the question",
        probe="p = (1/2, 1/2), q = (1, 0)",
        keeps=lambda p, _q: p,
        rest=lambda p, _q: p,
    ),
    Suspect(
        name="match, then redraw",
        about="the draft is compared with a draw from p, which a mismatch throws away",
        references=("foundation-model-stack/fms-extras#12",),
        step=match_then_redraw,
        law=lambda p, q: np.asarray(p * (1 + q - (p * q).sum())),
        probe="p = (1/2, 1/2), q = (1, 0)",
    ),
)

# ---------------------------------------------------------------- luck used twice


def _inverse(u: float, weights: Row) -> int:
    edges = np.cumsum(normalised(weights))
    inside = (token for token, edge in enumerate(edges) if u < edge)
    return next(inside, int(np.flatnonzero(weights > 0)[-1]))


def coin_again(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Take the coin of a rejection as the uniform that picks from the residual."""
    token, u = draw(rng, q), rng.random()
    return token if u < ratio(p, q)[token] else _inverse(u, correction(p, q))


def coin_again_law(p: Row, q: Row) -> Row:
    """``min(p, q)`` plus the residual's stretches of [0, 1) weighted by who is rejected there.

    A coin u rejects the tokens with ratio at most u, of total mass D(u); the residual's token y
    owns the coins between two neighbouring cumulative sums, so it gains the integral of D there.
    """
    keeps = ratio(p, q)
    order = np.argsort(keeps.astype(np.float64), kind="stable")
    mass, moment = np.cumsum(q[order]), np.cumsum((q * keeps)[order])
    edges = np.cumsum(normalised(correction(p, q)))
    at = np.searchsorted(keeps[order], edges, side="left")
    below = np.maximum(at - 1, 0)
    upto = np.where(at > 0, edges * mass[below] - moment[below], 0)
    return np.asarray(q * keeps + np.diff(upto, prepend=0))


def coin_of_the_draft(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Toss no coin of its own: the uniform that picked the draft decides."""
    u = rng.random()
    token = _inverse(u, q)
    return token if u < ratio(p, q)[token] else draw(rng, correction(p, q))


def coin_of_the_draft_law(p: Row, q: Row) -> Row:
    """The part of each token's stretch of [0, 1) that lies below its ratio is kept."""
    start = np.cumsum(q) - q
    kept = np.minimum(np.maximum(ratio(p, q) - start, 0), q)
    return np.asarray(kept + (1 - kept.sum()) * normalised(correction(p, q)))


def _winner(noise: Row, weights: Row) -> int:
    arrivals = np.full(len(weights), np.inf)
    np.divide(noise, weights.astype(np.float64), out=arrivals, where=weights > 0)
    return int(arrivals.argmin())


def noise_again(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draw draft and residual with one field of exponential noise."""
    noise = rng.exponential(size=len(q)).astype(np.float64)
    token = _winner(noise, q)
    return token if rng.random() < ratio(p, q)[token] else _winner(noise, correction(p, q))


def noise_again_by_chance(chance: Chance, p: Row, q: Row) -> int:
    """The same bug on our own luck, which can be enumerated."""
    field = ("noise", 0)
    token = chance.at(*field).race(q)
    if chance.at("coin", 0).accepts(p[token], q[token]):
        return token
    return chance.at(*field).race(correction(p, q))


def noise_again_law(p: Row, q: Row) -> Row:
    """Where x is rejected, y wins with the joint law of two races on one noise field."""
    joint = np.array(shared_race(q, normalised(correction(p, q))), dtype=p.dtype)
    return np.asarray(q * ratio(p, q) + (1 - ratio(p, q)) @ joint)


LUCK = (
    Suspect(
        name="coin used again",
        about="the coin of the rejection is used again to pick from the residual",
        references=("flashinfer-ai/flashinfer#424",),
        step=coin_again,
        law=coin_again_law,
        probe="p = (2/5, 2/5, 1/5), q = (1/10, 1/10, 4/5)",
    ),
    Suspect(
        name="coin of the draft",
        about="the number that drew the draft decides whether it is kept",
        references=("vllm-project/vllm#47386",),
        step=coin_of_the_draft,
        law=coin_of_the_draft_law,
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
    ),
    Suspect(
        name="noise used again",
        about="draft and residual are drawn with the same Gumbel noise",
        references=("vllm-project/vllm#54282", "vllm-project/vllm#47386"),
        step=noise_again,
        law=noise_again_law,
        probe="p = (2/5, 3/10, 1/5, 1/10), q its reverse",
        most=64,
    ),
)
