"""A proof refuses rows of floats: equality of rounded numbers would prove nothing."""

from __future__ import annotations

import pytest

from draftproof.backends.table import Table
from draftproof.decode import Limits
from draftproof.errors import InvalidInput
from draftproof.proof import Instance, prove_instance, prove_loop
from draftproof.proposers import DraftModel
from draftproof.rules import find_rule

TARGET, DRAFT = Table([0.5, 0.3, 0.2]), DraftModel(Table([0.25, 0.5, 0.25]))


def test_a_round_of_floats_is_refused_with_the_way_out():
    world = Instance(name="floats", target=TARGET, proposer=DRAFT, k=1)
    with pytest.raises(InvalidInput, match="a proof needs rows of fractions"):
        prove_instance(find_rule("token-wise"), world)


def test_a_loop_of_floats_is_refused_with_the_way_out():
    with pytest.raises(InvalidInput, match="a proof needs rows of fractions"):
        prove_loop(find_rule("token-wise"), TARGET, DRAFT, k=1, limits=Limits(max_tokens=2))
