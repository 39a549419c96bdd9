"""What came back: read as numbers, compared, and shown to the learner."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .program import Problem

TOLERANCE = 1e-9


def plain(value: Any) -> Any:
    """Return an input of the lesson file: integers stay, fractions in strings become floats."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return float(Fraction(value)) if isinstance(value, str) else value


def fresh(value: Any) -> Any:
    """Return an input as a learner gets it: a row of numbers as a new NumPy array.

    Lists of integers (texts) and of rows (tables) are lists.
    """
    import numpy as np

    if not isinstance(value, list):
        return value
    if value and all(isinstance(item, float) for item in value):
        return np.array(value, dtype=float)
    return [fresh(item) for item in value]


def copied(value: Any) -> Any:
    """Return a copy of what `fresh` gave, at whatever depth."""
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value.copy() if hasattr(value, "tolist") else value


def listed(value: Any) -> Any:
    """Return arrays, at whatever depth, as lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return value
    return [item if type(item) in (float, int) else listed(item) for item in value]


def flat(value: Any) -> list[float]:
    """Return the numbers of a row or of a table in a row."""
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    return [float(value)]


def show(value: Any, limit: int = 200) -> str:
    """Show a value in a line, numbers short."""
    if isinstance(value, float):
        return f"{value:.6g}" if value == value else "nan"
    if hasattr(value, "tolist"):
        value = value.tolist()
        number = isinstance(value, (int, float))
        return show(float(value) if number else value, limit)
    if isinstance(value, (list, tuple)):
        text = "[" + ", ".join(show(item, limit) for item in value[:20])
        text += ", ...]" if len(value) > 20 else "]"
    else:
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - a learner's own __repr__ may raise anything
            text = " at 0x"
        if " at 0x" in text:
            text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "..."


def show_call(name: str, *args: Any, **kwargs: Any) -> str:
    """Show a call as the learner could type it."""
    words = [arg if isinstance(arg, str) else show(arg) for arg in args]
    words += [f"{key}={show(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(words)})"


def many(count: int, thing: str) -> str:
    """Return the count with its noun: ``1 row``, ``2 rows``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _number(item: Any) -> float:
    if isinstance(item, (str, bytes, complex)) or item is None:
        raise TypeError
    try:
        return float(item)
    except Exception as error:
        raise TypeError from error


def _refuse(function: str, value: Any, wanted: str) -> Problem:
    if value is None:
        what = "nothing (None); does every path end with `return`?"
    elif hasattr(value, "__next__"):
        what = f"a generator; return {wanted}, for example list(...)"
    elif isinstance(value, str):
        what = f"text; return {wanted}"
    else:
        what = f"a {type(value).__name__}; return {wanted}"
    stop = "" if what.endswith("?") else "."
    return Problem(f"`{function}` returned {what}{stop}", got=show(value))


def numbers_of(function: str, value: Any, size: int) -> list[float]:
    """Read a returned row of ``size`` numbers, or say what it is instead."""
    wanted = many(size, "number")
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        if isinstance(plain, (int, float)):
            raise Problem(
                f"`{function}` returned a single number; return {wanted}.", got=show(plain)
            )
        raise _refuse(function, value, wanted)
    try:
        out = [_number(item) for item in plain]
    except (TypeError, ValueError):
        raise Problem(
            f"`{function}` returned something other than numbers; return {wanted}.", got=show(plain)
        ) from None
    if len(out) != size:
        raise Problem(
            f"`{function}` returned {many(len(out), 'number')}; return {wanted}"
            f"{', zeros too' if len(out) < size else ''}.",
            got=show(plain),
        )
    return out


def table_of(function: str, value: Any, sizes: Sequence[int]) -> list[float]:
    """Read a returned table, a list of rows, or say what it is instead."""
    rows = listed(value)
    wanted = many(len(sizes), "row")
    if not isinstance(rows, list) or any(not isinstance(item, list) for item in rows):
        if isinstance(rows, list):
            raise Problem(
                f"`{function}` returned one row; return {wanted}, a list of rows.", got=show(rows)
            )
        raise _refuse(function, value, wanted)
    if len(rows) != len(sizes):
        raise Problem(
            f"`{function}` returned {many(len(rows), 'row')}; return {wanted}.",
            got=show(rows, 400),
        )
    found = [numbers_of(function, item, size) for item, size in zip(rows, sizes, strict=True)]
    return [number for item in found for number in item]


