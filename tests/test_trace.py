"""Traces: what is recorded, that nothing is lost by the cut, and that replay catches a lie."""

import copy
import io
import json
import math

import numpy as np
import pytest

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice
from draftproof.decode import Limits, NoDraft, rounds
from draftproof.errors import InvalidInput
from draftproof.proposers import DraftModel
from draftproof.rules.chain import TOKEN_WISE
from draftproof.trace import (
    FORMAT,
    Glass,
    TraceWriter,
    Witness,
    read_trace,
    replay,
    round_record,
)

P = np.array([0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0])
Q = np.array([0.125, 0.25, 0.125, 0.25, 0.125, 0.125])
"""Dyadic rows: every sum below is exact in floats."""

HEADER = {"type": "header", "format": FORMAT}


def record_run(seed, *, k=3, tokens=12, top=2, spell=str, p=P, q=Q):
    """Rounds of one run and their records."""
    witness, glass = Witness(Dice(seed)), Glass(Table(p))
    done, records = [], []
    for one in rounds(
        witness, glass, DraftModel(Table(q)), TOKEN_WISE, (0,), k=k,
        limits=Limits(max_tokens=tokens),
    ):  # fmt: skip
        done.append(one)
        records.append(round_record(one, glass.last, witness.coins(one.start), spell, top))
    return done, records


@pytest.fixture(params=range(5))
def run(request):
    return record_run(request.param)


def verdicts(records):
    return [drafted["verdict"] for record in records for drafted in record["draft"]]


# ---------------------------------------------------------------- the luck is only watched


@pytest.mark.parametrize("seed", range(10))
def test_watching_changes_nothing(seed):
    done, _ = record_run(seed)
    bare = rounds(
        Dice(seed), Table(P), DraftModel(Table(Q)), TOKEN_WISE, (0,), k=3,
        limits=Limits(max_tokens=12),
    )  # fmt: skip
    assert [one.emitted for one in done] == [one.emitted for one in bare]


@pytest.mark.parametrize("seed", range(5))
def test_coins_are_those_of_the_keyed_dice(seed):
    for one, record in zip(*record_run(seed), strict=True):
        looked = {trial.node for trial in one.verdict.trials}
        luck = Dice(seed).after(one.start)
        assert [drafted["coin"] for drafted in record["draft"]] == [
            luck.at("coin", node).uniform() if node in looked else None
            for node in range(len(one.draft))
        ]


def test_a_witness_outside_a_round_is_plain_dice():
    witness, dice = Witness(Dice(2)), Dice(2)
    assert witness.at("seed", 1).uniform() == dice.at("seed", 1).uniform()
    assert witness.own(4).uniform() == dice.own(4).uniform()
    assert witness.after(3).own(4).uniform() == dice.after(3).own(4).uniform()
    assert witness.pick(P) == Dice(2).pick(P)
    assert witness.coins(99) == {}


# ---------------------------------------------------------------- what a record says


def test_a_record_says_what_the_round_did(run):
    for one, record in zip(*run, strict=True):
        assert [drafted["token"] for drafted in record["draft"]] == list(one.draft.tokens)
        assert [out["token"] for out in record["emitted"]] == list(one.emitted)
        sources = [source.value for source in one.verdict.sources][: len(one.emitted)]
        assert [out["source"] for out in record["emitted"]] == sources
        said = [drafted["verdict"] for drafted in record["draft"]]
        kept, tested = one.verdict.accepted, len(one.verdict.trials)
        assert said == (
            ["kept"] * kept + ["rejected"] * (tested - kept) + ["untested"] * (len(said) - tested)
        )
        assert (record["start"], record["round"], record["k"]) == (one.start, one.index, one.k)


def test_the_numbers_compared_are_those_of_the_rows(run):
    for record in run[1]:
        for drafted in record["draft"]:
            assert drafted["q"] == Q[drafted["token"]]
            assert drafted["p"] in (None, P[drafted["token"]])


def test_all_verdicts_occur_in_these_runs():
    records = [record for seed in range(5) for record in record_run(seed)[1]]
    assert set(verdicts(records)) == {"kept", "rejected", "untested"}
    assert {len(record["rows"]) for record in records} >= {1, 2, 3}


def lost_mass(records, rest=lambda row, name: row[f"{name}_rest"]):
    """Largest distance from 1 of listed plus remaining mass, over every row of the records."""
    totals = [
        math.fsum([*(entry[2] for entry in row[f"{name}_top"]), rest(row, name)])
        for record in records
        for row in record["rows"]
        for name in ("p", "q", "residual")
        if f"{name}_top" in row
    ]
    assert totals
    return max(abs(total - 1) for total in totals)


@pytest.mark.parametrize("top", [1, 2, 5, 6, 50])
def test_listed_and_remaining_mass_make_exactly_1(top):
    assert lost_mass(record_run(1, top=top)[1]) == 0


def test_a_record_that_forgot_the_rest_would_be_seen():
    assert lost_mass(record_run(1)[1], rest=lambda row, name: 0) > 0


