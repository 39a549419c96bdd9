"""Small worlds for the tests: random rational rows that depend on the text, and loaded dice."""

import random
from fractions import Fraction

import numpy as np

from draftproof.backends.table import Table
from draftproof.chance import Dice

ALMOST_ONE = 1 - 2**-53
"""The largest coin there is."""


def random_row(generator, size, largest=4):
    """Rational row with small numerators; zeros, one-hot rows and repeats all occur."""
    weights = [generator.randint(0, largest) for _ in range(size)]
    weights[generator.randrange(size)] += 1
    return np.array([Fraction(weight, sum(weights)) for weight in weights], dtype=object)


def random_table(seed, size, memory=None):
    """Table whose row is a random function of the last `memory` tokens (None: of all)."""

    def row_after(text):
        seen = text if memory is None else text[max(0, len(text) - memory) :]
        return random_row(random.Random(f"{seed}/{seen}"), size)

    return Table(row_after)


class Loaded(Dice):
    """Dice that show the uniforms they were given, in order, whatever the key."""

    def __init__(self, *uniforms):
        super().__init__(0)
        self.left = list(uniforms)

    def uniform(self):
        return self.left.pop(0)

    def after(self, length):
        return self

    def at(self, purpose, *index):
        return self

    def own(self, offset):
        return self
