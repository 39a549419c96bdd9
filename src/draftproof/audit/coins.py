"""Edge coins and edge rows: a verifier is run on each, and the answer held against the right one.

Sampling never shows these faults: a uniform is exactly 0 once in 2**24 draws or more rarely, and
a row of NaN comes from a fault elsewhere. So the coin is scripted instead. What is right follows
from the numerics contract: a token of probability 0 is never emitted, a token with p >= q is
always kept, an empty residual is answered by the target's own row, and a row that is no
probability vector gives an error, never a token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.audit.foreign import (
    LUCK,
    Fault,
    Foreign,
    Outcome,
    check_choice,
    read_batch,
    read_token,
    read_verdict,
)
from draftproof.audit.generators import Tape, TapeGenerator
from draftproof.audit.symbols import NeedsNumbers
from draftproof.dist import Row
from draftproof.errors import InvalidInput

SIGNATURES = ("step", "block", "batch")
FORMS = ("probabilities", "logits")

COINS: dict[str, Callable[[int], float]] = {
    "u = 0": lambda bits: 0.0,
    "the smallest u above 0": lambda bits: 2.0**-bits,
    "u = 1/2": lambda bits: 0.5,
    "the largest u below 1": lambda bits: 1.0 - 2.0**-bits,
    "u = 1": lambda bits: 1.0,
}
"""Every coin, as a function of the bits of the uniform asked for."""


@dataclass(frozen=True, slots=True)
class Case:
    """One edge: rows, the drafted token, a coin, and the tokens that may come out.

    `allowed` is empty where an error is the right answer; `kept` says that the drafted token must
    be kept, not only come out.
    """

    name: str
    p: tuple[float, ...]
    q: tuple[float, ...]
    drafted: int
    coin: str
    allowed: frozenset[int]
    about: str
    kept: bool = False

    @property
    def wanted(self) -> str:
        """The right answer in words."""
        if not self.allowed:
            return "an error"
        if self.kept:
            return f"token {self.drafted}, kept"
        return " or ".join(f"token {token}" for token in sorted(self.allowed))


@dataclass(frozen=True, slots=True)
class CoinFinding:
    """What a verifier did at one edge."""

    case: str
    wanted: str
    seen: str
    ok: bool
    about: str


ZERO = "a token of probability 0 must not come out, whatever the coin"
KEEP = "with p(x) = q(x) the drafted token is kept at every u; rejecting it leaves no residual"
EMPTY = "the residual is empty by rounding; the defensible answer is a draw from p"
ERROR = "a row that is no probability vector must give an error, never a token"
ANY = "either answer has the right law; an error or an impossible token has not"
ONE = "a float64 uniform below 1 can round to 1 as a float32; no error and no impossible token"

NAN, INF = math.nan, math.inf
_UP = float(np.nextafter(0.7, 1))


def _case(
    name: str,
    p: tuple[float, ...],
    q: tuple[float, ...],
    drafted: int,
    coin: str,
    about: str,
    *,
    kept: bool = False,
) -> Case:
    possible = frozenset(token for token, weight in enumerate(p) if weight > 0)
    allowed = frozenset() if about == ERROR else frozenset({drafted}) if kept else possible
    return Case(f"{name}, {coin}", p, q, drafted, coin, allowed, about, kept)


_ZERO_COIN, _SMALL, _HALF, _LARGE, _ONE = COINS

CASES: tuple[Case, ...] = (
    *(
        _case("p(x) = 0", (1.0, 0.0), (0.0, 1.0), 1, coin, ZERO)
        for coin in (_ZERO_COIN, _SMALL, _LARGE)
    ),
    *(
        _case("p(x) = 0 beside several", (0.0, 0.5, 0.5), (1.0, 0.0, 0.0), 0, coin, ZERO)
        for coin in (_ZERO_COIN, _LARGE)
    ),
    *(
        _case("disjoint supports", (0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 3, coin, ZERO)
        for coin in (_ZERO_COIN, _HALF, _LARGE)
    ),
    *(
        _case("one-hot rows that agree", (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), 1, coin, KEEP, kept=True)
        for coin in (_ZERO_COIN, _HALF, _LARGE)
    ),
    _case("p = q", (0.3, 0.7), (0.3, 0.7), 1, _LARGE, KEEP, kept=True),
    _case("p = q", (0.3, 0.7), (0.3, 0.7), 1, _ONE, ONE),
    _case("p(x) > q(x)", (0.25, 0.75), (0.5, 0.5), 1, _LARGE, KEEP, kept=True),
    _case("p = q(1 + 1e-7)", (0.3, 0.7), (0.3 + 7e-8, 0.7 - 7e-8), 0, _LARGE, ANY),
    _case("q one rounding above p", (0.3, 0.7), (0.3, _UP), 1, _LARGE, EMPTY),
    _case("a tie, u = p(x) / q(x)", (0.5, 0.5, 0.0), (0.0, 1.0, 0.0), 1, _HALF, ANY),
    _case(
        "ids that pad the vocabulary", (0.6, 0.4, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), 1, _LARGE, ZERO
    ),
    _case("a padding id was drafted", (0.6, 0.4, 0.0), (0.0, 0.0, 1.0), 2, _ZERO_COIN, ZERO),
    _case("target row all NaN", (NAN, NAN), (0.5, 0.5), 0, _HALF, ERROR),
    _case("target row with one NaN", (0.5, NAN, 0.5), (0.0, 1.0, 0.0), 1, _HALF, ERROR),
    _case("draft row all NaN", (0.5, 0.5), (NAN, NAN), 0, _HALF, ERROR),
    _case("target row with inf", (INF, 0.0), (0.5, 0.5), 0, _HALF, ERROR),
    _case("target row all 0 (all logits -inf)", (0.0, 0.0), (0.5, 0.5), 0, _HALF, ERROR),
)


class ScriptedGenerator(TapeGenerator):
    """Gives one and the same coin for every uniform, as fine as the type asked for allows.

    Examples
    --------
    >>> ScriptedGenerator("the largest u below 1").random(dtype=np.float32) == 1 - 2**-24
    True
    """

    def __init__(self, coin: str) -> None:
        if coin not in COINS:
            raise InvalidInput(f"coin is {coin!r}; choose one of {', '.join(COINS)}.")
        super().__init__(Tape((), lambda _: COINS[coin](53)))
        self._coin = COINS[coin]

    def _uniform(self, bits: int = 53) -> float:
        return self._coin(bits)

    def _exponential(self) -> float:
        return min(max(-math.log1p(-min(self._coin(24), 1 - 2.0**-24)), 2.0**-24), 16.6)


def check_coins(
    fn: Callable[..., Any],
    signature: str = "step",
    *,
    luck: str = "numpy",
    uniforms: int | None = None,
    form: str = "probabilities",
    cases: tuple[Case, ...] = CASES,
    seconds: float | None = 5.0,
) -> list[CoinFinding]:
    """Run a verifier on every scripted coin and edge row.

    Parameters
    ----------
    fn, signature, luck, uniforms, seconds
        As for `draftproof.audit.enumerate.enumerate_sampler`; ``"step"``, ``"block"`` or
        ``"batch"``.
    form
        What rows `fn` takes: ``"probabilities"`` or ``"logits"`` (then it gets log p).
    cases
        Which edges.

    Examples
    --------
    >>> def never_strict(p, q, rng):
    ...     token = rng.choice(len(q), p=q)
    ...     if rng.random() <= p[token] / q[token]:
    ...         return token
    ...     rest = np.maximum(p - q, 0)
    ...     return rng.choice(len(p), p=rest / rest.sum())
    >>> first = check_coins(never_strict)[0]
    >>> first.case, first.wanted, first.seen, first.ok
    ('p(x) = 0, u = 0', 'token 0', 'token 1', False)
    """
    check_choice("signature", signature, SIGNATURES)
    check_choice("form", form, FORMS)
    foreign = Foreign(fn, check_choice("luck", luck, LUCK), uniforms, seconds)
    return [_run(foreign, signature, form, case) for case in cases]


UNTRIED = ("it could not be scripted", "it did not return within")
"""How a finding begins that says nothing: one and the same coin for ever may never end a loop."""


def _tried(finding: CoinFinding) -> bool:
    return not finding.seen.startswith(UNTRIED)


def wrong_edges(found: Sequence[CoinFinding]) -> list[CoinFinding]:
    """Give the scripted coins on rows that are rows at which a verifier was wrong."""
    return [one for one in found if not one.ok and _tried(one) and one.about != ERROR]


def edge_remarks(found: Sequence[CoinFinding]) -> list[str]:
    """Sum up what scripted coins showed, for a report; nothing where every edge is right.

    Examples
    --------
    >>> found = check_coins(lambda p, q, rng: int(np.argmax(q)))
    >>> edge_remarks(found)[0][:28], len(wrong_edges(found))
    ('edge coins: 10 of 19 wrong, ', 10)
    """
    wrong = wrong_edges(found)
    remarks = []
    if wrong:
        coins = sum(one.about != ERROR for one in found)
        shown = "; ".join(f"{one.case}: wanted {one.wanted}, but {one.seen}" for one in wrong[:6])
        more = f"; and {len(wrong) - 6} more" if len(wrong) > 6 else ""
        remarks.append(
            f"edge coins: {len(wrong)} of {coins} wrong, too rare for the law to show (u = 0 is "
            f"met once in 2**53 draws, or in 2**24): {shown}{more}"
        )
    blind = [one.case for one in found if one.about == ERROR and not one.ok and _tried(one)]
    if blind:
        remarks.append(
            f"rows that are none give a token where an error belongs: {'; '.join(blind)}"
        )
    untried = [one for one in found if not _tried(one)]
    if untried:
        many = f"{len(untried)} of {len(found)}" if len(untried) < len(found) else "none"
        fate = "could not be tried" if len(untried) < len(found) else "could be tried"
        remarks.append(f"edge coins: {many} {fate} ({untried[0].seen})")
    return remarks


def _run(foreign: Foreign, signature: str, form: str, case: Case) -> CoinFinding:
    with np.errstate(all="ignore"):
        outcome = _outcome(foreign, signature, form, case)
    return CoinFinding(case.name, case.wanted, *_judged(case, outcome), case.about)


def _outcome(foreign: Foreign, signature: str, form: str, case: Case) -> Outcome:
    """Call the function once; what it emits first, or all it emits, or a fault."""
    p, q = (_in_form(np.array(row), form) for row in (case.p, case.q))
    generator, size, chain = ScriptedGenerator(case.coin), len(p), (case.drafted,)
    given = {
        "target_rows": np.array([p, p]),
        "draft_rows": q[None, :],
        "draft_tokens": np.array(chain, dtype=np.int64),
    }
    try:
        if signature == "step":
            value = foreign(generator, foreign.inputs(p=p, q=q))
            return value if isinstance(value, Fault) else read_token(value, size)
        if signature == "batch":
            listed = {name: [item] for name, item in given.items()}
            return read_batch(foreign(generator, foreign.inputs(**listed)), [chain], size)[0]
        value = foreign(generator, foreign.inputs(**given))
        return value if isinstance(value, Fault) else read_verdict(value, chain, size)
    except NeedsNumbers as refused:
        return Fault(f"it could not be scripted: {refused}")


def _in_form(row: Row, form: str) -> Row:
    return np.log(row) if form == "logits" else row


def _judged(case: Case, outcome: Outcome) -> tuple[str, bool]:
    """Say what was seen, and whether it is right."""
    if isinstance(outcome, Fault):
        refused = outcome.what.startswith("it raised")
        return str(outcome), not case.allowed and refused
    first = outcome[0] if isinstance(outcome, tuple) else outcome
    kept = isinstance(outcome, tuple) and len(outcome) == 2
    seen = f"token {first}, kept" if kept else f"token {first}"
    must_keep = case.kept and isinstance(outcome, tuple)
    return seen, first in case.allowed and (kept or not must_keep)
