"""A model small enough to know by heart, in the place of the real one."""

import time

import numpy as np

from draftproof.backends.table import Table
from draftproof.contracts import Draft

P = np.array([0.5, 0.3, 0.2])
Q = np.array([0.25, 0.5, 0.25])


class ToyDraft:
    name = "toy draft"

    def propose(self, chance, text, k):
        tokens = [chance.at("draft", node).pick(Q) for node in range(k)]
        return Draft.chain(tokens, [Q] * k)


class Silent:
    name = "silent"

    def propose(self, chance, text, k):
        return Draft.empty()


class Slow(Table):
    """Counts its passes and takes its time over each."""

    def __init__(self, row, seconds):
        super().__init__(row)
        self.seconds = seconds
        self.passes = 0

    def rows(self, text, draft):
        time.sleep(self.seconds)
        self.passes += 1
        return super().rows(text, draft)


class ToyModel:
    name = "toy"
    stop = frozenset()
    context_limit = 500

    def __init__(self, seconds=0.0):
        self.table = Slow(P, seconds)
        self.drafts = ("toy", "silent")

    def encode(self, prompt):
        return tuple(ord(letter) % 3 for letter in prompt)

    def spell(self, token):
        return "abc"[token]

    def target(self, temperature):
        return self.table

    def proposer(self, name, temperature, prompt):
        return {"toy": ToyDraft(), "silent": Silent()}[name]
