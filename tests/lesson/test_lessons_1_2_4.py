"""The numbers of lessons 1, 2 and 4 are what the library computes."""

import itertools
from fractions import Fraction as F
from importlib import resources

import numpy as np
import pytest

from draftproof import decode, dist, planner
from draftproof.backends.table import Table as TableModel
from draftproof.chance import Dice
from draftproof.errors import InvalidInput
from draftproof.lesson import find
from draftproof.lesson.content import Answers, Code, Rounds, Table
from draftproof.lesson.rounds import play
from draftproof.lesson.shelf import read_lesson
from draftproof.rules import find_rule


def source(n):
    shelf = resources.files("draftproof.lesson") / "lessons"
    (file,) = (file for file in shelf.iterdir() if file.name.startswith(f"{n:02}-"))
    return file.read_text(encoding="utf-8")


def items(n):
    return {item.id: item for item in find(n).only(Answers).items}


def cases_of(n, *functions):
    return [test for test in find(n).only(Code).tests if test.function in functions]


# -- lesson 1 ---------------------------------------------------------------------------------

STEP = find(1).only(Rounds)


def turns(k, **changed):
    setting = {"target": STEP.target, "draft": STEP.draft, "prompt": STEP.prompt} | changed
    return play(**setting, k=k, stop=STEP.stop, limit=STEP.limit)


def test_the_hand_answers_are_the_first_rounds_of_the_live_part():
    first, answers = turns(4)[0], {name: item.answer[0] for name, item in items(1).items()}
    assert [STEP.tokens[token] for token in first.drafted] == ["cat", "sat", "on", "the"]
    assert answers == {
        "rows": len(first.due),
        "kept": first.kept,
        "added": len(first.added),
        "dropped": len(first.drafted) - first.kept,
        "bonus": len(turns(2)[0].added),
    }


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("seed", range(5))
def test_no_draft_changes_the_text(k, seed):
    draft = np.random.default_rng(seed).integers(len(STEP.tokens), size=len(STEP.tokens))
    added = [turn.added for turn in turns(k, draft=tuple(draft.tolist()))]
    assert sum(added, ()) == (1, 2, 3, 4, 5, 6)
    assert all(1 <= len(one) <= k + 1 for one in added)


def greedy(rows):
    table = [np.array([float(F(x)) for x in row]) for row in rows]
    return tuple(int(row.argmax()) for row in table)


@pytest.mark.parametrize("test", cases_of(1, "one_round", "generate"), ids=lambda test: test.id)
def test_the_loop_of_lesson_1_is_the_librarys(test):
    args = test.args
    prompt = args.get("prompt", args.get("text"))
    found = play(
        greedy(args["target"]), greedy(args["draft"]), prompt,
        k=args["k"], stop=args.get("stop", -1), limit=args.get("limit", args["k"] + 1),
    )  # fmt: skip
    if test.function == "one_round":
        assert test.expect == found[0].added
    else:
        assert test.expect == prompt + sum((turn.added for turn in found), ())


def test_turns_tell_what_was_drafted_and_kept():
    for turn in turns(4):
        agree = [a == b for a, b in zip(turn.drafted, turn.due, strict=False)]
        assert turn.kept == len(list(itertools.takewhile(bool, agree)))
        assert len(turn.due) == len(turn.drafted) + 1


# -- lesson 2 ---------------------------------------------------------------------------------

PAIR = [[F(1, 2), F(3, 10), F(1, 5)], [F(1, 4), F(1, 2), F(1, 4)]]


def coupling(p, q):
    """P(token i is drafted and token j comes out), from the library's rows."""
    kept, rest = np.minimum(p, q), dist.residual(p, q)
    return [
        [(q[i] - kept[i]) * rest[j] + (kept[i] if i == j else 0) for j in range(len(q))]
        for i in range(len(q))
    ]


VALUES = {
    "acceptance": lambda p, q: list(dist.acceptance(p, q)),
    "overlap": lambda p, q: [dist.overlap(p, q)],
    "total_variation": lambda p, q: [sum(abs(p - q)) / 2],
    "maximal_coupling": coupling,
}


@pytest.mark.parametrize("test", cases_of(2, *VALUES), ids=lambda test: test.id)
def test_every_expected_value_of_lesson_2(test):
    p, q = (np.array(row, dtype=object) for row in (test.p, test.q))
    expect = [list(row) if isinstance(row, tuple) else row for row in test.expect]
    assert VALUES[test.function](p, q) == expect
    if test.function == "maximal_coupling":
        assert np.sum(np.array(expect), axis=1).tolist() == q.tolist()
        assert np.sum(np.array(expect), axis=0).tolist() == p.tolist()
        assert sum(expect[i][i] for i in range(len(p))) == dist.overlap(p, q)


def test_the_typed_answers_of_lesson_2():
    answers = {name: item.answer for name, item in items(2).items()}
    assert answers["acceptance"] == tuple(dist.acceptance(*PAIR))
    assert answers["overlap"] == (dist.overlap(*PAIR),)
    assert answers["larger"] == (PAIR[1][1],)


def test_the_presets_of_lesson_2_have_the_overlaps_of_their_notes():
    presets = {
        one.id: dist.overlap(list(one.p), list(one.q)) for one in find(2).only(Table).presets
    }
    assert presets == {
        "worked": F(3, 4), "equal": 1, "disjoint": 0, "greedy": F(1, 2), "sharp": F(7, 10),
    }  # fmt: skip


# -- lesson 4 ---------------------------------------------------------------------------------

