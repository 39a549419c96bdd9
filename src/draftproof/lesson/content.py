"""Lessons as data: one TOML file each, read into frozen dataclasses and checked on the way in.

A lesson is a sequence of steps. The kinds of step are the subclasses of :class:`Step` below; each
field of a class is a key of the step's TOML table. Prose is a small subset of Markdown:
paragraphs, ``**bold**``, ``*emphasis*``, `` `code` ``, lists of ``-`` or ``1.`` items, ``$tex$``
within a line and ``$$tex$$`` on its own. Probabilities are strings, as fractions or exact decimals
(``"3/10"``). Reading the files is the business of :mod:`draftproof.lesson.shelf`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from draftproof.errors import InvalidInput

Json = dict[str, Any]
Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Step:
    """What every step has.

    ``reveal_after`` names a step to be answered before this one is shown, so that a question is
    asked before its answer; a reader without JavaScript sees everything. A kind ``counts`` towards
    a lesson's progress when it asks something of the learner that needs no model.
    """

    counts: ClassVar[bool] = True

    id: str
    kind: str
    title: str
    body: str = ""
    reveal_after: str = ""


@dataclass(frozen=True, kw_only=True)
class Prose(Step):
    """Text to read."""

    counts: ClassVar[bool] = False


@dataclass(frozen=True)
class Option:
    """One answer to a question; ``right`` and ``why`` are set where the answer is judged."""

    id: str
    text: str
    right: bool | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Predict(Step):
    """A question asked before the explanation; recorded, never judged; ``after`` follows it."""

    question: str
    options: tuple[Option, ...]
    after: str


@dataclass(frozen=True, kw_only=True)
class Choice(Step):
    """A question that is judged, each option with its reason; ``quotes`` names a Predict step."""

    question: str
    options: tuple[Option, ...]
    quotes: str = ""


@dataclass(frozen=True)
class Preset:
    """A pair of rows that a table can be set to, with a note on what to look at."""

    id: str
    title: str
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class Table(Step):
    """The live table; ``p`` and ``q`` are where it starts, one row of the table per token.

    ``columns`` are shown per token, and ``facts`` once, below them.
    """

    tokens: tuple[str, ...]
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    columns: tuple[str, ...]
    facts: tuple[str, ...]
    presets: tuple[Preset, ...]


@dataclass(frozen=True)
class Parameter:
    """A number that a curve depends on: its range, the size of a step, and where it starts."""

    id: str
    title: str
    low: Fraction
    high: Fraction
    step: Fraction
    value: Fraction
    unit: str = ""

    def values(self) -> tuple[Fraction, ...]:
        """Every value that it can take."""
        steps = int((self.high - self.low) / self.step)
        return tuple(self.low + self.step * i for i in range(steps + 1))


@dataclass(frozen=True)
class Series:
    """One line of a chart: a formula of :mod:`draftproof.lesson.curves`, and what to call it."""

    formula: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Curve(Step):
    """A chart whose parameters can be changed; ``x`` is the one that runs along the axis.

    ``best`` names the series whose highest point is marked, the first of several.
    """

    x: str
    y: str
    parameters: tuple[Parameter, ...]
    series: tuple[Series, ...]
    best: str = ""

    @property
    def axis(self) -> Parameter:
        """The parameter along the axis."""
        return next(one for one in self.parameters if one.id == self.x)


@dataclass(frozen=True, kw_only=True)
class Rounds(Step):
    """Rounds of two greedy models, of which the draft and ``k`` can be changed.

    ``target`` and ``draft`` say what each writes after each token (see
    :mod:`draftproof.lesson.rounds`).
    """

    tokens: tuple[str, ...]
    target: tuple[int, ...]
    draft: tuple[int, ...]
    prompt: tuple[int, ...]
    k: int
    most_k: int
    stop: int
    limit: int


@dataclass(frozen=True)
class WrongAnswer:
    """A wrong answer people give, and the reason it is wrong."""

    value: tuple[Fraction, ...]
    why: str


@dataclass(frozen=True)
class AnswerItem:
    """One typed answer. ``form`` is ``"number"`` or ``"list"``; a number is a row of one."""

    id: str
    ask: str
    form: str
    answer: tuple[Fraction, ...]
    wrong: tuple[WrongAnswer, ...]
    hints: tuple[str, ...]
    solution: str
    placeholder: str = ""


@dataclass(frozen=True, kw_only=True)
class Answers(Step):
    """Typed answers, each judged alone (see :mod:`draftproof.lesson.answers`)."""

    items: tuple[AnswerItem, ...]


@dataclass(frozen=True)
class Function:
    """A function that the exercise asks for: ``name(parameters) -> returns``.

    ``returns`` is ``number``, ``row`` (numbers), ``table`` (rows), ``token`` or ``tokens``.
    """

    name: str
    parameters: tuple[str, ...]
    returns: str


@dataclass(frozen=True)
class Test:
    """One test of the exercise. ``check`` says how it is judged (see the grader).

    ``p`` and ``q`` are rows over the same tokens, ``args`` all other inputs by name. ``expect`` is
    the value or the law; ``grid`` is the number of equal steps on which a uniform draw is
    enumerated; ``trials``, ``seed`` and ``method`` belong to the tests by counts, and ``law_of``
    names the function whose known wrong programs explain counts that are off.
    """

    __test__ = False

    id: str
    name: str
    function: str
    check: str
    p: tuple[Fraction, ...] = ()
    q: tuple[Fraction, ...] = ()
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    expect: tuple[Any, ...] = ()
    grid: int = 0
    trials: int = 0
    seed: int = 0
    method: str = ""
    law_of: str = ""


@dataclass(frozen=True)
class KnownWrong:
    """A wrong program people write, recognised by what it does.

    ``code`` replaces ``function`` of the reference solution. ``sign`` is ``"output"`` when a
    submission is recognised by giving the same wrong output, or the name of a structural sign.
    """

    id: str
    function: str
    sign: str
    why: str
    code: str


@dataclass(frozen=True)
class Plot:
    """What to call the parts of the drawing of a learner's own frequencies, after a pass."""

    truth: str
    rows: tuple[str, ...]
    exact: str
    naive: str = ""


