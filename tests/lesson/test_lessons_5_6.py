"""The numbers of lessons 5 and 6 are what the library computes."""

import itertools
import re
from fractions import Fraction as F

import numpy as np
import pytest

from draftproof import dist
from draftproof.audit import enumerate_sampler
from draftproof.audit.catalogue import ACQUITTED, find_suspect
from draftproof.backends.table import fractions
from draftproof.battery import constant_world, instance
from draftproof.chance import law as chance_law
from draftproof.contracts import Draft
from draftproof.lesson import curves, find
from draftproof.lesson.content import Answers, Choice, Code, Curve, Table
from draftproof.lesson.grader import grade
from draftproof.lesson.measure import measure
from draftproof.lesson.shortcuts import OUTPUTS
from draftproof.planner import (
    Costs,
    best_choice,
    choices,
    expected_tokens,
    speedup,
    throughput,
)
from draftproof.planner import Curve as Passes
from draftproof.proof import prove_instance
from draftproof.rules import find_rule
from draftproof.rules.chain import verify_block


def items(n):
    return {item.id: item for item in find(n).only(Answers).items}


def cases_of(n, *functions):
    return [test for test in find(n).only(Code).tests if test.function in functions]


# -- lesson 5 ---------------------------------------------------------------------------------

MS = F(1, 1000)
DEAR = Passes(((1, F(97, 10) * MS), (5, 30 * MS)))
WORKED = Costs(t_target=10 * MS, t_verify=12 * MS, t_draft=1 * MS)


def costs_of(passes, t_draft):
    return Costs(
        t_target=passes[0],
        t_verify=Passes(tuple(enumerate(passes, start=1))),
        t_draft=t_draft,
    )


PLANNER = {
    "expected_tokens": lambda a, k: expected_tokens(a, k),
    "throughput": lambda a, k, **times: throughput(a, k, **times),
    "speedup": lambda a, k, **times: speedup(a, k, **times),
    "best_k": lambda a, passes, t_draft: best_choice(a, costs_of(passes, t_draft)).k,
}


@pytest.mark.parametrize("test", cases_of(5, *PLANNER), ids=lambda test: test.id)
def test_the_planner_of_lesson_5_is_the_librarys(test):
    assert test.expect == (PLANNER[test.function](**test.args),)


def test_the_passes_of_a_batch_are_those_of_the_chart():
    """The speed-up of the chart, and that of the passes a learner computes, are one."""
    for test in cases_of(5, "batch_passes"):
        fixed, each, size = (test.args[name] for name in ("fixed", "per_token", "batch"))
        at = {"a": F(4, 5), "batch": F(size), "t_fixed": fixed, "t_token": each}
        for k, one in enumerate(choices(F(4, 5), costs_of(test.expect, 0))):
            assert curves.FORMULAS["batch-speedup"](at | {"k": F(k)}) == one.speedup
        assert len(test.expect) == test.args["longest"]


def test_the_hand_answers_of_lesson_5():
    half, free = F(1, 2), {"t_draft": 0}
    made = {
        "throughput": throughput(half, 2, t_verify=12 * MS, t_draft=1 * MS),
        "speedup": speedup(half, 2, t_target=10 * MS, t_verify=12 * MS, t_draft=1 * MS),
        "even": 30 * MS / (10 * MS),
        "best": best_choice(half, Costs(t_target=10 * MS, t_verify=10 * MS, t_draft=1 * MS)).k,
        "threshold": half,
    }
    assert {name: item.answer[0] for name, item in items(5).items()} == made
    assert speedup(half, 1, t_target=10 * MS, t_verify=15 * MS, **free) == 1


def shown(value, places=3):
    return f"{float(round(value, places)):.{places}f}"


def test_the_figures_of_the_prose_of_lesson_5():
    text = find(5).step("why").body
    table = choices(F(4, 5), WORKED, 16)
    best = best_choice(F(4, 5), WORKED)
    assert (best.k, shown(best.speedup)) == (6, "2.195")
    for figure in (table[4].speedup, table[8].speedup, best.speedup):
        assert shown(figure) in text
    assert (shown(F(4, 5) ** 6), shown(F(4, 5) ** 7, 4)) == ("0.262", "0.2097")
    assert (shown(table[5].throughput / 1000), shown(table[6].throughput / 1000, 4)) == (
        "0.217",
        "0.2195",
    )
    for figure in ("0.262", "0.217", "0.2097", "0.2195", "3.3616", "210.1", "2.101"):
        assert figure in text
    assert (12 + 1 - 10) / 10 == 0.3


