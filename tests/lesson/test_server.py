"""The lesson server over HTTP: pages, files, progress, measuring, decoding, and its start."""

import contextlib
import json
import os
import signal
import socket
import stat
import threading
import time

import httpx2
import pytest
from starlette.testclient import TestClient

from draftproof.errors import InvalidInput, MissingExtra
from draftproof.lesson import server
from draftproof.lesson.assets import Assets
from draftproof.lesson.live import Live
from draftproof.lesson.progress import KIND, ProgressStore
from draftproof.lesson.security import Door
from draftproof.trace import replay
from lesson import toy

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
OURS = {"Origin": HOME, "Sec-Fetch-Site": "same-origin"}
BUILT = {
    "main-1.js": b"main",
    "worker-2.js": b"worker",
    "py-3/pyodide.mjs": b"module",
    "py-3/python.wasm": b"\0asm",
    "THIRD_PARTY_LICENSES": b"licences",
}


@pytest.fixture
def assets(tmp_path):
    root = tmp_path / "static"
    for name, data in BUILT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (tmp_path / "secret.js").write_bytes(b"secret")
    files = {"main.js": "main-1.js", "worker.js": "worker-2.js", "pyodide": "py-3"}
    (root / "manifest.json").write_text(json.dumps({"files": files}), encoding="utf-8")
    (root / "maths.json").write_text("{}", encoding="utf-8")
    return Assets.read(root)


@pytest.fixture
def model():
    return toy.ToyModel()


@pytest.fixture
def site(assets, tmp_path, model):
    return server.Site(assets, ProgressStore(tmp_path / "data"), Live(lambda: model, lambda: None))


@pytest.fixture
def page(site):
    """A page of this server: it has the token and states its origin."""
    door = Door(PORT)
    client = TestClient(site.app(door), base_url=HOME, headers=OURS)
    client.cookies.set(door.cookie, door.token)
    return client


# ------------------------------------------------------------------------------------ pages


def test_the_chapter_links_to_the_lessons(page):
    answer = page.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert 'href="/lesson/3"' in answer.text
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["3", "rejection-correction"])
def test_a_lesson_answers_to_its_number_and_its_id(page, name):
    assert "<h1>Rejection correction</h1>" in page.get(f"/lesson/{name}").text


@pytest.mark.parametrize("name", ["99", "x" * 3000, "<script>", "..%2f..%2fetc%2fpasswd"])
def test_an_unknown_lesson_is_a_404_in_json(page, name):
    answer = page.get(f"/lesson/{name}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/lesson/99", "/lesson/%3Cscript%3E", "/nowhere"])
def test_a_browser_gets_a_page_with_the_way_back(page, path):
    answer = page.get(path, headers=BROWSER)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert '<a href="/">' in answer.text
    assert "<script>" not in answer.text


def test_an_old_address_shows_a_page_that_says_so(page):
    answer = page.get("/lesson/3?token=old", headers=BROWSER)
    assert answer.status_code == 401
    assert "another start" in answer.text
    assert '<a href="/lesson/3">' in answer.text


def test_each_page_has_a_fresh_nonce_in_policy_and_page(page):
    nonces = set()
    for _ in range(2):
        answer = page.get("/lesson/3")
        policy = answer.headers["content-security-policy"]
        nonce = policy.split("'nonce-")[1].split("'")[0]
        assert nonce in answer.text
        nonces.add(nonce)
    assert len(nonces) == 2


# ------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("main-1.js", "text/javascript; charset=utf-8"),
        ("py-3/pyodide.mjs", "text/javascript; charset=utf-8"),
        ("py-3/python.wasm", "application/wasm"),
    ],
)
def test_built_files_have_their_type_and_may_be_kept(page, name, mime):
    answer = page.get(f"/static/{name}")
    assert (answer.content, answer.headers["content-type"]) == (BUILT[name], mime)
    assert answer.headers["cache-control"] == server.IMMUTABLE
    assert answer.headers["cross-origin-embedder-policy"] == "require-corp"


