"""What the verb `audit` is pointed at: which kind of target, which flags it takes, the function."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from draftproof.cli.reading import run_file
from draftproof.dist import Row
from draftproof.errors import InvalidInput

LOOPS = {"transformers": "assistant model", "transformers-prompt-lookup": "prompt lookup"}
"""Decode loops of libraries by name, with the way they draft."""

CALLED = ("--target-row", "--draft-row", "--signature", "--luck", "--uniforms")
"""Flags that say how a function is called, and on what."""

SERVED = (
    "--model",
    "--api-key",
    "--prompts",
    "--concurrency",
    "--reference",
    "--control",
    "--metrics-url",
    "--resume",
)
"""Flags that say how a server is asked."""

FOREIGN = {
    "function": SERVED,
    "loop": (*CALLED, *SERVED),
    "trace": (*CALLED, *SERVED),
    "server": CALLED,
}
"""For each kind of target, the flags that say nothing about it."""

KINDS = {
    "function": "a function",
    "loop": "the decode loop of a library, whose models and calls are fixed here",
    "trace": "a recorded trace",
    "server": "a server",
}


def kind_of(target: str) -> str:
    """Say which kind of target it is.

    Examples
    --------
    >>> [kind_of(t) for t in ("f.py:step", "transformers", "run.jsonl", "http://127.0.0.1:8000")]
    ['function', 'loop', 'trace', 'server']
    """
    if target.startswith(("http://", "https://")):
        return "server"
    if target.endswith(".jsonl"):
        return "trace"
    return "loop" if target in LOOPS else "function"


def check_flags(target: str, given: Sequence[str]) -> None:
    """Refuse flags that would be ignored for this kind of target.

    Examples
    --------
    >>> check_flags("run.jsonl", ["--level", "--luck"])
    Traceback (most recent call last):
    draftproof.errors.InvalidInput: --luck does not apply to a recorded trace (run.jsonl); leave \
it out.
    """
    kind = kind_of(target)
    foreign = [flag for flag in given if flag in FOREIGN[kind]]
    if foreign:
        *some, last = foreign
        names = f"{', '.join(some)} and {last} do" if some else f"{last} does"
        them = "them" if some else "it"
        raise InvalidInput(f"{names} not apply to {KINDS[kind]} ({target}); leave {them} out.")


def check_rows(target_row: Row | None, draft_row: Row | None) -> None:
    """Refuse one row without the other, and two rows that are not over the same tokens."""
    rows = {"--target-row": target_row, "--draft-row": draft_row}
    missing = [name for name, row in rows.items() if row is None]
    if len(missing) == 1:
        other = next(name for name in rows if name not in missing)
        raise InvalidInput(
            f"{missing[0]} is missing; give it beside {other}, or leave out both to try a battery "
            f"of pairs."
        )
    if target_row is not None and draft_row is not None and len(target_row) != len(draft_row):
        raise InvalidInput(
            f"--target-row has {len(target_row)} entries and --draft-row has {len(draft_row)}; "
            f"they must be over the same tokens."
        )


def load_function(target: str) -> Callable[..., Any]:
    """Give the function that ``path.py:name`` or ``module:name`` names; its file is run.

    Raises
    ------
    InvalidInput
        If there is no such file, module or function, or the file fails when it is run.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise InvalidInput(
            f"TARGET is {target!r}; name a function as path.py:name or module:name, a library's "
            f"loop ({', '.join(LOOPS)}), a recorded trace that ends in .jsonl, or the address of "
            f"a server."
        )
    module = _module(where)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InvalidInput(f"TARGET {target}: {where} has no function {name!r}; name one it has.")
    fn: Callable[..., Any] = found
    return fn


ARGUMENTS = {
    "step": ("p", "q", "rng"),
    "block": ("target_rows", "draft_rows", "draft_tokens", "rng"),
    "batch": ("target_rows", "draft_rows", "draft_tokens", "rng"),
}


def check_call(fn: Callable[..., Any], target: str, signature: str) -> None:
    """Refuse a function that does not take what it would be given: that is no verdict on it."""
    given = ARGUMENTS[signature]
    try:
        inspect.signature(fn).bind(*given)
    except ValueError:
        return  # a function of C, which does not tell
    except TypeError as error:
        others = " or ".join(other for other in ARGUMENTS if other != signature)
        raise InvalidInput(
            f"{target} cannot be called with {', '.join(given)} ({error}), as --signature "
            f"{signature} does; give --signature {others}, or wrap it."
        ) from None


def _module(where: str) -> ModuleType:
    if where.endswith(".py"):
        return run_file(Path(where), "TARGET", "_under_audit", _not_loaded)
    try:
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(where)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"TARGET {where}: {_not_loaded(error)}") from error


def _not_loaded(error: BaseException) -> str:
    return (
        f"cannot be loaded ({type(error).__name__}: {error}); it must run by itself with this "
        f"Python."
    )
