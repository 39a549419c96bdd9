"""One judge per kind of test, and the recognition of wrong programs by what they do.

A judge calls the learner's function and returns normally if all is well; otherwise it raises a
:class:`~.program.Problem`. The mistakes of the lesson file are recognised by comparing outputs (or
laws) on the very case that failed, or by a sign such as a changed input; no source is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .case import Case, Json
from .counts import LEVEL, RECOGNISE, inside
from .program import Problem
from .scripted import Unscripted, asks, branches, law, law_of
from .values import TOLERANCE, first_difference, same, show, symptom, token_of

COMPARED_GRID = 20
SAMPLED_STEPS = 4000
REPEATS = 3
ALIKE = 1e-7
NEARLY = 1e-5
RERUNS = 20
RERUN_BRANCHES = 300
SHARED_STEPS = 100
SAME_EVERY_TIME = "Every trial gave the same."
NEVER_ASKED = "Your function never asked the given `rng`"
ASK = "Draw everything from `rng`."


def _value(case: Case, function: Callable[..., Any]) -> list[float]:
    return case.read(function(case.luck()))


def _step(case: Case, function: Callable[..., Any]) -> Callable[[Any], int]:
    return lambda rng: token_of(case.name, function({"rng": rng}), case.size)


def _grid(case: Case) -> int:
    return case.test["grid"] or COMPARED_GRID


def _law(case: Case, function: Callable[..., Any]) -> list[float]:
    return law(_step(case, function), case.size, _grid(case))


OUTPUTS: dict[str, Callable[[Case, Callable[..., Any]], list[float]]] = {
    "value": _value,
    "law": _law,
}


def _output(case: Case, function: Callable[..., Any]) -> list[float]:
    """Return what a function gives on a case, or nothing where it gives nothing."""
    try:
        return OUTPUTS[case.test["check"]](case, function)
    except (Problem, Unscripted):
        return []


def _learnt(case: Case) -> list[float]:
    """Return what the learner's function gives here; computed once per program."""
    memory = case.program.memory
    if case.test["id"] not in memory:
        memory[case.test["id"]] = _output(case, case.learner())
    return memory[case.test["id"]]


def _suspect(case: Case, wrong: Json) -> Callable[..., Any]:
    """Return a known wrong function, called by its luck on fresh copies of the inputs."""
    function = case.suspect(wrong)
    return lambda luck: function(*case.arguments(luck))


def _recognise(case: Case, got: list[float], shown: str) -> None:
    """Raise the known mistake that gives this wrong output, if there is one.

    A mistake that gives the right output on this case cannot be the reason why it failed. A program
    that gives the outputs of a known mistake on every test of its function is that mistake. One
    that never reads q is told so. Otherwise agreement on this case is good enough, if only one
    known mistake agrees.
    """
    _check_near(case, got, shown)
    alike = [wrong for wrong in case.known("output") if _explains(case, wrong, got)]
    siblings = case.siblings()
    theirs = [_learnt(sibling) for sibling in siblings]
    for wrong in alike:
        outputs = [_output(sibling, _suspect(sibling, wrong)) for sibling in siblings]
        if all(same(a, b, NEARLY) for a, b in zip(outputs, theirs, strict=True)):
            raise Problem(wrong["why"], known=wrong["id"], got=shown)
    if "q" in case.inputs and case.never_reads("q"):
        raise _unread_and_wrong(case, shown)
    if len(alike) == 1:
        raise Problem(alike[0]["why"], known=alike[0]["id"], got=shown)


def _unread_and_wrong(case: Case, shown: str) -> Problem:
    """Say that q is never read, where the result is not right either.

    The words for a function that has a test of reading are meant for a right result.
    """
    tests = case.exercise["tests"]
    if any((test["function"], test["check"]) == (case.name, "reads") for test in tests):
        return Problem("You never read q, and the result is not right.", got=shown)
    return case.recognised("q-unread", "You never read q.", shown)