def test_only_the_worker_gets_the_policy_that_lets_it_run_python(page):
    policy = page.get("/static/worker-2.js").headers["content-security-policy"]
    assert f"connect-src {HOME}/static/py-3/" in policy
    assert f"script-src {HOME}/static/worker-2.js {HOME}/static/py-3/ 'wasm-unsafe-eval'" in policy
    assert "wasm" not in page.get("/static/main-1.js").headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "py-3",
        "py-3/",
        "../secret.js",
        "%2e%2e/secret.js",
        "..%2fsecret.js",
        "py-3/..%2f..%2f..%2fsecret.js",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "C:%5cwindows",
        "main-1.js%00",
        "main-1.js/",
        "MAIN-1.JS",
    ],
)
def test_no_path_leads_outside_the_built_files_and_nothing_is_listed(page, path):
    answer = page.get(f"/static/{path}")
    assert answer.status_code == 404
    assert b"secret" not in answer.content


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/execute", "/static", "/lesson/"])
def test_there_is_nothing_else(page, path):
    assert page.get(path, follow_redirects=False).status_code in (404, 307)


def test_no_route_takes_code(site):
    """Every body field that any route reads is listed here; none holds a program to run."""
    posts = {"/api/undo", "/api/export", "/api/import", "/api/measure", "/api/measure-live"}
    posts |= {"/api/timing"}
    app = site.app(Door(PORT)).app
    found = {route.path for route in app.routes if "POST" in (route.methods or ())}
    assert found == posts | {"/api/run"}


# --------------------------------------------------------------------------------- progress


def test_progress_is_saved_by_revision_and_a_second_tab_is_told(page):
    assert page.get("/api/progress").json() == {"rev": 0, "data": {}, "undo": False}
    assert page.put("/api/progress", json={"rev": 0, "data": {"a": 1}}).json()["rev"] == 1
    stale = page.put("/api/progress", json={"rev": 0, "data": {}})
    assert stale.status_code == 409
    assert (stale.json()["rev"], stale.json()["data"]) == (1, {"a": 1})


def test_the_chapter_page_is_told_how_far_each_lesson_is(page):
    steps = {"predict": {"choice": "yes", "doneAt": "2026-01-01"}}
    data = {"v": 1, "lessons": {"rejection-correction": {"steps": steps}}}
    page.put("/api/progress", json={"rev": 0, "data": data})
    found = page.get("/api/standing").json()["lessons"]
    assert [one["words"] for one in found][1:4] == ["not begun", "1 of 7 steps done", "not begun"]
    assert (found[2]["lesson"], found[2]["done"]) == ("rejection-correction", 1)


def test_two_tabs_at_once_cannot_both_save_one_revision(page):
    statuses = []

    def tab(name):
        answer = page.put("/api/progress", json={"rev": 0, "data": {name: 1}})
        statuses.append(answer.status_code)

    tabs = [threading.Thread(target=tab, args=(str(n),)) for n in range(8)]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join()
    assert sorted(statuses) == [200] + [409] * 7


def test_a_reset_is_undone(page):
    page.put("/api/progress", json={"rev": 0, "data": {"a": 1}})
    assert page.put("/api/progress", json={"rev": 1, "data": {}}).json() == {"rev": 2, "undo": True}
    assert page.post("/api/undo", json={}).json()["data"] == {"a": 1}


def test_a_page_of_another_folder_reads_and_changes_nothing(page, site, tmp_path):
    theirs = {"Draftproof-Learner": site.store.learner()}
    assert theirs["Draftproof-Learner"] in page.get("/lesson/3").text
    assert page.get("/api/progress", headers=theirs).status_code == 200
    site.store = ProgressStore(tmp_path / "another")
    asked = [
        page.get("/api/progress", headers=theirs),
        page.put("/api/progress", json={"rev": 0, "data": {"a": 1}}, headers=theirs),
        page.post("/api/undo", json={}, headers=theirs),
        page.post("/api/export", json={"format": "json"}, headers=theirs),
        page.post("/api/import", json={"kind": KIND, "data": {"lessons": {}}}, headers=theirs),
    ]
    assert [answer.status_code for answer in asked] == [412] * 5
    assert "another folder" in asked[0].json()["error"]
    assert page.get("/api/progress").json()["rev"] == 0


