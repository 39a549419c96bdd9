"""`plan --measure` and `run -k auto` on a toy model: what they decide, not how fast it is."""

import json
import re

import pytest

from draftproof.planner.policy import Adaptive
from draftproof.session import costing
from draftproof.trace import read_trace

MEASURE = ("plan", "--measure", "--time-limit", "20s", "--max-k", "3")
CHEAP = (1.0, 1.1, 1.2, 1.3, 1.4)


@pytest.fixture
def prompts(tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("abc abc abc\n\nhello\n")
    return file


def test_it_recommends_and_checks(toy, answer, prompts):
    code, told = answer(*MEASURE, "--prompts", prompts)
    assert code in (0, 3)
    low, high = told["interval"]
    assert low <= high
    assert (code == 3) == (told["verdict"] == "cannot tell")
    assert {one["draft"] for one in told["candidates"]} == {"ngram", "prompt-lookup", "suffix"}
    assert {one["rule"] for one in told["candidates"]} == {"token-wise", "block"}
    assert [row["k"] for row in told["table"]] == [0, 1, 2, 3]
    assert told["table"][0]["speedup"] == 1
    assert set(told["measured"]) == {"plain", "speculative", "speedup"}
    assert list(told["seconds_per_pass"]) == ["1", "2", "3", "4"]


def test_an_interrupt_while_the_prediction_is_checked_loses_no_measurement(
    toy, cli, prompts, monkeypatch
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("draftproof.cli.plan_measure.check", interrupted)
    arguments = (*MEASURE, "--prompts", prompts, "--draft", "suffix")
    done = cli(*arguments)
    assert done.exit_code == 130
    assert "not checked, for it was interrupted" in " ".join(done.stdout.split())
    assert "Verdict" in done.stdout
    told = json.loads(cli(*arguments, "--json").stdout)
    assert told["measured"] is None
    assert told["candidates"]


def test_people_see_prediction_measurement_and_settings(toy, cli, prompts):
    done = cli(*MEASURE, "--prompts", prompts, "--draft", "suffix", "--temperature", "0")
    assert done.exit_code in (0, 3)
    assert "Predicted" in done.stdout
    assert "measured" in done.stdout
    assert "Settings to paste" in done.stdout
    assert "checking the prediction" in done.stderr


def test_all_three_charts_are_shown_and_drawn(toy, cli, prompts, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "plan.svg"
    done = cli(*MEASURE, "--prompts", prompts, "--draft", "ngram", "--temperature", "0",
               "--plot", file, env={"COLUMNS": "80"})  # fmt: skip
    assert done.exit_code in (0, 3)
    heads = ("k +per round +speed-up +interval", "position +looked at", "in a pass +ms +one by one")
    for head in heads:
        assert re.search(rf"^{head} *$", done.stdout, re.MULTILINE), head
    assert max(map(len, done.stdout.split("Settings to paste")[0].splitlines())) <= 80
    drawn = file.read_text()
    for label in ("95 % interval", "kept, if looked at", "tokens in a pass"):
        assert f"<!-- {label} -->" in drawn


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--prompts", "nowhere.txt"), "--prompts nowhere.txt"),
        (("--rule", "rrs"), "'rrs'"),
        (("--rule", "bogus"), "bogus"),
        (("--draft", "bogus"), "bogus"),
        (("--temperature", "-1"), "temperature"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_sentence(toy, cli, args, words):
    done = cli(*MEASURE, *args)
    assert done.exit_code == 2
    assert words in done.stderr.splitlines()[-1]


# ---------------------------------------------------------------- -k auto


@pytest.fixture
def costs(monkeypatch):
    """Constant costs, so that a test does not depend on the clock."""
    monkeypatch.setattr("draftproof.session.running.round_seconds", lambda *_, **__: CHEAP)


def test_auto_gives_one_text_for_one_seed(toy, costs, answer):
    args = ("run", "abc abc", "-k", "auto", "--max-tokens", 60, "--temperature", "0.8")
    _, first = answer(*args)
    _, again = answer(*args)
    assert first["k"] == "auto"
    assert first["tokens"] == again["tokens"]
    assert first["rounds"] == again["rounds"]


def test_auto_emits_the_greedy_text(toy, costs, answer):
    args = ("run", "abc abc", "--max-tokens", 60, "--temperature", "0")
    _, chosen = answer(*args, "-k", "auto")
    _, plain = answer(*args, "-k", "0")
    assert chosen["text"] == plain["text"]
    assert chosen["drafted"] > 0


def test_the_trace_holds_every_k_and_the_costs_they_came_from(toy, costs, cli, tmp_path):
    file = tmp_path / "trace.jsonl"
    assert cli("run", "abc abc", "-k", "auto", "--trace", file, "--max-tokens", 40).exit_code == 0
    header, *records = read_trace(file)
    assert header["k"] == "auto"
    assert header["k_costs"] == list(CHEAP)
    chosen = [record["k"] for record in records if record["type"] == "round"]
    assert chosen[0] == Adaptive(CHEAP)((0,), None)
    assert all(0 <= k < len(CHEAP) for k in chosen)


def test_costs_are_measured_once_and_kept(toy, monkeypatch, tmp_path):
    from draftproof.backends import weights

    monkeypatch.setattr(weights, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(costing, "_place", lambda key: tmp_path / "costs" / f"{key[0]}.json")
    calls = []
    monkeypatch.setattr(costing, "_measure", lambda *_: calls.append(1) or CHEAP)
    for key in (("a",), ("a",), ("b",)):
        assert costing.round_seconds(None, None, (), key=key) == CHEAP
    assert len(calls) == 2
    assert costing.round_seconds(None, None, (), key=None) == CHEAP
    assert len(calls) == 3


@pytest.mark.parametrize("content", ["", "{}", '{"seconds": []}', '{"seconds": [-1]}', "[]"])
def test_kept_costs_that_are_none_are_measured_anew(tmp_path, content):
    file = tmp_path / "costs.json"
    file.write_text(content)
    assert costing._read(file) is None
    file.write_text(json.dumps({"seconds": [0.1, 0.2]}))
    assert costing._read(file) == (0.1, 0.2)
