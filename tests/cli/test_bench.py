"""The verb `bench` on a toy model: what it reports, not how fast that is."""

import io

import pytest
from rich.console import Console

from draftproof.bench import Task
from draftproof.bench.peers import PEERS
from draftproof.bench.running import DRAFTS, PLAIN, Row
from draftproof.cli.bench import table_of

SHORT = ("bench", "--repeats", 2, "--max-tokens", 12)
OURS = [PLAIN, *DRAFTS]


@pytest.fixture
def texts(toy, monkeypatch):
    """Two short texts, and no peers."""
    tasks = (Task("abc", "abc", 0.0), Task("hello", "hello", 0.8))
    monkeypatch.setattr("draftproof.cli.bench.TASKS", tasks)
    monkeypatch.setattr("draftproof.bench.peers.PEERS", {})
    return [task.name for task in tasks]


def test_rows_and_predictions_of_every_text(texts, answer):
    code, told = answer(*SHORT)
    assert code == 0
    assert [(row["task"], row["name"]) for row in told["rows"]] == [
        (text, name) for text in texts for name in OURS
    ]
    fields = {"name", "task", "tokens_per_second", "ratio_to_plain", "interval"}
    assert all(set(row) == fields for row in told["rows"])
    assert [(one["task"], one["name"]) for one in told["predictions"]] == [
        (text, name) for text in texts for name in DRAFTS
    ]
    for one in told["predictions"]:
        assert one["difference"] == pytest.approx(one["predicted"] / one["measured"] - 1)
    assert told["median_difference"] >= 0
    assert told["left_out"] == []


def test_people_see_predicted_measured_and_the_median(texts, cli):
    done = cli(*SHORT)
    assert done.exit_code == 0
    assert "predicted  measured  difference" in done.stdout
    assert "Median difference over the texts: " in done.stdout
    assert "timing the parts of a round at T = 0.8 ..." in done.stderr
    assert "warming up draftproof, suffix ..." in done.stderr
    assert "-: no interval, for it takes 5 repeats." in done.stdout


def test_the_bar_expects_as_many_steps_as_there_are(texts, cli, monkeypatch):
    expected = []
    monkeypatch.setattr(
        "draftproof.cli.screen.Progress.expect", lambda self, steps: expected.append(steps)
    )
    told = cli(*SHORT).stderr.splitlines()
    assert expected == [len(told) - 1]
    assert told[0] == "opening the default model ..."


def test_a_peer_that_is_not_here_or_does_not_open_has_a_line_with_the_reason(
    texts, cli, answer, monkeypatch, tmp_path
):
    peers = {"absent": ("no_such_module_anywhere", None), "broken": ("json", None)}
    monkeypatch.setattr("draftproof.bench.peers.PEERS", peers)
    monkeypatch.setattr("draftproof.cli.bench.model_file", lambda progress: tmp_path)
    _, told = answer(*SHORT)
    reasons = {one["name"]: one["reason"] for one in told["left_out"]}
    assert reasons["absent"] == "no_such_module_anywhere is not installed."
    assert "the peer 'broken' ended with code 1" in reasons["broken"]
    assert "Left out: absent: no_such_module_anywhere is not installed." in cli(*SHORT).stdout
    assert answer(*SHORT, "--no-peers")[1]["left_out"] == []


def test_the_peers_are_three_engines_each_plain_and_with_lookup():
    assert {name.split(",")[0] for name in PEERS} == {"openvino-genai", "llama.cpp", "transformers"}
    assert len(PEERS) == 6


def test_a_picture_with_the_predictions_in_it(texts, cli, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "bench.svg"
    assert cli(*SHORT, "--plot", file).exit_code == 0
    assert "measured speed-up" in file.read_text()


@pytest.mark.parametrize("flags", [("--repeats", "0"), ("--max-tokens", "x")])
def test_bad_usage_is_one_sentence(texts, cli, flags):
    done = cli(*SHORT, *flags)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(("draftproof: ", "Error: "))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("file", ["a.gif", "no/such/folder/a.svg"])
@pytest.mark.parametrize("verb", ["bench", "plan --measure"])
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    texts, cli, verb, file
):
    pytest.importorskip("matplotlib")
    done = cli(*verb.split(), "--plot", file)
    assert done.exit_code == 2
    assert done.stderr.startswith("draftproof: plot ")
    assert done.stderr.count("\n") == 1


def test_a_narrow_terminal_loses_no_figure_and_no_letter():
    row = Row(
        name="draftproof, prompt-lookup",
        task="an edit that copies, T = 0",
        tokens_per_second=123.4,
        ratio_to_plain=4.62,
        interval=(4.41, 4.83),
    )
    console = Console(width=50, file=io.StringIO())
    console.print(table_of([row]))
    printed = console.file.getvalue()
    assert printed.splitlines()[2].split()[-5:] == ["123.4", "4.62x", "4.41", "to", "4.83"]
    titles = "task contestant tokens/s to plain 95 % interval"
    figures = "123.4 4.62x 4.41 to 4.83"
    wanted = sorted("".join(f"{titles}{figures}{row.task}{row.name}".split()))
    assert sorted("".join(printed.split())) == wanted
