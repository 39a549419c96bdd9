"""Other people's metrics: read, named, converted; never averaged, never repaired."""

import json
from pathlib import Path

import pytest

from draftproof.errors import InvalidInput
from draftproof.planner import expected_tokens
from draftproof.planner.metrics import Definition, Metrics, between, pooled
from draftproof.planner.reading import read_metrics, read_metrics_file
from draftproof.planner.settings import check_sglang, settings

DATA = Path(__file__).parent / "data"

VLLM_LINE = (
    "INFO 11-30 10:00:00 metrics.py:86] SpecDecoding metrics: Mean acceptance length: {length}, "
    "Accepted throughput: 14.00 tokens/s, Drafted throughput: 30.00 tokens/s, "
    "Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
    "Per-position acceptance rate: {rates}, Avg Draft acceptance rate: {rate}%"
)

# ---------------------------------------------------------------- vLLM


def test_vllm_counters_of_several_engines_are_added():
    found = read_metrics_file(DATA / "vllm-metrics.txt")
    assert (found.drafts, found.drafted, found.accepted) == (1000, 3000, 1395)
    assert found.kept == (900, 450, 45)
    assert found.mean_length == 1 + 1395 / 1000
    assert found.rate == 1395 / 3000


def test_vllm_positions_are_unconditional_and_the_plan_needs_conditional_ones():
    found = read_metrics_file(DATA / "vllm-metrics.txt")
    assert found.survival == (0.9, 0.45, 0.045)
    assert found.conditional == pytest.approx((0.9, 0.5, 0.1))
    assert expected_tokens(found.acceptance(), 3) == pytest.approx(found.mean_length)
    assert expected_tokens(found.survival, 3) != pytest.approx(found.mean_length)
    assert expected_tokens(found.rate, 3) != pytest.approx(found.mean_length)


def test_every_metric_is_named_by_what_it_divides():
    assert dict(read_metrics_file(DATA / "vllm-metrics.txt").names) == {
        "vllm:spec_decode_num_drafts_total": Definition.LENGTH,
        "vllm:spec_decode_num_accepted_tokens_total": Definition.PER_DRAFTED,
        "vllm:spec_decode_num_accepted_tokens_per_pos_total": Definition.SURVIVAL,
    }
    assert dict(read_metrics_file(DATA / "sglang-metrics.txt").names) == {
        "sglang:spec_accept_length": Definition.LENGTH,
        "sglang:spec_accept_rate": Definition.PER_DRAFTED,
    }


def test_names_without_total_and_with_another_prefix_are_read_too():
    text = "\n".join(
        f"mine_spec_decode_num_{what} {count}"
        for what, count in (("drafts", 5), ("draft_tokens", 20), ("accepted_tokens", 10))
    )
    assert read_metrics(text).mean_length == 3


def test_openmetrics_text_with_timestamps_and_an_end_is_read():
    text = (
        "# TYPE vllm:spec_decode_num_drafts counter\n"
        'vllm:spec_decode_num_drafts_total{a="x\\"y"} 5 1764489600000\n'
        "vllm:spec_decode_num_draft_tokens_total 20\n"
        "vllm:spec_decode_num_accepted_tokens_total 10\n"
        "# EOF\n"
    )
    assert read_metrics(text).mean_length == 3


@pytest.mark.parametrize(
    ("accepted", "drafted", "length", "rates", "drafts"),
    [(160, 300, "2.60", "0.800, 0.600, 0.200", 100), (0, 30, "1.00", "0.000, 0.000, 0.000", 10),
     (16, 27, "2.60", "0.800, 0.600, 0.200", 10)],
)  # fmt: skip
def test_a_vllm_log_line(accepted, drafted, length, rates, drafts):
    line = VLLM_LINE.format(
        accepted=accepted, drafted=drafted, length=length, rates=rates, rate=50.0
    )
    found = read_metrics(line)
    assert (found.drafts, found.drafted, found.accepted) == (drafts, drafted, accepted)
    assert f"{found.mean_length:.2f}" == length
    assert found.survival == pytest.approx([float(one) for one in rates.split(", ")])
    assert found.varied == (drafted == 27)


