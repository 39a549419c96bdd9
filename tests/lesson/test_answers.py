"""Typed answers, judged on the cases that the page's own parser is tested on too."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.lesson import find
from draftproof.lesson.answers import judge, read
from draftproof.lesson.content import Answers
from draftproof.lesson.shelf import lessons

CASES = json.loads((Path(__file__).parent / "answer_cases.json").read_text(encoding="utf-8"))
ANYWHERE = [item for lesson in lessons() for step in lesson.steps if isinstance(step, Answers)
            for item in step.items]  # fmt: skip
ITEMS = {item.id: item for item in find(3).only(Answers).items}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['item']}: {case['input']!r}")
def test_verdict(case):
    judged = judge(ITEMS[case["item"]], case["input"])
    assert (judged.verdict, judged.known) == (case["verdict"], case["known"])
    assert bool(judged.why) == (judged.verdict != "right")


def test_every_item_sees_every_verdict():
    seen = {(case["item"], case["verdict"]) for case in CASES}
    assert seen == {(item, v) for item in ITEMS for v in ("right", "wrong", "not-judged")}


def test_every_wrong_value_is_told_its_own_reason():
    for item in ITEMS.values():
        for wrong in item.wrong:
            typed = "; ".join(str(value) for value in wrong.value)
            assert judge(item, typed).why == wrong.why


@pytest.mark.parametrize("text", ["0.1", "1/10", "10%", "1e-1", "0,1", "0.10"])
def test_decimals_are_exact(text):
    assert read(text, 1) == (Fraction(1, 10),)


MIXED = {
    "1⅞": "15/8",
    "1½": "3/2",
    "\N{MINUS SIGN}2⅓": "-7/3",
    "(1⁷\u2044₈)": "15/8",
    "1½%": "3/200",
}


@pytest.mark.parametrize(("text", "value"), MIXED.items())
def test_a_mixed_number_is_the_sum_of_its_parts(text, value):
    assert read(text, 1) == (Fraction(value),)


@pytest.mark.parametrize("item", ANYWHERE, ids=lambda item: item.id)
def test_the_example_of_what_can_be_typed_is_never_the_answer(item):
    shown = judge(item, "?").why.split("for example ")[1].rstrip(".")
    examples = [shown] if len(item.answer) > 1 else shown.split(" or ")
    for numbers in (read(example, len(item.answer)) for example in examples):
        assert numbers is not None
        assert not set(numbers) & set(item.answer)


def test_a_flood_is_not_read():
    assert read("9" * 10_000, 1) is None
    assert read("1 " * 10_000, 3) is None
