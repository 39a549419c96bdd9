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
from .scripted import Unscripted, law
from .values import TOLERANCE, first_difference, same, show, symptom, token_of

COMPARED_GRID = 20
SAMPLED_STEPS = 4000
REPEATS = 3
ALIKE = 1e-7
SAME_EVERY_TIME = "Every trial gave the same."


def _value(case: Case, function: Callable[..., Any]) -> list[float]:
    return case.read(function(case.luck()))


def _law(case: Case, function: Callable[..., Any]) -> list[float]:
    def step(rng: Any) -> int:
        return token_of(case.name, function({"rng": rng}), case.size)

    return law(step, case.size, case.test["grid"] or COMPARED_GRID)


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

    A program that gives the outputs of a known mistake on every test of its function is that
    mistake. One that never reads q is told so. Otherwise agreement on this case is good enough.
    """
    alike = [w for w in case.known("output") if same(_output(case, _suspect(case, w)), got, ALIKE)]
    siblings = case.siblings()
    theirs = [_learnt(sibling) for sibling in siblings]
    for wrong in alike:
        outputs = [_output(sibling, _suspect(sibling, wrong)) for sibling in siblings]
        if all(same(a, b, ALIKE) for a, b in zip(outputs, theirs, strict=True)):
            raise Problem(wrong["why"], known=wrong["id"], got=shown)
    if "q" in case.inputs and case.never_reads("q"):
        raise case.recognised("q-unread", "You never read q.", shown)
    for wrong in alike:
        raise Problem(wrong["why"], known=wrong["id"], got=shown)


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
    explain = first_difference if case.returns == "tokens" else symptom
    raise Problem(explain(got, case.expect), got=shown)


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
    """Judge whether both rows are read at all."""
    case.check_read()


def judge_law(case: Case) -> None:
    """Judge a step by the law of its token over all branches of its luck."""
    learner = case.learner()
    try:
        got = _law(case, learner)
    except Unscripted:
        _judge_sampled(case, learner)
        return
    if same(got, case.expect):
        return
    _recognise(case, got, f"the law {show(got)}")
    raise _wrong_law(case, got, f"the law {show(got)}")


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
