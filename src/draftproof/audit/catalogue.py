"""Every suspect by name, and the rules that were reported as wrong and are exact."""

from __future__ import annotations

import numpy as np

from draftproof.audit.suspects import Acquitted, Step, Suspect, draw, ratio
from draftproof.audit.suspects_coins import COIN, LUCK, RESIDUAL
from draftproof.audit.suspects_drafts import DROPPED, PROVENANCE, TARGET
from draftproof.dist import Row, normalised
from draftproof.errors import InvalidInput
from draftproof.rules.judging import correction, without

STEP_SUSPECTS: tuple[Suspect, ...] = (*PROVENANCE, *COIN, *RESIDUAL, *LUCK, *TARGET, *DROPPED)


def speculative(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draft from q, keep with min(1, p/q), correct from the residual."""
    token = draw(rng, q)
    return token if rng.random() < ratio(p, q)[token] else draw(rng, correction(p, q))


def point_mass(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draft from q and forget it: keep with p(x), else draw from p without x."""
    token = draw(rng, q)
    return token if rng.random() < p[token] else draw(rng, without(p, token))


def exact_match(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draft from q, and let the target's own draw come out whether or not it agrees."""
    draw(rng, q)
    return draw(rng, p)


def untempered_match(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Draft at another temperature than the target's; the target's own draw comes out."""
    draw(rng, normalised(q * q))
    return draw(rng, p)


def top_two_siblings(p: Row, q: Row, rng: np.random.Generator) -> int:
    """Judge the two likeliest tokens of q in turn, each as certain (q = 1) where it stands."""
    left = p
    for token in np.argsort(-q.astype(np.float64), kind="stable")[:2]:
        if rng.random() < left[token]:
            return int(token)
        left = normalised(without(left, int(token)))
    return draw(rng, left)


def names_swapped(q: Row, p: Row, rng: np.random.Generator) -> int:
    """Call the target q and the draft p, and use both consistently."""
    return speculative(q, p, rng)


def _acquitted(name: str, about: str, step: Step, *references: str) -> Acquitted:
    return Acquitted(name=name, about=about, references=references, step=step)


ACQUITTED: tuple[Acquitted, ...] = (
    _acquitted(
        "sampled draft judged as certain",
        "the q of a sampled draft is not used: exact, and only accepts less",
        point_mass,
        "vllm-project/vllm#40149",
        "sgl-project/sglang#10308",
    ),
    _acquitted(
        "residual kept in the target's buffer",
        "p is drawn from after a rejection, and the buffer holds the residual by then",
        speculative,
        "NJUNLP/MCSD#5",
    ),
    _acquitted(
        "exact match at a temperature",
        "the target draws for itself, so no coin is needed at any temperature",
        exact_match,
        "lablup/mlxcel#902",
        "ml-explore/mlx-swift-lm#459",
    ),
    _acquitted(
        "top-k tree with q = 1",
        "siblings chosen without luck are certain, so q = 1 is their true row",
        top_two_siblings,
        "SafeAILab/EAGLE#183",
    ),
    _acquitted(
        "draft at another temperature",
        "the draft ignores the temperature, and exact match never looks at q",
        untempered_match,
        "z-lab/dflash#74",
    ),
    _acquitted(
        "p and q swapped by name",
        "the names are exchanged throughout, so the rule is the right one",
        names_swapped,
        "feifeibear/LLMSpeculativeSampling#36",
    ),
)


def find_suspect(name: str) -> Suspect:
    """Give the suspect of that name.

    Examples
    --------
    >>> find_suspect("resample from p").about
    'a rejection draws from p instead of from the residual'
    """
    found = next((suspect for suspect in STEP_SUSPECTS if suspect.name == name), None)
    if found is None:
        names = ", ".join(suspect.name for suspect in STEP_SUSPECTS)
        raise InvalidInput(f"suspect {name!r} is not known; choose one of: {names}.")
    return found
