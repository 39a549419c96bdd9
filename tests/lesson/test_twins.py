"""Charts and rounds are computed twice, here and in the page; both are held to the same cases.

``python tests/lesson/test_twins.py`` writes the cases anew, from the library.
"""

import itertools
import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.lesson.curves import FORMULAS, needs
from draftproof.lesson.rounds import play

HERE = Path(__file__).parent
CURVES, ROUNDS = HERE / "curve_cases.json", HERE / "round_cases.json"

CHOICES = {
    "a": ["0", "1/2", "4/5", "1"],
    "k": ["0", "1", "4", "9"],
    "a1": ["0", "9/10", "1"],
    "a2": ["1/2"],
    "a3": ["1/10", "1"],
    "t_target": ["10", "13/2"],
    "t_verify": ["12"],
    "t_draft": ["0", "1"],
    "batch": ["1", "64"],
    "t_fixed": ["0", "6"],
    "t_token": ["1/50"],
}
POSITIONS = ("a1", "a2", "a3")


def value_of(formula, at):
    value = FORMULAS[formula]({name: Fraction(text) for name, text in at.items()})
    return None if value is None else str(value)


def curve_cases():
    for formula in FORMULAS:
        names = needs(formula)
        names = ("k", *POSITIONS) if "a1" in names else names
        for values in itertools.product(*(CHOICES[name] for name in names)):
            at = dict(zip(names, values, strict=True))
            if "a1" in at and int(at["k"]) > len(POSITIONS):
                continue
            yield {"formula": formula, "at": at, "value": value_of(formula, at)}


def played(models):
    setting = {name: tuple(value) if isinstance(value, list) else value
               for name, value in models.items()}  # fmt: skip
    turns = play(setting.pop("target"), setting.pop("draft"), setting.pop("prompt"), **setting)
    return [
        {"start": one.start, "drafted": list(one.drafted), "due": list(one.due),
         "kept": one.kept, "added": list(one.added)}
        for one in turns
    ]  # fmt: skip


def round_cases():
    chance = random.Random(1)
    for _ in range(30):
        size = chance.randrange(2, 7)
        target = [chance.randrange(size) for _ in range(size)]
        draft = [x if chance.random() < 0.7 else chance.randrange(size) for x in target]
        models = {
            "target": target, "draft": draft, "prompt": [chance.randrange(size)],
            "k": chance.randrange(6), "stop": chance.randrange(size + 1), "limit": 9,
        }  # fmt: skip
        yield {"models": models, "turns": played(models)}


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_cases_of_charts_are_what_the_library_computes(formula):
    cases = [one for one in json.loads(CURVES.read_text("utf-8")) if one["formula"] == formula]
    assert cases
    assert [value_of(formula, one["at"]) for one in cases] == [one["value"] for one in cases]


def test_the_cases_of_rounds_are_what_the_library_plays():
    cases = json.loads(ROUNDS.read_text("utf-8"))
    assert [played(one["models"]) for one in cases] == [one["turns"] for one in cases]


def write(file, cases):
    lines = ",\n".join(json.dumps(case) for case in cases)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write(CURVES, curve_cases())
    write(ROUNDS, round_cases())
