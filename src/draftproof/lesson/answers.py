"""Typed answers: read exactly, judged alone.

A number may be a fraction, a decimal or a percentage: ``5/8``, ``0.625``, ``.625``, ``62.5%`` and,
where it cannot be mistaken for a list, ``0,625``. A list is separated by spaces, commas or
semicolons and may stand in brackets. ``1½`` is a mixed number. Values are compared as fractions,
so ``0.50`` and ``1/2`` are the same answer. What cannot be read is not judged, which is not the
same as wrong.

The page has a twin of this module in TypeScript; both are tested on
``tests/lesson/answer_cases.json``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from draftproof.lesson.content import AnswerItem

Verdict = Literal["right", "wrong", "not-judged"]
Numbers = tuple[Fraction, ...]

LONGEST = 200
_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_NUMBER = re.compile(rf"([+-]?{_DECIMAL})(?:/({_DECIMAL}))?(%?)")
_SMALL = re.compile("[¼-¾⅐-⅞↉]|[⁰¹²³⁴-⁹]+\u2044[₀-₉]+")
_MIXED = re.compile(r"(?<![0-9A-Za-z.])([0-9]+)?<([0-9]+)/([0-9]+)>(?![0-9A-Za-z.<])")
_EXAMPLES = (("2/7", "3/11", "4/13"), ("0.25", "0.15", "0.35"))
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_COUNT_WORDS = {1: "one number", 2: "two numbers", 3: "three numbers", 4: "four numbers"}


@dataclass(frozen=True)
class Judged:
    """A verdict; ``known`` tells whether the reason is the lesson's own for this wrong value."""

    verdict: Verdict
    why: str = ""
    known: bool = False


def _spelt(text: str) -> str:
    """Mark the characters that are whole fractions, so that ``1⅞`` is not taken for ``17/8``."""
    return _SMALL.sub(lambda found: f"<{unicodedata.normalize('NFKC', found[0])}>", text)


def _improper(found: re.Match[str]) -> str:
    whole, top, bottom = (int(part or 0) for part in found.groups())
    return f"{whole * bottom + top}/{bottom}"


def _tidy(text: str) -> str:
    """Unify signs and spaces, and take off one pair of brackets."""
    text = _spelt(text)
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2044", "/").strip()
    text = _MIXED.sub(_improper, text)
    if text and _BRACKETS.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    text = re.sub(r"\s*/\s*", "/", text)
    return re.sub(r"\s+%", "%", text)


def _number(word: str) -> Fraction:
    """Read one number, with a point or with one decimal comma."""
    if "." not in word and word.count(",") == 1:
        word = re.sub(r"^([+-]?[0-9]*),([0-9]+%?)$", r"\1.\2", word)
    match = _NUMBER.fullmatch(word)
    if match is None or (match[2] and not Fraction(match[2])):
        raise ValueError(word)
    value = Fraction(match[1]) / Fraction(match[2] or 1)
    return value / 100 if match[3] else value


def _splits(text: str) -> Iterator[list[str]]:
    """Yield the ways of cutting a list into words, the more careful ones first."""
    if ";" in text:
        yield [word.strip() for word in text.split(";")]
    if re.search(r"\s", text):
        yield re.split(r"\s*;\s*|\s*,\s+|\s+,\s*|\s+", text)
    yield re.split(r"\s*[,;]\s*|\s+", text)


def read(text: str, count: int) -> Numbers | None:
    """Read ``count`` numbers; None where the text is something else.

    >>> read("62.5%", 1)
    (Fraction(5, 8),)
    >>> read("(1, 0, 0)", 3) == read("1 0 0", 3) == read("1;0;0", 3)
    True
    >>> read("about a half", 1) is None
    True
    """
    if len(text) > LONGEST:
        return None
    text = _tidy(text)
    ways = [[text]] if count == 1 else list(_splits(text))
    for words in ways:
        if len(words) == count:
            try:
                return tuple(_number(word) for word in words)
            except ValueError:
                continue
    return None


def _example(item: AnswerItem) -> str:
    """Give what could be typed, without any number of the answer."""
    fraction, decimal = (
        next((one for one in kind if Fraction(one) not in item.answer), kind[0])
        for kind in _EXAMPLES
    )
    if len(item.answer) == 1:
        return f"{fraction} or {decimal}"
    return ", ".join(decimal if at % 2 else fraction for at in range(len(item.answer)))


def judge(item: AnswerItem, text: str) -> Judged:
    """Judge one typed answer."""
    count = len(item.answer)
    wanted = _COUNT_WORDS.get(count, f"{count} numbers")
    if not text.strip():
        return Judged("not-judged", f"Nothing typed yet: {wanted}, please.")
    numbers = read(text, count)
    if numbers is None:
        return Judged(
            "not-judged", f"This cannot be read as {wanted}, for example {_example(item)}."
        )
    if numbers == item.answer:
        return Judged("right")
    for wrong in item.wrong:
        if numbers == wrong.value:
            return Judged("wrong", wrong.why, known=True)
    return Judged("wrong", "Not this. Take it step by step, or ask for a hint.")
