"""The verb `run` on a toy model: what it prints, what it writes, and how it ends."""

import json
import re
import signal
from statistics import median

import pytest

from draftproof.rules import RULES
from draftproof.trace import read_trace, replay

FIELDS = {
    "text", "tokens", "rounds", "drafted", "accepted", "emitted", "acceptance_rate",
    "acceptance_per_test", "tokens_per_round", "accepted_per_position", "tokens_per_second",
    "tokens_per_second_with_prefill", "seconds", "target", "draft", "rule", "k", "guarantee",
    "engine", "seed",
}  # fmt: skip
COMPARED = {"plain", "speedup", "numeric_gap"}


def traced(records):
    """Give the tokens that a trace says were emitted."""
    rounds = [record for record in records if record["type"] == "round"]
    return [one["token"] for record in rounds for one in record["emitted"]]


def test_standard_output_holds_the_text_and_nothing_else(toy, cli, answer):
    done = cli("run", "hello", "--seed", 3)
    _, told = answer("run", "hello", "--seed", 3)
    assert done.exit_code == 0
    assert done.stdout == told["text"] + "\n"
    assert "tokens/s" in done.stderr
    assert "tokens/s" not in done.stdout


def test_every_field_of_the_contract_is_there(toy, answer):
    code, told = answer("run", "hello", "--max-tokens", 40)
    assert code == 0
    assert set(told) >= FIELDS
    assert set(told["seconds"]) == {"prefill", "draft", "target", "other"}
    assert told["emitted"] == len(told["tokens"]) == 40
    assert told["acceptance_rate"] == told["accepted"] / told["drafted"]
    assert told["acceptance_per_test"] >= told["acceptance_rate"]
    assert told["tokens_per_second"] >= told["tokens_per_second_with_prefill"]
    assert told["guarantee"] == "exact"
    assert told["text"] == toy.decoded(told["tokens"])


def test_one_seed_gives_one_text_and_another_gives_another(toy, answer):
    first, again, other = (answer("run", "hello", "--seed", seed)[1]["text"] for seed in (5, 5, 6))
    assert first == again != other


@pytest.mark.parametrize("k", [0, 1, 4, 9])
@pytest.mark.parametrize("draft", ["ngram", "prompt-lookup"])
def test_greedy_text_does_not_depend_on_the_draft(toy, answer, k, draft):
    _, plain = answer("run", "hello", "-k", 0, "--temperature", 0)
    _, told = answer("run", "hello", "-k", k, "--temperature", 0, "--draft", draft)
    assert told["tokens"] == plain["tokens"]
    assert (told["drafted"] > 0) == (k > 0)


def test_nothing_drafted_gives_null_and_no_division(toy, answer):
    _, told = answer("run", "hello", "-k", 0)
    assert told["acceptance_rate"] is None
    assert told["acceptance_per_test"] is None
    assert told["accepted_per_position"] == []
    assert told["tokens_per_round"] == 1.0


def test_no_tokens_is_an_empty_text(toy, cli, answer):
    code, told = answer("run", "hello", "--max-tokens", 0)
    assert (code, told["text"], told["tokens"], told["tokens_per_second"]) == (0, "", [], None)
    done = cli("run", "hello", "--max-tokens", 0)
    assert done.stdout == "\n"
    assert "ended at the length limit" in done.stderr
    assert told["ends"] == "length"


@pytest.mark.parametrize("budget", range(1, 7))
def test_budgets_around_a_block_are_kept_exactly(toy, answer, budget):
    _, told = answer("run", "hello", "-k", 4, "--max-tokens", budget)
    assert told["emitted"] == budget


def test_a_character_split_over_two_tokens_is_printed_once(toy, cli, answer):
    for seed in range(40):
        _, told = answer("run", "hello", "--seed", seed)
        if "\u00e9" in told["text"]:
            break
    else:
        pytest.fail("no seed gave a split character")
    assert cli("run", "hello", "--seed", seed).stdout == told["text"] + "\n"
    assert told["text"].count("\ufffd") <= 1


@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("start", [0, 1, 5, 11, 20])
def test_a_stop_string_ends_the_text_at_its_first_character(toy, answer, start, length):
    _, whole = answer("run", "hello", "-k", 4, "--seed", 2)
    stop = whole["text"][start : start + length]
    _, told = answer("run", "hello", "-k", 4, "--seed", 2, "--stop", stop)
    assert told["text"] == whole["text"][: whole["text"].index(stop)]
    assert told["tokens"] == whole["tokens"][: told["emitted"]]
    assert told["ends"] == "stop"
    assert stop in toy.decoded(told["tokens"])
    assert stop not in toy.decoded(told["tokens"][:-1])


def test_held_back_text_is_typed_when_the_stop_string_does_not_come(toy, answer):
    _, whole = answer("run", "hello", "--seed", 2)
    never = whole["text"][-3:] + "~"
    _, told = answer("run", "hello", "--seed", 2, "--stop", never)
    assert told["text"] == whole["text"]