def _explains(case: Case, wrong: Json, got: list[float]) -> bool:
    """Tell whether a known mistake fails this case, and with this output."""
    theirs = _output(case, _suspect(case, wrong))
    return same(theirs, got, ALIKE) and not same(theirs, case.expect)


def _check_near(case: Case, got: list[float], shown: str) -> None:
    """Raise if numbers are right but for a small amount that rounding does not explain."""
    if same(got, case.expect, NEARLY):
        gap = max(abs(a - b) for a, b in zip(got, case.expect, strict=True))
        raise Problem(
            f"This is nearly right, and off by {gap:.1g}, which is more than rounding explains. Do "
            "not add a small number such as 1e-8 to a sum before you divide, and do not round.",
            got=shown,
        )


def judge_value(case: Case) -> None:
    """Judge a returned value, or recognise the wrong one."""
    try:
        got = _value(case, case.learner())
    except Problem as problem:
        if problem.cause != "ZeroDivisionError":
            raise
        found = case.recognised("zero-division", problem.message)
        raise Problem(found.message, known=found.known, error=True) from None
    if same(got, case.expect):
        return
    shown = _show(case, got)
    _recognise(case, got, shown)
    raise Problem(_explain(case, got), got=shown)


def _explain(case: Case, got: list[float]) -> str:
    if case.returns == "tokens":
        return first_difference(got, case.expect)
    return symptom(got, case.expect, _names(case))


def _names(case: Case) -> list[str]:
    """Name the numbers of a result as the lesson does: tokens, or entries of a row or table."""
    if case.returns == "table":
        return [
            f"the entry in row {i}, column {j}"
            for i, row in enumerate(case.due)
            for j in range(len(row))
        ]
    name = "token" if "p" in case.inputs and len(case.inputs["p"]) == case.size else "entry"
    return [f"{name} {index}" for index in range(case.size)]


def _show(case: Case, got: list[float]) -> str:
    """Show a wrong value in the form in which it was returned."""
    if case.returns in ("number", "token"):
        return show(got[0])
    if case.returns == "tokens":
        return show([int(token) for token in got])
    if case.returns == "table":
        numbers = iter(got)
        return show([[next(numbers) for _ in row] for row in case.due], 600)
    return show(got)


def judge_reads(case: Case) -> None:
    """Judge whether every input is read at all, and whether a draft is chosen as it should be.

    ``expect`` may hold two rows to put in the place of q. The luck is the same each time. With the
    first nothing may change, since it leads to the same draft; with the second something must.
    """
    case.check_read()
    if not case.due:
        return
    cases = [case, *map(case.instead, case.test["expect"])]
    got = [_shared_luck(one, one.learner()) for one in cases]
    if got[0] == got[1] and got[0] != got[2]:
        return
    for wrong in case.known("output"):
        if [_shared_luck(one, _suspect(one, wrong)) for one in cases] == got:
            raise Problem(wrong["why"], known=wrong["id"])
    raise Problem(_about_q(case, cases[1 if got[0] != got[1] else 2], same_draft=got[0] != got[1]))


def _shared_luck(case: Case, function: Callable[..., Any]) -> list[int]:
    """Return the tokens of many steps; the luck depends on nothing."""
    import numpy as np

    step, rng = _step(case, function), np.random.default_rng(1)
    return [step(rng) for _ in range(SHARED_STEPS)]


def _about_q(case: Case, other: Case, *, same_draft: bool) -> str:
    rows = f"q={show(case.inputs['q'])} and q={show(other.inputs['q'])}"
    if same_draft:
        return (
            f"With the same luck, {rows} give different tokens, although the way of drafting that "
            "the task asks for makes the same of both."
        )
    return (
        f"With the same luck, {rows} give the same tokens, although the way of drafting that the "
        "task asks for tells them apart. The draft is not chosen by q."
    )


