"""What several verbs read from the command line: probabilities, rows, times, counts, files."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np

from draftproof.dist import Row, check_row
from draftproof.errors import InvalidInput

NUMBER = re.compile(r"\d{1,30}(\.\d{0,30})?([eE][+-]?\d{1,2})?|\.\d{1,30}([eE][+-]?\d{1,2})?")
UNITS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
MOST = 10**18 - 1
"""Largest whole number that is read where nothing smaller is said."""


def read_number(text: str, name: str) -> Fraction:
    """Read a decimal or a fraction as exactly the number that was written.

    Examples
    --------
    >>> read_number("0.3", "p"), read_number("3/10", "p"), read_number("-1", "p")
    (Fraction(3, 10), Fraction(3, 10), Fraction(-1, 1))
    """
    words = text.strip()
    sign, body = (-1, words[1:]) if words.startswith("-") else (1, words)
    parts = body.split("/")
    if len(parts) > 2 or not all(NUMBER.fullmatch(part.strip()) for part in parts):
        raise InvalidInput(f"{name} is {text!r:.60}; write a decimal (0.3) or a fraction (3/10).")
    top, *bottom = (Fraction(part.strip()) for part in parts)
    if bottom and bottom[0] == 0:
        raise InvalidInput(f"{name} is {text!r:.60}, which divides by zero; write another number.")
    return sign * top / (bottom[0] if bottom else 1)


def read_row(text: str, name: str) -> Row:
    """Read a row of probabilities, exactly: ``"1/2,3/10,1/5"`` or ``"0.5, 0.3, 0.2"``.

    Examples
    --------
    >>> read_row("0.5,3/10,.2", "p").tolist()
    [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    """
    parts = [part for part in re.split(r"[,;\s]+", text.strip(" \t\n[]()")) if part]
    return exact_row(parts, name)


def exact_row(parts: list[str], name: str) -> Row:
    """Give a row of fractions from the texts of its numbers; it must sum to exactly 1."""
    values = [read_number(part, f"{name}[{at}]") for at, part in enumerate(parts)]
    return check_row(np.array(values, dtype=object), name=name)


def read_time(text: str, name: str) -> Fraction:
    """Read a time in seconds from a number with a unit (s, ms, us, ns; none means seconds).

    Examples
    --------
    >>> read_time("10ms", "t") == read_time("0.01s", "t") == Fraction(1, 100)
    True
    """
    match = re.fullmatch(r"\s*(\S*?)\s*(ms|us|µs|ns|s)?\s*", text)
    if match is None or not NUMBER.fullmatch(match[1].lstrip("-")):
        raise InvalidInput(
            f"{name} is {text!r:.60}; write a time with its unit, for example 10ms or 0.01s."
        )
    seconds = read_number(match[1], name) * UNITS[match[2] or "s"]
    if seconds < 0:
        raise InvalidInput(f"{name} is {text!r:.60}; a time cannot be negative.")
    return seconds


def read_probability(text: str, name: str) -> Fraction:
    """Read a number that must lie in [0, 1]."""
    value = read_number(text, name)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{name} is {text!r:.60}; a probability lies between 0 and 1.")
    return value


def read_json(file: Path, name: str) -> Any:
    """Read a JSON file whose decimals stay the texts that were written."""
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_float=str)
    except OSError as error:
        raise InvalidInput(f"{name} {file}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} {file}: is not UTF-8 text; save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{name} {file}: is not JSON (line {error.lineno}: {error.msg})."
        ) from None


class Read(click.ParamType[Any]):
    """A click type that reads its text with one of the functions above."""

    def __init__(self, metavar: str, reader: Callable[[str, str], Any]) -> None:
        self.name = metavar
        self._reader = reader

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text; a refusal names the flag."""
        if not isinstance(value, str):
            return value
        flag = param.opts[0] if param is not None else self.name
        return self._reader(value, flag)


ROW = Read("row", read_row)
PROBABILITY = Read("probability", read_probability)
TIME = Read("time", read_time)


def read_count(text: str, name: str, least: int = 0, most: int = MOST) -> int:
    """Read a whole number from `least` to `most`."""
    if not re.fullmatch(r"[+-]?\d{1,4000}", text.strip()) or int(text) < least:
        raise InvalidInput(f"{name} is {text!r:.60}; it must be a whole number >= {least}.")
    if int(text) > most:
        raise InvalidInput(f"{name} is {text!r:.60}; it must be at most {most}.")
    return int(text)


def count(least: int) -> Read:
    """Give the type of a whole number of at least `least`."""
    return Read("n", partial(read_count, least=least))


def read_float(text: str, name: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise InvalidInput(f"{name} is {text!r:.60}; it must be a number.") from None
    if not math.isfinite(value):
        raise InvalidInput(f"{name} is {text!r:.60}; it must be a finite number.")
    return value


def read_bias(text: str, name: str) -> tuple[int, float]:
    """Read ``ID:X``: a token id and what is added to its logit (-inf forbids it)."""
    token, colon, added = text.partition(":")
    if not colon or not re.fullmatch(r"\d{1,9}", token):
        raise InvalidInput(
            f"{name} is {text!r:.60}; write a token id, a colon and a number: 50:-2."
        )
    return int(token), -math.inf if added == "-inf" else read_float(added, name)


FLOAT = Read("number", read_float)


def read_k(text: str, name: str) -> int | str:
    """Read a fixed k, or auto."""
    if text == "auto":
        return text
    try:
        return read_count(text, name)
    except InvalidInput as error:
        raise InvalidInput(f"{str(error).rstrip('.')}, or auto.") from None


def read_name(text: str, name: str) -> str:
    """Read the name or the path of a model, which is not empty."""
    if not text:
        raise InvalidInput(f"{name} is ''; give a name or a path, or leave {name} out.")
    return text


MODEL = Read("NAME|PATH", read_name)


class FilePath(click.Path):
    """A path; an empty one, which would stand for the current folder, is refused by name."""

    def __init__(self, **extra: Any) -> None:
        super().__init__(path_type=Path, **extra)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the path; a refusal names the flag."""
        if value == "":
            if isinstance(param, click.Option):
                flag = param.opts[0]
                raise InvalidInput(f"{flag} is ''; give a path, or leave {flag} out.")
            raise InvalidInput("FILE is ''; give the path of a file.")
        return super().convert(value, param, ctx)


def read_texts(files: Sequence[Path], name: str) -> tuple[str, ...]:
    """Give what is in some files of UTF-8 text that hold something."""
    return tuple(_text_of(file, name) for file in files)


def _text_of(file: Path, name: str) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidInput(f"{name} {file}: cannot be read ({reason}).") from None
    if not text:
        raise InvalidInput(f"{name} {file}: is empty; name a file that holds text.")
    return text


def read_prompt(prompt: str) -> str:
    """Give the prompt, from standard input for '-'; it must be UTF-8 text."""
    data = _standard_input() if prompt == "-" else prompt.encode(errors="surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = "standard input" if prompt == "-" else "PROMPT"
        raise InvalidInput(
            f"{where} is not UTF-8 text (byte {error.start}); convert it to UTF-8."
        ) from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InvalidInput("PROMPT is '-' and standard input is closed; give the prompt itself.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InvalidInput(
            f"PROMPT is '-' and standard input cannot be read ({error.strerror}); give the prompt "
            f"itself."
        ) from None


def run_file(
    path: Path, flag: str, name: str, failure: Callable[[BaseException], str]
) -> ModuleType:
    """Run a Python file of the user's as the module `name`.

    Raises
    ------
    InvalidInput
        If there is no such file, it is not Python, or it raises something or ends the program,
        which `failure` puts into words.
    """
    if not path.is_file():
        raise InvalidInput(f"{flag} {path}: there is no such file; check the path.")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{flag} {path}: is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{flag} {path}: {failure(error)}") from error
    return module


def given_flags(context: click.Context) -> dict[str, str]:
    """Give the flags that were written on the command line: how each is written, by its name."""
    written = click.core.ParameterSource.COMMANDLINE
    return {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is written
    }


@contextmanager
def by_flag(names: Collection[str]) -> Iterator[None]:
    """Let what is refused by the name of one of these fields be refused by its flag."""
    try:
        yield
    except InvalidInput as error:
        name, space, rest = str(error).partition(" ")
        flag = f"--{name.replace('_', '-')}" if name in names else name
        raise InvalidInput(flag + space + rest) from None


def require_writable(file: Path, flag: str) -> None:
    """Refuse, before anything is worked out for it, a file that could not be written."""
    try:
        if file.exists():
            file.open("ab").close()
        else:
            with tempfile.TemporaryFile(dir=file.absolute().parent):
                pass
    except OSError as error:
        raise InvalidInput(
            f"{flag} {file}: cannot be written ({error.strerror}); name a file in a folder of "
            f"yours."
        ) from None