def test_vllm_log_lines_are_pooled_not_averaged():
    few = VLLM_LINE.format(accepted=1, drafted=10, length="1.10", rates="0.100", rate=10.0)
    many = VLLM_LINE.format(accepted=900, drafted=1000, length="1.90", rates="0.900", rate=90.0)
    found = read_metrics(f"{few}\nsomething else\n{many}\n")
    assert found.rate == 901 / 1010
    assert round(found.rate, 3) == 0.892
    assert found.rate != pytest.approx((0.1 + 0.9) / 2)


def test_a_log_line_in_which_nothing_was_drafted():
    line = VLLM_LINE.format(accepted=0, drafted=0, length="nan", rates="", rate="nan")
    found = read_metrics(line)
    assert found.mean_length is None
    assert found.rate is None


# ---------------------------------------------------------------- SGLang


def test_sglang_gauges_give_a_length_and_its_constant_acceptance():
    found = read_metrics_file(DATA / "sglang-metrics.txt")
    assert found.mean_length == 2.4
    assert found.k == 4
    assert expected_tokens(found.acceptance(), 4) == pytest.approx(2.4)


def test_without_its_steps_the_two_sglang_gauges_tell_k():
    text = "sglang:spec_accept_length 2.4\nsglang:spec_accept_rate 0.35\n"
    assert read_metrics(text).k == 4
    assert read_metrics("sglang:spec_accept_length 2.4\n").k is None
    with pytest.raises(InvalidInput, match="give -k"):
        read_metrics("sglang:spec_accept_length 2.4\n").acceptance()
    assert read_metrics("sglang:spec_accept_length 2.5\n").acceptance(3) > 0.5


def test_an_sglang_log():
    found = read_metrics(
        "[2026-11-30 10:00:00] Decode batch, #running-req: 1, #token: 812, token usage: 0.01, "
        "accept len: 2.50, accept rate: 0.50, cuda graph: True, gen throughput (token/s): 212.5\n"
    )
    assert found.mean_length == 2.5
    assert expected_tokens(found.acceptance(3), 3) == pytest.approx(2.5)


def test_sglang_before_anything_was_drafted():
    assert read_metrics("sglang:spec_accept_length 0.0\n").mean_length is None


# ---------------------------------------------------------------- llama.cpp


def test_counters_recorded_from_the_llama_cpp_server():
    found = read_metrics_file(DATA / "llamacpp-metrics.txt")
    assert (found.drafts, found.drafted, found.accepted) == (32, 118, 38)
    assert found.kept == (18, 9, 6, 5)
    assert sum(found.kept) == found.accepted
    assert found.varied
    assert expected_tokens(found.acceptance(), 4) == pytest.approx(found.mean_length)


def test_the_log_and_the_answers_of_the_same_run_agree_with_its_counters():
    counters = read_metrics_file(DATA / "llamacpp-metrics.txt")
    log = read_metrics_file(DATA / "llamacpp-log.txt")
    timings = read_metrics_file(DATA / "llamacpp-timings.json")
    assert (log.drafts, log.drafted, log.accepted) == (32, 118, 38)
    assert (timings.drafted, timings.accepted) == (118, 38)
    assert log.rate == timings.rate == counters.rate
    assert log.mean_length == counters.mean_length


def test_timings_alone_do_not_say_how_long_a_draft_was():
    found = read_metrics(json.dumps({"timings": {"draft_n": 40, "draft_n_accepted": 20}}))
    with pytest.raises(InvalidInput, match="give -k"):
        found.acceptance()
    assert expected_tokens(found.acceptance(4), 4) == pytest.approx(3)


# ---------------------------------------------------------------- pooling, differences, nothing


def test_pooled_against_averaged():
    few = Metrics(source="x", drafted=10, accepted=1)
    many = Metrics(source="x", drafted=1000, accepted=900)
    assert round(pooled([few, many]).rate, 3) == 0.892
    assert (few.rate + many.rate) / 2 == 0.5


def test_positions_of_different_depths_are_pooled_position_by_position():
    short = Metrics(source="x", drafts=10, drafted=10, accepted=5, kept=(5,))
    long = Metrics(source="x", drafts=10, drafted=20, accepted=8, kept=(6, 2))
    assert pooled([short, long]).kept == (11, 2)


