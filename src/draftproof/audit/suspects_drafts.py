"""Wrong drafts and wrong rows: the suspects in which judging is right and what is judged is not.

A draft that was not drawn from the q that is divided by, a target row that is not the user's, and
drafts that are dropped after looking at them or judged several at a time as if alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from draftproof.audit.suspects import Suspect, draw, exchanged, likeliest_of, ratio
from draftproof.dist import Row, normalised
from draftproof.rules.judging import correction, without

# ---------------------------------------------------------------- q that was not sampled


def largest_of_two(_p: Row, q: Row) -> Row:
    """Law of the likelier of two draws from q (as of two beams, the better is taken)."""
    order = np.argsort(q.astype(np.float64), kind="stable")
    upto = np.cumsum(q[order])
    law = np.zeros_like(q)
    law[order] = upto**2 - np.concatenate([np.zeros_like(q[:1]), upto[:-1]]) ** 2
    return law


def cut_to_the_top(_p: Row, q: Row) -> Row:
    """The likeliest half of the tokens, at least 2 and at most 50, as a top-k of q keeps them."""
    few = max(2, min(50, math.ceil(len(q) / 2)))
    kept = np.zeros_like(q)
    top = np.argsort(-q.astype(np.float64), kind="stable")[:few]
    kept[top] = q[top]
    return normalised(kept)


def to_bfloat16(_p: Row, q: Row) -> Row:
    """Round each probability to the 8 significant bits of bfloat16, half to even."""
    rounded = [_rounded(entry) for entry in q]
    return normalised(np.array(rounded, dtype=q.dtype))


def _rounded(value: Fraction | float) -> Fraction:
    if value == 0:
        return Fraction(0)
    scale = Fraction(2) ** (8 - math.frexp(float(value))[1])
    return Fraction(round(Fraction(value) * scale)) / scale


PROVENANCE = (
    exchanged(
        "argmax draft",
        "the draft is the likeliest token of q, but the ratio divides by q as if it were sampled",
        "huggingface/transformers#32867",
        "jaymody/speculative-sampling#3",
        "xLLM-AI/xllm#2175",
        "ggml-org/llama.cpp#5625",
        probe="p = (1/2, 1/2), q = (3/5, 2/5)",
        drawn=lambda _p, q: likeliest_of(q),
    ),
    exchanged(
        "best of two drafts",
        "the likelier of two draws is judged as if it were one draw, as the best beam would be",
        "apple/ml-recurrent-drafter#6",
        probe="p = (1/2, 1/2), q = (3/5, 2/5)",
        drawn=largest_of_two,
    ),
    exchanged(
        "truncated draft",
        "the draft is drawn after a top-k cut of q, and judged with q before the cut",
        "huggingface/transformers#47932",
        probe="p = (1/2, 1/2, 0), q = (2/5, 1/5, 2/5) cut to (1/2, 0, 1/2)",
        drawn=cut_to_the_top,
    ),
    exchanged(
        "sharpened draft",
        "the draft is drawn at temperature 1/2 and judged with q at temperature 1",
        "huggingface/transformers#47932",
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
        drawn=lambda _p, q: normalised(q * q),
    ),
    exchanged(
        "rounded draft",
        "the draft is drawn from q in bfloat16 and judged with q in full precision",
        "deepseek-ai/DeepSpec#31",
        probe="compare q with q rounded to bfloat16, token by token",
        drawn=to_bfloat16,
    ),
)

# ---------------------------------------------------------------- a target row that is not it


def softmax_again(p: Row, _q: Row) -> Row:
    """Softmax of probabilities: what comes of passing them where logits belong."""
    weights = np.exp(p.astype(np.float64))
    return np.asarray(weights / weights.sum())


def cut_off(p: Row, _q: Row) -> Row:
    """Drop every token below a fifth of the likeliest one (min-p) and renormalise."""
    return normalised(np.where(5 * p >= p.max(), p, 0 * p))


def without_the_last(p: Row, _q: Row) -> Row:
    """Drop the last token id, as a draft vocabulary that is one shorter does."""
    return normalised(without(p, len(p) - 1))


TARGET = (
    exchanged(
        "target temperature ignored",
        "the target's row is read before its temperature is applied",
        "vllm-project/vllm#9834",
        "vllm-project/vllm#10198",
        "ohdearquant/lattice#388",
        "triton-inference-server/tensorrtllm_backend#472",
        probe="logits (ln 9, 0) at temperature 2",
        target=lambda p, _q: normalised(p * p),
    ),
    exchanged(
        "softmax applied twice",
        "probabilities are passed where logits belong, and softmax flattens them again",
        "vllm-project/vllm-ascend#6685",
        probe="logits (ln 9, 0) at temperature 1",
        target=softmax_again,
    ),
    exchanged(
        "argmax of the target",
        "the target's likeliest token comes out, whatever the temperature",
        "NVIDIA/TensorRT-LLM#19390",
        probe="p = (1/2, 1/2)",
        target=lambda p, _q: likeliest_of(p),
    ),
    exchanged(
        "target cut once more",
        "a truncation the user did not ask for is applied to the target's row",
        probe="p = (3/5, 3/10, 1/10)",
        target=cut_off,
    ),
    exchanged(
        "last token id lost",
        "the target's row is cut to a draft vocabulary that is one token shorter",
        "xLLM-AI/xllm#2175",
        "ggml-org/llama.cpp#3812",
        probe="p = (3/10, 3/10, 3/10, 1/10), q over three tokens",
        target=without_the_last,
    ),
)

# ---------------------------------------------------------------- drafts dropped or many


def drops_unsure(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Drop a draft after seeing that q was not sure of it, and draw from p instead."""
    token = draw(rng, q)
    if 2 * q[token] < 1:
        return draw(rng, p)
    return token if rng.random() < ratio(p, q)[token] else draw(rng, correction(p, q))