def judge_law(case: Case) -> None:
    """Judge a step by the law of its token over all branches of its luck."""
    learner = case.learner()
    try:
        found = branches(_step(case, learner), _grid(case))
    except Unscripted:
        _judge_sampled(case, learner)
        return
    got = law_of(found, case.size)
    _check_luck(case, learner, found)
    if same(got, case.expect):
        return
    try:
        _recognise(case, got, f"the law {show(got)}")
    except Problem as problem:
        if not problem.known:
            _check_asked(case, learner, found[0][0])
        raise
    _check_asked(case, learner, found[0][0])
    raise _wrong_law(case, got, f"the law {show(got)}")


def _check_asked(case: Case, function: Callable[..., Any], token: int) -> None:
    """Raise if a step, which gave this token, never asks the given generator."""
    if not asks(_step(case, function), _grid(case)):
        raise Problem(f"{NEVER_ASKED}: token {token} comes out every time. {ASK}", got=show(token))


def _check_luck(
    case: Case, function: Callable[..., Any], found: Sequence[tuple[int, float]]
) -> None:
    """Raise if a step has luck of its own: with the same answers of ``rng`` it gives other tokens.

    A fair coin of its own is missed with probability at most ``2 ** -RERUNS``, or with ``2 ** -n``
    where it is asked on n of many branches, which are then run again less often.
    """
    step, grid = _step(case, function), _grid(case)
    for _ in range(max(1, min(RERUNS, RERUN_BRANCHES // len(found)))):
        try:
            if branches(step, grid) == found:
                continue
        except Unscripted:
            pass
        if not asks(step, grid):
            raise Problem(f"{NEVER_ASKED}, and yet its tokens vary: it has luck of its own. {ASK}")
        raise Problem(f"Part of the luck does not come from the given `rng`. {ASK}")


def _judge_sampled(case: Case, function: Callable[..., Any]) -> None:
    """Judge a step that cannot be enumerated by many steps with a real generator."""
    import numpy as np

    rng, counts = np.random.default_rng(1), [0] * case.size
    for _ in range(SAMPLED_STEPS):
        counts[token_of(case.name, function({"rng": rng}), case.size)] += 1
    _judge_counts(case, counts, case)


def _wrong_law(case: Case, got: Sequence[float], shown: str) -> Problem:
    """Say in words how a law differs from the one expected."""
    parts = [
        f"token {index} comes out with probability {a:.4g} instead of {b:.4g}"
        for index, (a, b) in enumerate(zip(got, case.expect, strict=True))
        if abs(a - b) > TOLERANCE
    ]
    name = "p" if case.expect == case.inputs.get("p") else "its law"
    gap = max(abs(a - b) for a, b in zip(got, case.expect, strict=True))
    return Problem(
        f"The emitted token does not follow {name}, with a gap of {gap:.4g}: {', '.join(parts)}.",
        got=shown,
    )


def _cells(case: Case) -> int:
    """Count the cells of all tests by counts, which share the error level."""
    tests = [test for test in case.exercise["tests"] if test["check"] in ("counts", "law")]
    return sum(len(test["expect"]) for test in tests)


def _behind(case: Case) -> Case | None:
    """Return the case of the function whose known wrong programs explain counts that are off."""
    if not case.test["law_of"]:
        return None
    about = {"function": case.test["law_of"], "check": "value", "grid": 0, "method": ""}
    behind = Case(case.program, case.exercise, case.test | about)
    behind.test["check"] = "law" if "rng" in behind.parameters else "value"
    return behind


def _judge_counts(case: Case, counts: Sequence[int], behind: Case | None) -> None:
    """Raise if counts do not fit the expected law; recognise the program they come from."""
    if inside(counts, case.expect, LEVEL / _cells(case)):
        return
    trials = sum(counts)
    shown = show([count / trials for count in counts])
    if max(counts) == trials:
        raise case.recognised("one-token", SAME_EVERY_TIME, shown)
    if behind:
        _recognise_counts(case, counts, behind, shown)
    raise Problem(
        f"Over {trials} trials the frequencies are too far from {show(case.expect)} for chance.",
        got=shown,
    )


def _recognise_counts(case: Case, counts: Sequence[int], behind: Case, shown: str) -> None:
    """Raise the known mistake whose law fits these counts, if there is one."""
    for wrong in behind.known("output"):
        theirs = _output(behind, _suspect(behind, wrong))
        if not _is_law(theirs, case.size) or same(theirs, case.expect):
            continue
        if inside(counts, theirs, RECOGNISE):
            raise Problem(wrong["why"], known=wrong["id"], got=shown)


def _is_law(values: Sequence[float], size: int) -> bool:
    """Tell whether what a wrong program gives can be a law at all."""
    return len(values) == size and min(values) >= 0 and abs(sum(values) - 1) <= TOLERANCE


def judge_counts(case: Case) -> None:
    """Judge a simulation by its frequencies."""
    trials, method = case.test["trials"], case.test["method"]
    learner = case.learner()
    got = case.read(learner(case.luck()))
    _judge_frequencies(case, got, trials)
    try:
        _judge_counts(case, [round(share * trials) for share in got], _behind(case))
    except Problem as problem:
        if method == "naive":
            exact = case.read(learner(case.luck(method="exact")))
            if exact == got:
                raise case.recognised("method-ignored", problem.message, show(got)) from None
        raise
    case.kept = got


def _judge_frequencies(case: Case, got: list[float], trials: int) -> None:
    """Raise if numbers cannot be relative frequencies of ``trials`` steps."""
    shown = show(got)
    if any(share != share for share in got):
        raise Problem("The frequencies contain nan.", got=shown)
    if abs(sum(got) - trials) < TOLERANCE * trials and trials > 1:
        raise case.recognised("not-frequencies", "These are counts, not frequencies.", shown)
    if min(got) < 0 or abs(sum(got) - 1) > TOLERANCE:
        raise Problem(f"The frequencies sum to {sum(got):.6g} instead of 1.", got=shown)
    if any(abs(share * trials - round(share * trials)) > 1e-6 for share in got):
        raise Problem(
            f"These are no frequencies of {trials} trials: each must be a whole number of steps "
            f"divided by {trials}. Simulate every one; do not compute the law.",
            got=shown,
        )


def judge_seed(case: Case) -> None:
    """Judge that the same seed repeats, and that other seeds do not.

    A correct program fails only if REPEATS other seeds all give the frequencies of the first.
    """
    trials, seed = case.test["trials"], case.test["seed"]
    learner = case.learner()

    def run(other: int) -> list[float]:
        return case.read(learner(case.luck(seed=other, method="exact")))

    first = run(seed)
    _judge_frequencies(case, first, trials)
    if max(first) == 1:
        raise case.recognised("one-token", SAME_EVERY_TIME, show(first))
    if run(seed) != first:
        raise case.recognised("seed-unused", "The same seed gave two different answers.")
    if all(run(seed + extra) == first for extra in range(1, 1 + REPEATS)):
        raise case.recognised("seed-ignored", "Different seeds gave the same answer.")


def judge_methods(case: Case) -> None:
    """Judge that ``method`` may be left out, meaning ``"exact"``, or given by name."""
    seed = case.test["seed"]
    learner = case.learner()

    def run(extra: int, **named: str) -> list[float]:
        luck = case.luck(seed=seed + extra)
        del luck["method"]
        return case.read(learner(luck, **named))

    if run(0) != run(0, method="exact"):
        raise Problem('Without a method the answer is not that of method="exact".')
    if all(run(extra, method="naive") == run(extra, method="exact") for extra in range(REPEATS)):
        raise case.recognised("method-ignored", "The method is ignored.")


JUDGES: dict[str, Callable[[Case], None]] = {
    "value": judge_value,
    "reads": judge_reads,
    "law": judge_law,
    "counts": judge_counts,
    "seed": judge_seed,
    "methods": judge_methods,
}