def file_with(lesson):
    return {"kind": KIND, "data": {"v": 1, "lessons": {"blocks": lesson}}}


@pytest.mark.parametrize(
    "document",
    [
        {"kind": KIND, "data": {"lessons": [1, 2]}},
        {"kind": KIND, "data": {"v": 2, "lessons": {}}},
        {"kind": KIND, "data": {}},
        file_with([]),
        file_with({"steps": []}),
        file_with({"steps": {"code": "x"}}),
        file_with({"steps": {"code": {"draft": 5}}}),
        file_with({"steps": {"code": {"before": 5}}}),
        file_with({"steps": {"numbers": {"one": {"raw": ["1"]}}}}),
        file_with({"steps": {"numbers": {"one": {"hints": "2"}}}}),
        file_with({"steps": {}, "resetAt": 3}),
    ],
)
def test_a_damaged_export_is_refused_in_a_sentence_and_nothing_is_lost(page, document):
    page.put("/api/progress", json={"rev": 0, "data": {"a": 1}})
    answer = page.post("/api/import", json=document)
    assert answer.status_code == 400
    assert "nothing was changed" in answer.json()["error"]
    assert page.get("/api/progress").json()["data"] == {"a": 1}


def test_export_then_import_brings_everything_back(page, site, tmp_path):
    data = {"v": 1, "lessons": {"rejection-correction": {"steps": {"predict": {"choice": "yes"}}}}}
    page.put("/api/progress", json={"rev": 0, "data": data})
    exported = page.post("/api/export", json={"format": "json"})
    site.store = ProgressStore(tmp_path / "another")
    assert page.post("/api/import", json=exported.json()).json()["data"] == data


def test_the_report_names_the_lesson_and_quotes_the_answer(page):
    steps = {"predict": {"choice": "yes"}, "code": {"draft": "import numpy as np\n```"}}
    data = {"v": 1, "lessons": {"rejection-correction": {"steps": steps}}}
    page.put("/api/progress", json={"rev": 0, "data": data})
    answer = page.post("/api/export", json={"format": "markdown"})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "## Lesson 3: Rejection correction" in answer.text
    assert "Answered: **Yes" in answer.text
    assert "````python\nimport numpy as np\n```\n````" in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/progress", b""),
        ("/api/progress", b"{"),
        ("/api/progress", b"[]"),
        ("/api/progress", b"[" * 100_000),
        ("/api/progress", b'{"rev": 0}'),
        ("/api/progress", b'{"rev": "0", "data": {}}'),
        ("/api/progress", b'{"rev": true, "data": {}}'),
        ("/api/progress", b'{"rev": 0, "data": []}'),
        ("/api/progress", b'{"rev": 0, "data": {"a": NaN}}'),
        ("/api/progress", b'{"rev": 0, "data": {"a": 1e999}}'),
        ("/api/progress", b"\xff\xfe"),
        ("/api/import", b'{"data": {}}'),
        ("/api/export", b'{"format": "pdf"}'),
        ("/api/export", b'{"format": "../../x"}'),
        ("/api/undo", b"{}"),
        ("/api/measure", b'{"p": ["1/2"]}'),
        ("/api/measure", b'{"p": ["1/2","1/2"], "q": ["1","0","0"], "trials": 10, "seed": 1}'),
        ("/api/measure", b'{"p": ["1e99999999"], "q": ["1"], "trials": 10, "seed": 1}'),
        ("/api/run", b"{}"),
        ("/api/measure-live", b'{"prompt": "x", "rounds": 0}'),
        ("/api/timing", b'{"prompt": "x", "most_k": 0}'),
        ("/api/timing", b'{"prompt": " "}'),
    ],
)
def test_a_senseless_body_is_a_400_with_one_sentence(page, path, body):
    method = "PUT" if path == "/api/progress" else "POST"
    headers = {"Content-Type": "application/json"}
    answer = page.request(method, path, content=body, headers=headers)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert page.get("/api/progress").json()["rev"] == 0


