"""Reading the steps of a lesson file, one function for each kind."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from draftproof.lesson import curves
from draftproof.lesson.content import (
    AnswerItem,
    Answers,
    Choice,
    Code,
    Curve,
    Function,
    Json,
    KnownWrong,
    Measure,
    Option,
    Parameter,
    Passage,
    Plot,
    Predict,
    Preset,
    Prose,
    Reference,
    Rounds,
    Series,
    Step,
    Table,
    Test,
    Timing,
    Trace,
    WrongAnswer,
)
from draftproof.lesson.fields import Fields, pair, same_length

COLUMNS = (
    "token",
    "p",
    "q",
    "covered",
    "acceptance",
    "residual",
    "corrected",
    "naive",
    "matched",
    "redrawn",
    "greedy",
)
FACTS = ("reject", "overlap", "variation", "agreement", "difference")
DRAFT_LIMIT = 12
RETURNS = ("number", "row", "table", "token", "tokens")
LUCK = ("rng", "trials", "seed", "method")
SIGNATURE = re.compile(r"(\w+)\(((?:\w+, )*\w+)\) -> (\w+)")
CHECKS = ("value", "reads", "law", "counts", "seed", "methods")
SIGNS = (
    "output",
    "zero-division",
    "inputs-changed",
    "q-unread",
    "seed-ignored",
    "seed-unused",
    "method-ignored",
    "not-frequencies",
    "one-token",
)


def _options(fields: Fields, *, judged: bool) -> tuple[Option, ...]:
    options = []
    for part in fields.tables("option"):
        option = Option(part.text("id"), part.text("text"))
        if judged:
            right, why = part.take("right", bool), part.text("why")
            option = dataclasses.replace(option, right=right, why=why)
        options.append(part.done(option))
    if judged and sum(option.right is True for option in options) != 1:
        raise fields.fail("option", "must mark exactly one option as right")
    return tuple(options)


def _predict(fields: Fields, common: Json) -> Step:
    return Predict(
        question=fields.text("question"),
        options=_options(fields, judged=False),
        after=fields.text("after"),
        **common,
    )


def _choice(fields: Fields, common: Json) -> Step:
    return Choice(
        question=fields.text("question"),
        options=_options(fields, judged=True),
        quotes=fields.text("quotes", ""),
        **common,
    )


def _table(fields: Fields, common: Json) -> Step:
    tokens, rows = fields.strings("tokens"), pair(fields)
    columns, facts = _chosen(fields, "columns", COLUMNS), _chosen(fields, "facts", FACTS)
    same_length(fields, tokens=tokens, p=rows["p"])
    presets = tuple(
        part.done(Preset(part.text("id"), part.text("title"), note=part.text("note"), **pair(part)))
        for part in fields.tables("preset")
    )
    return Table(tokens=tokens, columns=columns, facts=facts, presets=presets, **rows, **common)


def _chosen(fields: Fields, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Take a list of names out of a fixed set."""
    names = fields.strings(key)
    for name in names:
        if name not in allowed:
            raise fields.fail(key, f"may hold {', '.join(allowed)}, got {name!r}")
    return names


def _parameter(fields: Fields) -> Parameter:
    made = Parameter(
        id=fields.text("id"),
        title=fields.text("title"),
        low=fields.fraction("low"),
        high=fields.fraction("high"),
        step=fields.fraction("step"),
        value=fields.fraction("value"),
        unit=fields.text("unit", ""),
    )
    if made.step <= 0 or made.value not in made.values():
        raise fields.fail("value", f"must lie on the steps from low to high, got {made.value}")
    return fields.done(made)


def _curve(fields: Fields, common: Json) -> Step:
    parameters = tuple(_parameter(part) for part in fields.tables("parameter"))
    series = tuple(
        part.done(Series(part.one_of("formula", tuple(curves.FORMULAS)), part.text("title")))
        for part in fields.tables("series")
    )
    names = tuple(one.id for one in parameters)
    made = Curve(
        x=fields.one_of("x", names),
        y=fields.text("y"),
        parameters=parameters,
        series=series,
        best=fields.one_of("best", ("", *(one.formula for one in series)), ""),
        **common,
    )
    for one in series:
        if missing := [name for name in curves.needs(one.formula) if name not in names]:
            raise fields.fail("parameter", f"{missing[0]!r} is missing for {one.formula!r}")
    return made


def _rounds(fields: Fields, common: Json) -> Step:
    made = Rounds(
        tokens=fields.strings("tokens"),
        target=fields.integers("target"),
        draft=fields.integers("draft"),
        prompt=fields.integers("prompt"),
        k=fields.take("k", int),
        most_k=fields.take("most_k", int),
        stop=fields.take("stop", int),
        limit=fields.take("limit", int),
        **common,
    )
    same_length(fields, tokens=made.tokens, target=made.target, draft=made.draft)
    known = range(len(made.tokens))
    for key in ("target", "draft", "prompt"):
        if strange := [token for token in getattr(made, key) if token not in known]:
            raise fields.fail(key, f"must hold tokens below {len(known)}, got {strange[0]}")
    return made


