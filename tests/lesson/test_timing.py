"""Timing the reader's machine: what the page is told, and how it ends. No time is judged here."""

import threading

import pytest

from draftproof.errors import InvalidInput
from draftproof.lesson.content import Timing
from draftproof.lesson.live import Busy, Live
from draftproof.lesson.shelf import lessons
from draftproof.lesson.timing import PLACES, Halted
from draftproof.rules import find_rule
from draftproof.session.measuring import measure
from draftproof.session.running import Options, Session
from draftproof.warp import Warp
from lesson import toy

ASK = {"prompt": "hello hello hello", "most_k": 3, "seed": 7, "temperature": 1}


@pytest.fixture
def model():
    return toy.ToyModel()


@pytest.fixture
def live(model):
    return Live(lambda: model, lambda: None)


def test_the_page_is_told_what_plan_measure_finds(live, model):
    """All but the times are luck with a seed, so the two must agree to the last digit."""
    found = live.timing(ASK).result()
    options = Options(draft="ngram", seed=7, chat=True, warp=Warp(temperature=1))
    session = Session(options, find_rule("token-wise"), model)
    (same,) = measure([session], [ASK["prompt"]], rules=["token-wise"], places=PLACES, max_k=3)
    assert [one["k"] for one in found["predictions"]] == [0, 1, 2, 3]
    assert [one["tokens"] for one in found["predictions"]] == [
        one.expected_tokens for one in same.predictions
    ]
    assert found["acceptance"] == list(same.acceptance)
    assert [n for n, _ in found["passes"]] == [1, 2, 3, 4]
    assert found["places"] == PLACES
    assert (found["target"], found["draft"]) == ("toy", "ngram")


def test_the_verdict_is_about_the_best_k(live):
    found = live.timing(ASK).result()
    best = max(found["predictions"], key=lambda one: one["speedup"])
    assert found["best_k"] == best["k"]
    low, high = best["interval"]
    says = "pays" if low > 1 else "cannot tell" if high > 1 else "does not pay"
    assert found["verdict"] == (says if best["k"] else "does not pay")


def test_the_model_is_free_again_after_a_timing_and_after_a_refusal(live):
    with pytest.raises(InvalidInput, match="most_k is 13"):
        live.timing(ASK | {"most_k": 13})
    timing = live.timing(ASK)
    with pytest.raises(Busy):
        live.run(ASK)
    timing.result()
    live.run(ASK).close()


@pytest.mark.parametrize("stop", ["live", "timing"])
def test_a_stopped_timing_ends_within_a_pass_and_frees_the_model(live, model, stop):
    model.backend.seconds = 0.01
    timing, ended = live.timing(ASK), []

    def work():
        with pytest.raises(Halted):
            timing.result()
        ended.append(model.backend.passes)

    thread = threading.Thread(target=work)
    thread.start()
    while model.backend.passes < 3:
        pass
    (live if stop == "live" else timing).stop()
    thread.join(5)
    assert ended
    assert ended[0] < 100, "a whole timing takes more than 300 passes"
    live.run(ASK).close()


def test_every_text_of_a_lesson_can_be_asked_for():
    steps = [step for one in lessons() for step in one.steps if isinstance(step, Timing)]
    assert steps
    for step in steps:
        model = toy.ToyModel()
        for text in step.texts:
            live = Live(lambda model=model: model, lambda: None)
            live.timing({"prompt": text.prompt, "most_k": step.most_k})
