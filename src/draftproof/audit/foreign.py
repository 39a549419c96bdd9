"""Calling somebody else's verifier, and reading what it returns.

Four signatures. ``step``: ``fn(p, q, rng) -> token``, one whole speculative step. ``block``:
``fn(target_rows, draft_rows, draft_tokens, rng) -> (accepted, token)``, the verification of a
chain of k tokens that was drafted from the k `draft_rows`, with k + 1 target rows. ``batch``: the
same over lists, one entry per request, returning one pair per request. ``round``: ``fn(rng) ->
tokens``, a whole round with its models inside, returning everything it emits.

Rows arrive as arrays, one row per position, or as tensors where the luck is PyTorch's.

Whatever the function does is an observation, not a failure of the audit: an exception, a float,
nothing at all, an id outside the vocabulary become a `Fault`, with a probability like any token.
"""

from __future__ import annotations

import math
import signal
import threading
import time
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.explore import Luck, TooManyBranches
from draftproof.audit.generators import Controlled
from draftproof.audit.symbols import REFUSALS, NeedsNumbers
from draftproof.dist import Row
from draftproof.errors import InvalidInput

SIGNATURES = ("step", "block", "batch", "round")
LUCK = ("numpy", "torch")


OWN_ERRORS = (NeedsNumbers, TooManyBranches)
"""Exceptions of ours that pass through foreign code on their way out."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something other than a token: what happened, in words, and whether it took too long."""

    what: str
    late: bool = False

    def __str__(self) -> str:
        return self.what


Outcome: TypeAlias = int | Fault | tuple[int | Fault, ...]


def parts_of(outcome: Hashable) -> tuple[Hashable, ...]:
    """Give the parts of an outcome: a tuple's items, or itself alone."""
    return outcome if isinstance(outcome, tuple) else (outcome,)


def is_late(outcome: Hashable) -> bool:
    """True when a part of it did not come back in time."""
    return any(isinstance(part, Fault) and part.late for part in parts_of(outcome))


class OutOfTime(BaseException):
    """The function did not come back within its time; no `except Exception` of its own stops it."""


def read_token(value: Any, size: int) -> int | Fault:
    """Read a token id, or say what came instead.

    Examples
    --------
    >>> read_token(np.int64(1), 3), read_token(1.0, 3).what
    (1, 'it returned 1.0, a float, where a token id belongs')
    """
    if value is None:
        return Fault("it returned nothing")
    if isinstance(value, bool | np.bool_):
        return Fault(f"it returned {value}, a bool, where a token id belongs")
    scalar = _unboxed(value)
    if not isinstance(scalar, int | np.integer):
        kind = type(scalar).__name__
        return Fault(f"it returned {shortened(scalar)}, a {kind}, where a token id belongs")
    token = int(scalar)
    if not 0 <= token < size:
        return Fault(f"it returned {token}, outside the vocabulary of {size}")
    return token