def test_four_free_drafts_can_make_it_slower():
    slow = Costs(t_target=DEAR.at(1), t_verify=DEAR)
    text = find(5).step("why").body
    for one in choices(F(3, 5), slow)[1:]:
        assert f"- {shown(one.speedup)} for $k = {one.k}$" in text
    dear = Costs(t_target=DEAR.at(1), t_verify=DEAR, t_draft=1 * MS)
    assert shown(choices(F(3, 5), dear)[1].speedup) == "0.984"
    assert best_choice(F(3, 5), dear).k == 0
    check = find(5).only(Choice)
    assert expected_tokens(F(3, 5), 4) == F("2.3056")
    assert shown(DEAR.at(5) / DEAR.at(1), 2) == "3.09"
    for option in check.options:
        assert all(figure in option.why for figure in ("2.3056", "3.09", "0.745"))


def best_on_chart(step, **changed):
    at = {one.id: one.value for one in step.parameters} | {n: F(x) for n, x in changed.items()}
    formula = curves.FORMULAS[step.best]
    return max(step.axis.values(), key=lambda k: (formula(at | {"k": k}), -k))


def test_the_charts_of_lesson_5_mark_the_best_k():
    charts = {step.id: step for step in find(5).steps if isinstance(step, Curve)}
    assert best_on_chart(charts["curve"]) == 6
    assert best_on_chart(charts["curve"], t_verify=40) == 0
    batch = charts["batch"]
    assert [best_on_chart(batch, batch=size) for size in (8, 64, 512)] == [10, 4, 1]
    assert best_on_chart(batch, a="1/2", batch=512) == 0
    assert "best $k$ is 10 for a batch of 8, 4 for 64 and 1 for 512" in batch.body


# -- lesson 6 ---------------------------------------------------------------------------------

WORKED_P, WORKED_Q = fractions("1/2", "3/10", "1/5"), fractions("1/4", "1/2", "1/4")
REVERSE_P = fractions("2/5", "3/10", "1/5", "1/10")
BLOCK_P, BLOCK_Q = fractions("1/2", "3/10", "1/5"), fractions("1/5", "3/10", "1/2")


def in_prose(row):
    """The way the lesson writes a row."""
    return "$(" + ", ".join(map(str, row)) + ")$"


def law_of(suspect, p, q):
    return tuple(find_suspect(suspect).law(p, q))


SUSPECTS = (
    "resample from p",
    "match, then redraw",
    "argmax draft",
    "sharpened draft",
    "always accept",
)


def test_the_five_suspects_are_those_of_the_audit():
    text = find(6).step("audit").body
    for number, name in enumerate(SUSPECTS, start=1):
        (line,) = re.findall(rf"^{number}\. .*$", text, re.MULTILINE)
        assert (
            line.removesuffix(";")
            .removesuffix(".")
            .endswith(in_prose(law_of(name, WORKED_P, WORKED_Q)))
        )


def test_what_counting_finds_only_with_many_draws():
    """The figures of the prose; few draws find nothing, and the most are enough for certain."""
    step = find(6).step("counting")
    law = dist.naive_distribution(np.array(step.p, dtype=object), np.array(step.q, dtype=object))
    assert (law[0], step.p[0] - law[0]) == (F(319, 625), F(6, 625))
    for figure in ("319/625", "13/25", "6/625", "one of fifty"):
        assert figure in step.body
    assert dist.rejection_probability(step.p, step.q) == F(1, 50)
    rows = [str(x) for x in step.p], [str(x) for x in step.q]
    found = [measure(*rows, draws, step.seed) for draws in step.draws]
    said = [one["methods"]["naive"]["verdict"] for one in found]
    assert said == ["consistent", "consistent", "refuted"]
    assert {one["methods"]["exact"]["verdict"] for one in found} == {"consistent"}
    assert step.draws[1] < found[0]["draws_until_visible"] < step.draws[2]


def test_the_suspect_that_never_says_token_2():
    never = [n for n, name in enumerate(SUSPECTS, 1) if law_of(name, WORKED_P, WORKED_Q)[2] == 0]
    assert items(6)["suspect"].answer == tuple(never)


def test_the_laws_of_a_wrong_q():
    text = find(6).step("why").body
    assert in_prose(law_of("argmax draft", WORKED_P, WORKED_Q)) in text
    assert in_prose(law_of("sharpened draft", WORKED_P, WORKED_Q)) in text
    assert in_prose(dist.normalised(WORKED_Q * WORKED_Q)) in text
    cut = fractions("1/2", "1/2", "0"), fractions("2/5", "1/5", "2/5")
    assert in_prose(law_of("truncated draft", *cut)) in text
    rounded = law_of("rounded draft", fractions("1/2", "1/2"), fractions("3/5", "2/5"))
    assert f"${rounded[0] - F(1, 2)}$" in text
    assert sum(rounded) == 1


