"""A patient client for servers with the OpenAI completions API, and what their answers mean.

Requests are repeated with growing pauses when the server is busy (429), fails (5xx), is slow, or
closes the connection. An answer becomes a `Completion`: tokens, and beside each token the top
list of the server where there is one. A list that is missing or empty, or that gives a token the
logprob 0, is absent: engines report exactly that where they kept a drafted token without working
out its row, and it never means that the token was certain.
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from draftproof.errors import InvalidInput, ServerError

Key: TypeAlias = int | str
"""A token: its id where the server tells it, else its text."""

Listing: TypeAlias = Mapping[Key, float]
"""The top list of one position: logprobs by token, the likeliest first."""

RETRIED = frozenset({408, 409, 425, 429})
CERTAIN = -1e-9
"""A best logprob above this says p = 1, which is what an absent row is reported as."""

SHORTEST = 1e-3
"""The least time-out of a socket, in seconds; 0 would mean something else."""

PIECE = 1 << 16

_NUMBERED = re.compile(r"token_id:(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Parameters
    ----------
    tokens
        What was emitted, in order.
    lists
        For each token the top list at its position; None where it is absent.
    ended
        True when the text ended by itself, so that its last token may not be shown.
    drafted, accepted
        Draft tokens verified and kept for this answer, where the server says so.
    """

    tokens: tuple[Key, ...]
    lists: tuple[Listing | None, ...]
    ended: bool = False
    drafted: int | None = None
    accepted: int | None = None