def test_the_largest_entries_are_listed_in_order_with_their_spelling():
    _, records = record_run(0, spell=lambda token: f"<{token}>")
    row = records[0]["rows"][0]
    assert row["p_top"] == [[0, "<0>", 0.5], [1, "<1>", 0.25]]
    assert row["p_rest"] == 0.25
    assert row["residual_top"] == [[0, "<0>", 1.0]]
    assert row["overlap"] == 0.625
    assert records[0]["draft"][0]["text"] == f"<{records[0]['draft'][0]['token']}>"


def test_the_row_of_the_bonus_token_is_listed_under_no_node():
    _, records = record_run(0, p=P, q=P, tokens=4)
    nodes = [row["node"] for row in records[0]["rows"]]
    assert nodes == [0, 1, 2, None]


def test_the_rows_listed_are_those_of_their_positions():
    ladder = [np.roll(P, turn) for turn in range(6)]
    table = Table(lambda text: ladder[len(text) % 6])
    glass = Glass(table)
    one = next(rounds(Dice(0), glass, DraftModel(table), TOKEN_WISE, (0,), k=3))
    listed = [row["p_top"][0][0] for row in round_record(one, glass.last, {})["rows"]]
    assert listed == [1, 2, 3, 4], "each row is largest where the text is long"


def test_a_plain_step_is_recorded_too():
    glass = Glass(Table(P))
    one = next(rounds(Dice(0), glass, NoDraft(), TOKEN_WISE, (0,), k=0))
    record = round_record(one, glass.last, {})
    assert record["draft"] == []
    assert record["emitted"][0]["source"] == "target"
    assert record["rows"][0]["p_top"][0] == [0, "0", 0.5]


def test_rows_of_fractions_are_written_as_floats():
    _, records = record_run(0, p=fractions("1/2", "3/10", "1/5"), q=fractions("1/4", "1/2", "1/4"))
    assert json.loads(json.dumps(records)) == records


# ---------------------------------------------------------------- the file

SPELLINGS = {
    "plain": "word",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf\x1c",
    "newlines": "\r\n\r",
    "quotes": '"\\{}',
    "beyond the basic plane": "\U0001f600",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_a_trace_comes_back_as_it_was_written(tmp_path, text):
    path = tmp_path / "run.jsonl"
    _, records = record_run(3, spell=lambda token: f"{text}{token}")
    with path.open("w", encoding="utf-8") as stream:
        writer = TraceWriter(stream)
        for record in (HEADER, *records):
            writer.write(record)
    assert read_trace(path) == [HEADER, *records]


def test_every_line_is_json_and_on_disk_at_once(tmp_path):
    path = tmp_path / "run.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        writer = TraceWriter(stream)
        for lines, record in enumerate((HEADER, *record_run(3)[1]), start=1):
            writer.write(record)
            there = path.read_text(encoding="utf-8").split("\n")
            assert len(there) == lines + 1
            assert json.loads(there[-2]) == record


def test_a_number_json_does_not_know_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        TraceWriter(io.StringIO()).write({"type": "end", "seconds": math.nan})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1 is not JSON"),
        ('{"type": "round"}\n', f"is not a {FORMAT} file"),
        ('{"type": "header", "format": "other/1"}\n', f"is not a {FORMAT} file"),
        (json.dumps(HEADER) + "\n{oops\n", "line 2 is not JSON"),
        (json.dumps(HEADER) + "\n[1]\n", "line 2 is not a trace record"),
        (json.dumps(HEADER) + "\n{}\n", "line 2 is not a trace record"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_its_line(tmp_path, content, said):
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_trace(path)


# ---------------------------------------------------------------- replay


def test_a_true_record_replays_without_conflict(run):
    assert replay([HEADER, *run[1], {"type": "end"}]) == []


def judged(records):
    return [
        (record["round"], node)
        for record in records
        for node, drafted in enumerate(record["draft"])
        if drafted["verdict"] != "untested"
    ]


def test_every_flipped_verdict_is_caught_and_named(run):
    for at, node in judged(run[1]):
        records = copy.deepcopy(run[1])
        drafted = records[at]["draft"][node]
        drafted["verdict"] = {"kept": "rejected", "rejected": "kept"}[drafted["verdict"]]
        (conflict,) = replay(records)
        assert conflict.startswith(f"round {at}, draft token {node}: coin {drafted['coin']}")
        assert conflict.endswith(f"yet it was {drafted['verdict']}.")


def test_a_changed_number_is_caught(run):
    for at, node in judged(run[1]):
        records = copy.deepcopy(run[1])
        drafted = records[at]["draft"][node]
        drafted["p"] = 0.0 if drafted["verdict"] == "kept" else 1.0
        assert len(replay(records)) == 1


def test_equality_replays_as_a_rejection():
    token = {"token": 1, "p": 0.25, "q": 0.5, "coin": 0.5, "verdict": "rejected"}
    record = {"type": "round", "round": 0, "draft": [token]}
    assert replay([record]) == []
    assert replay([{**record, "draft": [{**token, "verdict": "kept"}]}]) != []
