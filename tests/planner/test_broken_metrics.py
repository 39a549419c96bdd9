"""Metrics text that is broken, idle, or no counters: refused in a sentence, or told apart."""

import json
import random
import re
from pathlib import Path

import pytest

from draftproof.cli.plan_metrics import as_dict
from draftproof.errors import InvalidInput
from draftproof.planner import acceptance_of_length, expected_tokens
from draftproof.planner.metrics import Metrics, between, pooled
from draftproof.planner.reading import read_metrics

DATA = Path(__file__).parents[1] / "data"

COUNTERS = """vllm:spec_decode_num_drafts_total 10
vllm:spec_decode_num_draft_tokens_total 30
vllm:spec_decode_num_accepted_tokens_total 9
"""
VLLM_LINE = (
    "INFO metrics.py:86] SpecDecoding metrics: Mean acceptance length: 2.60, "
    "Accepted throughput: 14.00 tokens/s, Drafted throughput: 30.00 tokens/s, "
    "Accepted: 160 tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.800, 0.600, 0.200, "
    "Avg Draft acceptance rate: 53.3%\n"
)
SGLANG_LINE = (
    "[2026-11-30 10:00:00] Decode batch, #running-req: 1, accept len: 2.80, accept rate: 0.60, "
    "cuda graph: True\n"
)


def ranks(*means):
    """Write SGLang's gauges of ranks with these lengths and rates."""
    return "".join(
        f'sglang:spec_accept_length{{dp_rank="{rank}"}} {length}\n'
        f'sglang:spec_accept_rate{{dp_rank="{rank}"}} {rate}\n'
        for rank, (length, rate) in enumerate(means)
    )


# ---------------------------------------------------------------- what k an acceptance is for


@pytest.mark.parametrize("asked", [None, 3, 8])
def test_what_a_server_counted_does_not_depend_on_the_k_asked_for(asked):
    found = read_metrics(COUNTERS).acceptance(asked)
    assert expected_tokens(found, 3) == pytest.approx(1.9)
    assert expected_tokens(found, 8) == pytest.approx(2.03, abs=0.005)


def test_a_k_asked_for_fills_in_what_the_source_does_not_say():
    gauge = read_metrics("sglang:spec_accept_length 2.5\n")
    assert gauge.acceptance(3) == acceptance_of_length(2.5, 3)
    configured = read_metrics("sglang:spec_accept_length 2.5\nsglang:spec_num_steps 4\n")
    assert configured.acceptance(3) == acceptance_of_length(2.5, 4)


def test_drafts_of_a_mean_length_that_is_no_whole_number_have_their_acceptance():
    """All of 14 drafted tokens in 10 rounds were kept; at a rounded k of 1 that cannot be."""
    found = Metrics(source="x", drafts=10, drafted=14, accepted=14)
    assert found.acceptance() == pytest.approx(1)
    halves = Metrics(source="x", drafts=16, drafted=40, accepted=13)
    assert halves.acceptance() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("found", "k", "words"),
    [
        (Metrics(source="x", length=2.8), None, "how many tokens a round drafted; give -k"),
        (Metrics(source="x", length=2.8), 1, "emits 2.8 tokens and drafts 1; .*true -k"),
        (Metrics(source="x", drafts=1, drafted=10**9, accepted=0), None, "drafts 1e\\+09"),
        (Metrics(source="x", drafts=10, drafted=30), 3, "how many drafted tokens were accepted"),
    ],
)
def test_an_acceptance_that_cannot_be_told_is_refused_for_its_reason(found, k, words):
    with pytest.raises(InvalidInput, match=f"^x: .*{words}"):
        found.acceptance(k)


# ---------------------------------------------------------------- idle ranks, several ranks


def test_an_idle_rank_does_not_count():
    found = read_metrics(ranks((2.8, 0.6), (0.0, 0.0)))
    assert (found.mean_length, found.rate, found.k) == (2.8, 0.6, 3)
    assert found.notes == ("1 rank is idle, with a length of 0, and left out.",)
    assert expected_tokens(found.acceptance(), 3) == pytest.approx(2.8)


def test_of_several_busy_ranks_the_mean_is_taken_and_that_is_said():
    found = read_metrics(ranks((2.8, 0.6), (2.2, 0.4), (0.0, 0.0)))
    assert found.mean_length == pytest.approx(2.5)
    assert found.rate == pytest.approx(0.5)
    assert found.k == 3
    assert [note[:7] for note in found.notes] == ["1 rank ", "2 ranks"]
    assert "cannot be pooled" in found.notes[1]
    assert read_metrics(ranks((2.8, 0.6))).notes == ()


def test_where_every_rank_is_idle_nothing_was_drafted():
    found = read_metrics(ranks((0.0, 0.0), (0.0, 0.0)))
    assert found.empty
    assert found.mean_length is found.rate is None


def test_ranks_that_draft_different_k_have_no_mean():
    with pytest.raises(InvalidInput, match=r"^metrics here: its ranks draft 3 and 4 tokens"):
        read_metrics(ranks((2.8, 0.6), (2.4, 0.35)), "here")


