"""Who may talk to the lesson server, and what its pages are allowed to do.

A server on the loopback address is reachable from every web page the learner has open, so being
bound to 127.0.0.1 protects nothing by itself. `Guard` stands in front of the application and asks,
in this order:

1. does ``Host`` name this machine and this port (a page that re-points its own name here does not);
2. for anything but reading: does the request come from a page of ours (``Origin`` and
   ``Sec-Fetch-Site``), and is it JSON, which a foreign form cannot send;
3. below ``/api/``: does it carry the token of this start;
4. is the body small enough.

The rules follow RFC 9110 (Host), the Fetch standard (Origin, Sec-Fetch-Site) and Content Security
Policy level 3.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from draftproof.lesson.notice import notice

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""The names by which a browser on this machine may call the server."""

BODY_LIMIT = 2_000_000
"""Largest request body in bytes; the largest honest one is a progress file with code drafts."""

OLD_TOKEN = (
    "The token in this address belongs to another start of “draftproof learn”. Open the address "
    "that it printed last."
)

READING = frozenset({"GET", "HEAD"})

BASELINE = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Headers of every answer; a handler may state a stricter or more useful value itself."""


def page_policy(nonce: str) -> str:
    """Content policy of an HTML page: own files only, and no inline code at all.

    Examples
    --------
    >>> "style-src 'self' 'nonce-abc'" in page_policy("abc")
    True
    """
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def worker_policy(origin: str, script: str, folder: str) -> str:
    """Content policy of the worker that runs learner code.

    The code may load the interpreter from its folder and reach nothing else, this server's own
    ``/api/`` included. `script` and `folder` are paths on `origin`; `folder` ends with a slash.

    Examples
    --------
    >>> worker_policy("http://localhost:1", "/static/w.js", "/static/py/").split("; ")[-1]
    'connect-src http://localhost:1/static/py/'
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {origin}{script} {origin}{folder} 'wasm-unsafe-eval'",
            f"connect-src {origin}{folder}",
        ]
    )


def fresh_token() -> str:
    """Give a new secret for one start of the server: 256 random bits, safe in a URL."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Door:
    """What a caller must show: the port it means, and the token of this start."""

    port: int
    token: str = field(default_factory=fresh_token, repr=False)

    @property
    def hosts(self) -> frozenset[str]:
        """Every acceptable value of the ``Host`` header."""
        with_port = {f"{name}:{self.port}" for name in NAMES}
        return frozenset(with_port | set(NAMES) if self.port == 80 else with_port)

    @property
    def origins(self) -> frozenset[str]:
        """Every acceptable value of the ``Origin`` header."""
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        """Name of the cookie; it carries the port, because cookies themselves ignore ports."""
        return f"draftproof-{self.port}"

    def opens_for(self, offered: str | None) -> bool:
        """Say whether `offered` is the token, in time that does not depend on the answer."""
        return offered is not None and hmac.compare_digest(offered.encode(), self.token.encode())


class Guard:
    """ASGI middleware that refuses what the door does not allow, and adds `BASELINE` headers."""

    def __init__(self, app: ASGIApp, door: Door, body_limit: int = BODY_LIMIT) -> None:
        self.app = app
        self.door = door
        self.body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request itself and pass the others on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            request = Request(scope)
            answer = self._refusal(request) or self._entry(request) or self.app
            await answer(scope, self._measured(receive), _with_baseline(send))
        else:  # no route speaks websocket
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if headers.get("host", "") not in self.door.hosts:
            return refuse(400, "This server answers only to its own loopback address and port.")
        writes = request.method not in READING
        guarded = request.url.path.startswith("/api/")
        if (writes or guarded) and not self._is_ours(request):
            return refuse(403, "Only a page of this server may make this request.")
        if writes and headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return refuse(403, "Only Content-Type: application/json is accepted.")
        if guarded and not self.door.opens_for(request.cookies.get(self.door.cookie)):
            return refuse(401, "Open the address that `draftproof learn` printed, token included.")
        if not _small(headers.get("content-length", "0"), self.body_limit):
            return refuse(413, f"The body may hold at most {self.body_limit} bytes.")
        return None

    def _is_ours(self, request: Request) -> bool:
        """Judge by what the browser itself states; a page cannot forge either header."""
        origin = request.headers.get("origin")
        known = origin in self.door.origins or (origin is None and request.method in READING)
        return known and request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")

    def _entry(self, request: Request) -> Response | None:
        """Trade ``?token=`` for a cookie and a clean address, so that no history keeps it."""
        offered = request.query_params.get("token")
        if offered is None or request.method not in READING:
            return None
        # A path of several slashes would be read as another host's address; keep exactly one.
        path = "/" + request.url.path.lstrip("/")
        if not self.door.opens_for(offered):
            return notice(request, 401, OLD_TOKEN, path=path)
        answer = RedirectResponse(path, status_code=303)
        answer.set_cookie(
            self.door.cookie, self.door.token, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _measured(self, receive: Receive) -> Receive:
        """Count the body as it arrives: a chunked request states no length."""
        seen = 0

        async def measured() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.body_limit:
                raise HTTPException(413, f"The body may hold at most {self.body_limit} bytes.")
            return message

        return measured


def refuse(status: int, why: str) -> Response:
    """Give the answer to a refused request: one sentence, as JSON."""
    return JSONResponse({"error": why}, status_code=status, headers=_closing(status))


def _closing(status: int) -> dict[str, str]:
    """Close the connection where the body was left unread."""
    return {"Connection": "close"} if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else {}


def _small(length: str, limit: int) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 16 and int(length) <= limit


def _with_baseline(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in BASELINE.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
