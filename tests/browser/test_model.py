"""The real model in the page: recorded, live, and when it is not there."""

import json

import pytest

from browser.lab import predict, settled, words
from draftproof.lesson.live import default_model
from draftproof.lesson.measure import measure
from draftproof.trace import replay

HERE = default_model().status()["available"]


def test_without_the_model_the_page_says_how_to_get_it(shared):
    for step, summary in (("model", "Run live"), ("measure", "On the real model")):
        shared.locator(f"#{step} summary", has_text=summary).click()
        shared.locator(f"#{step} .live .note").wait_for()
        said = shared.locator(f"#{step} .live").inner_text()
        assert "draftproof setup" in said or "pip install" in said


def test_the_recorded_decoding_replays_to_its_own_verdicts(shared):
    page = json.loads(shared.locator("#page-data").text_content())
    records = next(step for step in page["steps"] if step["id"] == "model")["records"]
    assert records, "no recorded decoding ships with the lesson"
    assert replay(records) == []
    verdicts = {token["verdict"] for one in records[1:-1] for token in one["draft"]}
    assert {"kept", "rejected"} <= verdicts


def test_the_strip_steps_forward_and_back_and_names_each_verdict(shared):
    strip = shared.locator("#model .strip")
    said = set()
    for _ in range(60):
        said.add(words(strip.locator(".detail > p").inner_text()))
        if strip.get_by_role("button", name="Next").is_disabled():
            break
        strip.get_by_role("button", name="Next").click()
    told = " ".join(said)
    for part in ("is kept", "is rejected", "residual gives", "as a bonus"):
        assert part in told
    strip.get_by_role("button", name="Back").click()


def test_measuring_with_a_seed_gives_the_counts_of_the_library(shared):
    step = shared.locator("#measure")
    step.get_by_label("Draws").select_option("10000")
    step.get_by_label("Seed").fill("7")
    step.get_by_role("button", name="Draw", exact=True).click()
    step.locator(".verdicts").wait_for()
    said = words(step.locator(".verdicts").inner_text())
    assert "✓ The correction agrees with p so far" in said
    assert "✗ The shortcut is visibly wrong" in said
    step.locator("figure summary").first.click()
    found = measure(["1/2", "3/10", "1/5"], ["1/4", "1/2", "1/4"], 10_000, 7)["methods"]
    cells = [words(cell) for cell in step.locator("figure tbody td").all_inner_texts()]
    for token in range(3):
        for place, method in ((1, "exact"), (2, "naive")):
            assert cells[3 * token + place].startswith(f"{found[method]['observed'][token]:.4f}")
    assert "draws until the shortcut" in words(step.inner_text())
    assert "(seed 7)" in step.locator("figcaption").first.inner_text()
    for typed in ("-5", "1.7", "1e30"):
        step.get_by_role("textbox", name="Seed").fill(typed)
        step.get_by_role("button", name="Draw", exact=True).click()
        step.locator(".verdict.open", has_text=f"The seed is “{typed}”").wait_for()
        assert step.locator("figure").count() == 0


@pytest.mark.model
@pytest.mark.skipif(not HERE, reason="the default model is not prepared (draftproof setup)")
def test_a_prompt_is_decoded_live_and_measured(visit, start, tmp_path):
    lab = start(tmp_path / "data", model=True)
    page = predict(settled(visit(lab.address)))
    page.locator("#model summary", has_text="Run live").click()
    live = page.locator("#model .live")
    live.get_by_label("Prompt").fill("The three colours of the French flag are")
    live.get_by_role("button", name="Run", exact=True).click()
    page.locator("#announcer", has_text="decoding is complete").wait_for(
        state="attached", timeout=120_000
    )
    assert "The three colours" in page.locator("#model .decoded").inner_text()
    assert page.locator("#model .strip .fine").last.inner_text().endswith(tuple("0123456789"))
    page.locator("#measure summary", has_text="On the real model").click()
    page.locator("#measure .live").get_by_role("button", name="Draw").click()
    page.locator("#measure .live .verdicts").wait_for(timeout=60_000)
    said = words(page.locator("#measure .live .verdicts").inner_text())
    assert "✓ The correction agrees with p so far" in said
