"""The page as it loads: its content against the specification, its policies, without scripts."""

import re
import subprocess
import sys
from fractions import Fraction

import pytest

from browser.lab import predict, settled, squeezed, words
from draftproof.lesson.shelf import chapter, find

P = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
Q = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]


def test_the_prediction_is_asked_before_its_answer_can_be_read(page):
    shown = words(page.locator("main").inner_text()).lower()
    assert "can simply resampling from p after every rejection change" in shown
    before = shown.split("chapter reference")[0]
    for spoiler in ("must be replaced from the residual", "counts twice", "too often, by", "3/8"):
        assert spoiler not in before
    assert not page.locator("table.laws").is_visible()
    for step in ("table", "why", "numbers", "code", "model", "measure", "check"):
        assert not page.locator(f"#{step} .content").is_visible()


def test_the_prediction_is_locked_and_quoted_back(page):
    predict(page, "No")
    assert all(box.is_disabled() for box in page.locator("#predict input").all())
    assert "Your prediction is kept: No" in words(page.locator("#predict").inner_text())
    assert "you said: No" in words(page.locator("#check").inner_text())


def test_the_lesson_says_what_it_must(shared):
    """Section 1 of the request: the costs, the residual, double counting, the law."""
    text = words(shared.locator("main").inner_text())
    for said in (
        "one parallel pass",
        "spreading one expensive target step over several tokens",
        "drafting, verification and recovering from a rejection all cost time",
        "counts twice what the draft already covered",
        "under-covers",
    ):
        assert said in text
    why = squeezed(shared.locator("#why").inner_text())
    assert "P(emiti)=qimin(1,piqi)+P(reject)⋅residuali=pi" in why
    assert re.search(r"P\(reject\)=1-.*min\(pi,qi\)", why)


def test_the_worked_table_value_by_value(shared):
    head = [words(cell) for cell in shared.locator("table.laws thead th").all_inner_texts()]
    assert head == [
        "token",
        "p",
        "q",
        "residual",
        "output with the correction",
        "output when resampling from p",
    ]
    rows = shared.locator("table.laws tbody tr")
    for token, (residual, exact, naive, off) in enumerate(
        [("1", "1/2", "3/8", "-1/8"), ("0", "3/10", "3/8", "+3/40"), ("0", "1/5", "1/4", "+1/20")]
    ):
        row = rows.nth(token)
        assert row.locator("th").inner_text() == str(token)
        assert row.locator("td.p input[type=text]").input_value() == str(P[token])
        assert row.locator("td.q input[type=text]").input_value() == str(Q[token])
        values = [words(text) for text in row.locator(".fraction").all_inner_texts()]
        assert values == [residual, exact, naive]
        cell = words(row.locator("td.differs").inner_text())
        assert "≠ p" in cell
        assert f"by {off}" in cell
    facts = words(shared.locator("#table .facts").inner_text())
    assert "P(reject) 1/4 0.25" in facts
    difference = shared.locator("#table .difference .fraction").all_inner_texts()
    assert [words(text) for text in difference] == ["+1/4", "-1/5", "-1/20"]
    decimals = shared.locator("table.laws td.differs .decimal").all_inner_texts()
    assert [words(text) for text in decimals] == ["0.375", "0.375", "0.25"]


def test_the_wrong_cells_are_red_and_the_others_are_not(shared):
    colour = "(cell) => getComputedStyle(cell.querySelector('.remark')).color"
    channels = shared.locator("table.laws td.differs").first.evaluate(colour)
    red, green, blue = map(int, re.findall(r"\d+", channels)[:3])
    assert red > 2 * max(green, blue)
    assert shared.locator("table.laws td.differs").count() == 3
    assert shared.locator("table.laws td.agrees").count() == 3


def test_the_reference_shows_formula_example_program_and_mistakes(shared):
    text = shared.locator("#reference").inner_text()
    plain, tight = words(text), squeezed(text)
    assert "E[N]=1+0.8+0.64+0.512+0.4096=3.3616" in tight
    assert "1-ak+11-a" in tight
    assert "tverify+ktdraft" in tight
    assert "3.3616/0.016s=210.1" in tight
    for said in ("10 ms", "12 ms", "1 ms", "100 tokens per second", "2.101", "illustrative"):
        assert said in plain
    mistakes = shared.locator("#reference .mistakes dt").all_inner_texts()
    assert len(mistakes) == 4
    for number, said in enumerate(["token", "a = 1", "agreement", "constant"]):
        assert said.replace(" ", "") in squeezed(mistakes[number])


def test_python_gets_ready_and_the_reference_program_runs_as_in_cpython(visit, lab):
    page = predict(settled(visit(lab.address, python=True)))
    page.locator(".python.ready").wait_for(timeout=20_000, state="attached")
    page.get_by_role("button", name="Run this program").click()
    page.get_by_text("Every assertion holds.").first.wait_for()
    printed = page.locator(".run-program pre").inner_text()
    done = subprocess.run(
        [sys.executable, "-I", "-c", chapter().code.source], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, printed.strip())


@pytest.mark.parametrize("value", ["3.3616", "210.1", "2.101", "== 5"])
def test_the_reference_program_asserts_the_figures(value):
    lines = [line for line in chapter().code.source.splitlines() if "assert" in line]
    assert any(value in line for line in lines)


def test_page_and_worker_carry_two_different_policies(shared):
    assert shared.evaluate("crossOriginIsolated")
    address = shared.evaluate("JSON.parse(document.getElementById('page-data').textContent).worker")
    worker = shared.request.get(shared.url.split("/lesson")[0] + address).headers
    shown = shared.request.get(shared.url).headers
    assert "connect-src 'self'" in shown["content-security-policy"]
    assert re.search(r"connect-src http://\S+/pyodide-\w+/$", worker["content-security-policy"])
    assert shared.locator("script:not([src]):not([type='application/json'])").count() == 0


def test_without_scripts_everything_can_be_read(visit, lab):
    page = visit(lab.address, java_script_enabled=False)
    text = words(page.locator("body").inner_text())
    for step in find(3).steps:
        assert page.get_by_role("heading", name=step.title, exact=True).is_visible()
    assert "P(emiti)=qimin(1,piqi)+P(reject)⋅residuali=pi" in squeezed(text)
    table = words(page.locator("#table table").inner_text())
    for value in ("1/2", "3/10", "1/5", "1/4", "3/8", "-1/8", "+3/40", "+1/20", "≠ p"):
        assert value in table
    assert page.locator("#reference pre").is_visible()
    assert "def residual(p, q):" in text
    assert page.locator("math").count() > 20


def test_without_scripts_nothing_scrolls_sideways_on_a_phone(visit, lab):
    page = visit(lab.address, java_script_enabled=False)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