def test_no_drafts_is_none_and_no_division():
    text = "vllm:spec_decode_num_drafts_total 0\nvllm:spec_decode_num_draft_tokens_total 0\n"
    found = read_metrics(text + "vllm:spec_decode_num_accepted_tokens_total 0\n")
    assert found.mean_length is None
    assert found.rate is None
    assert found.survival == found.conditional == ()
    with pytest.raises(InvalidInput, match="nothing was drafted"):
        found.acceptance()


def test_a_draft_that_is_always_wrong_shows_0():
    found = Metrics(source="x", drafts=10, drafted=40, accepted=0, kept=(0, 0, 0, 0))
    assert found.rate == 0
    assert found.mean_length == 1
    assert found.acceptance() == (0,)


def test_what_was_counted_between_two_readings():
    before = Metrics(source="x", drafts=10, drafted=20, accepted=12, kept=(8, 4))
    after = Metrics(source="x", drafts=30, drafted=60, accepted=30, kept=(20, 10))
    found = between(before, after)
    assert (found.drafts, found.drafted, found.accepted, found.kept) == (20, 40, 18, (12, 6))


def test_counters_that_went_backwards_are_refused():
    before = Metrics(source="x", drafts=10, drafted=20, accepted=12)
    after = Metrics(source="x", drafts=3, drafted=6, accepted=2)
    with pytest.raises(InvalidInput, match="drafts went backwards, from 10 to 3"):
        between(before, after)


def test_ratios_have_no_difference():
    gauge = Metrics(source="x", length=2.0)
    with pytest.raises(InvalidInput, match="ratios and no counters"):
        between(gauge, gauge)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (" \n\t\n", "the file is empty"),
        ("up 1\n", "holds nothing about speculation"),
        ("{]", "is not JSON"),
        ("[]", "no timings with draft_n"),
        ("vllm:spec_decode_num_drafts_total -3\n", "is -3; a counter is 0 or more"),
        ("vllm:spec_decode_num_drafts_total NaN\n", "is nan; a counter is 0 or more"),
        ("not a metric line at all {\n", "is not OpenMetrics text"),
    ],
)
def test_text_that_is_no_metrics_is_refused_with_its_name(text, words):
    with pytest.raises(InvalidInput, match=f"^metrics here: .*{words}"):
        read_metrics(text, "here")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"drafted": 10, "accepted": 11}, "11 draft tokens were accepted of 10"),
        ({"drafts": 5, "drafted": 10, "accepted": 7, "kept": (6, 1)}, "kept 6 times after 5"),
        ({"drafts": 9, "drafted": 18, "accepted": 7, "kept": (3, 4)}, "kept 4 times after 3"),
        ({"drafts": -1}, "drafts is -1"),
    ],
)
def test_counts_that_contradict_each_other_are_refused(counts, words):
    with pytest.raises(InvalidInput, match=words):
        Metrics(source="x", **counts)


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize("draft", ["prompt-lookup", "ngram", "suffix", "models/my draft"])
@pytest.mark.parametrize("k", [1, 5])
def test_settings_carry_k_to_every_engine(draft, k):
    told = settings(k, draft)
    assert f'"num_speculative_tokens": {k}' in told["vllm"]
    assert f"--spec-draft-n-max {k}" in told["llama.cpp"]
    assert f"--speculative-num-draft-tokens {k + 1}" in told["sglang"]
    quoted = draft == "models/my draft"
    assert ("'models/my draft'" in told["sglang"]) == quoted
    assert ("'models/my draft'" in told["llama.cpp"]) == quoted


def test_the_vllm_setting_is_one_json_object():
    text = settings(3)["vllm"].removeprefix("--speculative-config ").strip("'")
    assert json.loads(text)["num_speculative_tokens"] == 3


def test_k_0_sets_nothing():
    assert set(settings(0).values()) == {""}


@pytest.mark.parametrize("triple", [(3, 1, 5), (3, 1, 3), (3, 4, 3), (3, 2, 100)])
def test_sglang_settings_that_contradict_each_other_are_refused(triple):
    with pytest.raises(InvalidInput, match=f"num-draft-tokens is {triple[2]}"):
        check_sglang(*triple)


def test_sglang_settings_that_fit():
    check_sglang(3, 1, 4)
    check_sglang(3, 4, 16)
