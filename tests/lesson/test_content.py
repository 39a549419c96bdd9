"""The lesson's content: complete, consistent with the library, and read with care."""

import contextlib
import io
import itertools
import re
from fractions import Fraction as F
from importlib import resources

import pytest

from draftproof import (
    exact_distribution,
    naive_distribution,
    rejection_probability,
    residual,
)
from draftproof.errors import InvalidInput
from draftproof.lesson import chapter, find, lessons, to_json
from draftproof.lesson.content import (
    Answers,
    Choice,
    Code,
    Measure,
    Predict,
    Prose,
    Reference,
    Table,
    Trace,
)
from draftproof.lesson.shelf import load, read_chapter, read_lesson

LESSON = find(3)
CODE = LESSON.only(Code)
ITEMS = {item.id: item for item in LESSON.only(Answers).items}
TEXT = (
    resources.files("draftproof.lesson") / "lessons" / "03-rejection-correction.toml"
).read_text(encoding="utf-8")

WORKED = ((F(1, 2), F(3, 10), F(1, 5)), (F(1, 4), F(1, 2), F(1, 4)))


def law_of(function, p, q):
    value = function(list(p), list(q))
    return tuple(value) if hasattr(value, "__len__") else (value,)


FUNCTIONS = {
    "residual": residual,
    "rejection_probability": rejection_probability,
    "exact_distribution": exact_distribution,
    "naive_distribution": naive_distribution,
}


# -- what the lesson must hold ----------------------------------------------------------------


def test_the_steps_come_in_the_order_of_the_lesson():
    kinds = [type(step) for step in LESSON.steps]
    assert kinds == [
        Prose, Predict, Table, Prose, Answers, Code, Trace, Measure, Choice, Reference,
    ]  # fmt: skip


def test_nothing_that_gives_the_answer_away_is_shown_before_the_prediction():
    ids = [step.id for step in LESSON.steps]
    after = LESSON.steps[ids.index("predict") + 1 :]
    assert all(step.reveal_after == "predict" for step in after)
    before = LESSON.step("idea").body + LESSON.step("predict").body
    assert "residual" not in before
    assert "wrong" not in before


def test_the_check_asks_the_predicted_question_again():
    predict, check = LESSON.only(Predict), LESSON.only(Choice)
    assert check.quotes == predict.id
    assert check.question == predict.question
    assert [o.id for o in check.options] == [o.id for o in predict.options] == ["yes", "no"]
    assert [o.id for o in check.options if o.right] == ["yes"]
    assert all(option.why for option in check.options)


def test_the_table_starts_at_the_worked_pair():
    table = LESSON.only(Table)
    assert (table.p, table.q) == WORKED
    assert table.columns == ("token", "p", "q", "residual", "corrected", "naive")
    assert [preset.id for preset in table.presets] == [
        "worked", "equal", "disjoint", "greedy", "two-token",
    ]  # fmt: skip
    assert (table.presets[0].p, table.presets[0].q) == WORKED


def test_the_presets_are_what_their_names_say():
    presets = {preset.id: preset for preset in LESSON.only(Table).presets}
    assert presets["equal"].p == presets["equal"].q
    assert all(
        min(pair) == 0 for pair in zip(presets["disjoint"].p, presets["disjoint"].q, strict=True)
    )
    assert sorted(presets["greedy"].q)[-2:] == [0, 1]
    two = presets["two-token"]
    assert law_of(residual, two.p, two.q) == (F(2, 3), F(1, 3), 0)
    greedy = presets["greedy"]
    assert law_of(naive_distribution, greedy.p, greedy.q)[0] == F(3, 4)
    for name in ("equal", "disjoint"):
        pair = presets[name]
        assert law_of(naive_distribution, pair.p, pair.q) == pair.p
    for name in ("worked", "greedy", "two-token"):
        pair = presets[name]
        assert law_of(naive_distribution, pair.p, pair.q) != pair.p


