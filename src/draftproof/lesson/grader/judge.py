"""One judge per kind of test, and the recognition of wrong programs by what they do.

A judge calls the learner's function and returns normally if all is well; otherwise it raises a
:class:`~.program.Problem`. The mistakes of the lesson file are recognised by comparing outputs (or
laws) on the very case that failed, or by a sign such as a changed input; no source is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .counts import LEVEL, RECOGNISE, inside
from .program import Problem, Program
from .scripted import Unscripted, law
from .values import (
    TOLERANCE,
    number_of,
    numbers_of,
    row,
    same,
    show,
    show_call,
    symptom,
    token_of,
)

SIGNATURES = {
    "speculative_step": "speculative_step(p, q, rng)",
    "empirical": "empirical(p, q, trials, seed, method)",
}
SCALARS = ("rejection_probability",)
COMPARED_GRID = 20
SAMPLED_STEPS = 4000
REPEATS = 3
ALIKE = 1e-7

Json = dict[str, Any]


class Unreadable:
    """Stands where a row should be: whoever reads it, in whatever way, gets an exception."""

    __slots__ = ()


def array(values: Sequence[float]) -> Any:
    """Return the values as a new NumPy array (or one of the stand-in)."""
    import numpy as np

    return np.array(list(values), dtype=float)


def signature(function: str) -> str:
    """Return how the tests call a function."""
    return SIGNATURES.get(function, f"{function}(p, q)")


def read(function: str, value: Any, size: int) -> list[float]:
    """Return what a function gave as a list of numbers, one for a scalar function."""
    if function in SCALARS:
        return [number_of(function, value)]
    return numbers_of(function, value, size)


class Case:
    """One test, with everything needed to judge a submission by it and to explain the verdict."""

    def __init__(self, program: Program, exercise: Json, test: Json) -> None:
        self.test, self.exercise, self.program = test, exercise, program
        self.name: str = test["function"]
        self.p, self.q, self.expect = row(test["p"]), row(test["q"]), row(test["expect"])
        self.size = len(self.p)
        self.call = show_call(self.name, p=self.p, q=self.q)
        self.kept: list[float] = []
        if self.name == "speculative_step":
            self.call = show_call(self.name, show(self.p), show(self.q), "rng")
        elif self.name == "empirical":
            self.call = self.counts_call(test["seed"], test["method"])

    def counts_call(self, seed: int, method: str) -> str:
        """Show a call of ``empirical``."""
        rows = {"p": self.p, "q": self.q, "trials": self.test["trials"], "seed": seed}
        return show_call(self.name, **rows, **({"method": method} if method else {}))

    # -- the learner's function ---------------------------------------------------------------

    def learner(self) -> Callable[..., Any]:
        """Return the learner's function; it gets copies of p and q and may not change them."""
        function = self.program.function(self.name, signature(self.name))

        def call(*rest: Any, **named: Any) -> Any:
            p, q = array(self.p), array(self.q)
            value = function(p, q, *rest, **named)
            changed = [
                n for n, now, was in (("p", p, self.p), ("q", q, self.q)) if now.tolist() != was
            ]
            if changed:
                names = " and ".join(changed)
                raise self.recognised("inputs-changed", f"Your function changed its input {names}.")
            return value

        return call

    # -- recognition --------------------------------------------------------------------------

    def known(self, sign: str, function: str = "") -> Iterator[Json]:
        """Yield the known wrong programs of a function, this one's if not named, with a sign."""
        for wrong in self.exercise["known_wrong"]:
            if wrong["function"] == (function or self.name) and wrong["sign"] == sign:
                yield wrong

    def recognised(self, sign: str, otherwise: str, got: str = "") -> Problem:
        """Return the Problem of a sign, in the words of the lesson file if it has some."""
        for wrong in self.known(sign):
            return Problem(wrong["why"], known=wrong["id"], got=got)
        return Problem(otherwise, got=got)

    def siblings(self) -> list[Case]:
        """Return the other tests of this function that are judged in the same way."""
        return [
            Case(self.program, self.exercise, test)
            for test in self.exercise["tests"]
            if test is not self.test
            and (test["function"], test["check"]) == (self.name, self.test["check"])
        ]

    def learnt(self) -> list[float]:
        """Return what the learner's function gives here; computed once per program."""
        memory = self.program.memory
        if self.test["id"] not in memory:
            memory[self.test["id"]] = _output(self, self.learner())
        return memory[self.test["id"]]

    def suspect(self, wrong: Json) -> Callable[..., Any]:
        """Return the function of a known wrong program, on top of the reference solution."""
        code = f"{self.exercise['reference']}\n{wrong['code']}"
        return Program(code, quiet=True).function(wrong["function"], "")

    def unread(self) -> str:
        """Return the row the learner's function never reads, ``"p"``, ``"q"`` or nothing."""
        function = self.program.function(self.name, signature(self.name))
        for name in ("q", "p"):
            rows = {"p": array(self.p), "q": array(self.q), name: Unreadable()}
            try:
                function(rows["p"], rows["q"], *self.rest())
            except Problem:
                continue
            return name
        return ""

    def rest(self) -> tuple[Any, ...]:
        """Return the arguments after p and q, for a plain call."""
        import numpy as np

        if self.name == "speculative_step":
            return (np.random.default_rng(1),)
        if self.name == "empirical":
            return self.test["trials"], self.test["seed"], self.test["method"] or "exact"
        return ()

    def check_read(self) -> None:
        """Raise if one of the rows is never read."""
        name = self.unread()
        if name == "q":
            raise self.recognised("q-unread", "You never read q.")
        if name:
            raise Problem("You never read p.")