def test_text_that_is_not_quite_unicode_is_kept(page):
    body = rb'{"rev": 0, "data": {"draft": "\ud800"}}'
    headers = {"Content-Type": "application/json"}
    assert page.put("/api/progress", content=body, headers=headers).status_code == 200
    assert page.get("/api/progress").status_code == 200
    assert page.post("/api/export", json={"format": "markdown"}).status_code == 200


# ---------------------------------------------------------------------- measuring, decoding


def test_measure_gives_the_laws_as_fractions(page):
    body = {"p": ["1/2", "3/10", "1/5"], "q": ["1/4", "1/2", "1/4"], "trials": 20_000, "seed": 3}
    methods = page.post("/api/measure", json=body).json()["methods"]
    assert methods["exact"]["law"] == ["1/2", "3/10", "1/5"]
    assert methods["naive"]["law"] == ["3/8", "3/8", "1/4"]
    assert [methods[name]["verdict"] for name in ("exact", "naive")] == ["consistent", "refuted"]


def test_run_streams_a_trace_that_replays(page):
    answer = page.post("/api/run", json={"prompt": "hello", "k": 2, "max_tokens": 12, "seed": 1})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [records[0]["type"], records[-1]["type"]] == ["header", "end"]
    assert replay(records) == []


def test_the_model_is_free_again_after_a_run(page):
    for _ in range(2):
        assert page.post("/api/run", json={"prompt": "a"}).status_code == 200
    assert page.post("/api/measure-live", json={"prompt": "hello hello"}).status_code == 200


def test_while_one_decodes_another_is_told_to_wait(page, site):
    running = site.live.run({"prompt": "a"})
    assert page.post("/api/run", json={"prompt": "a"}).status_code == 409
    running.close()
    assert page.post("/api/run", json={"prompt": "a"}).status_code == 200


def test_without_the_model_the_page_is_told_what_to_type(page, site):
    def missing():
        raise MissingExtra("type: draftproof setup")

    site.live = Live(missing, lambda: "draftproof setup")
    model = page.get("/api/status").json()["model"]
    assert (model["available"], model["how"]) == (False, "draftproof setup")
    for path in ("/api/run", "/api/measure-live", "/api/timing"):
        answer = page.post(path, json={"prompt": "a"})
        assert answer.status_code == 503
        assert "draftproof setup" in answer.json()["error"]


def test_a_failure_in_the_middle_of_a_run_is_the_last_record(page, site, model, monkeypatch):
    def fails(text, draft):
        raise server.BackendError("the model stopped")

    monkeypatch.setattr(model.backend, "logits", fails)
    answer = page.post("/api/run", json={"prompt": "a"})
    last = json.loads(answer.text.splitlines()[-1])
    assert last == {"type": "error", "error": "the model stopped"}
    monkeypatch.undo()
    assert page.post("/api/run", json={"prompt": "a"}).status_code == 200


# ------------------------------------------------------------------------------ real sockets


@pytest.fixture
def serving(site, monkeypatch):
    """The real server in a thread; gives its address."""
    said, servers = [], []

    class Threaded(server._Server):
        def capture_signals(self):
            servers.append(self)
            return contextlib.nullcontext()

    monkeypatch.setattr(server, "_Server", Threaded)
    where = (site, server.listen(0), "/lesson/3", said.append)
    thread = threading.Thread(target=server.serve, args=where, kwargs={"browser": False})
    thread.start()
    while not servers:
        time.sleep(0.01)
    yield said[0].split()[4]
    servers[0].handle_exit(signal.SIGINT, None)
    thread.join(5)
    assert not thread.is_alive()