def test_the_worked_numbers_of_the_prose():
    p, q = WORKED
    assert rejection_probability(list(p), list(q)) == F(1, 4)
    difference = [n - x for n, x in zip(law_of(naive_distribution, p, q), p, strict=True)]
    assert difference == [F(-1, 8), F(3, 40), F(1, 20)]
    note = LESSON.only(Table).presets[0].note
    assert all(text in note for text in ("(1/4, -1/5, -1/20)", "$3/40$", "$1/20$", "$1/8$"))


# -- numbers agree with the library -----------------------------------------------------------


def test_the_typed_answers_are_what_the_library_computes():
    p, q = WORKED
    assert ITEMS["residual"].answer == law_of(residual, p, q) == (1, 0, 0)
    assert ITEMS["corrected"].answer == (exact_distribution(list(p), list(q))[0],) == (F(1, 2),)
    assert ITEMS["shortcut"].answer == (naive_distribution(list(p), list(q))[0],) == (F(3, 8),)


@pytest.mark.parametrize("test", [t for t in CODE.tests if t.expect], ids=lambda test: test.id)
def test_every_expected_value_is_what_the_library_computes(test):
    if test.check == "value":
        function = FUNCTIONS[test.function]
    else:
        function = naive_distribution if test.method == "naive" else exact_distribution
    assert law_of(function, test.p, test.q) == test.expect


def test_the_chapter_figures():
    assert sum(F(4, 5) ** i for i in range(5)) == F("3.3616")
    assert round(F("3.3616") / F("0.016"), 1) == F("210.1")
    text = " ".join(section.body for section in chapter().sections)
    for figure in ("3.3616", "210.1", "2.101", "0.4096", "k + 1"):
        assert figure in text
    assert [mistake.id for mistake in chapter().mistakes] == [
        "forgotten-token", "a-equals-one", "agreement-heuristic", "constant-a",
    ]  # fmt: skip


# -- the reference program of the chapter -----------------------------------------------------


def run(source):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(source, {})
    return out.getvalue()


def test_the_chapter_program_runs_and_prints_its_figures():
    assert run(chapter().code.source).split()[0] == "3.3616"
    assert "import" not in chapter().code.source


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("range(k + 1)", "range(1, k + 1)"),  # the token the target adds is forgotten
        ("range(k + 1)", "range(k)"),
        ("sum(a**i for i in range(k + 1))", "(1 - a ** (k + 1)) / (1 - a)"),  # a = 1
        ("t_verify + k * t_draft", "t_verify + t_draft"),
        ("1 / 0.010", "1 / 0.012"),
    ],
)
def test_the_assertions_of_the_chapter_program_catch_mistakes(right, wrong):
    source = chapter().code.source
    assert right in source
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run(source.replace(right, wrong, 1))


# -- the exercise -----------------------------------------------------------------------------


def test_the_starter_has_the_six_signatures_and_nothing_in_them():
    assert CODE.starter.startswith("import numpy as np\n")
    assert re.findall(r"^def (.*):$", CODE.starter, re.MULTILINE) == [
        "residual(p, q)",
        "rejection_probability(p, q)",
        "exact_distribution(p, q)",
        "naive_distribution(p, q)",
        "speculative_step(p, q, rng)",
        'empirical(p, q, trials, seed, method="exact")',
    ]
    names = {}
    exec(CODE.starter, names)
    assert [name for name in names if name in CODE.entry] == list(CODE.entry)
    assert names["residual"]([1.0], [1.0]) is None


@pytest.mark.parametrize("test", [t for t in CODE.tests if t.grid], ids=lambda test: test.id)
def test_the_grid_holds_every_breakpoint(test):
    """Acceptance ratios and running sums are multiples of 1/grid, so midpoints are exact."""
    rows = [test.p, test.q, law_of(residual, test.p, test.q)]
    points = [x for row in rows for x in itertools.accumulate(row)]
    points += [min(F(1), p / q) for p, q in zip(test.p, test.q, strict=True) if q]
    assert all((point * test.grid).denominator == 1 for point in points)


def test_lessons_are_plain_json_with_exact_fractions():
    data = to_json(LESSON)
    table = next(step for step in data["steps"] if step["id"] == "table")
    assert table["p"] == ["1/2", "3/10", "1/5"]
    assert data["content_hash"] == LESSON.content_hash