def _value(case: Case, function: Callable[..., Any]) -> list[float]:
    return read(case.name, function(), case.size)


def _law(case: Case, function: Callable[..., Any]) -> list[float]:
    def step(rng: Any) -> int:
        return token_of(case.name, function(rng), case.size)

    return law(step, case.size, case.test["grid"] or COMPARED_GRID)


OUTPUTS: dict[str, Callable[[Case, Callable[..., Any]], list[float]]] = {
    "value": _value,
    "law": _law,
}


def _output(case: Case, function: Callable[..., Any], check: str = "") -> list[float]:
    """Return what a function gives on a case, or nothing where it gives nothing."""
    try:
        return OUTPUTS[check or case.test["check"]](case, function)
    except (Problem, Unscripted):
        return []


def _suspect(case: Case, wrong: Json) -> Callable[..., Any]:
    """Return a known wrong function, called on fresh copies of the case's rows."""
    function = case.suspect(wrong)
    return lambda *rest: function(array(case.p), array(case.q), *rest)


def _recognise(case: Case, got: list[float], shown: str) -> None:
    """Raise the known mistake that gives this wrong output, if there is one.

    A program that gives the outputs of a known mistake on every test of its function is that
    mistake. One that never reads q is told so. Otherwise agreement on this case is good enough.
    """
    alike = [w for w in case.known("output") if same(_output(case, _suspect(case, w)), got, ALIKE)]
    siblings = case.siblings()
    theirs = [sibling.learnt() for sibling in siblings]
    for wrong in alike:
        outputs = [_output(sibling, _suspect(sibling, wrong)) for sibling in siblings]
        if all(same(a, b, ALIKE) for a, b in zip(outputs, theirs, strict=True)):
            raise Problem(wrong["why"], known=wrong["id"], got=shown)
    if case.unread() == "q":
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
    shown = show(got if case.name not in SCALARS else got[0])
    _recognise(case, got, shown)
    raise Problem(symptom(got, case.expect), got=shown)


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
        counts[token_of(case.name, function(rng), case.size)] += 1
    _judge_counts(case, counts)


def _wrong_law(case: Case, got: Sequence[float], shown: str) -> Problem:
    """Say in words how a law differs from the one expected."""
    parts = [
        f"token {index} comes out with probability {a:.4g} instead of {b:.4g}"
        for index, (a, b) in enumerate(zip(got, case.expect, strict=True))
        if abs(a - b) > TOLERANCE
    ]
    return Problem(f"The emitted token does not follow p: {', '.join(parts)}.", got=shown)


def _cells(case: Case) -> int:
    """Count the cells of all tests by counts, which share the error level."""
    tests = [test for test in case.exercise["tests"] if test["check"] in ("counts", "law")]
    return sum(len(test["p"]) for test in tests)


def _judge_counts(case: Case, counts: Sequence[int]) -> None:
    """Raise if counts do not fit the expected law; recognise the step they come from."""
    if inside(counts, case.expect, LEVEL / _cells(case)):
        return
    trials = sum(counts)
    shown = show([count / trials for count in counts])
    if max(counts) == trials:
        raise case.recognised("one-token", "Every step emitted the same token.", shown)
    for wrong in case.known("output", "speculative_step"):
        theirs = _output(case, _suspect(case, wrong), "law")
        if theirs and inside(counts, theirs, RECOGNISE) and not same(theirs, case.expect):
            raise Problem(wrong["why"], known=wrong["id"], got=shown)
    raise Problem(
        f"Over {trials} steps the frequencies are too far from {show(case.expect)} for chance.",
        got=shown,
    )


def judge_counts(case: Case) -> None:
    """Judge ``empirical`` by its frequencies."""
    trials, seed, method = (case.test[key] for key in ("trials", "seed", "method"))
    learner = case.learner()
    got = numbers_of(case.name, learner(trials, seed, method), case.size)
    _judge_frequencies(case, got, trials)
    try:
        _judge_counts(case, [round(share * trials) for share in got])
    except Problem as problem:
        if method == "naive":
            exact = numbers_of(case.name, learner(trials, seed, "exact"), case.size)
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
            f"These are no frequencies of {trials} steps: each must be a whole number of steps "
            f"divided by {trials}. Simulate every step; do not compute the law.",
            got=shown,
        )


def judge_seed(case: Case) -> None:
    """Judge that the same seed repeats, and that other seeds do not.

    A correct program fails only if REPEATS other seeds all give the frequencies of the first.
    """
    trials, seed = case.test["trials"], case.test["seed"]
    learner = case.learner()

    def run(other: int) -> list[float]:
        return numbers_of(case.name, learner(trials, other, "exact"), case.size)

    first = run(seed)
    _judge_frequencies(case, first, trials)
    if max(first) == 1:
        raise case.recognised("one-token", "Every step emitted the same token.", show(first))
    if run(seed) != first:
        raise case.recognised("seed-unused", "The same seed gave two different answers.")
    if all(run(seed + extra) == first for extra in range(1, 1 + REPEATS)):
        raise case.recognised("seed-ignored", "Different seeds gave the same answer.")


def judge_methods(case: Case) -> None:
    """Judge that ``method`` may be left out, meaning ``"exact"``, or given by name."""
    trials, seed = case.test["trials"], case.test["seed"]
    learner = case.learner()

    def run(extra: int, **named: str) -> list[float]:
        return numbers_of(case.name, learner(trials, seed + extra, **named), case.size)

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
