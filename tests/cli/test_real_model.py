"""The command line on the default model: what is promised to a newcomer, end to end."""

import json

import pytest

from draftproof.session import Options, Transcript, open_session
from draftproof.session.models import Opened
from draftproof.trace import read_trace, replay
from draftproof.warp import Warp

pytestmark = pytest.mark.model

PROMPTS = ("Name three rivers in Europe.", "Write one sentence about snow, with an emoji.")


@pytest.fixture
def model(smollm2, monkeypatch):
    """Let the command line use the model that is open already."""
    opened = Opened(smollm2)
    monkeypatch.setattr("draftproof.session.running.open_model", lambda name: opened)
    return opened


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_text_equals_plain_text_and_rows_do_not_depend_on_the_pass(model, answer, prompt):
    if model.engine != "bit-exact":
        pytest.skip("rows depend on the pass on this machine, as its summary says")
    flags = ("--temperature", 0, "--compare", "--max-tokens", 16)
    code, told = answer("run", prompt, *flags)
    assert code == 0
    assert told["plain"]["text"] == told["text"]
    assert told["numeric_gap"]["max"] == 0.0
    assert told["engine"] == "bit-exact"


def test_the_text_is_what_the_tokenizer_gives_for_the_tokens(model, answer):
    for seed in range(3):
        _, told = answer("run", PROMPTS[1], "--max-tokens", 40, "--seed", seed)
        assert told["text"] == model.backend.tokenizer.decode(told["tokens"])


def test_a_trace_of_the_model_replays(model, cli, tmp_path):
    file = tmp_path / "run.jsonl"
    done = cli("run", PROMPTS[0], "--max-tokens", 24, "--trace", file, "--json")
    told = json.loads(done.stdout)
    records = read_trace(file)
    assert replay(records) == []
    emitted = [one["token"] for record in records[1:-1] for one in record["emitted"]]
    assert emitted == told["tokens"]
    assert records[0]["prompt"] == list(model.encode(PROMPTS[0], chat=True))


@pytest.mark.parametrize("rule", ["gumbel", "exact-match"])
def test_a_rule_of_the_targets_own_luck_gives_the_plain_text_at_any_temperature(model, rule):
    if model.engine != "bit-exact":
        pytest.skip("rows depend on the pass on this machine, as its summary says")
    options = Options(rule=rule, max_tokens=24, warp=Warp(temperature=0.8), seed=7)
    session = open_session(options)
    text = session.encode(PROMPTS[0])
    assert session.texts_must_agree
    scripts = Transcript(), Transcript()
    for script, plain in zip(scripts, (False, True), strict=True):
        for _ in session.run(text, script, plain=plain):
            pass
    assert scripts[0].tokens == scripts[1].tokens


def test_a_stop_string_ends_the_text_in_the_middle_of_a_block(model, answer):
    flags = ("--temperature", 0, "--max-tokens", 40, "-k", 8)
    _, whole = answer("run", PROMPTS[0], *flags)
    stop = whole["text"][12:19]
    _, told = answer("run", PROMPTS[0], *flags, "--stop", stop)
    assert told["text"] == whole["text"][: whole["text"].index(stop)]


def test_the_prompt_that_is_too_long_is_refused_by_its_length(model, cli):
    done = cli("run", "word " * (model.backend.context_limit + 1))
    assert done.exit_code == 2
    assert "shorten it" in done.stderr


def test_a_second_model_drafts_by_path(model, answer, monkeypatch):
    """The default model drafts for itself: p equals q, so nothing is ever rejected."""
    monkeypatch.undo()
    flags = ("--draft", model.backend.folder, "--max-tokens", 10, "-k", 4)
    code, told = answer("run", PROMPTS[0], *flags)
    assert code == 0
    assert told["acceptance_per_test"] == 1.0
