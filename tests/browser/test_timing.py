"""Timing the reader's machine: without the model, with what a measurement says, and really.

Times differ from run to run, so the answers that are drawn here are written out; the last test,
of the larger matrix, measures.
"""

import json

import pytest

from browser.access import narrow_enough, resized, spotless
from browser.lab import settled, wait_until, words
from draftproof.lesson.content import Timing
from draftproof.lesson.live import default_model
from draftproof.lesson.shelf import lessons

HERE = default_model().status()["available"]
LESSON = next(one for one in lessons() if any(isinstance(step, Timing) for step in one.steps))
STEP = LESSON.only(Timing)

PAYS = {
    "target": "toy",
    "draft": "prompt-lookup",
    "places": 64,
    "level": 0.95,
    "passes": [[1, 10.0], [2, 12.0], [3, 15.5]],
    "t_draft": 0.25,
    "acceptance": [0.8, 0.5],
    "predictions": [
        {"k": 0, "tokens": 1.0, "speedup": 1.0, "interval": [1.0, 1.0]},
        {"k": 1, "tokens": 1.8, "speedup": 1.469, "interval": [1.3, 1.6]},
        {"k": 2, "tokens": 2.2, "speedup": 1.375, "interval": [1.1, 1.5]},
    ],
    "best_k": 1,
    "verdict": "pays",
}
UNSURE = PAYS | {
    "predictions": [PAYS["predictions"][0], PAYS["predictions"][1] | {"interval": [0.9, 1.6]}],
    "verdict": "cannot tell",
}
NEVER = PAYS | {
    "predictions": [PAYS["predictions"][0], PAYS["predictions"][1] | {"speedup": 0.75}],
    "best_k": 0,
    "verdict": "does not pay",
    "acceptance": [],
    "t_draft": 0.0,
}
SAID = [
    (PAYS, "Speculation pays here: k = 1 gives 1.47 times", "right"),
    (UNSURE, "The interval holds 1, so this measurement cannot tell", "open"),
    (NEVER, "Do not speculate", "info"),
]


def opened(visit, lab, **options):
    page = settled(visit(lab.entrance(LESSON), **options))
    page.locator("#predict input[type=radio]").first.check()
    page.get_by_role("button", name="Keep my prediction").click()
    wait_until(lambda: "predict" in lab.saved(LESSON))  # a reload asks the server what is kept
    return page, page.locator(f"#{STEP.id}")


def answering(page, found):
    """The page told that the model is here, and that a measurement found this."""
    status = {"model": {"available": True, "how": None, "drafts": ["prompt-lookup", "ngram"]}}
    page.route("**/api/status", lambda route: route.fulfill(json=status))
    page.route("**/api/timing", lambda route: route.fulfill(json=found))
    page.reload()
    page.get_by_role("button", name="Measure", exact=True).wait_for()


def test_without_the_model_the_step_says_how_to_get_it(visit, lab):
    _, place = opened(visit, lab)
    place.locator(".note").wait_for()
    said = place.locator(".note").inner_text()
    assert "draftproof setup" in said or "pip install" in said
    assert "draftproof plan --measure" in place.inner_text()


@pytest.mark.parametrize(("found", "said", "tone"), SAID, ids=["pays", "unsure", "never"])
def test_what_was_measured_is_drawn_and_said(visit, lab, found, said, tone):
    page, place = opened(visit, lab)
    answering(page, found)
    place.get_by_role("button", name="Measure", exact=True).click()
    assert said in words(place.locator(f".verdict.{tone}").inner_text())
    place.get_by_text("The same as numbers").click()
    rows = [words(row).split() for row in place.locator("tbody tr").all_inner_texts()]
    for row, one in zip(rows, found["predictions"], strict=True):
        low, high = one["interval"]
        milliseconds = found["passes"][one["k"]][1]
        assert row == [
            str(one["k"]),
            f"{one['tokens']:.3f}",
            f"{milliseconds:.1f}",
            f"{one['speedup']:.3f}",
            f"{low:.2f}",
            "to",
            f"{high:.2f}",
        ]
    kept = "80 %, 50 %" if found["acceptance"] else "It drafted nothing on this text."
    assert kept in words(place.inner_text())
    wait_until(lambda: "doneAt" in lab.saved(LESSON).get(STEP.id, {}))


def test_everyone_can_read_what_was_measured(visit, lab):
    page, place = opened(visit, lab)
    answering(page, PAYS)
    place.get_by_role("button", name="Measure", exact=True).click()
    place.get_by_text("The same as numbers").click()
    assert spotless(page) == []
    assert narrow_enough(resized(page, {"width": 320, "height": 700}), 320)


def test_the_text_the_draft_and_the_longest_k_are_what_is_asked_for(visit, lab):
    page, place = opened(visit, lab)
    answering(page, PAYS)
    place.get_by_role("combobox", name="Text").select_option(label=STEP.texts[1].title)
    assert place.get_by_role("textbox", name="Prompt").input_value() == STEP.texts[1].prompt
    place.get_by_role("combobox", name="Draft").select_option("ngram")
    with page.expect_request("**/api/timing") as asked:
        place.get_by_role("button", name="Measure", exact=True).click()
    wanted = {"prompt": STEP.texts[1].prompt, "proposer": "ngram", "most_k": STEP.most_k}
    assert json.loads(asked.value.post_data) == wanted


def test_a_measurement_can_be_stopped(visit, lab, watch):
    page, place = opened(visit, lab)
    answering(page, PAYS)
    place.get_by_role("button", name="Measure", exact=True).click()
    measured = place.locator(".timed")
    said = words(measured.inner_text())
    assert STEP.texts[0].prompt[:60] in said
    assert "drafted by prompt-lookup" in said
    page.unroute("**/api/timing")
    page.route("**/api/timing", lambda _: None)  # it never answers
    place.get_by_role("button", name="Measure", exact=True).click()
    place.get_by_role("button", name="Stop", exact=True).click()
    place.get_by_text("Stopped. Nothing was measured.").wait_for()
    assert "stale" in measured.get_attribute("class")
    assert "This is the measurement before." in measured.inner_text()
    assert place.get_by_role("button", name="Measure", exact=True).is_enabled()


@pytest.mark.full
@pytest.mark.model
@pytest.mark.skipif(not HERE, reason="the default model is not prepared (draftproof setup)")
def test_this_machine_is_measured(visit, start, tmp_path):
    page, place = opened(visit, start(tmp_path / "data", model=True))
    place.get_by_role("button", name="Measure", exact=True).click()
    place.locator(".timed").wait_for(timeout=240_000)
    assert place.locator(".timed svg[role=img]").count() == 2
    page.locator("#announcer", has_text="k").wait_for(state="attached")