def test_a_coin_used_again():
    text = find(6).step("shortcuts").body
    assert in_prose(law_of("coin used again", REVERSE_P, REVERSE_P[::-1])) in text
    assert law_of("coin used again", WORKED_P, WORKED_Q) == tuple(WORKED_P)


def test_a_block_keeps_a_prefix_with_its_ratio_on_average_over_what_follows():
    """What the prose says of w_i; for one whole draft it holds only of w_k."""
    text = find(6).step("shortcuts").body
    assert "given the first $i$ tokens of the draft" in text
    tokens, rows = range(3), [BLOCK_P] * 3
    ratio = [a / b for a, b in zip(BLOCK_P, BLOCK_Q, strict=True)]

    def kept(first, second):
        draft = Draft.chain((first, second), [BLOCK_Q] * 2)
        return chance_law(lambda chance: verify_block(chance, draft, rows).accepted)

    single = set()
    for first in tokens:
        w_1 = min(F(1), ratio[first])
        laws = [kept(first, second) for second in tokens]
        at_least = [1 - one.get(0, 0) for one in laws]
        assert sum(a * b for a, b in zip(BLOCK_Q, at_least, strict=True)) == w_1
        single |= {one == w_1 for one in at_least}
        for second, one in zip(tokens, laws, strict=True):
            assert one.get(2, 0) == min(F(1), w_1 * ratio[second])
    assert False in single


@pytest.mark.parametrize(("k", "single", "block"), [(2, "1.19", "1.25"), (3, "1.533", "1.695"),
                                                    (4, "1.7731", "2.0635")])  # fmt: skip
def test_block_verification_keeps_more_and_is_exact(k, single, block):
    text = find(6).step("shortcuts").body
    (line,) = re.findall(rf"^- for \$k = {k}\$: .*$", text, re.MULTILINE)
    world = constant_world(BLOCK_P, BLOCK_Q)
    for name, kept in (("token-wise", single), ("block", block)):
        rule = find_rule(name)
        proof = prove_instance(rule, instance(world, rule, k=k))
        assert (proof.exact, proof.expected_accepted) == (True, F(kept))
        assert kept in line


def test_the_hand_answers_of_lesson_6():
    answers = {name: item.answer for name, item in items(6).items()}
    assert answers["agree"] == ((WORKED_P * WORKED_Q).sum(),)
    assert answers["again"] == law_of("match, then redraw", WORKED_P, WORKED_Q)[:1]
    assert answers["greedy"] == law_of("argmax draft", WORKED_P, WORKED_Q)
    ratios = F(1, 3) / F(2, 3), F(2, 3) / F(1, 3)
    running = min(F(1), ratios[0])
    assert answers["block"] == (min(F(1), running * ratios[1]),)
    assert set(answers) == {"agree", "again", "greedy", "block", "suspect"}


def test_some_wrong_answers_are_the_laws_they_are_said_to_be():
    wrong = {name: [one.value for one in item.wrong] for name, item in items(6).items()}
    assert (dist.overlap(WORKED_P, WORKED_Q),) in wrong["agree"]
    assert (dist.naive_distribution(WORKED_P, WORKED_Q)[0],) in wrong["again"]
    assert tuple(WORKED_Q) in wrong["greedy"]


def presets():
    return {one.id: (np.array(one.p), np.array(one.q)) for one in find(6).only(Table).presets}


def right_columns(p, q):
    return {name for name, law in OUTPUTS.items() if tuple(law(p, q)) == tuple(p)}


def test_the_presets_show_what_their_notes_say():
    exact = {"corrected", "matched"}
    right = {name: right_columns(*pair) - {"naive"} for name, pair in presets().items()}
    assert right == {
        "worked": exact,
        "equal": exact,
        "disjoint": exact | {"redrawn", "greedy"},
        "flat": exact | {"redrawn"},
        "two": exact,
    }
    assert tuple(OUTPUTS["greedy"](*presets()["two"])) == (F(5, 6), F(1, 6), 0)
    assert tuple(OUTPUTS["greedy"](*presets()["equal"])) == (1, 0, 0)
    redrawn = OUTPUTS["redrawn"](WORKED_P, WORKED_Q)
    assert redrawn[1] - WORKED_P[1] == F(21, 400)
    note = next(one.note for one in find(6).only(Table).presets if one.id == "worked")
    assert "21/400" in note


