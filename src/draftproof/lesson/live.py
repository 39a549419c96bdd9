"""Decoding on a real model for the page: one at a time, bounded, and stopped when nobody reads.

`Live.run` gives the records of `draftproof.trace`, one per round as it happens; `Live.measure`
draws many rounds at one prompt, whose rows are computed once; `Live.timing` measures what
speculation costs and gains here.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from draftproof.backends.weights import find_default, require_openvino
from draftproof.chance import Dice
from draftproof.contracts import Draft
from draftproof.dist import Row, residual
from draftproof.errors import DraftproofError, InvalidInput, MissingExtra
from draftproof.lesson.measure import compare
from draftproof.lesson.steps import DRAFT_LIMIT
from draftproof.lesson.timing import Timing
from draftproof.proposers import NAMED
from draftproof.rules import find_rule
from draftproof.session.models import Model, open_model
from draftproof.session.running import Options, Session, Step, Transcript
from draftproof.trace import TraceWriter
from draftproof.warp import Warp

Json: TypeAlias = dict[str, Any]
Records: TypeAlias = Generator[Json, None, None]

RULE = "token-wise"
PROMPT_LIMIT = 2000
TOKENS_LIMIT = 200
ROUNDS_LIMIT = 10_000_000
SEED_LIMIT = 2**53
CELLS = 8


class Busy(DraftproofError):
    """Another decoding is running; the model serves one at a time."""


class Decoding(Iterator[Json]):
    """The records of a running decoding; `close` stops it and lets the next one begin."""

    def __init__(self, records: Records, release: Callable[[], None]) -> None:
        self._records = records
        self._release = release
        self._open = True
        self._stopped = False

    def __next__(self) -> Json:
        """Give the next record; computing it may take a pass of the model."""
        if self._stopped or not self._open:
            raise StopIteration
        return next(self._records)

    def stop(self) -> None:
        """Give no further record; may be called from anywhere, even within a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Stop; calling it again does nothing."""
        if self._open:
            self._open = False
            self._records.close()
            self._release()


class Live:
    """The model behind the page, opened when first needed.

    Parameters
    ----------
    open_model
        Opens the model; raises `MissingExtra` with what to type when it is not here.
    missing
        Gives None when the model can be opened, else a sentence that says what to type.
    """

    def __init__(self, open_model: Callable[[], Model], missing: Callable[[], str | None]) -> None:
        self._model = functools.cache(open_model)
        self._missing = missing
        self._turn = threading.Lock()
        self._running: Decoding | Timing | None = None

    def status(self) -> Json:
        """Say whether a model is here, and otherwise what to type."""
        missing = self._missing()
        return {"available": missing is None, "how": missing, "drafts": list(NAMED)}

    def run(self, body: Mapping[str, Any]) -> Decoding:
        """Start decoding a prompt.

        Raises
        ------
        Busy
            When another decoding is running.
        InvalidInput, MissingExtra
            When the request is out of bounds, or the model is not here.
        """
        prompt, options = _prompt(body), read_options(body)
        with self._turn_kept() as model:
            session = Session(options, find_rule(RULE), model)
            decoding = Decoding(_records(session, prompt), self._turn.release)
        self._running = decoding
        return decoding

    def timing(self, body: Mapping[str, Any]) -> Timing:
        """Get ready to time this machine on a prompt, put as `draftproof plan` puts it.

        Raises
        ------
        Busy, InvalidInput, MissingExtra
            As for `run`.
        """
        prompt, options = _prompt(body), replace(read_options(body), chat=True)
        most_k = _whole(body, "most_k", 8, 1, DRAFT_LIMIT)
        with self._turn_kept() as model:
            session = Session(options, find_rule(RULE), model)
            timing = Timing(session, prompt, most_k, self._turn.release)
        self._running = timing
        return timing

    def stop(self) -> None:
        """End what is running, if anything: a decoding after its round, a timing after a pass."""
        if self._running is not None:
            self._running.stop()

    def measure(self, body: Mapping[str, Any]) -> Json:
        """Draw many rounds of one drafted token after a prompt, by either method.

        The tokens are partitioned before any draw: the likeliest few of p and q one by one, and
        all the rest together.
        """
        prompt, options = _prompt(body), read_options(body)
        trials = _whole(body, "rounds", 20_000, 1, ROUNDS_LIMIT)
        self._take_turn()
        try:
            session = Session(options, find_rule(RULE), self._model())
            p, q = _rows(session, prompt)
        finally:
            self._turn.release()
        return _measured(session.target, p, q, trials, options.seed)

    @contextlib.contextmanager
    def _turn_kept(self) -> Iterator[Model]:
        """Take the turn and give the model; the turn is given back only if that fails."""
        self._take_turn()
        try:
            yield self._model()
        except BaseException:
            self._turn.release()
            raise

    def _take_turn(self) -> None:
        if not self._turn.acquire(blocking=False):
            raise Busy("the model is decoding for another page; wait until it ends, or stop it.")


def default_model() -> Live:
    """Give the default model, opened when first needed."""
    return Live(functools.partial(open_model, Options().target), _what_is_missing)


def _what_is_missing() -> str | None:
    try:
        require_openvino()
        find_default()
    except MissingExtra as missing:
        return str(missing)
    return None


def read_options(body: Mapping[str, Any]) -> Options:
    """Read the settings of a request; missing ones take their defaults.

    The prompt is continued as it is, so that the page can show one running text.

    Raises
    ------
    InvalidInput
        Names the field and its bounds.

    Examples
    --------
    >>> read_options({"k": 2}).k
    2
    """
    draft = body.get("proposer", "ngram")
    if draft not in tuple(NAMED):
        raise InvalidInput(f"proposer is {draft!r:.40}; choose one of {', '.join(NAMED)}.")
    return Options(
        draft=draft,
        rule=RULE,
        k=_whole(body, "k", 4, 0, DRAFT_LIMIT),
        max_tokens=_whole(body, "max_tokens", 48, 1, TOKENS_LIMIT),
        seed=_whole(body, "seed", 0, 0, SEED_LIMIT),
        chat=False,
        warp=Warp(temperature=_temperature(body)),
    )


def _records(session: Session, prompt: str) -> Records:
    """Refuse a prompt that does not fit, then give the records as they are asked for."""
    text = session.encode(prompt)
    lines = io.StringIO()
    steps = session.run(text, Transcript(), trace=TraceWriter(lines))
    return _drained(steps, lines, prompt)


def _drained(steps: Iterator[Step], lines: io.StringIO, prompt: str) -> Records:
    """Give what each step wrote, and after the last step the ending."""
    for _ in itertools.chain(steps, [None]):
        written = lines.getvalue().split("\n")[:-1]
        lines.seek(0)
        lines.truncate()
        for record in map(json.loads, written):
            # The page shows the prompt as it was typed; a trace of the command line has its ids.
            yield record | {"prompt": prompt} if record["type"] == "header" else record


def _rows(session: Session, prompt: str) -> tuple[Row, Row]:
    """Give p and q after the prompt: the very rows that a first round would compare."""
    text = session.encode(prompt)
    chance = Dice(session.options.seed).after(len(text))
    draft = session.proposer(text).propose(chance, text, 1)
    if not len(draft):
        raise InvalidInput(
            f"the draft {session.options.draft!r} proposes nothing after this prompt; repeat some "
            "of its words, or choose another draft."
        )
    return session.predictor(text).rows(text, Draft.empty())[0], draft.rows[0]


def _measured(model: Model, p: Row, q: Row, trials: int, seed: int) -> Json:
    listed = _likeliest(p, q)
    rest = np.setdiff1d(np.arange(p.size), listed).tolist()
    cells = [[token] for token in listed] + ([rest] if rest else [])
    names = [model.spell(token) for token in listed] + (["all others"] if rest else [])
    laws = {
        name: [float(row[cell].sum()) for cell in cells]
        for name, row in {"p": p, "q": q, "residual": residual(p, q)}.items()
    }
    target = model.backend.name
    return {"target": target, "tokens": names, **laws, **compare(p, q, cells, trials, seed)}


def _likeliest(p: Row, q: Row) -> list[int]:
    """Choose the tokens shown one by one: the largest of p or q."""
    weight = np.maximum(p, q)
    order = np.argsort(-weight, kind="stable")[:CELLS]
    return [int(token) for token in order if weight[token] > 0]


def _prompt(body: Mapping[str, Any]) -> str:
    prompt = body.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("prompt is empty; type the beginning of a text.")
    if len(prompt) > PROMPT_LIMIT:
        raise InvalidInput(
            f"prompt has {len(prompt)} characters; at most {PROMPT_LIMIT} are decoded here."
        )
    return prompt


def _temperature(body: Mapping[str, Any]) -> float:
    value = body.get("temperature", 0.7)
    if type(value) not in (int, float) or not (value == 0 or 0.05 <= value <= 5):
        raise InvalidInput(f"temperature is {value!r:.40}; it must be 0, or from 0.05 to 5.")
    return float(value)


def _whole(body: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    value = body.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise InvalidInput(
            f"{name} is {value!r:.40}; it must be a whole number from {low} to {high}."
        )
    return value
