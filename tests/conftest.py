"""Fixtures that more than one test folder needs."""

from __future__ import annotations

import pytest
from hypothesis import settings

from draftproof.backends import open_backend
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.errors import MissingExtra

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")


@pytest.fixture(scope="session")
def smollm2() -> OpenVinoBackend:
    """The default model, opened once; skips where it was never prepared."""
    try:
        return open_backend("smollm2")
    except MissingExtra as missing:
        pytest.skip(str(missing))
