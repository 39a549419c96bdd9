"""The learner's program: compiled, run and called, with every accident turned into a sentence."""

from __future__ import annotations

import contextlib
import functools
import io
import linecache
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

SOURCE_NAME = "<your code>"
OUTPUT_LIMIT = 8192


class Problem(Exception):
    """Something is wrong with a submission; says what in one sentence.

    ``known`` is the id of the recognised mistake, ``got`` what the function returned, and
    ``error`` tells an accident (an exception) from a wrong value.
    """

    def __init__(
        self, message: str, *, known: str = "", got: str = "", error: bool = False, cause: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.known, self.got, self.error, self.cause = (
            message,
            known,
            got,
            error,
            cause,
        )


class Stopped(Exception):
    """The run ended early (interrupted, or out of memory), so nothing more is called."""


class Output(io.TextIOBase):
    """Keeps the first 8 KB that a program prints and counts the rest."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._room = OUTPUT_LIMIT
        self.dropped = 0

    def write(self, text: str) -> int:
        """Keep what still fits."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        kept = text[: self._room]
        if kept:
            self._kept.append(kept)
            self._room -= len(kept)
        self.dropped += len(text) - len(kept)
        return len(text)

    def text(self) -> str:
        """Return what was kept, with a notice if that is not all."""
        notice = f"\n... and {self.dropped} more characters" if self.dropped else ""
        return "".join(self._kept) + notice


def _no_input(prompt: object = "") -> str:
    raise RuntimeError(
        "input() has nobody to answer it here: the tests pass all values as arguments"
    )


def _line(error: BaseException) -> int:
    """Return the line of the learner's innermost frame, or 0."""
    frames = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == SOURCE_NAME
    ]
    return frames[-1] if frames else 0


def _where(line: int) -> str:
    text = linecache.getline(SOURCE_NAME, line).strip()
    return f" (line {line}: `{text}`)" if text else f" (line {line})" if line else ""


_ADVICE = {
    "RecursionError": "Your function calls itself without end",
    "SystemExit": "Your program calls exit(); return a value instead",
    "GeneratorExit": "Your program raises GeneratorExit; return a value instead",
}


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a learner's own __str__ may raise anything
        return ""


def sentence(error: BaseException) -> str:
    """Say what went wrong, with the learner's own line and nothing of the harness."""
    name, line = type(error).__name__, _line(error)
    if name in _ADVICE:
        return f"{_ADVICE[name]}{_where(line)}."
    if getattr(error, "is_sentence", False):
        return f"{str(error)[:1].upper()}{str(error)[1:]}{_where(line)}"
    text = _words(error).strip().splitlines()
    said = f"{name}: {text[0]}" if text else name
    more = ""
    if "truth value" in said:
        more = (
            " - comparing arrays gives one truth value per token; use np.all(...) or np.any(...), "
            "or compare one token at a time"
        )
    return f"{said}{more}{_where(line)}"


IGNORED = ("ignore", None, Warning, None, 0)
"""The warning filter that ignores every warning."""


@contextlib.contextmanager
def silenced(output: Output) -> Iterator[None]:
    """Catch what is printed, and ignore warnings."""
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _is_silenced(output: Output) -> bool:
    """Tell whether nothing has changed since `silenced`; a program may have done anything to it."""
    streams = (getattr(sys, "stdout", None), getattr(sys, "stderr", None))
    filters = getattr(warnings, "filters", ())
    return streams == (output, output) and list(filters[:1]) == [IGNORED]


def _silence_again(output: Output) -> None:
    sys.stdout = sys.stderr = output
    warnings.filters = [IGNORED]


def _guarded(
    output: Output, signature: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Call a function silenced, and turn every exception into a Problem.

    A test calls it thousands of times, so what is silenced already is not silenced again.
    """
    try:
        if not _is_silenced(output):
            with silenced(output):
                return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            if not _is_silenced(output):
                _silence_again(output)
    except (Problem, Stopped):
        raise
    except KeyboardInterrupt as error:
        raise Stopped(
            f"The run was stopped because it took too long{_where(_line(error))}."
        ) from None
    except MemoryError as error:
        raise Stopped(
            f"Your program asked for more memory than there is{_where(_line(error))}."
        ) from None
    except BaseException as error:  # a learner's program may raise anything
        if getattr(error, "passes_through", False):
            raise
        message = sentence(error)
        if signature and isinstance(error, TypeError) and not _line(error):
            message += f"; the tests call `{signature}`."
        raise Problem(message, error=True, cause=type(error).__name__) from None


class Program:
    """A compiled submission whose functions can be called.

    A ``quiet`` program is not the learner's: its lines are not shown in messages.

    Raises
    ------
    Problem
        The source does not compile, or running it raised an exception.
    """

    def __init__(self, source: str, *, quiet: bool = False) -> None:
        self.output = Output()
        self.memory: dict[str, list[float]] = {}
        if not quiet:
            lines = source.splitlines(keepends=True)
            linecache.cache[SOURCE_NAME] = (len(source), None, lines, SOURCE_NAME)
        code = self._compile(source)
        module = types.ModuleType("solution")
        module.__dict__["input"] = _no_input
        _guarded(self.output, "", exec, code, module.__dict__)  # what this module is for
        self.names = module.__dict__

    @staticmethod
    @functools.lru_cache(maxsize=256)
    def _compile(source: str) -> types.CodeType:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return compile(source, SOURCE_NAME, "exec", dont_inherit=True)
        except SyntaxError as error:
            line = error.lineno or 0
            place = f"line {line}" if line else "this program"
            raise Problem(
                f"Python cannot read {place}: {error.msg}{_where(line)}. Nothing was run.",
                error=True,
                cause="SyntaxError",
            ) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Problem(
                f"Python cannot read this program: {error}. Nothing was run.", error=True
            ) from None

    def function(self, name: str, signature: str) -> Callable[..., Any]:
        """Return a function by name, guarded; ``signature`` is how the tests call it."""
        found = self.names.get(name)
        if not callable(found):
            near = [other for other in self.names if other.lower() == name.lower()]
            hint = f" (you have `{near[0]}`)" if near else ""
            problem = "is not a function" if name in self.names else "is missing"
            raise Problem(
                f"The tests call `{signature}`, and `{name}` {problem}{hint}.", error=True
            )

        def call(*args: Any, **kwargs: Any) -> Any:
            return _guarded(self.output, signature, found, *args, **kwargs)

        return call