SPREAD, HALVES = (F(9, 10), F(1, 2), F(1, 10)), (F(1, 2),) * 3


@pytest.mark.parametrize("test", cases_of(4, *find(4).only(Code).entry), ids=lambda test: test.id)
def test_every_expected_value_of_lesson_4(test):
    acceptances = test.args["acceptances"]
    k = len(acceptances)
    values = {
        "expected_tokens": [planner.expected_tokens(acceptances, k)],
        "variance": [planner.variance_of_tokens(acceptances, k)],
    }
    assert values.get(test.function, list(planner.length_law(acceptances, k))) == list(test.expect)


def test_the_typed_answers_of_lesson_4():
    answers = {name: item.answer for name, item in items(4).items()}
    assert answers["constant"] == (planner.expected_tokens(F(1, 2), 3),) == (F(15, 8),)
    assert answers["positions"] == (planner.expected_tokens(SPREAD, 3),) == (F("2.395"),)
    assert answers["law"] == planner.length_law(HALVES, 3)
    assert answers["one"] == (planner.expected_tokens(F(1), 4),)


def test_the_figures_in_the_prose_of_lesson_4():
    text = find(4).step("why").body
    expected = planner.expected_tokens
    kept = expected(SPREAD, 3) - 1
    looked_at = 1 + sum(planner.survivals(SPREAD, 2))
    figures = {
        "2.395": expected(SPREAD, 3),
        "1.195": expected(SPREAD[::-1], 3),
        "1.875": expected(sum(SPREAD) / 3, 3),
        "2.275": (expected(F(9, 10), 3) + expected(F(1, 10), 3)) / 2,
        "1.395": kept,
        "0.465": kept / 3,
        "2.35": looked_at,
        "0.594": round(kept / looked_at, 3),
        "71/64": planner.variance_of_tokens(F(1, 2), 3),
    }
    for shown, value in figures.items():
        assert shown in text
        assert F(shown) == value
    assert round(float(figures["71/64"]) ** 0.5, 2) == 1.05


def test_the_mean_acceptance_would_be_caught():
    """What the lesson warns about is far outside of what the simulation test allows."""
    test = next(test for test in cases_of(4, "simulate") if test.id == "simulate-positions")
    mean = planner.length_law(sum(test.args["acceptances"]) / 3, 3)
    off = max(abs(a - b) for a, b in zip(test.expect, mean, strict=True))
    assert off > 10 / F(test.trials) ** F(1, 2)


def test_no_pair_of_acceptances_is_its_own_complement_reversed():
    """Otherwise an inverted coin would give the law of acceptances used from the last to the first.

    Halves are, but they stand for neither mistake: both are right there.
    """
    for test in find(4).only(Code).tests:
        acceptances = test.args["acceptances"]
        if len(set(acceptances)) > 1:
            assert tuple(1 - a for a in acceptances) not in (acceptances, acceptances[::-1])


@pytest.mark.parametrize(
    ("n", "function"), [(2, "total_variation"), (2, "overlap"), (3, "rejection_probability")]
)
def test_some_pair_has_two_gaps_on_either_side(n, function):
    """With a single token on one side the largest gap is the total variation."""
    gaps = [[a - b for a, b in zip(test.p, test.q, strict=True)] for test in cases_of(n, function)]
    assert any(max(map(abs, row)) != sum(map(abs, row)) / 2 for row in gaps)


# -- complaints about the new kinds -----------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "old", "new", "complaint"),
    [
        (1, "target = [1, 2, 3, 4, 5, 6, 0]", "target = [1]", "must be equally long"),
        (1, "prompt = [0]\nstop", "prompt = [7]\nstop", "must hold tokens below 7, got 7"),
        (1, "text, k) -> tokens", "text k) -> tokens", "must hold entries such as 'residual(p, q)"),
        (1, "k = 3\n", 'k = "a"\n', "k must hold integers, fractions"),
        (1, "k = 3\n", "depth = 3\n", "args must give draft, k, text and nothing else"),
        (2, '"acceptance", "covered"]', '"acceptance", "luck"]', "columns may hold token"),
        (2, 'facts = ["overlap"', 'facts = ["luck"', "facts may hold reject"),
        (4, 'formula = "endless-draft"', 'formula = "endless"', "formula must be one of expected"),
        (4, 'id = "a"\ntitle', 'id = "b"\ntitle', "parameter 'a' is missing for 'expected-tokens'"),
        (4, 'value = "4/5"', 'value = "5/4"', "value must lie on the steps from low to high"),
        (4, 'x = "k"', 'x = "n"', "x must be one of k, a"),
        (4, 'law_of = "length_law"', 'law_of = "law"', "law_of must be one of"),
        (4, 'truth = "the law"', 'truth = ""', "plot: truth is empty"),
    ],
)
def test_a_complaint_names_what_is_wrong(n, old, new, complaint):
    text = source(n)
    assert old in text
    with pytest.raises(InvalidInput) as caught:
        read_lesson(text.replace(old, new, 1), "x.toml")
    assert complaint in str(caught.value)


def test_the_rounds_are_played_by_the_loop_that_the_library_proves():
    table = TableModel(lambda text: np.eye(4)[(text[-1] + 1) % 4])
    plain = decode.generate(
        Dice(1), table, decode.NoDraft(), find_rule("token-wise"), (0,), k=0,
        limits=decode.Limits(max_tokens=6),
    )  # fmt: skip
    (turn,) = play((1, 2, 3, 0), (1, 2, 3, 0), (0,), k=5, stop=9, limit=6)
    assert turn.added == plain.tokens
