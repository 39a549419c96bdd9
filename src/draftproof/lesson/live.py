"""Decoding on a real model for the page: one at a time, bounded, and stopped when nobody reads.

`Live.run` gives the records of `draftproof.trace`, one per round as it happens; `Live.measure`
draws many rounds at one prompt, whose rows are computed once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from draftproof.chance import Dice
from draftproof.contracts import Draft, Predictor, Proposer, Text
from draftproof.decode import Limits, Round, Tally, rounds
from draftproof.dist import Row, residual
from draftproof.errors import DraftproofError, InvalidInput
from draftproof.lesson.measure import compare
from draftproof.rules import find_rule
from draftproof.trace import FORMAT, Glass, Witness, round_record

Json: TypeAlias = dict[str, Any]

PROMPT_LIMIT = 2000
TOKENS_LIMIT = 200
DRAFT_LIMIT = 12
ROUNDS_LIMIT = 10_000_000
SEED_LIMIT = 2**53
CELLS = 8
RULE = "token-wise"


class Busy(DraftproofError):
    """Another decoding is running; the model serves one at a time."""


class Model(Protocol):
    """What the page needs of a language model."""

    @property
    def name(self) -> str:
        """Short name for the page."""
        ...

    @property
    def stop(self) -> frozenset[int]:
        """Token ids that end a text."""
        ...

    @property
    def context_limit(self) -> int:
        """Largest number of tokens it can hold."""
        ...

    @property
    def drafts(self) -> tuple[str, ...]:
        """Names of the drafts to choose from; the first is the default."""
        ...

    def encode(self, prompt: str) -> Text:
        """Turn a learner's prompt into token ids."""
        ...

    def spell(self, token: int) -> str:
        """Give one token as text."""
        ...

    def target(self, temperature: float) -> Predictor:
        """Give the model at a temperature, as probability rows."""
        ...

    def proposer(self, name: str, temperature: float, prompt: int) -> Proposer:
        """Make the draft of that name, for a prompt of so many tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """One request for a decoding, checked."""

    prompt: str
    k: int
    temperature: float
    seed: int
    max_tokens: int
    proposer: str

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Order:
        """Read the fields of a request; missing ones take their defaults.

        Raises
        ------
        InvalidInput
            Names the field and its bounds.
        """
        return cls(
            prompt=_prompt(body),
            k=_whole(body, "k", 4, 0, DRAFT_LIMIT),
            temperature=_temperature(body),
            seed=_whole(body, "seed", 0, 0, SEED_LIMIT),
            max_tokens=_whole(body, "max_tokens", 48, 1, TOKENS_LIMIT),
            proposer=str(body.get("proposer", "")),
        )


class Decoding(Iterator[Json]):
    """The records of a running decoding; `close` stops it and lets the next one begin."""

    def __init__(self, records: Iterator[Json], release: Callable[[], None]) -> None:
        self._records = records
        self._release = release
        self._open = True

    def __next__(self) -> Json:
        """Give the next record; computing it may take a pass of the model."""
        if not self._open:
            raise StopIteration
        return next(self._records)

    def close(self) -> None:
        """Stop; calling it again does nothing."""
        if self._open:
            self._open = False
            self._release()


class Live:
    """The model behind the page, opened when first needed.

    Parameters
    ----------
    open_model
        Opens the model; raises `MissingExtra` with what to type when it is not here.
    available
        Gives None when the model can be opened, else what to type to get it.
    """

    def __init__(
        self, open_model: Callable[[], Model], available: Callable[[], str | None]
    ) -> None:
        self._model = functools.cache(open_model)
        self._missing = available
        self._turn = threading.Lock()

    def status(self) -> Json:
        """Say whether a model is here, and otherwise what to type."""
        missing = self._missing()
        return {"available": missing is None, "how": missing}

    def run(self, body: Mapping[str, Any]) -> Decoding:
        """Start decoding a prompt.

        Raises
        ------
        Busy
            When another decoding is running.
        InvalidInput, MissingExtra
            When the request is out of bounds, or the model is not here.
        """
        order = Order.read(body)
        self._take_turn()
        try:
            model = self._model()
            return Decoding(_decode(model, order), self._turn.release)
        except BaseException:
            self._turn.release()
            raise

    def measure(self, body: Mapping[str, Any]) -> Json:
        """Draw many rounds of one drafted token after a prompt, by either method.

        The tokens are partitioned before any draw: the likeliest few of p, q and the naive law,
        and all the rest together.
        """
        order = Order.read(body)
        trials = _whole(body, "rounds", 20_000, 1, ROUNDS_LIMIT)
        self._take_turn()
        try:
            model = self._model()
            p, q = _rows(model, order)
        finally:
            self._turn.release()
        return _measured(model, p, q, trials, order.seed)

    def _take_turn(self) -> None:
        if not self._turn.acquire(blocking=False):
            raise Busy("the model is decoding for another page; wait until it ends, or stop it.")


def _decode(model: Model, order: Order) -> Iterator[Json]:
    """Check everything that can be refused, then give the records as they are asked for."""
    text, draft = model.encode(order.prompt), _draft(model, order.proposer)
    proposer = model.proposer(draft, order.temperature, len(text))
    witness, glass = Witness(Dice(order.seed)), Glass(model.target(order.temperature))
    limits = Limits(max_tokens=order.max_tokens, stop=model.stop, context_limit=model.context_limit)
    running = rounds(witness, glass, proposer, find_rule(RULE), text, k=order.k, limits=limits)

    def record(one: Round) -> Json:
        return round_record(one, glass.last, witness.coins(one.start), model.spell)

    return _records(model, order, draft, running, record)


def _records(
    model: Model,
    order: Order,
    draft: str,
    running: Iterator[Round],
    record: Callable[[Round], Json],
) -> Iterator[Json]:
    yield {
        "type": "header",
        "format": FORMAT,
        "target": model.name,
        "proposer": draft,
        "rule": RULE,
    } | {
        name: getattr(order, name) for name in ("prompt", "k", "temperature", "seed", "max_tokens")
    }
    tally, ends, said = Tally(), "length", list[str]()
    for one in running:
        tally.add(one)
        said.extend(model.spell(token) for token in one.emitted)
        ends = one.ends or ends
        yield record(one)
    counts = {name: getattr(tally, name) for name in ("rounds", "drafted", "accepted", "emitted")}
    yield {"type": "end", "ends": ends, "text": "".join(said), "counts": counts}


def _rows(model: Model, order: Order) -> tuple[Row, Row]:
    """Give p and q after the prompt: the very rows that a first round would compare."""
    text, name = model.encode(order.prompt), _draft(model, order.proposer)
    proposer = model.proposer(name, order.temperature, len(text))
    draft = proposer.propose(Dice(order.seed).after(len(text)), text, 1)
    if not len(draft):
        raise InvalidInput(
            f"the draft {name!r} proposes nothing after this prompt; repeat some of its "
            "words, or choose another draft."
        )
    return model.target(order.temperature).rows(text, Draft.empty())[0], draft.rows[0]


def _measured(model: Model, p: Row, q: Row, trials: int, seed: int) -> Json:
    listed = _likeliest(p, q)
    rest = np.setdiff1d(np.arange(p.size), listed).tolist()
    cells = [[token] for token in listed] + ([rest] if rest else [])
    names = [model.spell(token) for token in listed] + (["all other tokens"] if rest else [])
    laws = {
        name: [float(row[cell].sum()) for cell in cells]
        for name, row in {"p": p, "q": q, "residual": residual(p, q)}.items()
    }
    return {"target": model.name, "tokens": names, **laws, **compare(p, q, cells, trials, seed)}


def _likeliest(p: Row, q: Row) -> list[int]:
    """Choose the tokens shown one by one: the largest of p or q."""
    weight = np.maximum(p, q)
    few = min(CELLS, weight.size)
    order = np.argsort(-weight, kind="stable")[:few]
    return [int(token) for token in order if weight[token] > 0]


def _draft(model: Model, name: str) -> str:
    if name and name not in model.drafts:
        raise InvalidInput(f"proposer is {name!r:.40}; choose one of {', '.join(model.drafts)}.")
    return name or model.drafts[0]


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


def default_model() -> Live:
    """Give the default model, opened when first needed; without it only `status` answers."""
    from draftproof.lesson.real import missing, open_default

    return Live(open_default, missing)
