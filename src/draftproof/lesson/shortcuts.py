"""The laws of what different programs emit in one step: the columns of the live table.

The wrong ones are those of the audit's suspects, so a lesson shows what an audit looks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from draftproof import dist
from draftproof.audit.catalogue import find_suspect
from draftproof.dist import Row


def matched(p: Row, q: Row) -> Row:
    """Law when the target draws for itself, and its draw comes out whether or not it agrees.

    >>> from draftproof.backends.table import fractions
    >>> str(matched(fractions("1/2", "1/2"), fractions("1/4", "3/4"))[0])
    '1/2'
    """
    agreements, mismatches = p * q, p * (1 - q)
    return np.asarray(agreements + mismatches)


OUTPUTS: dict[str, Callable[[Row, Row], Row]] = {
    "corrected": dist.exact_distribution,
    "naive": dist.naive_distribution,
    "matched": matched,
    "redrawn": find_suspect("match, then redraw").law,
    "greedy": find_suspect("argmax draft").law,
}
"""By the name of the column; each should be p, and is marked where it is not."""
