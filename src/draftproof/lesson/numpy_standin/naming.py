"""Calls that the real NumPy understands and the stand-in does not are named as such."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .scalars import lacks

UNKNOWN = ("unexpected keyword", "too many positional")


def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Let a call with arguments that a function does not have say that the stand-in lacks them."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            complaint = _misfit(function, args, kwargs)
            if complaint:
                raise lacks(f"`{name}` called like this ({complaint})") from None
            raise

    return call


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return str(error) if any(part in str(error) for part in UNKNOWN) else ""
    return ""


def name_methods(cls: type, title: str) -> None:
    """Wrap the public methods that a class has itself."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, named(method, f"{title}.{name}"))
