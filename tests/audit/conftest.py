"""Fixtures that several tests of the audit share."""

import pytest

from draftproof.audit import witness


@pytest.fixture
def few_plain_runs(monkeypatch):
    """A tenth of the plain runs, for laws far from those they are told from.

    How many are needed to tell laws apart is what `test_witness` is about.
    """
    for name in ("FEWEST", "MOST", "ASSUMED"):
        monkeypatch.setattr(witness, name, getattr(witness, name) // 10)
