"""Asking a server: what it can do, answers and rows by the batch, and the file that keeps them.

Everything that was received is written down at once, one JSON object per line, so that an
interrupted audit loses nothing: what the file holds is not asked for again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from draftproof.audit.client import Client, Completion, Key, Listing, Refusal, Spent
from draftproof.audit.numerics import PLAIN, Setting, row_gap, settings_for
from draftproof.errors import InvalidInput, ServerError

FORMAT = "draftproof-server/1"
LONGEST_LISTS = (20, 5)
"""Lengths of top lists to ask for: what most engines allow, and what the first API allowed."""

PER_ANSWER = 8
"""Tokens per answer; the first comes with the prompt's own pass, and is not judged."""

FAR = 0.1
"""Rows of one position that differ by more than this, in logprob, are not one row."""

NO_CUT = {"top_k": -1, "min_p": 0.0}
SPECULATION_OFF = {"speculative.n_max": 0}
"""What llama.cpp's server takes to answer one request without drafts."""

Prompt: TypeAlias = "str | tuple[int, ...]"
Place: TypeAlias = "tuple[str, tuple[int, ...]]"
"""Whose row, and after which tokens."""


class Journal:
    """An append-only file of JSON lines, and what it held when it was opened.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    header
        What the samples depend on. A file with another header is refused.

    Raises
    ------
    InvalidInput
        If the file is of another audit, or cannot be read or written.
    """

    def __init__(self, path: Path | None, header: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        self.records: list[dict[str, Any]] = []
        self._stream = None
        if path is None:
            return
        try:
            held = path.read_bytes() if path.exists() else b""
            whole = held[: held.rfind(b"\n") + 1]
            self._read(path, whole, header)
            self._stream = path.open("r+b" if held else "w+b")
            self._stream.truncate(len(whole))
            self._stream.seek(len(whole))
        except OSError as error:
            raise InvalidInput(f"resume {path}: {error.strerror}; check the path.") from None
        if not whole:
            self.append({"format": FORMAT, **header})

    def _read(self, path: Path, whole: bytes, header: Mapping[str, Any]) -> None:
        try:
            lines = [json.loads(line) for line in whole.splitlines() if line.strip()]
        except ValueError as error:
            raise InvalidInput(f"resume {path}: it is not JSON lines ({error}).") from None
        if lines and lines[0] != json.loads(json.dumps({"format": FORMAT, **header})):
            raise InvalidInput(
                f"resume {path}: it was written by an audit of another server, with other prompts "
                f"or settings; name a new file."
            )
        self.records = lines[1:]

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one more record, at once."""
        if self._stream is None:
            return
        with self._lock:
            self._stream.write(json.dumps(record).encode() + b"\n")
            self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server was found to do.

    Parameters
    ----------
    length
        Tokens in its top lists.
    lists
        Whether it gives top lists at all.
    extended
        Whether it takes top-k and min-p, so that their bugs can be looked for.
    ids
        Whether prompts can be given, and tokens are told, by id.
    raw
        Whether its logprobs are the model's, before temperature and cuts.
    """

    length: int
    lists: bool
    extended: bool
    ids: bool
    raw: bool

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings to sample at."""
        return settings_for(self.length) if self.extended and self.length >= 5 else (PLAIN,)


def abilities_of(client: Client, prompt: str) -> tuple[Abilities, dict[str, Any]]:
    """Find out what a server can do, with a handful of requests.

    Returns
    -------
    The abilities, and the fields that every request needs.

    Raises
    ------
    ServerError
        If it answers nothing at all.
    """
    ids = client.token_ids(prompt)
    given: Prompt = ids if ids is not None else prompt
    first, length, extras = _first_answer(client, given)
    listed = first.lists[0] if first.lists else None
    numbered = ids is not None and all(isinstance(token, int) for token in first.tokens)
    fields: dict[str, Any] = {"logprobs": length} | extras
    size = min(length, len(listed)) if listed is not None else length
    raw = listed is not None and _is_raw(client, given, fields)
    return Abilities(size, listed is not None, bool(extras), numbered, raw), fields


def _first_answer(client: Client, prompt: Prompt) -> tuple[Completion, int, dict[str, Any]]:
    """Ask for ever less until the server agrees."""
    last: ServerError | None = None
    extended = NO_CUT | {"return_tokens_as_token_ids": True}
    for length, extras in itertools.product(LONGEST_LISTS, (extended, {})):
        try:
            fields = extras | {"logprobs": length, "max_tokens": 1, "temperature": 1.0}
            return client.complete(prompt, **fields), length, extras
        except Refusal as refusal:
            last = refusal
    raise ServerError(f"no form of completion request was accepted; the last: {last}")


def _is_raw(client: Client, prompt: Prompt, fields: Mapping[str, Any]) -> bool:
    """Say whether logprobs stay as they are when the temperature changes."""
    cold, hot = (
        client.complete(prompt, **fields, max_tokens=1, temperature=t).lists[:1] for t in (1.0, 2.0)
    )
    pairs = [(a, b) for a, b in zip(cold, hot, strict=True) if a is not None and b is not None]
    return bool(pairs) and all(row_gap(a, b) < FAR for a, b in pairs)


def turns_off(client: Client, prompts: Sequence[Prompt], fields: Mapping[str, Any]) -> bool:
    """Say whether the server says that it drafts, and can be told not to for one request."""
    counts = []
    for extra in ({}, SPECULATION_OFF):
        try:
            some = [client.complete(p, **fields, **extra, max_tokens=32, seed=1) for p in prompts]
        except ServerError:
            return False
        counts.append(sum(one.drafted or 0 for one in some))
    return counts[0] > 0 and counts[1] == 0


@dataclass(slots=True)
class Lost:
    """Requests that were given up: how many, how many in a row, and what the last one said."""

    total: int = 0
    in_a_row: int = 0
    last: str = ""

    def note(self, error: ServerError) -> None:
        """Count one more."""
        self.total, self.in_a_row, self.last = self.total + 1, self.in_a_row + 1, str(error)


class Asker:
    """Asks one or two servers for answers and rows, several requests at a time.

    Parameters
    ----------
    clients
        By role: ``"server"`` and, where there is one, ``"control"``.
    prompts
        By id where the server takes ids.
    fields
        What every request needs.
    journal
        Where everything is written down.
    concurrency
        Most requests at a time.

    `spent` says what was used up, once a request could not be sent for want of time or requests.
    """

    def __init__(
        self,
        clients: Mapping[str, Client],
        prompts: Sequence[Prompt],
        abilities: Abilities,
        fields: Mapping[str, Any],
        journal: Journal,
        *,
        concurrency: int,
        seed: int,
    ) -> None:
        self.clients, self.prompts, self.abilities = clients, prompts, abilities
        self._fields, self._journal, self._seed = dict(fields), journal, seed
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="asking")
        self._answers: dict[tuple[str, int], Completion] = {}
        self._rows: dict[Place, Listing | None] = {}
        self.lost = Lost()
        self.spent = ""
        for record in journal.records:
            self._recall(record)
        self.resumed = len(self._answers)

    def close(self) -> None:
        """Let go of the threads and the file; requests not yet sent are not sent."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._journal.close()

    def setting(self, ask: int) -> Setting:
        """Give the setting of an ask; prompts go round first, then settings."""
        settings = self.abilities.settings
        return settings[(ask // len(self.prompts)) % len(settings)]

    def prompt(self, ask: int) -> Prompt:
        """Give the prompt of an ask."""
        return self.prompts[ask % len(self.prompts)]

    def answers(self, who: str, asks: Iterable[int]) -> list[Completion | None]:
        """Give the answers to some asks, in order; None for those that were given up."""
        wanted = [(who, ask) for ask in asks]
        self._fetch(self._answer, [one for one in wanted if one not in self._answers])
        return [self._answers.get(one) for one in wanted]

    def rows(self, places: Iterable[Place]) -> dict[Place, Listing | None]:
        """Give the rows of some places, asked for without speculation having begun."""
        wanted = list(dict.fromkeys(places))
        self._fetch(self._row, [one for one in wanted if one not in self._rows])
        return {one: self._rows.get(one) for one in wanted}

    def row_again(self, who: str, prompt: Prompt) -> Listing | None:
        """Ask for one row, whether or not it is known."""
        done = self.clients[who].complete(prompt, **self._plain())
        return self.trimmed(done.lists[0]) if done.lists else None

    def trimmed(self, listed: Listing | None) -> Listing | None:
        """Cut a list to the length asked for: some servers add the token that was drawn."""
        if listed is None:
            return None
        return dict(itertools.islice(listed.items(), self.abilities.length))

    def _fetch(self, ask: Callable[[Any], None], wanted: Sequence[Any]) -> None:
        for done in [self._pool.submit(ask, one) for one in wanted]:
            try:
                done.result()
                self.lost.in_a_row = 0
            except Spent as error:
                self.spent = str(error)
            except ServerError as error:
                self.lost.note(error)

    def _answer(self, which: tuple[str, int]) -> None:
        who, ask = which
        seed = (self._seed * 1_000_003 + 2 * ask + (who == "control")) % 2**31
        fields = self._fields | self.setting(ask).fields()
        done = self.clients[who].complete(
            self.prompt(ask), **fields, max_tokens=PER_ANSWER, seed=seed
        )
        lists = [None if one is None else [*one.items()] for one in done.lists]
        self._journal.append({"who": who, "ask": ask} | asdict(done) | {"lists": lists})
        self._answers[which] = done

    def _row(self, place: Place) -> None:
        who, prefix = place
        done = self.clients[who].complete(prefix, **self._plain())
        listed = self.trimmed(done.lists[0]) if done.lists else None
        pairs = None if listed is None else [*listed.items()]
        self._journal.append({"who": who, "after": prefix, "list": pairs})
        self._rows[place] = listed

    def _plain(self) -> dict[str, Any]:
        cut = NO_CUT if self.abilities.extended else {}
        return self._fields | PLAIN.fields() | cut | {"max_tokens": 1}

    def _recall(self, record: Mapping[str, Any]) -> None:
        if "after" in record:
            place = (record["who"], tuple(record["after"]))
            self._rows[place] = _pairs(record["list"])
            return
        self._answers[record["who"], record["ask"]] = Completion(
            tuple(record["tokens"]),
            tuple(map(_pairs, record["lists"])),
            record["ended"],
            record["drafted"],
            record["accepted"],
        )


def _pairs(held: Sequence[tuple[Key, float]] | None) -> Listing | None:
    return None if held is None else dict(held)


def digest(prompts: Sequence[str]) -> str:
    """Give a short name for a list of prompts."""
    return hashlib.sha256(json.dumps(list(prompts)).encode()).hexdigest()[:16]