def _unboxed(value: Any) -> Any:
    """Take a single item out of an array or a tensor of one element."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(-1)[0]
    item = getattr(value, "item", None)
    if item is not None and not isinstance(value, np.ndarray | np.generic):
        try:
            return item()
        except (RuntimeError, ValueError):
            return value
    return value


def shortened(value: object) -> str:
    """Write a value down in a few words.

    Examples
    --------
    >>> shortened("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_verdict(value: Any, drafted: tuple[int, ...], size: int) -> Outcome:
    """Read ``(accepted, token)`` as the tokens that come out, or say what came instead.

    Examples
    --------
    >>> read_verdict((1, 2), (0, 1), 3)
    (0, 2)
    """
    pair = _listed(value)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return Fault(f"it returned {shortened(value)}, where (accepted, token) belongs")
    accepted, token = _unboxed(pair[0]), read_token(pair[1], size)
    if isinstance(accepted, bool) or not isinstance(accepted, int | np.integer):
        return Fault(f"it returned {shortened(accepted)} as the number accepted")
    if not 0 <= accepted <= len(drafted):
        return Fault(f"it accepted {int(accepted)} of {len(drafted)} drafted tokens")
    if isinstance(token, Fault):
        return token
    return (*drafted[: int(accepted)], token)


def read_tokens(value: Any, most: int, size: int) -> Outcome:
    """Read everything a round emitted, at most `most` tokens, or say what came instead.

    Examples
    --------
    >>> read_tokens([0, 2], 3, 3), read_tokens([], 3, 3).what
    ((0, 2), 'it emitted nothing')
    """
    emitted = _listed(value)
    if not isinstance(emitted, tuple | list):
        return Fault(f"it returned {shortened(value)}, where a list of tokens belongs")
    if not emitted:
        return Fault("it emitted nothing")
    tokens = [read_token(token, size) for token in emitted[:most]]
    return next((token for token in tokens if isinstance(token, Fault)), tuple(tokens))


def read_batch(value: Any, drafted: Sequence[tuple[int, ...]], size: int) -> tuple[Outcome, ...]:
    """Read one pair for each request; a batch that cannot be read is a fault of each."""
    pairs = value if isinstance(value, Fault) else _listed(value)
    if not isinstance(pairs, Fault) and not isinstance(pairs, tuple | list):
        pairs = Fault(f"it returned {shortened(value)}, where a list of pairs belongs")
    elif not isinstance(pairs, Fault) and len(pairs) != len(drafted):
        pairs = Fault(f"it returned {len(pairs)} results for {len(drafted)} requests")
    if isinstance(pairs, Fault):
        return (pairs,) * len(drafted)
    return tuple(read_verdict(p, chain, size) for p, chain in zip(pairs, drafted, strict=True))


def _listed(value: Any) -> Any:
    """Give an array or a tensor as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") and np.ndim(value) else value


def guarded(call: Callable[[], Any]) -> Any:
    """Call foreign code; an exception it raises becomes a `Fault`.

    What was refused inside ends the call even where the code has caught it, or turned it into
    something else.
    """
    REFUSALS.clear()
    try:
        value = call()
    except OWN_ERRORS:
        raise
    except OutOfTime as slow:
        return Fault(str(slow), late=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is an observation
        value = Fault(f"it raised {type(error).__name__}: {shortened(str(error))}")
    if REFUSALS:
        raise REFUSALS[-1]
    return value


def _can_interrupt() -> bool:
    """Say whether the platform can interrupt foreign code: POSIX, in the main thread."""
    here = threading.current_thread() is threading.main_thread()
    return here and hasattr(signal, "setitimer")


@dataclass(slots=True)
class _Clock:
    """When the call that runs now must be back, while a timer ticks for many calls."""

    ticks: bool = False
    until: float = math.inf
    seconds: float = math.inf

    def begin(self, seconds: float | None) -> None:
        if signal.getitimer(signal.ITIMER_REAL)[1] != TICK:
            self.start()  # the code audited has used the timer itself
        self.seconds = math.inf if seconds is None else seconds
        self.until = time.monotonic() + self.seconds

    def start(self) -> None:
        signal.signal(signal.SIGALRM, self.tick)
        signal.setitimer(signal.ITIMER_REAL, TICK, TICK)

    def tick(self, _signal: int, _frame: types.FrameType | None) -> None:
        if time.monotonic() > self.until:
            self.until = time.monotonic() + AGAIN
            raise OutOfTime(f"it did not return within {self.seconds:g} s")


_CLOCK = _Clock()
TICK = 0.05
AGAIN = 1.0
"""Seconds after which a call that swallowed its interruption is interrupted once more."""


@contextmanager
def many_calls() -> Iterator[None]:
    """Limit the time of every call in the block by one ticking timer: cheaper than one each."""
    if _CLOCK.ticks or not _can_interrupt():
        yield
        return
    before = signal.getsignal(signal.SIGALRM)
    _CLOCK.ticks, _CLOCK.until = True, math.inf
    _CLOCK.start()
    try:
        yield
    finally:
        _CLOCK.ticks = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Interrupt foreign code after `seconds`, where the platform can (main thread, POSIX)."""
    if seconds is None or not _can_interrupt():
        yield
        return

    def expired(_signal: int, _frame: types.FrameType | None) -> None:
        raise OutOfTime(f"it did not return within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Inputs:
    """Arguments handed to foreign code: fresh copies each time, and a note of those changed.

    An argument is an array, or a list of arrays (one per request).

    Examples
    --------
    >>> inputs = Inputs({"p": np.array([0.5, 0.5])})
    >>> inputs.fresh()["p"][0] = 0.0
    >>> inputs.changed()
    ('p',)
    """

    def __init__(self, arguments: Mapping[str, Any], wrap: Callable[[Row], Any] = np.copy) -> None:
        self._kept, self._wrap = dict(arguments), wrap
        self._given: dict[str, Any] = {}
        self._changed: dict[str, None] = {}

    def fresh(self) -> dict[str, Any]:
        """Give copies to hand out."""
        self.changed()
        self._given = {name: each(self._wrap, kept) for name, kept in self._kept.items()}
        return self._given

    def changed(self) -> tuple[str, ...]:
        """Name the arguments that were changed in place so far."""
        for name, given in self._given.items():
            if not unchanged(given, self._kept[name]):
                self._changed[name] = None
        self._given = {}
        return tuple(self._changed)


def each(wrap: Callable[[Any], Any], argument: Any) -> Any:
    """Wrap an argument, or each of a list."""
    return [wrap(item) for item in argument] if isinstance(argument, list) else wrap(argument)


def as_array(given: Any) -> Row:
    """Give an array or a tensor as an array, which may share its memory."""
    if hasattr(given, "detach"):
        given = given.detach().double().cpu().numpy()
    return np.asarray(given)


def unchanged(given: Any, kept: Any) -> bool:
    """Say whether an argument, or each of a list, is still what its copy `kept` is."""
    if isinstance(kept, list):
        return len(given) == len(kept) and all(map(unchanged, given, kept))
    array = as_array(given)
    same = (array.dtype, array.shape) == (kept.dtype, kept.shape)
    if same and array.tobytes() == kept.tobytes():
        return True  # the same numbers, or the very same objects; the usual case, and the fast one
    return np.array_equal(array, kept, equal_nan=kept.dtype != object)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A function under audit, and how it takes its luck.

    With ``luck="numpy"`` its last argument is a NumPy Generator; with ``luck="torch"`` it is a
    `torch.Generator`, rows are tensors, and draws from PyTorch's global generator are met as
    well. With `uniforms` it is an array (or tensor) of that many uniforms instead.
    """

    fn: Callable[..., Any]
    luck: str = "numpy"
    uniforms: int | None = None
    seconds: float | None = 5.0

    def inputs(self, **arguments: Any) -> Inputs:
        """Prepare arguments in the form the function takes them."""
        if self.luck == "torch":
            from draftproof.audit import torch_luck

            return Inputs(arguments, torch_luck.tensor)
        return Inputs(arguments)

    def __call__(self, rng: Luck, inputs: Inputs) -> Any:
        """Call the function once on this luck; what it raises comes back as a `Fault`.

        A plain NumPy generator is ordinary luck: PyTorch's is then seeded from it.
        """
        arguments = inputs.fresh().values()
        if self.luck == "numpy":
            return self._on_numpy(rng, arguments)
        from draftproof.audit import torch_luck

        if not isinstance(rng, Controlled):
            last = torch_luck.seeded(rng, self.uniforms)
            return self._guarded(lambda: self.fn(*arguments, last))
        with torch_luck.intercepted(rng):
            last = torch_luck.last_argument(self.uniforms)
            return self._guarded(lambda: self.fn(*arguments, last))

    def sampled(self, rng: np.random.Generator, *arguments: Any) -> Any:
        """Call the function once on luck that is drawn, from `rng` or from a seed drawn from it."""
        if self.luck == "torch":
            from draftproof.audit import torch_luck

            tensors = [each(torch_luck.tensor, argument) for argument in arguments]
            last = torch_luck.seeded(rng, self.uniforms)
            return self._guarded(lambda: self.fn(*tensors, last))
        return self._on_numpy(rng, arguments)

    def _on_numpy(self, rng: Luck, arguments: Iterable[Any]) -> Any:
        luck = rng if self.uniforms is None else rng.random(self.uniforms)
        return self._guarded(lambda: self.fn(*arguments, luck))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        if not (_CLOCK.ticks and _can_interrupt()):
            with time_limit(self.seconds):
                return guarded(call)
        _CLOCK.begin(self.seconds)
        try:
            return guarded(call)
        finally:
            _CLOCK.until = math.inf


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Give a value back if it is one of the choices."""
    if value not in choices:
        raise InvalidInput(f"{name} is {value!r}; choose one of {', '.join(choices)}.")
    return value
