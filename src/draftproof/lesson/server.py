"""The lesson server: pages, their files, progress, and decoding on a real model.

It listens on the loopback address only, runs nobody's code, opens no path that a client names,
and lists nothing. `draftproof.lesson.security.Guard` stands in front of every route.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from draftproof.errors import BackendError, DraftproofError, InvalidInput, MissingExtra
from draftproof.lesson import export, measure, render, shelf
from draftproof.lesson.assets import Assets, shipped
from draftproof.lesson.live import Busy, Decoding, Live, default_model
from draftproof.lesson.notice import notice, wants_page
from draftproof.lesson.progress import Conflict, ProgressStore
from draftproof.lesson.security import Door, Guard, page_policy, worker_policy
from draftproof.lesson.standing import standings
from draftproof.lesson.timing import Halted

HOST = "127.0.0.1"
PORT = 8765
PORTS_TRIED = 20
LEARNER = "draftproof-learner"
"""The header in which a page names the folder that it was opened on."""

IMMUTABLE = "public, max-age=31536000, immutable"

Json: TypeAlias = dict[str, Any]
Say: TypeAlias = Callable[[str], None]


class Site:
    """Every route of the server, over the built files, a learner's progress and a model."""

    def __init__(self, assets: Assets, store: ProgressStore, live: Live) -> None:
        self.assets = assets
        self.store = store
        self.live = live

    def app(self, door: Door) -> ASGIApp:
        """Give the application behind its guard."""
        routes = [
            Route("/", self.chapter),
            Route("/lesson/{name}", self.lesson),
            Route("/static/{path:path}", self.file),
            Route("/api/status", self.status),
            Route("/api/progress", self.progress),
            Route("/api/progress", self.save, methods=["PUT"]),
            Route("/api/standing", self.standing),
            Route("/api/undo", self.undo, methods=["POST"]),
            Route("/api/export", self.export, methods=["POST"]),
            Route("/api/import", self.restore, methods=["POST"]),
            Route("/api/measure", self.measure, methods=["POST"]),
            Route("/api/measure-live", self.measure_live, methods=["POST"]),
            Route("/api/timing", self.timing, methods=["POST"]),
            Route("/api/run", self.run, methods=["POST"]),
        ]
        return Guard(Starlette(routes=routes, exception_handlers=HANDLERS), door)

    async def chapter(self, request: Request) -> Response:
        """Show the lessons there are, and what each needs."""
        nonce = secrets.token_urlsafe(16)
        return _page(render.render_chapter(self.assets, nonce=nonce), nonce)

    async def lesson(self, request: Request) -> Response:
        """Show one lesson, by number or id."""
        try:
            lesson = shelf.find(request.path_params["name"])
        except InvalidInput as error:
            raise HTTPException(404, str(error)) from None
        nonce = secrets.token_urlsafe(16)
        learner = await run_in_threadpool(self.store.learner)
        page = render.render_lesson(lesson, self.assets, nonce=nonce, learner=learner)
        return _page(page, nonce)

    async def file(self, request: Request) -> Response:
        """Send a built file; a name that the manifest does not hold is not looked for."""
        found = self.assets.find(request.path_params["path"])
        if found is None:
            raise HTTPException(404, "There is no such file.")
        headers = {"Cache-Control": IMMUTABLE}
        if found.name == self.assets.worker:
            origin = f"http://{request.headers['host']}"
            headers["Content-Security-Policy"] = worker_policy(
                origin, f"/static/{found.name}", f"/static/{self.assets.pyodide}/"
            )
        return Response(found.data, media_type=found.mime, headers=headers)

    async def status(self, request: Request) -> Response:
        """Say which version this is, and whether a model is here."""
        version = metadata.version("draftproof")
        return Ascii({"version": version, "model": self.live.status()})

    async def progress(self, request: Request) -> Response:
        """Give the saved progress."""
        self._same_learner(request)
        return Ascii((await run_in_threadpool(self.store.load)).public())

    async def standing(self, request: Request) -> Response:
        """Say how far the learner is in every lesson."""
        saved = await run_in_threadpool(self.store.load)
        return Ascii({"lessons": [one.public() for one in standings(saved.data)]})

    async def save(self, request: Request) -> Response:
        """Save progress over the revision it was read at; 409 with the newer state otherwise."""
        self._same_learner(request)
        body = await _body(request)
        rev, data = _field(body, "rev", int), _field(body, "data", dict)
        saved = await run_in_threadpool(self.store.save, rev, data)
        return Ascii({"rev": saved.rev, "undo": saved.undo})

    async def undo(self, request: Request) -> Response:
        """Bring back what the last reset or import dropped."""
        self._same_learner(request)
        return Ascii((await run_in_threadpool(self.store.undo)).public())

    async def export(self, request: Request) -> Response:
        """Give the progress as a report to read or as a file to import."""
        self._same_learner(request)
        body = await _body(request)
        wanted = _field(body, "format", str)
        text = await run_in_threadpool(export.document, self.store.load(), wanted)
        kind = {"markdown": "text/markdown", "json": "application/json"}[wanted]
        return Response(text.encode(errors="replace"), media_type=kind)

    async def restore(self, request: Request) -> Response:
        """Take over an exported file."""
        self._same_learner(request)
        body = await _body(request)
        export.check_document(body)
        return Ascii((await run_in_threadpool(self.store.restore, body)).public())

    def _same_learner(self, request: Request) -> None:
        """Refuse a page that was opened on another folder, whose work belongs there."""
        named = request.headers.get(LEARNER)
        if named is not None and named != self.store.learner():
            raise HTTPException(
                412,
                "This page was opened on another folder than “draftproof learn” serves now; "
                "start it on that folder again, or reload the page to see the one served now.",
            )

    async def measure(self, request: Request) -> Response:
        """Draw many steps on a pair of rows by either method, and judge the frequencies."""
        body = await _body(request)
        p, q = _field(body, "p", list), _field(body, "q", list)
        trials, seed = _field(body, "trials", int), _field(body, "seed", int)
        return Ascii(await run_in_threadpool(measure.measure, p, q, trials, seed))

    async def measure_live(self, request: Request) -> Response:
        """Do the same at one prompt of the real model."""
        body = await _body(request)
        return Ascii(await run_in_threadpool(self.live.measure, body))

    async def timing(self, request: Request) -> Response:
        """Time this machine on a prompt; a reader who leaves ends that."""
        timing = await run_in_threadpool(self.live.timing, await _body(request))
        watch = asyncio.create_task(_when_left(request, timing.stop))
        try:
            return Ascii(await run_in_threadpool(timing.result))
        finally:
            watch.cancel()

    async def run(self, request: Request) -> Response:
        """Decode a prompt, one trace record per line as it happens."""
        records = await run_in_threadpool(self.live.run, await _body(request))
        return Records(records)


