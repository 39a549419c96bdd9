"""Audit `_speculative_sampling`, the verifier behind transformers' assisted generation.

pip install torch transformers
python examples/audits/audit_transformers.py
"""

from __future__ import annotations

import output
import torch
from transformers.generation.utils import _speculative_sampling


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


def main() -> None:
    torch.set_grad_enabled(False)
    output.headline("transformers", "_speculative_sampling")
    output.law(lambda *_: verify, signature="block")
    output.coins(on_logits, signature="block", form="logits")


if __name__ == "__main__":
    main()
