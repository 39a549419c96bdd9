"""Settings to paste into a serving engine for a draft and a k."""

from __future__ import annotations

import json
import shlex
from typing import Any

from draftproof.errors import InvalidInput
from draftproof.planner.checking import check_count

LOOKUP = ("prompt-lookup", "ngram")
"""Drafts whose nearest relative in a serving engine is its n-gram lookup."""


def settings(k: int, draft: str = "prompt-lookup") -> dict[str, str]:
    """Give what to add to each engine's command line; empty text where k is 0.

    Parameters
    ----------
    k
        Drafts per round; 0 turns speculation off.
    draft
        ``prompt-lookup``, ``ngram``, ``suffix``, or the path or name of a draft model.

    Examples
    --------
    >>> settings(4)["sglang"]
    '--speculative-algorithm NGRAM --speculative-num-draft-tokens 5'
    >>> settings(0)
    {'vllm': '', 'llama.cpp': '', 'sglang': ''}
    """
    if not isinstance(draft, str):
        raise InvalidInput(f"draft is {draft!r:.60}; give its name or its path, as text.")
    if check_count(k, "k") == 0:
        return {"vllm": "", "llama.cpp": "", "sglang": ""}
    return {"vllm": _vllm(k, draft), "llama.cpp": _llama(k, draft), "sglang": _sglang(k, draft)}


def _vllm(k: int, draft: str) -> str:
    config: dict[str, Any] = {"num_speculative_tokens": k}
    if draft in LOOKUP:
        config = {"method": "ngram", **config, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    elif draft == "suffix":
        config = {"method": "suffix", **config}
    else:
        config = {"model": draft, **config}
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _llama(k: int, draft: str) -> str:
    if draft in (*LOOKUP, "suffix"):
        return (
            f"--spec-type ngram-simple --spec-draft-n-max {k} --spec-ngram-simple-size-n 2 "
            f"--spec-ngram-simple-size-m {k}"
        )
    return f"--model-draft {shlex.quote(draft)} --spec-draft-n-max {k}"


def _sglang(k: int, draft: str) -> str:
    if draft in (*LOOKUP, "suffix"):
        return f"--speculative-algorithm NGRAM --speculative-num-draft-tokens {k + 1}"
    check_sglang(k, 1, k + 1)
    return (
        f"--speculative-algorithm STANDALONE --speculative-draft-model-path {shlex.quote(draft)} "
        f"--speculative-num-steps {k} --speculative-eagle-topk 1 "
        f"--speculative-num-draft-tokens {k + 1}"
    )


def check_sglang(steps: int, topk: int, draft_tokens: int) -> None:
    """Refuse three SGLang settings that contradict each other.

    ``speculative-num-draft-tokens`` counts the nodes that are verified, the last token of the
    text included: a chain (top-k 1) of n steps has n + 1, and no tree has more than top-k allows.

    Examples
    --------
    >>> check_sglang(3, 1, 4)
    """
    check_count(steps, "steps", 1)
    check_count(topk, "topk", 1)
    check_count(draft_tokens, "speculative-num-draft-tokens")
    most = 1 + topk + (steps - 1) * topk**2
    right = draft_tokens == steps + 1 if topk == 1 else steps < draft_tokens <= most
    if not right:
        least = f"{steps + 1}" if topk == 1 else f"between {steps + 1} and {most}"
        raise InvalidInput(
            f"speculative-num-draft-tokens is {draft_tokens}; with {steps} steps and top-k {topk} "
            f"it must be {least}."
        )
