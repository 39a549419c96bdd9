"""The numbers of lessons 5 and 6 are what the library computes."""

from fractions import Fraction as F

import pytest

from draftproof.lesson import curves, find
from draftproof.lesson.content import Answers, Choice, Code, Curve
from draftproof.planner import (
    Costs,
    best_choice,
    choices,
    expected_tokens,
    speedup,
    throughput,
)
from draftproof.planner import Curve as Passes


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
