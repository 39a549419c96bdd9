"""Audit flashspec's verifiers: `rejection_step`, and `rejection_sample` with its batch.

pip install torch flashspec==0.3.1
python examples/audits/audit_flashspec.py
"""

from __future__ import annotations

import output
import torch
from flashspec.sampling.rejection import rejection_sample, rejection_step
from flashspec.sampling.typical import typical_sample


def step(target_rows, draft_rows, draft_tokens, generator):
    """One request through `rejection_step`, which takes log-probabilities."""
    answer = rejection_step(
        draft_tokens[None], draft_rows.log()[None], target_rows.log()[None], generator=generator
    )
    accepted, token = answer[0].tolist()
    return accepted, token


def batch(target_rows, draft_rows, draft_tokens, generator):
    """Several requests of one length through `rejection_step`."""
    answer = rejection_step(
        torch.stack(draft_tokens),
        torch.stack(draft_rows).log(),
        torch.stack(target_rows).log(),
        generator=generator,
    )
    return [tuple(pair) for pair in answer.tolist()]


def whole_sample(target_rows, draft_rows, draft_tokens, generator):
    """One request through `rejection_sample`; the bonus token is its caller's, drawn from p."""
    return _sample(rejection_sample, target_rows, draft_rows, draft_tokens, generator)


def typical(target_rows, draft_rows, draft_tokens, generator):
    """One request through `typical_sample`, which promises no exactness."""
    return _sample(typical_sample, target_rows, draft_rows, draft_tokens, generator)


def _sample(function, target_rows, draft_rows, draft_tokens, generator):
    k = len(draft_tokens)
    named = {"input_ids": draft_tokens[None]} if function is rejection_sample else {}
    ids, first, _ = function(
        draft_logprobs=draft_rows.log()[None],
        target_logprobs=target_rows[:k].log()[None],
        draft_token_ids=draft_tokens[None],
        gamma=k,
        generator=generator,
        **named,
    )
    accepted = int(first[0])
    if accepted < k:
        return accepted, int(ids[0, accepted])
    return k, int(torch.multinomial(target_rows[k], 1, generator=generator))


def main() -> None:
    output.headline("flashspec", "rejection_step")
    output.law(lambda *_: step, signature="block")
    output.coins(step, signature="block")
    output.headline("flashspec", "rejection_step, two requests in a batch")
    output.law(lambda *_: batch, signature="batch", lengths=((1, 1),))
    output.headline("flashspec", "rejection_sample")
    output.law(lambda *_: whole_sample, signature="block")
    output.coins(whole_sample, signature="block")
    output.headline("flashspec", "typical_sample (documented as inexact)")
    output.law(lambda *_: typical, signature="block", lengths=(1,))


if __name__ == "__main__":
    main()
