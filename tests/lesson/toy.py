"""A model small enough to know by heart, in the place of the real one."""

import time

import numpy as np

P = np.array([0.5, 0.3, 0.2])


class ToyBackend:
    """Says the same whatever came before, counts its passes and takes its time over each."""

    name = "toy"
    context_limit = 500

    def __init__(self, row):
        self.row = row
        self.vocab_size = row.size
        self.seconds = 0.0
        self.passes = 0

    def logits(self, text, draft):
        time.sleep(self.seconds)
        self.passes += 1
        return [np.log(self.row).astype(np.float32)] * (len(draft) + 1)


class ToyModel:
    engine = "bit-exact"
    eos = frozenset()

    def __init__(self, row=P):
        self.backend = ToyBackend(row)
        self.pieces = [self.spell(token) for token in range(row.size)]

    def encode(self, prompt, *, chat):
        return tuple(ord(letter) % self.backend.vocab_size for letter in prompt)

    def spell(self, token):
        return chr(ord("a") + token)

    def speller(self):
        return self

    def push(self, token):
        return self.spell(token)

    def flush(self):
        return ""
