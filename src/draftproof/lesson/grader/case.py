"""A test at work: the learner's function called on it, and the mistakes it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .program import Problem, Program
from .values import (
    copied,
    flat,
    fresh,
    listed,
    number_of,
    numbers_of,
    plain,
    show,
    show_call,
    table_of,
    token_of,
    tokens_of,
)

LUCK = ("rng", "trials", "seed", "method")

Json = dict[str, Any]


class Unreadable:
    """Stands where an input should be: whoever reads a value, in whatever way, gets an exception.

    How long a row is may be asked, since that says nothing about its values.
    """

    __slots__ = ("_length",)

    def __init__(self, value: Any) -> None:
        self._length = len(value) if isinstance(value, list) else None

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError
        return self._length

    @property
    def size(self) -> int:
        """Return the length, as an array does."""
        return len(self)

    @property
    def shape(self) -> tuple[int]:
        """Return the length in a tuple, as an array does."""
        return (len(self),)

    def __bool__(self) -> bool:
        raise TypeError

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse NumPy too, which would take it for an array of one object."""
        raise TypeError


class Case:
    """One test, with everything needed to judge a submission by it and to explain the verdict."""

    def __init__(self, program: Program, exercise: Json, test: Json) -> None:
        self.test, self.exercise, self.program = test, exercise, program
        self.name: str = test["function"]
        about = next(one for one in exercise["functions"] if one["name"] == self.name)
        self.parameters: list[str] = about["parameters"]
        self.returns: str = about["returns"]
        rows = {name: test[name] for name in ("p", "q") if test[name]}
        given = {name: plain(value) for name, value in (rows | test["args"]).items()}
        self.inputs = {name: given[name] for name in self.parameters if name in given}
        self._ready: Json = {}
        self.due = plain(test["expect"])
        self.expect = flat(self.due)
        self.size = len(self.expect or test["p"])
        self.kept: list[float] = []
        self.call = self.shown()

    @property
    def signature(self) -> str:
        """How the tests call the function."""
        return f"{self.name}({', '.join(self.parameters)})"

    def shown(self) -> str:
        """Show the call as the learner could type it."""
        if "rng" in self.parameters:
            words = [show(self.inputs.get(name)) for name in self.parameters if name != "rng"]
            return show_call(self.name, *words, "rng")
        luck = {name: self.test[name] for name in LUCK if name in self.parameters}
        if not luck.get("method", "some"):
            del luck["method"]
        return show_call(self.name, **self.inputs, **luck)

    def luck(self, **changed: Any) -> Json:
        """Return the trials, seed and method of this test as far as the function takes them."""
        luck = {name: self.test[name] for name in LUCK if name in self.test} | changed
        return {name: luck[name] for name in self.parameters if name in luck}

    def arguments(self, luck: Json) -> list[Any]:
        """Return fresh inputs and the luck in the order of the parameters."""
        if not self._ready:
            self._ready = {name: fresh(value) for name, value in self.inputs.items()}
        given = {name: copied(value) for name, value in self._ready.items()} | luck
        return [given[name] for name in self.parameters if name in given]

    # -- the learner's function ---------------------------------------------------------------

    def learner(self) -> Callable[..., Any]:
        """Return the learner's function, called by its luck; it may not change its inputs."""
        function = self.program.function(self.name, self.signature)

        def call(luck: Json, **named: Any) -> Any:
            arguments = self.arguments(luck)
            value = function(*arguments, **named)
            changed = [
                name
                for name, now in zip(self.parameters, arguments, strict=False)
                if name in self.inputs and listed(now) != self.inputs[name]
            ]
            if changed:
                names = " and ".join(changed)
                raise self.recognised("inputs-changed", f"Your function changed its input {names}.")
            return value

        return call

    def read(self, value: Any) -> list[float]:
        """Return what the function gave as a flat list of numbers."""
        if self.returns == "number":
            return [number_of(self.name, value)]
        if self.returns == "tokens":
            return tokens_of(self.name, value)
        if self.returns == "table":
            return table_of(self.name, value, [len(row) for row in self.due])
        if self.returns == "token":
            return [float(token_of(self.name, value, None))]
        return numbers_of(self.name, value, self.size)

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

    def instead(self, q: list[str]) -> Case:
        """Return this test with another row in the place of q."""
        return Case(self.program, self.exercise, self.test | {"q": q})

    def suspect(self, wrong: Json) -> Callable[..., Any]:
        """Return the function of a known wrong program, on top of the reference solution."""
        code = f"{self.exercise['reference']}\n{wrong['code']}"
        return Program(code, quiet=True).function(wrong["function"], "")

    def never_reads(self, name: str) -> bool:
        """Tell whether the learner's function does without this input."""
        import numpy as np

        function = self.program.function(self.name, self.signature)
        luck = self.luck(rng=np.random.default_rng(1), method=self.test["method"] or "exact")
        arguments = self.arguments(luck)
        arguments[self.parameters.index(name)] = Unreadable(self.inputs[name])
        try:
            function(*arguments)
        except Problem:
            return False
        return True

    def check_read(self) -> None:
        """Raise if one of the inputs is never read."""
        for name in reversed(self.inputs):
            if self.never_reads(name):
                raise self.recognised(f"{name}-unread", f"You never read {name}.")
