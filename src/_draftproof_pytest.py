"""The pytest plugin of draftproof: assertions about samplers, and rows to try them on.

Nothing of draftproof is imported before an assertion or a fixture is used, so that the plugin
costs other test suites nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

LEVEL = "draftproof_level"
DEFAULT_LEVEL = 1e-6


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that sets the error level of statistical assertions."""
    config.addinivalue_line(
        "markers", f"{LEVEL}(level): error level of assert_sampler in this test (default 1e-6)"
    )


class Draftproof:
    """The assertions, as the fixture `draftproof` gives them.

    Parameters
    ----------
    level
        Error level of `assert_sampler`: a correct sampler fails with at most this probability.
    """

    def __init__(self, level: float = DEFAULT_LEVEL) -> None:
        self.level = level

    def assert_exact(
        self,
        fn: Callable[..., Any],
        p: Any = None,
        q: Any = None,
        *,
        signature: str = "step",
        k: int | Sequence[int] | None = None,
        luck: str = "numpy",
        uniforms: int | None = None,
    ) -> None:
        """Fail unless `fn` has the target's law, by going through all of its luck.

        Without `p` and `q` every golden pair is tried. See
        `draftproof.audit.enumerate.enumerate_sampler` for the other arguments. With rows of
        fractions the law is compared exactly, with floats up to their rounding.
        """
        __tracebackhide__ = True
        options = {"signature": signature, "k": k, "luck": luck, "uniforms": uniforms}
        with _in_words(fn):
            for name, (target, draft) in _pairs(p, q).items():
                where = f"{name}, {_spelled(target, draft)}"
                problems = _problems(fn, where, target, draft, options)
                if problems:
                    _fail(f"{_called(fn)} does not follow the target on {where}:", problems)

    def assert_coins(
        self,
        fn: Callable[..., Any],
        *,
        signature: str = "step",
        luck: str = "numpy",
        uniforms: int | None = None,
        form: str = "probabilities",
    ) -> None:
        """Fail unless `fn` gives the right answer on every scripted coin and edge row."""
        __tracebackhide__ = True
        from draftproof.audit.coins import check_coins

        with _in_words(fn):
            found = check_coins(fn, signature, luck=luck, uniforms=uniforms, form=form)
        wrong = [
            f"{c.case}: wanted {c.wanted}, but {c.seen} ({c.about})" for c in found if not c.ok
        ]
        if wrong:
            _fail(f"{_called(fn)} is wrong at {len(wrong)} of {len(found)} edges:", wrong)

    def assert_sampler(
        self,
        fn: Callable[[Any], int],
        target_row: Any,
        *,
        level: float | None = None,
        samples: int = 20_000,
        seed: int = 0,
    ) -> float:
        """Fail when ``fn(rng) -> token``, called again and again, is refuted as a draw from a row.

        The test is sequential and stops at the first refutation. Returned is the bound on total
        variation that holds, with confidence ``1 - level``, when nothing was refuted.
        """
        __tracebackhide__ = True
        import numpy as np

        from draftproof.audit.evidence import EProcess
        from draftproof.audit.foreign import Fault, guarded, read_token
        from draftproof.dist import check_row

        with _in_words(fn):
            row = check_row(target_row, name="target_row").astype(np.float64)
            evidence = EProcess(row, {}, level=self.level if level is None else level)
            rng = np.random.default_rng(seed)
            for _ in range(samples):
                value = guarded(lambda: fn(rng))
                token = value if isinstance(value, Fault) else read_token(value, row.size)
                if isinstance(token, Fault):
                    _fail(f"{_called(fn)} is no sampler of {row.size} tokens:", [str(token)])
                evidence.update([token])
                if evidence.refuted:
                    _fail(f"{_called(fn)} does not draw from the row:", _refutation(evidence, row))
            return _bound(evidence, row)


@contextmanager
def _in_words(fn: Callable[..., Any]) -> Iterator[None]:
    """Fail in a sentence, without our own code, where an argument is refused."""
    from draftproof.errors import DraftproofError

    try:
        yield
    except DraftproofError as refused:
        _fail(f"{_called(fn)} could not be checked: {refused}", [])


def _pairs(p: Any, q: Any) -> dict[str, tuple[Any, Any]]:
    """Give the rows given, or every golden pair."""
    from draftproof.backends.table import Table
    from draftproof.dist import check_pair
    from draftproof.errors import InvalidInput

    if p is None and q is None:
        return _golden_pairs()
    if p is None or q is None:
        missing = "p" if p is None else "q"
        raise InvalidInput(f"{missing} is missing; give both rows, or neither.")
    if not isinstance(p, Table) and not isinstance(q, Table):
        check_pair(p, q)
    return {"the rows given": (p, q)}


def _spelled(target: Any, draft: Any) -> str:
    """Write two rows down; of tables the first rows, which are those of the empty text."""
    from draftproof.audit.pairs import Pair

    return str(Pair("", *_first_rows(target, draft)))


def _first_rows(target: Any, draft: Any) -> tuple[Any, Any]:
    from draftproof.audit.shapes import Rows

    rows = Rows.of(target, draft)
    return rows.target.row(()), rows.draft.row(())


