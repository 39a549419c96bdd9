"""Audit `_speculative_sampling`, the verifier behind transformers' assisted generation.

pip install torch transformers
python examples/audits/audit_transformers.py

The whole loop around it is audited by `draftproof audit transformers`.
"""

from __future__ import annotations

import output
import torch
from transformers.generation import utils
from transformers.generation.utils import _speculative_sampling

from draftproof.audit.transformers_loop import DRAFT, PROMPT, SCENES, loop_of, softmax, world_of


def verify(target_rows, draft_rows, draft_tokens, _generator):
    """One request; transformers calls it with float32 logits, which log p is."""
    return on_logits(target_rows.log(), draft_rows.log(), draft_tokens, _generator)


def on_logits(target_logits, draft_logits, draft_tokens, _generator):
    """One request whose rows are logits."""
    tokens, accepted = _speculative_sampling(
        candidate_input_ids=draft_tokens[None],
        candidate_logits=draft_logits.float()[None],
        candidate_length=len(draft_tokens),
        new_logits=target_logits.float()[None],
    )
    return int(accepted), int(tokens[0, -1])


def drafting_temperature() -> None:
    """Print the row that `generate` drafts from beside the options applied once, and twice."""
    scene, rows = SCENES[1], []

    def watched(ids, logits, *others, **named):
        rows.append(logits[0, 0].softmax(-1).tolist())
        return _speculative_sampling(ids, logits, *others, **named)

    utils._speculative_sampling = watched
    try:
        loop_of(world_of(scene), scene)(PROMPT, None)
    finally:
        utils._speculative_sampling = _speculative_sampling
    once = scene.apply(DRAFT.logits(PROMPT), PROMPT)
    print(f"  {scene.name}: drafted from {_short(rows[0])}; applied once")
    print(f"  {_short(softmax(once))}, twice {_short(softmax(scene.apply(once, PROMPT)))}")


def _short(row) -> str:
    return "(" + ", ".join(f"{float(p):.4f}" for p in row) + ")"


def main() -> None:
    torch.set_grad_enabled(False)
    output.headline("transformers", "_speculative_sampling")
    output.law(lambda *_: verify, signature="block")
    output.coins(on_logits, signature="block", form="logits")
    output.headline("transformers", "generate, the row its assistant drafts from")
    drafting_temperature()


if __name__ == "__main__":
    main()