# -- finding and reading ----------------------------------------------------------------------


def test_a_lesson_is_found_by_number_and_by_id():
    assert find(3) is find("3") is find("rejection-correction") is lessons()[2]
    with pytest.raises(InvalidInput, match=r"no lesson 'x'; choose one of: 1 \(draft-then-verify"):
        find("x")
    with pytest.raises(InvalidInput, match="no step 'nowhere'; it has idea, predict"):
        LESSON.step("nowhere")


def test_the_hash_changes_with_the_text():
    changed = read_lesson(TEXT.replace("The idea", "The  idea"), "03.toml")
    assert changed.content_hash != LESSON.content_hash
    assert read_lesson(TEXT, "03.toml") == LESSON


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('n = 3', 'n = "3"', "03.toml: n must be of type int, got '3'"),
        ('n = 3', "", "03.toml: n is missing"),
        ('kind = "predict"', 'kind = "guess"', "step 'predict': kind must be one of prose"),
        ('kind = "predict"', 'kind = "predict"\nbonus = 1', "step 'predict': bonus is not"),
        ('id = "idea"\n', 'id = "predict"\n', "step 'predict': id is used twice"),
        ('quotes = "predict"', 'quotes = "later"', "step 'check': quotes names no earlier"),
        ('p = ["1/2", "3/10", "1/5"]', 'p = ["1/2", "3/10"]', "p must be probabilities with sum 1"),
        ('p = ["1/2", "3/10", "1/5"]', 'p = ["1/2", "1/2"]', "equally long, but p has 2, q has 3"),
        ('tokens = ["0", "1", "2"]', 'tokens = ["0", "1"]', "long, but tokens has 2, p has 3"),
        ('q = ["1", "0", "0"]', 'q = ["2", "-1", "0"]', "preset 'greedy': q must be probabilities"),
        ('q = ["1", "0", "0"]', 'q = ["one", "0", "0"]', "q must hold fractions such as '3/10'"),
        ('q = ["1", "0", "0"]', "q = [1, 0, 0]", "q must be a list of strings"),
        ('columns = ["token"', 'columns = ["coin"', "columns may hold token, p, q"),
        ('value = ["1/4", "0", "0"]', 'value = ["1", "0", "0"]', "wrong holds the right answer"),
        ("right = false", "right = true", "step 'check': option must mark exactly one option"),
        ("right = false", "", "option 'no': right is missing"),
        ('check = "law"', 'check = "lore"', "test 'step-worked': check must be one of value"),
        ('sign = "q-unread"', 'sign = "lazy"', "'residual-constant': sign must be one"),
        ("trials = 4000", "trials = 0", "test 'empirical-exact': trials must be at least 1"),
        ("draws = [100,", "draws = [1.5,", "step 'measure': draws must be a list of integers"),
        ('title = "The idea"', 'title = ""', "step 'idea': title is empty"),
        ("[[step]]", "[[step", "this is not valid TOML"),
    ],
)  # fmt: skip
def test_a_complaint_names_the_file_the_step_and_the_field(old, new, complaint):
    assert old in TEXT
    with pytest.raises(InvalidInput) as caught:
        read_lesson(TEXT.replace(old, new, 1), "03.toml")
    assert str(caught.value).startswith("03.toml")
    assert complaint in str(caught.value)


def test_a_chapter_without_code_is_refused():
    with pytest.raises(InvalidInput, match=r"chapter\.toml: code is missing"):
        read_chapter('title = "x"', "chapter.toml")


def test_a_lesson_of_your_own(tmp_path):
    file = tmp_path / "07-mine.toml"
    file.write_text(
        'id = "mine"\nn = 7\ntitle = "Mine"\nminutes = 1\nsummary = "Small."\n'
        '[[step]]\nid = "a"\nkind = "prose"\ntitle = "A"\nbody = "Text."\n',
        encoding="utf-8",
    )
    lesson = load(file)
    assert [step.body for step in lesson.steps] == ["Text."]
    with pytest.raises(InvalidInput, match="'mine' has 0 steps of kind Code, not one"):
        lesson.only(Code)