def _problems(
    fn: Callable[..., Any], where: str, target: Any, draft: Any, options: dict[str, Any]
) -> list[str]:
    """Enumerate once and list what is wrong, with the name of the bug where it is known."""
    from draftproof.audit.enumerate import NeedsNumbers, TooManyBranches, enumerate_sampler
    from draftproof.errors import InvalidInput

    try:
        found = enumerate_sampler(fn, target, draft, **options)
    except (NeedsNumbers, TooManyBranches) as refused:
        reason = f"its luck cannot be enumerated: {refused}"
        raise InvalidInput(f"on {where}, {reason}") from None
    counterexample = found.counterexample()
    if counterexample is None:
        return list(found.findings)
    return [counterexample, *found.findings, *_cause(fn, target, draft, found, options)]


MOST_TEXTS = 64
"""The laws of the block suspects are worth their time up to so many texts."""


def _cause(
    fn: Callable[..., Any], target: Any, draft: Any, found: Any, options: dict[str, Any]
) -> list[str]:
    """Name the known bug that has this law, if there is one."""
    from draftproof.audit.blocks import BlockWorld
    from draftproof.audit.cases import block_case, step_case
    from draftproof.audit.catalogue import STEP_SUSPECTS
    from draftproof.audit.diagnosis import by_law
    from draftproof.audit.pairs import Pair
    from draftproof.audit.shapes import Rows

    rows, k = Rows.of(target, draft), options["k"] or 2
    if options["signature"] == "step":
        case = step_case(fn, Pair("", *_first_rows(target, draft)), STEP_SUSPECTS)
    elif options["signature"] == "block" and rows.size ** (k + 1) <= MOST_TEXTS:
        case = block_case(fn, BlockWorld("", rows.target, rows.draft, k))
    else:
        return []
    diagnosis = by_law([case], [found.law], float(found.tolerance))
    return diagnosis.sentences() if diagnosis.best else []


def _refutation(evidence: Any, row: Any) -> list[str]:
    counts = evidence.counts(0)
    seen = counts / max(counts.sum(), 1)
    if evidence.impossible is not None:
        return [f"sample {evidence.impossible} is a token of probability 0"]
    worst = int(abs(seen - row).argmax())
    return [
        f"token {worst} came {int(counts[worst])} times in {evidence.samples} samples "
        f"({seen[worst]:.4f}), where {row[worst]:.4f} belongs",
        f"refuted at error level {evidence.level:g} after {evidence.crossed_at} samples",
    ]


def _bound(evidence: Any, row: Any) -> float:
    from draftproof.audit import evidence as statistics

    cells = statistics.partition(row)
    return float(statistics.total_variation_bound(evidence.counts(0), row, cells, evidence.level))


def _called(fn: Any) -> str:
    return str(getattr(fn, "__name__", repr(fn)))


def _fail(headline: str, reasons: Sequence[str]) -> NoReturn:
    """Fail with the counterexample and nothing of our own code."""
    said = "\n".join([headline, *(f"  {reason}" for reason in reasons)])
    raise pytest.fail.Exception(said, pytrace=False) from None


def _golden_pairs() -> dict[str, tuple[Any, Any]]:
    from draftproof.battery import WORLDS

    return {world.name: (world.target, world.draft) for world in WORLDS}


@pytest.fixture
def draftproof(request: pytest.FixtureRequest) -> Draftproof:
    """Give the assertions, at the error level of the mark `draftproof_level`."""
    mark = request.node.get_closest_marker(LEVEL)
    return Draftproof(_level(mark) if mark is not None else DEFAULT_LEVEL)


def _level(mark: pytest.Mark) -> Any:
    given = [*mark.args, *mark.kwargs.values()]
    if len(given) != 1 or mark.kwargs.keys() - {"level"}:
        pytest.fail(
            f"the mark {LEVEL} takes one error level, like {LEVEL}({DEFAULT_LEVEL:g}).",
            pytrace=False,
        )
    return given[0]


@pytest.fixture
def assert_exact(draftproof: Draftproof) -> Callable[..., None]:
    """Give `Draftproof.assert_exact`."""
    return draftproof.assert_exact


@pytest.fixture
def assert_sampler(draftproof: Draftproof) -> Callable[..., float]:
    """Give `Draftproof.assert_sampler`."""
    return draftproof.assert_sampler


@pytest.fixture
def assert_coins(draftproof: Draftproof) -> Callable[..., None]:
    """Give `Draftproof.assert_coins`."""
    return draftproof.assert_coins


@pytest.fixture(scope="session")
def golden_pairs() -> dict[str, tuple[Any, Any]]:
    """Give target and draft rows of fractions that tell known rules apart, by name."""
    return {
        name: (target.row(()).copy(), draft.row(()).copy())
        for name, (target, draft) in _golden_pairs().items()
    }


@pytest.fixture(scope="session")
def scripted_coins() -> tuple[Any, ...]:
    """Give every edge coin and edge row, each with the answers that are right."""
    from draftproof.audit.coins import CASES

    return CASES