def test_an_end_of_sequence_token_ends_the_text(toy, answer):
    toy(eos_after=30)
    _, told = answer("run", "hello")
    assert told["tokens"][-1] == 256
    assert told["ends"] == "stop"
    assert "end" not in told["text"]


def test_min_tokens_puts_the_end_off(toy, answer):
    toy(eos_after=12)
    _, soon = answer("run", "hello")
    _, late = answer("run", "hello", "--min-tokens", 25)
    assert (soon["emitted"], late["emitted"]) == (1, 26)


def test_the_text_may_end_one_token_beyond_the_context(toy, answer):
    prompt = "x" * 190
    _, told = answer("run", "--raw", prompt, "--max-tokens", 50)
    assert told["emitted"] == 11
    assert told["ends"] == "length"


def test_the_prompt_may_come_from_standard_input(toy, answer):
    _, typed = answer("run", "h\u00e9llo")
    _, piped = answer("run", "-", input="h\u00e9llo".encode())
    assert piped["text"] == typed["text"]


def test_a_trace_can_be_replayed_and_holds_the_whole_text(toy, answer, tmp_path):
    file = tmp_path / "run.jsonl"
    _, told = answer("run", "hello", "--trace", file)
    records = read_trace(file)
    assert traced(records) == told["tokens"]
    assert replay(records) == []
    assert records[0]["prompt"] == list(b"Q: hello\nA: ")
    assert records[-1]["text"] == told["text"]


def test_a_trace_of_no_tokens_ends_by_its_length(toy, answer, tmp_path):
    file = tmp_path / "trace.jsonl"
    _, told = answer("run", "hello", "--max-tokens", 0, "--trace", file)
    assert told["tokens"] == []
    assert read_trace(file)[-1]["ends"] == "length"


def test_a_trace_with_a_stop_string_ends_where_the_text_ends(toy, answer, tmp_path):
    file = tmp_path / "run.jsonl"
    _, told = answer("run", "hello", "--trace", file, "--stop", "a")
    records = read_trace(file)
    assert traced(records) == told["tokens"]


def test_compare_gives_its_fields_and_finds_equal_greedy_texts(toy, answer):
    code, told = answer("run", "hello", "--temperature", 0, "--compare", "--max-tokens", 20)
    assert code == 0
    assert set(told) >= FIELDS | COMPARED
    assert told["plain"]["text"] == told["text"]
    assert told["numeric_gap"]["max"] == 0.0
    assert told["numeric_gap"]["positions"] == 20
    assert told["must_be_equal"]
    assert told["equal"]
    assert told["speedup"] == median(told["speedup_pairs"])


def test_compare_does_not_ask_for_equal_texts_where_luck_differs(toy, answer):
    code, told = answer("run", "hello", "--temperature", 1, "--compare", "--max-tokens", 30)
    assert code == 0
    assert not told["must_be_equal"]


def test_compare_exits_with_1_on_an_engine_whose_rows_depend_on_the_pass(toy, answer, cli):
    toy(noise=3.0)
    arguments = ("run", "hello", "--temperature", "0", "--compare", "--max-tokens", "40")
    code, told = answer(*arguments)
    assert code == 1
    assert told["numeric_gap"]["max"] > 0.01
    assert told["numeric_gap"]["first_difference"] is not None
    assert told["numeric_gap"]["margin"] > 0
    assert "must be the same" in cli(*arguments).stderr


@pytest.mark.parametrize("at", [3, 4, 9])
def test_an_interruption_loses_nothing_that_was_decoded(toy, cli, answer, at, tmp_path):
    _, whole = answer("run", "hello", "--seed", 1)

    def interrupt(count):
        if count == at:
            signal.raise_signal(signal.SIGINT)

    toy(on_pass=interrupt)
    file = tmp_path / "cut.jsonl"
    done = cli("run", "hello", "--seed", 1, "--trace", file)
    assert done.exit_code == 130
    printed = done.stdout.removesuffix("\n").removesuffix("\ufffd")
    assert 0 < len(printed) < len(whole["text"])
    assert whole["text"].startswith(printed)
    assert "interrupted" in done.stderr
    records = read_trace(file)
    tokens = traced(records)
    assert tokens == whole["tokens"][: len(tokens)]
    assert toy.decoded(tokens).removesuffix("\ufffd") == printed


def test_an_interruption_with_json_still_prints_one_object(toy, cli):
    toy(on_pass=lambda count: signal.raise_signal(signal.SIGINT) if count == 5 else None)
    done = cli("run", "hello", "--json")
    assert done.exit_code == 130
    told = json.loads(done.stdout)
    assert told["interrupted"]
    assert told["emitted"] == len(told["tokens"]) > 0


@pytest.fixture
def cut_short(monkeypatch):
    """Press Ctrl-C at the second plain run of a comparison."""

    def tell(self, what):
        if what == "timing plain decoding, run 2":
            raise KeyboardInterrupt

    monkeypatch.setattr("draftproof.cli.screen.Progress.__call__", tell)