def _dropping(p: Row, q: Row, judged: Row) -> Row:
    drafted = np.where(judged, q, 0 * q)
    kept = drafted * ratio(p, q)
    lost = (drafted - kept).sum()
    rest = normalised(correction(p, q))
    return np.asarray(kept + lost * rest + (1 - drafted.sum()) * p)


def drops_stop(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Drop a drafted end-of-sequence token (here id 0), and draw from p instead."""
    token = draw(rng, q)
    if token == 0:
        return draw(rng, p)
    return token if rng.random() < ratio(p, q)[token] else draw(rng, correction(p, q))


PATHS = 3


def a_draw_for_each_path(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Let the target draw anew for each of three drafts; the first match wins."""
    own = 0
    for _ in range(PATHS):
        token, own = draw(rng, q), draw(rng, p)
        if own == token:
            break
    return own


def _each_path_law(p: Row, q: Row) -> Row:
    match = (p * q).sum()
    before = sum((1 - match) ** turn for turn in range(PATHS - 1))
    return np.asarray(p * q * before + (1 - match) ** (PATHS - 1) * p)


def siblings_not_renewed(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Judge a second draft by p and q as if the first had not been rejected."""
    for _ in range(2):
        token = draw(rng, q)
        if rng.random() < ratio(p, q)[token]:
            return token
    return draw(rng, correction(p, q))


def _not_renewed_law(p: Row, q: Row) -> Row:
    kept = np.minimum(p, q)
    lost = 1 - kept.sum()
    return np.asarray(kept * (1 + lost) + lost**2 * normalised(correction(p, q)))


def siblings_not_rescaled(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draw a second draft without the first, but judge it by q with the first still in."""
    first = draw(rng, q)
    if rng.random() < ratio(p, q)[first]:
        return first
    left = normalised(correction(p, q))
    second = draw(rng, without(q, first))
    return second if rng.random() < ratio(left, q)[second] else draw(rng, correction(left, q))


def _not_rescaled_law(p: Row, q: Row) -> Row:
    keeps, left = ratio(p, q), normalised(correction(p, q))
    again = ratio(left, q)
    lost = q * (1 - keeps)
    share = np.where(q < 1, lost / np.where(q < 1, 1 - q, 1), 0)
    second = q * (share.sum() - share) + np.where(q < 1, 0, lost)
    kept = second * again
    rest = normalised(correction(left, q))
    return np.asarray(q * keeps + kept + (second - kept).sum() * rest)


DROPPED = (
    Suspect(
        name="unsure drafts dropped",
        about="a drafted token is dropped after seeing that q gave it less than 1/2",
        references=("ggml-org/llama.cpp#22506", "arXiv 2607.26627 (scheduling)"),
        step=drops_unsure,
        law=lambda p, q: _dropping(p, q, 2 * q >= 1),
        probe="p = (1/2, 1/2), q = (1/5, 4/5)",
    ),
    Suspect(
        name="drafted stop token dropped",
        about="a sampled end-of-sequence token (id 0) is taken out of the draft unjudged",
        references=("huggingface/transformers#47912 (its fix)",),
        step=drops_stop,
        law=lambda p, q: _dropping(p, q, np.arange(len(q)) > 0),
        probe="p = (1/5, 4/5), q = (1/2, 1/2), id 0 ends a text",
    ),
    Suspect(
        name="a target draw for each path",
        about="the target draws anew for each candidate path, and the first match wins",
        references=("foundation-model-stack/fms-extras#12",),
        step=a_draw_for_each_path,
        law=_each_path_law,
        probe="target (1/2, 1/2), candidates a, a, a, e",
    ),
    Suspect(
        name="siblings not renewed",
        about="a second draft is judged by p and q as if the first had not been rejected",
        references=("ggml-org/llama.cpp#5625",),
        step=siblings_not_renewed,
        law=_not_renewed_law,
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
    ),
    Suspect(
        name="siblings not rescaled",
        about="a second draft is drawn without the first, and judged by q with the first in it",
        references=("SafeAILab/EAGLE#74",),
        step=siblings_not_rescaled,
        law=_not_rescaled_law,
        probe="p = (1/3, 1/3, 1/3), q = (1/2, 3/10, 1/5)",
    ),
)