def test_the_closed_law_of_drawing_again():
    for p, q in presets().values():
        closed = [a * (1 + b - (p * q).sum()) for a, b in zip(p, q, strict=True)]
        assert closed == list(OUTPUTS["redrawn"](p, q))


# -- the three verifiers, held to an enumeration that is not the grader's ---------------------

REPAIR = find(6).only(Code)


def steps_of(source):
    names = {}
    exec(source, names)
    top = names["top_draft"]
    return {
        "greedy_draft": names["greedy_draft"],
        "top_draft": lambda p, q, rng: top(p, q, 2, rng),
        "match": names["match"],
    }


PLANTED = {
    "greedy_draft": "argmax draft",
    "top_draft": "truncated draft",
    "match": "match, then redraw",
}
PAIRS = {
    "sharp": (WORKED_P, fractions("1/5", "1/2", "3/10")),
    "cut": (fractions("1/2", "1/2", "0"), fractions("2/5", "1/5", "2/5")),
    "reverse": (REVERSE_P, REVERSE_P[::-1]),
    "two": (fractions("1/2", "1/4", "1/4"), fractions("1/4", "1/8", "5/8")),
}
EVERY_PAIR = pytest.mark.parametrize(("p", "q"), PAIRS.values(), ids=PAIRS)


@pytest.mark.parametrize("name", PLANTED)
@EVERY_PAIR
def test_the_repaired_verifiers_have_the_gap_0(name, p, q):
    found = enumerate_sampler(steps_of(REPAIR.reference)[name], p, q)
    assert found.agrees, found.counterexample()


@pytest.mark.parametrize("name", PLANTED)
@EVERY_PAIR
def test_the_planted_bugs_are_suspects_of_the_audit(name, p, q):
    """What the starter emits is what the audit knows the bug to emit."""
    found = enumerate_sampler(steps_of(REPAIR.starter)[name], p, q)
    law = law_of(PLANTED[name], p, q)
    assert not found.agrees
    for token, chance in enumerate(law):
        assert abs(found.law.get(token, 0) - chance) <= found.tolerance


def test_what_the_lesson_calls_exact_the_audit_acquits():
    (own,) = (one for one in ACQUITTED if one.name == "exact match at a temperature")
    assert enumerate_sampler(own.step, WORKED_P, WORKED_Q).agrees


def grade_repair(code):
    return grade(REPAIR.reference + code, REPAIR.exercise())


DRAFTED_OTHERWISE = {
    "greedy-drafts-from-p": """
def greedy_draft(p, q, rng):
    row = q / q.sum()
    token = int(np.argmax(p))
    if rng.random() < p[token]:
        return token
    others = p.copy()
    others[token] = 0
    return int(rng.choice(len(row), p=others / others.sum()))
""",
    "greedy-no-draft": """
def greedy_draft(p, q, rng):
    token = int(np.argmax(p))
    if rng.random() < p[token]:
        return token
    others = p.copy()
    others[token] = 0
    return int(rng.choice(len(q), p=others / others.sum()))
""",
    "greedy-drawn": """
def greedy_draft(p, q, rng):
    token = int(np.searchsorted(np.cumsum(q), rng.random(), side="right"))
    if rng.random() * q[token] < p[token]:
        return token
    gap = np.maximum(p - q, 0)
    return int(np.searchsorted(np.cumsum(gap / gap.sum()), rng.random(), side="right"))
""",
    "match-no-draft": """
def match(p, q, rng):
    return int(rng.choice(len(q), p=p))
""",
    "top-not-cut": """
def top_draft(p, q, keep, rng):
    assert keep > 0
    token = int(rng.choice(len(q), p=q))
    if rng.random() < p[token] / q[token]:
        return token
    gap = np.maximum(p - q, 0)
    return int(rng.choice(len(q), p=gap / gap.sum()))
""",
}


@pytest.mark.parametrize("known", DRAFTED_OTHERWISE)
def test_a_right_law_with_another_way_of_drafting_is_refused_and_told_why(known):
    (failed,) = (
        one for one in grade_repair(DRAFTED_OTHERWISE[known])["tests"] if one["status"] == "fail"
    )
    why = next(one.why for one in REPAIR.known_wrong if one.id == known)
    assert (failed["known"], failed["message"]) == (known, why)
    assert failed["id"].endswith("-reads")


def test_another_way_of_drafting_that_nobody_foresaw_is_described():
    code = """
def greedy_draft(p, q, rng):
    token = int(np.argmin({}))
    if rng.random() < p[token]:
        return token
    others = p.copy()
    others[token] = 0
    return int(rng.choice(len(p), p=others / others.sum()))
"""
    messages = [
        next(one["message"] for one in grade_repair(code.format(row))["tests"] if one["message"])
        for row in ("abs(q - 0.37)", "p + 0 * q")
    ]
    assert "give different tokens, although the way of drafting" in messages[0]
    assert "give the same tokens, although" in messages[1]
    assert "q=[0.25, 0.5, 0.25] and q=[" in messages[0]


