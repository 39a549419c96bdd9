"""Audit the three rounds of sequential-speculative-decoding: whole rounds, models inside.

pip install torch sequential-speculative-decoding==0.1.1
python examples/audits/audit_sequential_speculative_decoding.py
"""

from __future__ import annotations

import output
from models import PROMPT, Model
from seqspecdecod.capped_hsd import capped_hsd_step
from seqspecdecod.naive_hsd import naive_hsd_step
from seqspecdecod.standard_sd import standard_speculative_step

from draftproof.battery import WORLDS


def round_of(step):
    """Give the whole round of one method in a world, as a function of luck alone."""

    def make(target, draft, k):
        def play(_generator):
            ids, _, _ = step(
                Model(draft),
                Model(target),
                PROMPT,
                gamma=k,
                draft_temperature=1.0,
                target_temperature=1.0,
            )
            return ids[0, PROMPT.shape[1] :]

        return play

    return make


def main() -> None:
    for step in (standard_speculative_step, naive_hsd_step, capped_hsd_step):
        output.headline("sequential-speculative-decoding", step.__name__)
        output.law(round_of(step), signature="round")
        play = round_of(step)(WORLDS[0].target, WORLDS[0].draft, 2)
        output.sampled(play, WORLDS[0].target, (0, 0, 0))


if __name__ == "__main__":
    main()
