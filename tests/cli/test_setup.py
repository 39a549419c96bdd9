"""The verb `setup`: what it tells, and that a second call does nothing."""

from pathlib import Path

import pytest

from draftproof.backends.weights import Prepared
from draftproof.errors import MissingExtra


@pytest.fixture
def prepared(monkeypatch):
    def prepare(progress):
        progress("fetching")
        return Prepared("smollm2", Path("/somewhere"), 98_000_000, 0.5)

    monkeypatch.setattr("draftproof.cli.setup.prepare_default_model", prepare)
    monkeypatch.setattr("draftproof.backends.opening.choose_profile", lambda *_: None)


def test_the_fields_of_the_contract_are_there(prepared, answer):
    code, told = answer("setup")
    assert code == 0
    assert told | {"seconds": 0} == {
        "target": "smollm2", "path": "/somewhere", "size": 98_000_000, "seconds": 0,
    }  # fmt: skip


def test_progress_goes_to_standard_error(prepared, cli):
    done = cli("setup")
    assert "fetching" in done.stderr
    assert done.stdout == "smollm2 is ready in /somewhere (98 MB, 0.0 s).\n"


def test_a_missing_library_is_one_sentence_with_the_line_to_type(monkeypatch, cli):
    def refuse(progress):
        raise MissingExtra("openvino is not installed; type: pip install 'draftproof[openvino]'")

    monkeypatch.setattr("draftproof.cli.setup.prepare_default_model", refuse)
    done = cli("setup")
    assert done.exit_code == 2
    assert done.stderr.endswith("type: pip install 'draftproof[openvino]'\n")


@pytest.mark.model
def test_a_second_setup_fetches_nothing(smollm2, cli, answer):
    _, told = answer("setup")
    assert told["path"] == str(smollm2.folder)
    assert told["size"] > 50e6
    assert "fetching" not in cli("setup").stderr