def _page(text: str, nonce: str) -> Response:
    return HTMLResponse(text, headers={"Content-Security-Policy": page_policy(nonce)})


async def _when_left(request: Request, stop: Callable[[], None]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop()


async def _body(request: Request) -> Json:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return body


KINDS = {int: "a whole number", str: "text", list: "a list", dict: "a table"}


def _field(body: Json, name: str, kind: type[Any]) -> Any:
    value = body.get(name)
    if type(value) is not kind:
        raise HTTPException(400, f"The field {name!r} must be {KINDS[kind]}.")
    return value


class Ascii(JSONResponse):
    """JSON in ASCII, which carries even text that is not quite Unicode (half a pair)."""

    def render(self, content: object) -> bytes:
        """Give the bytes to send."""
        return json.dumps(content, allow_nan=False).encode("ascii")


class Records(StreamingResponse):
    """Sends each record as it comes, one per line; a reader who leaves ends the decoding."""

    def __init__(self, decoding: Decoding) -> None:
        super().__init__(self._lines(), media_type="application/x-ndjson")
        self.decoding = decoding

    async def _lines(self) -> AsyncIterator[str]:
        try:
            while (record := await run_in_threadpool(next, self.decoding, None)) is not None:
                yield json.dumps(record, allow_nan=False) + "\n"
        except DraftproofError as error:  # the status line is long sent, so say it in the stream
            yield json.dumps({"type": "error", "error": str(error)}) + "\n"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send, and close the decoding however that ends, even before the first record."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.decoding.close()


def _answer(status: int) -> Callable[[Request, Exception], Response]:
    def answer(_: Request, error: Exception) -> Response:
        return Ascii({"error": str(error)}, status_code=status)

    return answer


def _conflict(_: Request, error: Exception) -> Response:
    assert isinstance(error, Conflict)
    return Ascii({"error": str(error)} | error.current.public(), status_code=409)


def _too_deep(_: Request, __: Exception) -> Response:
    return Ascii({"error": "The body is nested too deeply."}, status_code=400)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if wants_page(request) and error.status_code == 404:
        return notice(request, 404, error.detail)
    return Ascii({"error": error.detail}, error.status_code, headers=error.headers)


HANDLERS: dict[Any, Callable[[Request, Exception], Response]] = {
    InvalidInput: _answer(400),
    RecursionError: _too_deep,
    Conflict: _conflict,
    Busy: _answer(409),
    Halted: _answer(503),
    MissingExtra: _answer(503),
    BackendError: _answer(500),
    HTTPException: _http,
}


def run(store: ProgressStore, port: int | None, path: str, say: Say, *, browser: bool) -> None:
    """Serve the lessons until interrupted, beginning with the page at `path`.

    `say` is told the address; with `browser` it is opened as well.

    Raises
    ------
    MissingExtra
        When the built pages are not there; says what to type.
    InvalidInput
        When no port can be opened.
    """
    assets = shipped()
    if not assets.built:
        raise MissingExtra(
            "the pages are not built; in a checkout type: make web (an installed package always "
            "has them: pip install --force-reinstall 'draftproof[lab]')"
        )
    with listen(port) as listening:
        serve(Site(assets, store, default_model()), listening, path, say, browser=browser)


def listen(port: int | None) -> socket.socket:
    """Open the listening socket: the port asked for, or the first free one from the default on.

    Raises
    ------
    InvalidInput
        When the port asked for, or every one tried, is taken.
    """
    tried = range(PORT, PORT + PORTS_TRIED) if port is None else [port]
    for one in tried:
        with contextlib.suppress(OSError):
            return socket.create_server((HOST, one))
    if port is None:
        raise InvalidInput(
            f"ports {tried[0]} to {tried[-1]} are all in use; choose one with --port N, or let "
            "the system choose with --port 0."
        )
    raise InvalidInput(
        f"port {port} cannot be opened, most likely because another program uses it; choose "
        "another with --port N, or let the system choose with --port 0."
    )


def serve(site: Site, listening: socket.socket, path: str, say: Say, *, browser: bool) -> None:
    """Answer on `listening` until interrupted; say the address, and open it if asked to."""
    door = Door(listening.getsockname()[1])
    address = f"http://{HOST}:{door.port}{path}?token={door.token}"
    say(f"The lessons are at {address}\nPress Ctrl+C to stop.")
    config = uvicorn.Config(
        site.app(door),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    opened = _opened(address, site.store.folder) if browser else contextlib.nullcontext()
    with opened, contextlib.suppress(KeyboardInterrupt):
        _Server(config, site.live).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Stops the decoding first, since an answer that goes on would hold up the end."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End on Ctrl-C, in the middle of a decoding as well."""
        self._live.stop()
        super().handle_exit(sig, frame)


@contextlib.contextmanager
def _opened(address: str, folder: Path) -> Iterator[None]:
    """Open a browser through a file that only this user can read.

    A command line is visible to every user of the machine, so the token must not be on one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".html", "open-", folder)
    except OSError:  # the page will say that nothing can be kept there
        handle, name = tempfile.mkstemp(".html", "open-")
    with open(handle, "w", encoding="utf-8") as out:
        target = html.escape(address)
        out.write(
            '<!doctype html><meta charset="utf-8"><title>draftproof</title>'
            f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">Open</a>\n'
        )
    link = Path(name).as_uri()
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    try:
        yield
    finally:
        os.unlink(name)