def tokens_of(function: str, value: Any) -> list[float]:
    """Read a returned list of tokens of any length, or say what it is instead."""
    tokens = listed(value)
    if not isinstance(tokens, list):
        raise _refuse(function, value, "a list of tokens")
    for token in tokens:
        whole = isinstance(token, numbers.Integral) and abs(int(token)) < 2**53
        if isinstance(token, bool) or not whole:
            raise Problem(
                f"`{function}` returned something other than tokens; return a list of ints.",
                got=show(tokens),
            )
    return [float(token) for token in tokens]


def number_of(function: str, value: Any) -> float:
    """Read a returned single number, or say what it is instead."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, (list, tuple)):
        raise Problem(
            f"`{function}` returned a row; return one number (did you forget a sum?).",
            got=show(plain),
        )
    try:
        return _number(plain)
    except (TypeError, ValueError):
        raise _refuse(function, value, "one number") from None


def token_of(function: str, value: Any, size: int | None) -> int:
    """Read a returned token, below ``size`` if that is given, or say what it is instead."""
    truth = type(value).__name__.startswith("bool")
    if isinstance(value, numbers.Integral) and not truth:
        token = int(value)
        if size is None or 0 <= token < size:
            return token
        raise Problem(
            f"`{function}` returned {token}; tokens are 0 to {size - 1}.", got=show(token)
        )
    if hasattr(value, "__len__") and not isinstance(value, str):
        if getattr(value, "ndim", 1) == 0:  # NumPy's array of a single number, without an axis
            return token_of(function, value.item(), size)
        raise Problem(
            f"`{function}` returned {len(value)} values; return one token as an int "
            "(without size=..., `choice` gives a single one).",
            got=show(value),
        )
    if isinstance(value, float) and math.isfinite(value):
        raise Problem(f"`{function}` returned a float; return int(token).", got=show(value))
    raise _refuse(function, value, "one token as an int")


def same(left: Sequence[float], right: Sequence[float], tolerance: float = TOLERANCE) -> bool:
    """Tell whether two rows agree; nan equals nan here, and infinities equal themselves."""

    def close(a: float, b: float) -> bool:
        if math.isfinite(a) and math.isfinite(b):
            return abs(a - b) <= tolerance * max(1.0, abs(b))
        return a == b or (a != a and b != b)

    return len(left) == len(right) and all(map(close, left, right))


def symptom(got: Sequence[float], expect: Sequence[float], names: Sequence[str]) -> str:
    """Say what is visibly wrong with numbers, without giving the right ones away.

    ``names`` says what each of them is called.
    """
    if any(x != x or math.isinf(x) for x in got):
        bad = "nan" if any(x != x for x in got) else "inf"
        return f"The result contains {bad}, which comes from a division by zero."
    if len(got) == 1:
        return f"The value is too {'large' if got[0] > expect[0] else 'small'}."
    if any(x < -TOLERANCE for x in got):
        return "An entry is negative, and none should be."
    law = abs(sum(expect) - 1) <= TOLERANCE
    if law and abs(sum(got) - 1) > TOLERANCE:
        return f"The entries sum to {sum(got):.6g}, and a distribution sums to 1."
    wrong = [
        f"{name} is too {'large' if a > b else 'small'}"
        for name, a, b in zip(names, got, expect, strict=True)
        if abs(a - b) > TOLERANCE
    ]
    return f"The {'sum is right, but ' if law else 'result is off: '}{', '.join(wrong)}."


def first_difference(got: Sequence[float], expect: Sequence[float]) -> str:
    """Say where a list of tokens leaves the right one, without giving that away."""
    for index, (a, b) in enumerate(zip(got, expect, strict=False)):
        if a != b:
            return _right_until(index)
    more = len(got) - len(expect)
    if more > 0:
        return f"There {'is' if more == 1 else 'are'} {many(more, 'token')} too many at the end."
    if not got:
        return f"The list is empty; {many(-more, 'token')} should be in it."
    verb = "is" if more == -1 else "are"
    return f"The tokens are right as far as they go, but {-more} {verb} missing at the end."


def _right_until(index: int) -> str:
    if index == 0:
        return "Already the first token is not right."
    if index == 1:
        return "The first token is right, and the one after it is not."
    return f"The first {index} tokens are right, and the one after them is not."