def test_the_steps_of_another_rank_are_not_those_of_this_one():
    steps = 'sglang:spec_num_steps{dp_rank="1"} 5\n'
    assert read_metrics(ranks((2.8, 0.6), (0.0, 0.0)) + steps).k == 3
    assert read_metrics(ranks((2.8, 0.6)) + "sglang:spec_num_steps 5\n").k == 5


# ---------------------------------------------------------------- SGLang's log


def test_length_and_rate_of_an_sglang_line_tell_k():
    found = read_metrics(SGLANG_LINE)
    assert (found.mean_length, found.rate, found.k) == (2.8, 0.6, 3)
    assert expected_tokens(found.acceptance(), 3) == pytest.approx(2.8)


@pytest.mark.parametrize(
    ("lines", "k"),
    [
        (["2.80, accept rate: 0.70"], None),  # older SGLang: the target's own token is in the rate
        (["1.02, accept rate: 0.01"], None),  # too coarse: 2 or 3 or 5 drafts a round
        (["1.02, accept rate: 0.01", "2.80, accept rate: 0.60"], 3),
        (["2.80"], None),
    ],
)
def test_a_length_and_a_rate_that_do_not_tell_one_k_tell_none(lines, k):
    found = read_metrics("".join(f"[x] Decode batch, accept len: {line}\n" for line in lines))
    assert found.k == k


def test_idle_log_lines_do_not_count_and_the_mean_of_the_others_is_said():
    lines = "".join(f"accept len: {length}\n" for length in ("3.00", "0.00", "2.00"))
    found = read_metrics(lines)
    assert found.mean_length == 2.5
    assert found.notes[0] == "1 log line is idle, with a length of 0, and left out."
    assert found.notes[1].startswith("2 log lines give means without counts")


def test_a_comment_that_explains_a_gauge_is_no_log_line():
    text = "# HELP sglang:spec_accept_length The accept length: accepted and bonus.\n"
    assert read_metrics(text + "sglang:spec_accept_length 2.5\n").source == "sglang gauges"


# ---------------------------------------------------------------- in between


def timings(drafted, accepted):
    return read_metrics(json.dumps({"timings": {"draft_n": drafted, "draft_n_accepted": accepted}}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (timings(10, 5), timings(20, 6)),
        (read_metrics(VLLM_LINE), read_metrics(VLLM_LINE * 2)),
        (
            read_metrics((DATA / "llamacpp-log.txt").read_text()),
            read_metrics((DATA / "llamacpp-log.txt").read_text()),
        ),
    ],
)
def test_requests_and_log_lines_have_nothing_in_between(before, after):
    with pytest.raises(InvalidInput, match=r"each counts only itself.*in one file"):
        between(before, after)


def test_two_different_things_have_nothing_in_between():
    with pytest.raises(InvalidInput, match=r"llama.cpp timings: the reading before it is vllm"):
        between(read_metrics(COUNTERS), timings(40, 20))


def test_a_position_that_is_gone_went_backwards():
    before = Metrics(source="x", drafts=10, drafted=20, accepted=12, kept=(8, 4))
    after = Metrics(source="x", drafts=20, drafted=40, accepted=20, kept=(20,))
    with pytest.raises(InvalidInput, match="position 1 went backwards, from 4 to 0"):
        between(before, after)


def test_positions_that_the_older_reading_did_not_count_are_not_told():
    before = Metrics(source="x", drafts=10, drafted=20, accepted=12)
    after = Metrics(source="x", drafts=20, drafted=40, accepted=20, kept=(14, 6))
    assert between(before, after).kept == ()
    idle = Metrics(source="x", drafts=0, drafted=0, accepted=0)
    assert between(idle, after).kept == (14, 6)


def test_positions_that_not_all_of_several_readings_count_are_not_told():
    told = Metrics(source="x", drafts=10, drafted=20, accepted=12, kept=(8, 4))
    not_told = Metrics(source="x", drafts=10, drafted=20, accepted=12)
    nothing = Metrics(source="x", drafts=0, drafted=0, accepted=0)
    assert pooled([told, not_told]).kept == ()
    assert pooled([told, nothing, told]).kept == (16, 8)