def _answer_item(fields: Fields) -> AnswerItem:
    form = fields.one_of("form", ("number", "list"))
    answer = fields.fractions("answer")
    if form == "number" and len(answer) != 1:
        raise fields.fail("answer", f"must be one number, got {len(answer)}")
    wrong = tuple(
        part.done(WrongAnswer(part.fractions("value"), part.text("why")))
        for part in fields.tables("wrong", optional=True)
    )
    if answer in {item.value for item in wrong}:
        raise fields.fail("wrong", "holds the right answer")
    item = AnswerItem(
        id=fields.text("id"),
        ask=fields.text("ask"),
        form=form,
        answer=answer,
        wrong=wrong,
        hints=fields.strings("hints"),
        solution=fields.text("solution"),
        placeholder=fields.text("placeholder", ""),
    )
    return fields.done(item)


def _answers(fields: Fields, common: Json) -> Step:
    return Answers(items=tuple(_answer_item(part) for part in fields.tables("item")), **common)


def _function(fields: Fields, text: str) -> Function:
    found = SIGNATURE.fullmatch(text)
    if found is None or found[3] not in RETURNS:
        raise fields.fail(
            "functions", f"must hold entries such as 'residual(p, q) -> row', got {text!r}"
        )
    return Function(found[1], tuple(found[2].split(", ")), found[3])


def _inputs(fields: Fields) -> Json:
    """Take ``p`` and ``q`` where the test has them as rows, and every other argument."""
    inputs: Json = pair(fields) if fields.has("p") else {}
    if fields.has("args"):
        args = Fields(fields.take("args", dict), f"{fields.where}, args")
        inputs["args"] = {name: args.nested(name) for name in args.rest()}
    return inputs


def _test(fields: Fields, functions: dict[str, Function]) -> Test:
    names = tuple(functions)
    test = Test(
        id=fields.text("id"),
        name=fields.text("name"),
        function=fields.one_of("function", names),
        check=fields.one_of("check", CHECKS),
        expect=fields.nested("expect") if fields.has("expect") else (),
        grid=fields.take("grid", int, 0),
        trials=fields.take("trials", int, 0),
        seed=fields.take("seed", int, 0),
        method=fields.one_of("method", ("", "exact", "naive"), ""),
        law_of=fields.one_of("law_of", ("", *names), ""),
        **_inputs(fields),
    )
    if test.check in ("value", "law", "counts") and not test.expect:
        raise fields.fail("expect", f"is missing, and the check {test.check!r} needs it")
    if test.check in ("counts", "seed", "methods") and test.trials < 1:
        raise fields.fail("trials", f"must be at least 1, got {test.trials}")
    given = {"p", "q"} if test.p else set()
    wanted = set(functions[test.function].parameters) - set(LUCK)
    if given | set(test.args) != wanted:
        raise fields.fail("args", f"must give {', '.join(sorted(wanted))} and nothing else")
    return fields.done(test)


def _known_wrong(fields: Fields, entry: tuple[str, ...]) -> KnownWrong:
    return fields.done(
        KnownWrong(
            id=fields.text("id"),
            function=fields.one_of("function", entry),
            sign=fields.one_of("sign", SIGNS, "output"),
            why=fields.text("why"),
            code=fields.text("code"),
        )
    )


def _code(fields: Fields, common: Json) -> Step:
    functions = tuple(_function(fields, text) for text in fields.strings("functions"))
    by_name = {function.name: function for function in functions}
    return Code(
        functions=functions,
        filename=fields.text("filename"),
        time_limit_s=float(fields.take("time_limit_s", int)),
        starter=fields.text("starter") + "\n",
        reference=fields.text("reference") + "\n",
        hints=fields.strings("hints"),
        tests=tuple(_test(part, by_name) for part in fields.tables("test")),
        known_wrong=tuple(
            _known_wrong(part, tuple(by_name)) for part in fields.tables("known_wrong")
        ),
        plot=_plot(fields),
        **common,
    )


def _plot(fields: Fields) -> Plot | None:
    if not fields.has("plot"):
        return None
    part = Fields(fields.take("plot", dict), f"{fields.where}, plot")
    return part.done(
        Plot(
            truth=part.text("truth"),
            rows=part.strings("rows"),
            exact=part.text("exact"),
            naive=part.text("naive", ""),
        )
    )


def _measure(fields: Fields, common: Json) -> Step:
    return Measure(
        draws=fields.integers("draws"), seed=fields.take("seed", int), **pair(fields), **common
    )


def _timing(fields: Fields, common: Json) -> Step:
    texts = tuple(
        part.done(Passage(part.text("id"), part.text("title"), part.text("prompt")))
        for part in fields.tables("text")
    )
    most_k = fields.take("most_k", int)
    if not 1 <= most_k <= DRAFT_LIMIT:
        raise fields.fail("most_k", f"must be from 1 to {DRAFT_LIMIT}, got {most_k}")
    return Timing(texts=texts, most_k=most_k, **common)


_KINDS: dict[str, Callable[[Fields, Json], Step]] = {
    "prose": lambda fields, common: Prose(**common),
    "predict": _predict,
    "table": _table,
    "curve": _curve,
    "rounds": _rounds,
    "answers": _answers,
    "code": _code,
    "trace": lambda fields, common: Trace(trace=fields.text("trace"), **common),
    "measure": _measure,
    "timing": _timing,
    "choice": _choice,
    "reference": lambda fields, common: Reference(**common),
}


def read_step(fields: Fields) -> Step:
    """Read one step of any kind."""
    kind = fields.one_of("kind", tuple(_KINDS))
    common = {
        "id": fields.text("id"),
        "kind": kind,
        "title": fields.text("title"),
        "body": fields.text("body", ""),
        "reveal_after": fields.text("reveal_after", ""),
    }
    return fields.done(_KINDS[kind](fields, common))