def test_a_comparison_that_is_interrupted_loses_no_finished_run(toy, cli, cut_short):
    whole = cli("run", "hello").stdout
    done = cli("run", "hello", "--compare")
    assert (done.exit_code, done.stdout) == (130, whole)
    assert "interrupted; this is what was known" in done.stderr
    assert "tokens/s decoding" in done.stderr
    done = cli("run", "hello", "--compare", "--json")
    assert done.exit_code == 130
    told = json.loads(done.stdout)
    assert (told["interrupted"], told["ends"], told["text"] + "\n") == (True, "length", whole)
    assert [told[name] for name in sorted(COMPARED)] == [None] * len(COMPARED)


def test_a_demo_that_is_interrupted_tells_its_run(toy, cli, cut_short):
    done = cli("demo")
    assert done.exit_code == 130
    assert "tokens/s decoding" in done.stdout
    done = cli("demo", "--json")
    assert done.exit_code == 130
    assert json.loads(done.stdout)["run"]["interrupted"]


def test_an_interruption_before_the_first_token_is_quiet(toy, cli):
    toy(on_pass=lambda count: signal.raise_signal(signal.SIGINT) if count == 1 else None)
    done = cli("run", "hello")
    assert (done.exit_code, done.stdout) == (130, "\n")
    assert "Traceback" not in done.output


@pytest.mark.parametrize("name", sorted(set(RULES) - {"optimal-transport"}))
def test_every_rule_runs_and_leaves_a_trace_of_what_it_emitted(toy, answer, tmp_path, name):
    file = tmp_path / "run.jsonl"
    temperature = 0 if RULES[name].one_hot else 1
    flags = ("--rule", name, "--temperature", temperature, "--max-tokens", 30, "-k", 2)
    code, told = answer("run", "hello", *flags, "--trace", file)
    assert code == 0
    assert told["emitted"] == 30
    assert told["drafted"] > 0
    assert told["guarantee"] == RULES[name].guarantee.value
    assert traced(read_trace(file)) == told["tokens"]


@pytest.mark.parametrize("name", ["exact-match", "gumbel"])
@pytest.mark.parametrize("k", [1, 3])
def test_a_rule_of_the_targets_own_luck_gives_the_plain_text(toy, answer, name, k):
    flags = ("--rule", name, "--temperature", 1, "-k", k, "--compare", "--max-tokens", 30)
    code, told = answer("run", "hello", *flags)
    assert code == 0
    assert told["must_be_equal"]
    assert told["plain"]["tokens"] == told["tokens"]


def test_greedy_is_refused_above_temperature_0_before_a_model_is_opened(monkeypatch, cli):
    monkeypatch.setattr("draftproof.session.running.open_model", None)
    done = cli("run", "hello", "--rule", "greedy")
    assert done.exit_code == 2
    assert "--temperature 0" in done.stderr


@pytest.mark.parametrize("draft", ["prompt-lookup", "suffix"])
def test_a_single_guess_cannot_be_several_drafts(toy, cli, draft):
    done = cli("run", "hello", "--rule", "rrs", "--draft", draft)
    assert done.exit_code == 2
    assert "makes one guess" in done.stderr


def test_a_rule_for_small_vocabularies_says_so(toy, cli):
    done = cli("run", "hello", "--rule", "optimal-transport", "--temperature", 1)
    assert done.exit_code == 2
    assert "257 tokens" in done.stderr


def test_a_model_drafts_by_path_and_is_always_kept_when_it_is_the_target(toy, answer, tmp_path):
    _, told = answer("run", "hello", "--draft", tmp_path, "--max-tokens", 30)
    assert told["acceptance_rate"] == 1.0
    assert told["draft"] == str(tmp_path)
    assert told["tokens_per_round"] == 5.0


def test_a_draft_over_another_vocabulary_is_refused_with_the_ids_that_differ(
    toy, cli, monkeypatch, tmp_path
):
    target, other = toy(), toy()
    other.pieces = (*target.pieces[:99], b"?", *target.pieces[100:], b"more")
    models = {"smollm2": target, str(tmp_path): other}
    monkeypatch.setattr("draftproof.session.running.open_model", models.__getitem__)
    done = cli("run", "hello", "--draft", tmp_path)
    assert done.exit_code == 2
    assert re.search("257 tokens .* 258, .*99", done.stderr)


@pytest.mark.parametrize("name", ["token-wise", "gumbel", "rrs", "tree", "multi-path-block"])
def test_every_shape_of_draft_ends_at_the_context_limit(toy, answer, name):
    flags = ("--raw", "--rule", name, "--temperature", 1, "--max-tokens", 60, "-k", 3)
    code, told = answer("run", "x" * 185, *flags)
    assert (code, told["emitted"], told["ends"]) == (0, 16, "length")


def test_the_help_shows_k_as_it_may_be_written(cli):
    assert "-k N|auto " in cli("run", "--help").stdout
