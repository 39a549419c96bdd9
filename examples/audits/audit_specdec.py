"""Audit the round of specdec's `SpecDecoder`: a whole round, models inside.

pip install torch specdec==0.2.0
python examples/audits/audit_specdec.py
"""

from __future__ import annotations

import output
import torch
from models import PROMPT, Model
from specdec.decoder import SpecDecoder


def make(target, draft, k):
    """Give one round as a function of luck alone; the models are tables, not downloads."""
    decoder = SpecDecoder.__new__(SpecDecoder)
    decoder.small_model, decoder.big_model = Model(draft), Model(target)
    decoder.device = "cpu"

    def play(_generator):
        drafted, rows = decoder.generate_small(PROMPT, k)
        return decoder.verify(PROMPT, drafted, rows)

    return play


def main() -> None:
    output.headline("specdec", "SpecDecoder.generate_small, then verify")
    output.law(make, signature="round")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