@dataclass(frozen=True, kw_only=True)
class Code(Step):
    """The programming exercise."""

    functions: tuple[Function, ...]
    filename: str
    time_limit_s: float
    starter: str
    reference: str
    hints: tuple[str, ...]
    tests: tuple[Test, ...]
    known_wrong: tuple[KnownWrong, ...]
    plot: Plot | None = None

    @property
    def entry(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(function.name for function in self.functions)

    def exercise(self) -> Json:
        """Everything :func:`draftproof.lesson.grader.grade` needs, as plain JSON."""
        return {
            "functions": [to_json(function) for function in self.functions],
            "reference": self.reference,
            "tests": [to_json(test) for test in self.tests],
            "known_wrong": [to_json(wrong) for wrong in self.known_wrong],
        }


@dataclass(frozen=True, kw_only=True)
class Trace(Step):
    """The step strip; ``trace`` is the file name of the recorded decoding that ships with it."""

    trace: str


@dataclass(frozen=True, kw_only=True)
class Measure(Step):
    """Draw many rounds and compare observed with exact frequencies."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    draws: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Passage:
    """A prompt to measure on; ``title`` says what kind of text it asks for."""

    id: str
    title: str
    prompt: str


@dataclass(frozen=True, kw_only=True)
class Timing(Step):
    """Time the reader's own machine, with drafts of up to ``most_k`` tokens; needs the model."""

    counts: ClassVar[bool] = False

    texts: tuple[Passage, ...]
    most_k: int


@dataclass(frozen=True, kw_only=True)
class Reference(Step):
    """The place where the chapter reference is shown."""

    counts: ClassVar[bool] = False


@dataclass(frozen=True)
class Lesson:
    """One lesson. ``content_hash`` changes whenever its file does."""

    id: str
    n: int
    title: str
    minutes: int
    needs: tuple[str, ...]
    summary: str
    steps: tuple[Step, ...]
    content_hash: str

    def step(self, step_id: str) -> Step:
        """Return the step with this id."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise InvalidInput(
            f"lesson {self.id!r} has no step {step_id!r}; it has "
            + ", ".join(step.id for step in self.steps)
        )

    def only(self, kind: type[Made]) -> Made:
        """Return the one step of this kind, for example ``lesson.only(Code)``."""
        found = [step for step in self.steps if isinstance(step, kind)]
        if len(found) != 1:
            raise InvalidInput(
                f"lesson {self.id!r} has {len(found)} steps of kind {kind.__name__}, not one"
            )
        return found[0]


@dataclass(frozen=True)
class Section:
    """A titled piece of prose."""

    id: str
    title: str
    body: str


@dataclass(frozen=True)
class Program:
    """Runnable standard-library code that asserts what the prose claims."""

    title: str
    body: str
    source: str


@dataclass(frozen=True)
class Chapter:
    """The reference that every lesson of the chapter shows."""

    title: str
    sections: tuple[Section, ...]
    code: Program
    mistakes: tuple[Section, ...]


def to_json(value: Any) -> Any:
    """Turn a lesson, or a part of one, into plain JSON; fractions become strings (``"3/8"``)."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value):
        return {
            field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return value
