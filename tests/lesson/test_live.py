"""Decoding for the page: bounded, one at a time, stopped on request, and true to the trace."""

import numpy as np
import pytest

from draftproof.dist import naive_distribution, residual
from draftproof.errors import ContextFull, InvalidInput, MissingExtra
from draftproof.lesson.live import Busy, Live
from draftproof.trace import replay
from lesson import toy

ASK = {"prompt": "hello hello", "k": 3, "seed": 7, "max_tokens": 30, "temperature": 1}


@pytest.fixture
def live():
    model = toy.ToyModel()
    return Live(lambda: model, lambda: None)


def test_the_records_are_a_trace_that_replays(live):
    records = list(live.run(ASK))
    assert [records[0]["type"], records[-1]["type"]] == ["header", "end"]
    assert replay(records) == []
    emitted = [token for one in records[1:-1] for token in one["emitted"]]
    assert len(emitted) == 30
    assert records[0]["prompt"] == "hello hello"
    assert records[-1]["text"] == "".join(token["text"] for token in emitted)
    assert {token["source"] for token in emitted} >= {"draft", "residual", "bonus"}


def test_the_same_request_gives_the_same_text_and_another_seed_another(live):
    def text(ask):
        decoding = live.run(ask)
        *_, end = decoding
        decoding.close()
        return end["text"]

    assert text(ASK) == text(ASK)
    assert text(ASK) != text(ASK | {"seed": 8})


def test_only_one_decoding_at_a_time(live):
    first = live.run(ASK)
    next(first)
    with pytest.raises(Busy):
        live.run(ASK)
    with pytest.raises(Busy):
        live.measure(ASK)
    first.close()
    live.run(ASK).close()


def test_closing_before_the_first_record_frees_the_model(live):
    live.run(ASK).close()
    live.run(ASK).close()


def test_closing_stops_the_decoding_and_twice_is_once(live):
    decoding = live.run(ASK)
    next(decoding)
    decoding.close()
    second = live.run(ASK)
    decoding.close()
    with pytest.raises(Busy):
        live.run(ASK)
    second.close()
    assert list(decoding) == []


def test_a_refused_request_does_not_keep_the_model(live):
    with pytest.raises(InvalidInput):
        live.run(ASK | {"proposer": "nobody"})
    with pytest.raises(ContextFull):
        live.run(ASK | {"prompt": "x" * 501})
    live.run(ASK).close()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", ""),
        ("prompt", " \n"),
        ("prompt", None),
        ("prompt", "x" * 2001),
        ("k", -1),
        ("k", 13),
        ("k", True),
        ("k", 1.0),
        ("temperature", -1),
        ("temperature", 1e-9),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("temperature", True),
        ("seed", -1),
        ("seed", 2**60),
        ("max_tokens", 0),
        ("max_tokens", 10**9),
        ("proposer", "../../etc"),
        ("proposer", ["toy"]),
    ],
)
def test_out_of_bounds_is_one_sentence_naming_the_field(live, field, value):
    with pytest.raises(InvalidInput, match=field):
        live.run(ASK | {field: value})


def test_without_a_model_the_status_says_what_to_type():
    def nothing():
        raise MissingExtra("type: get-model")

    live = Live(nothing, lambda: "type: get-model")
    assert not live.status()["available"]
    assert live.status()["how"] == "type: get-model"
    for _ in range(2):
        with pytest.raises(MissingExtra, match="get-model"):
            live.run(ASK)


def test_a_model_that_arrives_later_is_found_without_a_restart():
    answers = iter([MissingExtra("not yet"), toy.ToyModel()])

    def arriving():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    live = Live(arriving, lambda: None)
    with pytest.raises(MissingExtra):
        live.run(ASK)
    live.run(ASK).close()
    live.run(ASK).close()


def test_measure_compares_both_methods_with_their_laws_at_the_prompt(live):
    found = live.measure(ASK | {"rounds": 200_000})
    order = np.array([ord(name) - ord("a") for name in found["tokens"]])
    assert found["p"] == pytest.approx(toy.P[order], abs=1e-6)
    laws = {name: found["methods"][name]["law"] for name in ("exact", "naive")}
    assert laws["exact"] == pytest.approx(found["p"])
    assert laws["naive"] == pytest.approx(naive_distribution(found["p"], found["q"]))
    assert found["residual"] == pytest.approx(residual(found["p"], found["q"]))
    verdicts = [found["methods"][name]["verdict"] for name in ("exact", "naive")]
    assert verdicts == ["consistent", "refuted"]


def test_measure_computes_the_rows_once():
    model = toy.ToyModel()
    Live(lambda: model, lambda: None).measure(ASK | {"rounds": 20_000})
    assert model.backend.passes == 1


def test_measure_needs_a_draft(live):
    with pytest.raises(InvalidInput, match="proposes nothing"):
        live.measure(ASK | {"prompt": "ab", "proposer": "prompt-lookup"})
    live.run(ASK).close()


def test_measure_puts_what_is_not_listed_together():
    model = toy.ToyModel(np.full(20, 0.05))
    found = Live(lambda: model, lambda: None).measure(ASK | {"rounds": 100})
    assert len(found["tokens"]) == 9
    assert found["tokens"][-1] == "all others"
    for name in ("p", "q", "residual"):
        assert sum(found[name]) == pytest.approx(1)
    assert sum(found["methods"]["exact"]["counts"]) == 100