def test_a_reader_who_leaves_stops_the_timing(serving, model):
    """Otherwise the model would stay taken for the 300 passes of a whole timing."""
    model.backend.seconds = 0.05
    home = serving.split("/lesson")[0]
    with httpx2.Client(base_url=home, headers={"Origin": home}) as client:
        client.get(serving)
        with pytest.raises(httpx2.ReadTimeout):
            client.post("/api/timing", json={"prompt": "a", "most_k": 3}, timeout=0.5)
        deadline = time.monotonic() + 5
        while client.post("/api/run", json={"prompt": "a", "max_tokens": 1}).status_code == 409:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert model.backend.passes < 200


def test_a_reader_who_leaves_stops_the_decoding(serving, site, model):
    model.backend.seconds = 0.02
    home = serving.split("/lesson")[0]
    with httpx2.Client(base_url=home, headers={"Origin": home}) as client:
        assert client.get(serving).status_code == 303
        ask = {"prompt": "a", "k": 0, "max_tokens": 200}
        with client.stream("POST", "/api/run", json=ask) as answer:
            next(answer.iter_lines())
        deadline = time.monotonic() + 5
        while client.post("/api/run", json=ask | {"max_tokens": 1}).status_code == 409:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert model.backend.passes < 100


def test_stopping_the_server_stops_the_decoding(serving, site, model):
    """The fixture asks the server to stop while this answer would go on for 200 s."""
    model.backend.seconds = 1.0
    home = serving.split("/lesson")[0]
    client = httpx2.Client(base_url=home, headers={"Origin": home})
    client.get(serving)
    ask = client.build_request("POST", "/api/run", json={"prompt": "a", "k": 0, "max_tokens": 200})
    answer = client.send(ask, stream=True)
    assert next(answer.iter_lines())


def test_an_address_with_dots_reaches_no_file(serving):
    """Sent raw, since clients tidy such paths up before sending."""
    port = int(serving.split(":")[2].split("/")[0])
    for path in ("/static/../secret.js", "/static/../../../etc/passwd", "//evil.example/"):
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert raw.recv(1000).startswith(b"HTTP/1.1 404")


def test_it_listens_on_the_loopback_address_only():
    with server.listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_the_default_port_or_the_next_free_one(monkeypatch):
    with server.listen(0) as first:
        monkeypatch.setattr(server, "PORT", first.getsockname()[1])
        with server.listen(None) as second:
            assert server.PORT < second.getsockname()[1] < server.PORT + server.PORTS_TRIED


def test_a_busy_port_that_was_asked_for_is_one_sentence():
    with server.listen(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InvalidInput, match=rf"port {port} cannot be opened.*--port"):
            server.listen(port)


def test_when_every_port_is_taken_it_says_so(monkeypatch):
    with server.listen(0) as first:
        monkeypatch.setattr(server, "PORT", first.getsockname()[1])
        monkeypatch.setattr(server, "PORTS_TRIED", 1)
        with pytest.raises(InvalidInput, match=r"all in use.*--port 0"):
            server.listen(None)


def test_the_browser_is_opened_through_a_file_only_this_user_can_read(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    with server._opened("http://127.0.0.1:1/?token=a&b", tmp_path):
        (file,) = tmp_path.iterdir()
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "url=http://127.0.0.1:1/?token=a&amp;b" in file.read_text(encoding="utf-8")
        deadline = time.monotonic() + 5
        while not opened and time.monotonic() < deadline:
            time.sleep(0.01)
        assert opened == [file.as_uri()]
        assert "token" not in opened[0]
    assert list(tmp_path.iterdir()) == []


def test_the_browser_is_opened_where_no_progress_can_be_kept_too(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    (tmp_path / "a file").write_text("")
    with server._opened("http://127.0.0.1:1/", tmp_path / "a file" / "folder"):
        deadline = time.monotonic() + 5
        while not opened and time.monotonic() < deadline:
            time.sleep(0.01)
    assert len(opened) == 1