# ---------------------------------------------------------------- what is refused, and for what


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            COUNTERS + 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="x"} 9\n',
            "per_pos_total has position 'x'",
        ),
        (
            COUNTERS + 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="99999999"} 9',
            "position '99999999'",
        ),
        (COUNTERS + "vllm:spec_decode_num_accepted_tokens_per_pos_total 9\n", "has no position"),
        (COUNTERS.replace("30", "3.5"), r"draft_tokens_total is 3\.5; a counter"),
        (COUNTERS.replace("30", "1e300"), r"draft_tokens_total is 1e\+300; a counter"),
        (COUNTERS.replace("30", "9" * 400), "draft_tokens_total is 9999.*; a counter"),
        (COUNTERS + COUNTERS.replace("vllm", "other"), "counters of vllm and of other"),
        (COUNTERS.replace("30", "30 " + "9" * 400), "is not OpenMetrics text"),
        ("sglang:spec_accept_length 1e400\nsglang:spec_accept_rate 0.5\n", "accept_length is inf"),
        ("sglang:spec_accept_length NaN\n", "accept_length is nan"),
        ("sglang:spec_accept_length 0.8\n", r"accept_length is 0\.8; with the target's own token"),
        (ranks((2.8, 1.5)), r"accept_rate is 1\.5; a share"),
        ("sglang:spec_accept_length 2\nsglang:spec_num_steps NaN\n", "spec_num_steps is nan"),
        ("sglang:spec_accept_length 2\nsglang:spec_num_steps 1e9\n", r"spec_num_steps is 1e\+09"),
        ("accept len: ...\n", r"accept len is '\.\.\.'"),
        ("accept len: 2.8.0\n", r"accept len is '2\.8\.0'"),
        ("accept len: 2.8, accept rate: nan\n", "accept rate is 'nan'"),
        (VLLM_LINE.replace("2.60", "2.6.0"), r"Mean acceptance length is '2\.6\.0'"),
        (VLLM_LINE.replace("160", "1x0"), "Accepted is '1x0'"),
        (VLLM_LINE.replace("0.600", "6.00"), "acceptance rate is 6; a share"),
        (VLLM_LINE.replace("300", "9" * 5000), "Drafted is '9999"),
        ("draft acceptance = 0.3 ( 1 accepted / x generated)\n", "generated is 'x'"),
        ("[" * 100_000 + "]" * 100_000, "too deep a nesting"),
        ('{"draft_n": ' + "9" * 5000 + "}", "too long a number"),
        ('{"draft_n": 10, "draft_n_accepted": "5"}', 'draft_n_accepted is "5"; it must be a count'),
        ('{"draft_n": 10, "draft_n_accepted": null}', "draft_n_accepted is null; it must be"),
        ('{"draft_n": 10}', "draft_n_accepted is missing; it must be a count"),
        ('{"draft_n": "10", "draft_n_accepted": 5}', 'draft_n is "10"; it must be a count'),
        ('{"draft_n": true, "draft_n_accepted": 0}', "draft_n is true; it must be a count"),
        (
            "[2026-11-30 10:00:00] Decode batch, #token: 812\n",
            "holds no log line about speculation",
        ),
    ],
)
def test_what_is_broken_is_named_and_shown(text, words):
    with pytest.raises(InvalidInput, match=f"^metrics here: .*{words}") as refusal:
        read_metrics(text, "here")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400
    assert text.startswith(("{", "[[")) or "JSON" not in str(refusal.value)


# ---------------------------------------------------------------- anything at all

WHOLE = [path.read_text(encoding="utf-8") for path in sorted(DATA.iterdir())]
WHOLE += [COUNTERS, VLLM_LINE * 2, SGLANG_LINE * 2, ranks((2.8, 0.6), (0.0, 0.0))]
NASTY = (
    "NaN", "nan", "1e400", "-1", "x", "", "9" * 5000, "9" * 400, "...", "1e15", "1e300", "-Inf",
    "+Inf", "2.8.0", "0", "1", "0.5", "1e-300", "999999999", "null", "true", "[", "{", "}", "]",
    '"', "\\", "\n", "\0", "é", "\u2028", "# ", '{position="x"}', '{ ="x"}', "=", ",", "١٢", " ",
    "\t",
)  # fmt: skip


def mutated(text, luck):
    """Replace numbers by nasty ones, cut, insert, shuffle lines, append another file."""
    for _ in range(luck.randint(1, 4)):
        at, kind = luck.randrange(len(text) + 1), luck.random()
        numbers = list(re.finditer(r"[\d.]+", text))
        if kind < 0.5 and numbers:
            one = luck.choice(numbers)
            text = text[: one.start()] + luck.choice(NASTY) + text[one.end() :]
        elif kind < 0.65:
            text = text[:at] + text[at + luck.randint(1, 30) :]
        elif kind < 0.8:
            text = text[:at] + luck.choice(NASTY) + text[at:]
        elif kind < 0.9:
            text = "".join(luck.sample(lines := text.splitlines(keepends=True), len(lines)))
        else:
            text = text + luck.choice(WHOLE)
    return text


def used(text):
    """Read it, and use all that it tells; the refusal, or no text."""
    try:
        found = read_metrics(text, "here")
        json.dumps(as_dict(found), allow_nan=False)
        for k in (None, 3):
            told = found.acceptance(k)
            assert all(0 <= one <= 1 for one in (told if isinstance(told, tuple) else (told,)))
        between(found, found)
    except InvalidInput as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("seed", range(8))
def test_of_text_that_was_tampered_with_nothing_comes_but_a_reading_or_a_sentence(seed):
    luck = random.Random(seed)
    for _ in range(300):
        refusal = used(mutated(luck.choice(WHOLE), luck))
        assert "\n" not in refusal
        assert len(refusal) < 400