RIGHT = {
    "luck first, the coin from above": """
def greedy_draft(p, q, rng):
    luck = rng.random(2)
    token = max(range(len(q)), key=lambda index: q[index])
    if luck[0] > 1 - p[token]:
        return token
    others = [0 if index == token else x for index, x in enumerate(p)]
    return int(np.searchsorted(np.cumsum(others) / sum(others), luck[1], side="right"))
""",
    "until another comes": """
def greedy_draft(p, q, rng):
    token = int(q.argmax())
    if rng.choice([True, False], p=[p[token], 1 - p[token]]):
        return token
    while True:
        other = int(rng.choice(len(p), p=p))
        if other != token:
            return other
""",
    "the likeliest by argsort": """
def top_draft(p, q, keep, rng):
    drawn = np.zeros(len(q))
    top = np.argsort(-q)[:keep]
    drawn[top] = q[top]
    drawn /= drawn.sum()
    token = rng.choice(len(q), p=drawn)
    if rng.random() < min(1, p[token] / drawn[token]):
        return int(token)
    gap = np.maximum(p - drawn, 0)
    return int(rng.choice(len(q), p=gap / gap.sum()))
""",
    "a match as a coin": """
def match(p, q, rng):
    token = int(rng.choice(len(q), p=q))
    if rng.random() < p[token]:
        return token
    others = p.copy()
    others[token] = 0
    return int(rng.choice(len(p), p=others / others.sum()))
""",
    "the own draw comes out": """
def match(p, q, rng):
    token = rng.choice(len(q), p=q)
    own = rng.choice(len(p), p=p)
    return int(own)
""",
}


@pytest.mark.parametrize("code", RIGHT.values(), ids=RIGHT)
def test_every_right_way_to_repair_passes(code):
    reply = grade_repair(code)
    assert reply["passed"], [one["message"] for one in reply["tests"]]


def test_a_right_residual_is_not_told_to_be_wrong():
    """The likeliest of the other tokens, always: the gap of p - q happens to name it too."""
    code = """
def greedy_draft(p, q, rng):
    token = int(np.argmax(q))
    if rng.random() < p[token]:
        return token
    return max((x, -index) for index, x in enumerate(p) if index != token)[1] * -1
"""
    failed = [one for one in grade_repair(code)["tests"] if one["status"] == "fail"]
    assert {one["known"] for one in failed} == {"greedy-hottest"}


def test_an_unknown_mistake_is_told_its_gap():
    code = """
def match(p, q, rng):
    token = int(rng.choice(len(q), p=q))
    return token if int(rng.choice(len(p), p=p)) == token else 0
"""
    reply = grade(REPAIR.reference + code, REPAIR.exercise())
    problem = next(test for test in reply["tests"] if test["status"] == "fail")
    # token 0 comes out unless both draw 1, or both draw 2
    gap = 1 - F(1, 3) * F(1, 3) - F(1, 3) * F(1, 6) - F(1, 3)
    assert problem["known"] == ""
    assert f"does not follow p, with a gap of {float(gap):.4g}: token 0" in problem["message"]


@pytest.mark.parametrize("test", [t for t in REPAIR.tests if t.grid], ids=lambda test: test.id)
def test_the_grid_of_a_verifier_holds_its_breakpoints(test):
    """Acceptance ratios and running sums are multiples of 1/grid, so midpoints are exact.

    A match may also be written as a coin and a draw from p without the drafted token. The whole of
    q counts, because a program that drafts from it must not be told that its law is wrong.
    """
    p, q = np.array(test.p), np.array(test.q)
    drawn = {
        "greedy_draft": np.array([F(int(x == q.argmax())) for x in range(len(q))]),
        "top_draft": np.where(q >= sorted(q)[-test.args.get("keep", 1)], q, F(0)),
        "match": q,
    }[test.function]
    drawn = drawn / drawn.sum()
    rows = [p, q, drawn, dist.residual(p, drawn)]
    if test.function == "match":
        rows += [dist.residual(p, row) for row in np.identity(len(p), dtype=int) * F(1)]
    points = [x for row in rows for x in itertools.accumulate(row)]
    points += [min(F(1), a / b) for row in (drawn, q) for a, b in zip(p, row, strict=True) if b]
    assert all((point * test.grid).denominator == 1 for point in points)