def completion_of(answer: Any) -> Completion:
    """Read a server's answer, in the old form of logprobs or in the new one.

    Raises
    ------
    ServerError
        If it is not an answer of the completions API, or names no tokens.

    Examples
    --------
    >>> answer = {"choices": [{"text": "ab", "finish_reason": "length", "logprobs": {
    ...     "tokens": ["a", "b"], "token_logprobs": [-0.7, 0.0],
    ...     "top_logprobs": [{"b": -1.4, "a": -0.7}, {"b": 0.0}]}}]}
    >>> completion_of(answer).lists
    ({'a': -0.7, 'b': -1.4}, None)
    """
    try:
        choice = answer["choices"][0]
        known = choice.get("logprobs") or {}
        tokens, lists = _new_form(known) if known.get("content") else _old_form(known)
        timings = answer.get("timings") or {}
        return Completion(
            tokens,
            lists,
            ended=choice.get("finish_reason") == "stop",
            drafted=timings.get("draft_n"),
            accepted=timings.get("draft_n_accepted"),
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ServerError(
            f"the answer is not one of the completions API ({type(error).__name__}: {error}): "
            f"{json.dumps(answer)[:200]}"
        ) from error


def _new_form(known: Any) -> tuple[tuple[Key, ...], tuple[Listing | None, ...]]:
    entries = known["content"]
    lists = [{_key(one): one["logprob"] for one in e.get("top_logprobs") or []} for e in entries]
    return tuple(map(_key, entries)), tuple(map(listing, lists))


def _old_form(known: Any) -> tuple[tuple[Key, ...], tuple[Listing | None, ...]]:
    tokens = tuple(_key({"token": token}) for token in known.get("tokens") or [])
    tops = known.get("top_logprobs") or [None] * len(tokens)
    lists = [{_key({"token": t}): lp for t, lp in (top or {}).items()} for top in tops]
    if len(lists) != len(tokens):
        raise ValueError(f"{len(tokens)} tokens come with {len(lists)} top lists")
    return tokens, tuple(map(listing, lists))


def _key(entry: Mapping[str, Any]) -> Key:
    if isinstance(entry.get("id"), int):
        return int(entry["id"])
    text = str(entry["token"])
    numbered = _NUMBERED.match(text)
    return int(numbered[1]) if numbered else text


def listing(top: Mapping[Key, float | None]) -> Listing | None:
    """Put a top list in order; None for one that says nothing.

    Examples
    --------
    >>> listing({}), listing({"a": 0.0}), listing({"a": -2.0, "b": -0.2})
    (None, None, {'b': -0.2, 'a': -2.0})
    """
    finite = {key: float(lp) for key, lp in top.items() if lp is not None and math.isfinite(lp)}
    if not finite or max(finite.values()) > CERTAIN:
        return None
    return dict(sorted(finite.items(), key=lambda item: (-item[1], str(item[0]))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait, and how often to ask again.

    Parameters
    ----------
    timeout
        Seconds for one answer.
    tries
        Times a request is sent before it is given up.
    pause, longest
        Seconds before the second try, doubled for each further one, up to `longest`; a server's
        own Retry-After is honoured up to `longest` too.
    """

    timeout: float = 60.0
    tries: int = 5
    pause: float = 0.5
    longest: float = 30.0

    def before(self, again: int, asked_for: str | None) -> float:
        """Seconds to wait before trying again for the `again`-th time.

        Examples
        --------
        >>> Patience().before(3, None), Patience().before(1, "7"), Patience().before(1, "soon")
        (2.0, 7.0, 0.5)
        """
        wanted = self.pause * 2.0 ** (again - 1)
        if asked_for is not None and asked_for.strip().isdigit():
            wanted = max(wanted, float(asked_for))
        return min(wanted, self.longest)


class Refusal(ServerError):
    """The server understood and refused (a 4xx status other than "busy")."""


class Spent(ServerError):
    """Nothing more may be asked: the time or the number of requests is used up."""


TIME_IS_UP = "the time ran out"


class Purse:
    """What may still be spent on servers, in time and in completion requests, tries included.

    One purse is shared by all clients of an audit. Safe to use from several threads.

    Parameters
    ----------
    seconds
        Time that everything may take, from now on.
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> purse = Purse()
    >>> purse.allow(requests=1)
    >>> purse.take()
    >>> purse.take()
    Traceback (most recent call last):
    draftproof.audit.client.Spent: the requests announced beforehand were used up
    """

    def __init__(
        self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock, self._began, self._until = clock, clock(), seconds
        self._most = math.inf
        self._lock = threading.Lock()
        self.sent = 0

    def allow(self, *, requests: float | None = None, seconds: float | None = None) -> None:
        """Set how many requests, and how many seconds, the whole audit may take."""
        self._most = self._most if requests is None else requests
        self._until = self._until if seconds is None else seconds

    @property
    def spent(self) -> float:
        """Seconds since it was opened."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds left; 0 when the time is over."""
        return max(self._until - self.spent, 0.0)

    def check_time(self) -> None:
        """Raise `Spent` when the time is over."""
        if self.left <= 0:
            raise Spent(TIME_IS_UP)

    def take(self) -> None:
        """Take one request out, or raise `Spent`."""
        self.check_time()
        with self._lock:
            if self.sent >= self._most:
                raise Spent("the requests announced beforehand were used up")
            self.sent += 1


class Client:
    """One server. Safe to use from several threads.

    Parameters
    ----------
    url
        Its address, with or without ``/v1``.
    model, api_key
        Sent with every request where given.
    patience
        Time-outs and retries.
    extra
        Fields added to every completion request.
    sleep
        How to wait; tests need not.
    purse
        What may be spent, shared with other clients; without limits by default.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        patience: Patience | None = None,
        extra: Mapping[str, Any] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        purse: Purse | None = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidInput(f"url is {url!r}; give an address like http://127.0.0.1:8000/v1.")
        self.root = url.rstrip("/").removesuffix("/completions").removesuffix("/v1")
        self.patience = patience or Patience()
        self.extra = dict(extra or {})
        self.purse = purse or Purse()
        self._model, self._sleep = model, sleep
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def with_extra(self, extra: Mapping[str, Any]) -> Client:
        """Give the same server with further fields in every request."""
        twin = Client(
            self.root,
            model=self._model,
            patience=self.patience,
            sleep=self._sleep,
            purse=self.purse,
        )
        twin._headers, twin.extra = self._headers, self.extra | dict(extra)
        return twin

    def complete(self, prompt: str | Sequence[int], **fields: Any) -> Completion:
        """Ask for a completion.

        Raises
        ------
        Refusal
            If the server will not answer such a request.
        ServerError
            If it did not answer after all tries, or with something else.
        """
        given = prompt if isinstance(prompt, str) else list(prompt)
        model = {"model": self._model} if self._model else {}
        body = model | {"prompt": given} | self.extra | fields
        return completion_of(self.post("/v1/completions", body))

    def token_ids(self, text: str) -> tuple[int, ...] | None:
        """Give the ids of a text, where the server has a ``/tokenize`` that tells them."""
        body = {"content": text, "prompt": text, "add_special": True, "add_special_tokens": True}
        try:
            answer = self.post("/tokenize", body | ({"model": self._model} if self._model else {}))
            return tuple(int(token) for token in answer["tokens"]) or None
        except (ServerError, KeyError, TypeError, ValueError):
            return None

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a JSON object and read the JSON answer, patiently."""
        data = json.dumps(body).encode()
        text = self._patiently(urllib.request.Request(self.root + path, data, self._headers))
        try:
            return json.loads(text)
        except ValueError as error:
            raise ServerError(f"{self.root}{path} did not answer JSON: {text[:200]!r}") from error

    def get(self, url: str) -> str:
        """Read a page of text, such as metrics, patiently."""
        return self._patiently(urllib.request.Request(url, headers=self._headers))

    def pauses(self, prompt: str | Sequence[int], tokens: int) -> list[float]:
        """Stream one answer, and give the seconds between its pieces."""
        given = prompt if isinstance(prompt, str) else list(prompt)
        body = {"prompt": given, "max_tokens": tokens, "stream": True, "temperature": 1.0}
        body |= self.extra | ({"model": self._model} if self._model else {})
        request = urllib.request.Request(
            f"{self.root}/v1/completions", json.dumps(body).encode(), self._headers
        )
        self.purse.take()
        try:
            with self._opened(request) as stream:
                moments = [now for line in self._lines(stream) if (now := _piece_at(line))]
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{self.root} did not stream: {error}") from error
        return [later - earlier for earlier, later in itertools.pairwise(moments)]

    def _opened(self, request: urllib.request.Request) -> Any:
        """Send a request; no wait for the server is longer than the time that is left."""
        self.purse.check_time()
        seconds = min(self.patience.timeout, self.purse.left)
        return urllib.request.urlopen(request, timeout=max(seconds, SHORTEST))

    def _lines(self, stream: Any) -> Iterator[bytes]:
        """Give lines as they come, until the time is over."""
        for line in stream:
            self.purse.check_time()
            yield line

    def _whole(self, answer: Any) -> str:
        """Read an answer piece by piece, so that one that trickles ends with the time."""
        parts = []
        while part := answer.read1(PIECE):
            parts.append(part)
            self.purse.check_time()
        if answer.length:
            raise http.client.IncompleteRead(b"".join(parts), answer.length)
        return b"".join(parts).decode("utf-8", errors="replace")

    def _patiently(self, request: urllib.request.Request) -> str:
        asks = bool(request.full_url.endswith("/completions"))
        reason = TIME_IS_UP
        for again in range(1, self.patience.tries + 1):
            wish = None
            if asks:
                self.purse.take()
            try:
                with self._opened(request) as answer:
                    return self._whole(answer)
            except urllib.error.HTTPError as error:
                reason, wish = f"{error.code} {_said(error)}", error.headers.get("Retry-After")
                if error.code < 500 and error.code not in RETRIED:
                    raise Refusal(f"{request.full_url} refused: {reason}") from None
            except (OSError, http.client.HTTPException) as error:
                reason = f"{type(error).__name__}: {error}"
            pause = self.patience.before(again, wish)
            if pause >= self.purse.left:
                raise Spent(f"{TIME_IS_UP} ({request.full_url}: {reason})")
            if again < self.patience.tries:
                self._sleep(pause)
        raise ServerError(
            f"{request.full_url} did not answer in {self.patience.tries} tries; the last: {reason}"
        )


def _said(error: urllib.error.HTTPError) -> str:
    """Give the beginning of what came with a status of failure."""
    try:
        with error:
            return error.read(300).decode("utf-8", errors="replace")
    except (OSError, http.client.HTTPException) as worse:
        return f"({type(worse).__name__}: {worse})"


def _piece_at(line: bytes) -> float | None:
    """Give the moment of a piece of a streamed answer; None for other lines."""
    return time.monotonic() if line.startswith(b"data: {") else None
