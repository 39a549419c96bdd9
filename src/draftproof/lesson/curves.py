"""The formulas that a lesson's chart may draw, by name, in exact fractions.

A formula takes the chart's parameters by name: ``a`` is the probability that a drafted token is
kept, ``a1``, ``a2``, ... the same for one position, ``k`` the number of drafted tokens, and
``t_target``, ``t_verify`` and ``t_draft`` are times in milliseconds; a pass of n tokens of each of
``batch`` texts takes ``t_fixed + batch * n * t_token``. The page computes the same
formulas in TypeScript; both are tested on ``tests/lesson/curve_cases.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import count, takewhile

from draftproof.planner import (
    Choice,
    Costs,
    Curve,
    choices,
    expected_tokens,
    oracle_tokens,
    variance_of_tokens,
)

Values = Mapping[str, Fraction]


def by_position(values: Values) -> tuple[Fraction, ...]:
    """Return ``a1``, ``a2``, ... up to position k.

    >>> by_position({"k": Fraction(2), "a1": Fraction(1), "a2": Fraction(0), "a3": Fraction(1)})
    (Fraction(1, 1), Fraction(0, 1))
    """
    names = takewhile(values.__contains__, (f"a{position}" for position in count(1)))
    return tuple(values[name] for name in names)[: int(values["k"])]


def _reached(acceptances: tuple[Fraction, ...]) -> Fraction:
    return Fraction(expected_tokens(acceptances, len(acceptances)))


def _of_mean(values: Values) -> Fraction:
    acceptances = by_position(values)
    mean = sum(acceptances, Fraction(0)) / max(1, len(acceptances))
    return _reached((mean,) * len(acceptances))


def _choice(values: Values) -> Choice:
    costs = Costs(**{name: values[name] for name in ("t_target", "t_verify", "t_draft")})
    return choices(values["a"], costs, int(values["k"]))[-1]


def _batch_choice(values: Values) -> Choice:
    """Return what k gives when every text of a batch drafts k tokens at no cost."""
    k, each = int(values["k"]), values["batch"] * values["t_token"]
    passes = tuple((n, values["t_fixed"] + n * each) for n in range(1, k + 2))
    costs = Costs(t_target=passes[0][1], t_verify=Curve(passes))
    return choices(values["a"], costs, k)[-1]


FORMULAS: dict[str, Callable[[Values], Fraction | None]] = {
    "expected-tokens": lambda at: Fraction(expected_tokens(at["a"], int(at["k"]))),
    "tokens-variance": lambda at: Fraction(variance_of_tokens(at["a"], int(at["k"]))),
    "most-tokens": lambda at: at["k"] + 1,
    "endless-draft": lambda at: oracle_tokens(at["a"]) if at["a"] != 1 else None,
    "expected-by-position": lambda at: _reached(by_position(at)),
    "expected-of-mean": _of_mean,
    "throughput": lambda at: 1000 * Fraction(_choice(at).throughput),
    "speedup": lambda at: Fraction(_choice(at).speedup),
    "batch-speedup": lambda at: Fraction(_batch_choice(at).speedup),
    "plain": lambda at: Fraction(1),
}
"""What can be drawn; ``None`` where a formula has no value."""

_NEEDS = {
    "most-tokens": ("k",),
    "endless-draft": ("a",),
    "expected-by-position": ("k", "a1"),
    "expected-of-mean": ("k", "a1"),
    "throughput": ("a", "k", "t_target", "t_verify", "t_draft"),
    "speedup": ("a", "k", "t_target", "t_verify", "t_draft"),
    "batch-speedup": ("a", "k", "batch", "t_fixed", "t_token"),
    "plain": (),
}


def needs(formula: str) -> tuple[str, ...]:
    """Return the parameters that a formula reads.

    >>> needs("expected-tokens")
    ('a', 'k')
    """
    return _NEEDS.get(formula, ("a", "k"))
