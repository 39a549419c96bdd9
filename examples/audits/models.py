"""A language model small enough that every row is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

PROMPT = torch.tensor([[0]])


class Model:
    """Looks its rows up: the logits after each prefix are log p of the table's row there."""

    def __init__(self, table):
        self.table = table

    def __call__(self, input_ids, **_options):
        text = tuple(input_ids[0, PROMPT.shape[1] :].tolist())
        rows = np.array([self.table.row(text[:at]) for at in range(len(text) + 1)], dtype=float)
        return SimpleNamespace(logits=torch.tensor(rows).log()[None])
