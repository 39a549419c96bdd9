"""Attacks on the lesson server's door; each must be refused, and the honest request must pass."""

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from draftproof.lesson import security
from draftproof.lesson.security import BASELINE, Door, Guard, page_policy, worker_policy

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
OURS = {"Origin": HOME, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse("page")


async def data(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture
def door():
    return Door(PORT)


@pytest.fixture
def stranger(door):
    """A caller without the token."""
    routes = [
        Route("/", page),
        Route("/lesson/3", page),
        Route("/form", data, methods=["POST"]),
        Route("/api/data", data, methods=["GET", "POST", "PUT"]),
    ]
    app = Guard(Starlette(routes=routes), door, body_limit=1000)
    return TestClient(app, base_url=HOME, follow_redirects=False)


@pytest.fixture
def learner(stranger, door):
    """A caller with the token."""
    stranger.cookies.set(door.cookie, door.token)
    return stranger


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
        f"0.0.0.0:{PORT}",
        f"localhost.:{PORT}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/data"])
def test_another_name_for_this_server_is_refused(learner, host, path):
    answer = learner.get(path, headers={"Host": host})
    assert answer.status_code == 400


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}"])
def test_the_loopback_names_with_the_right_port_are_answered(learner, host):
    assert learner.get("/", headers={"Host": host}).status_code == 200


def test_the_honest_request_passes(learner):
    assert learner.post("/api/data", content=b"{}", headers=OURS).text == "2"


@pytest.mark.parametrize(
    "attack",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://127.0.0.1:{PORT}"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": f"{HOME}.evil.example"},
        {"Origin": f"{HOME}/"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "text/plain; application/json"},
        {"Content-Type": "multipart/form-data; boundary=x"},
    ],
    ids=lambda attack: "-".join(map(str, *attack.items())),
)
@pytest.mark.parametrize("path", ["/api/data", "/form"])
def test_a_foreign_page_cannot_write_even_with_the_cookie(learner, attack, path):
    answer = learner.post(path, content=b"{}", headers=OURS | attack)
    assert answer.status_code == 403


@pytest.mark.parametrize("missing", ["Origin", "Content-Type"])
def test_a_write_must_say_where_it_comes_from_and_what_it_is(learner, missing):
    headers = {name: value for name, value in OURS.items() if name != missing}
    assert learner.post("/api/data", content=b"{}", headers=headers).status_code == 403


def test_origin_is_not_derived_from_host(learner):
    """Host and Origin that agree with each other but not with this server."""
    evil = OURS | {"Host": f"evil.example:{PORT}", "Origin": f"http://evil.example:{PORT}"}
    assert learner.post("/api/data", content=b"{}", headers=evil).status_code == 400


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_foreign_page_cannot_even_read_the_api(learner, site):
    assert learner.get("/api/data", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_the_api_needs_the_token_and_the_pages_do_not(stranger):
    assert stranger.get("/lesson/3").status_code == 200
    assert stranger.get("/api/data").status_code == 401
    assert stranger.post("/api/data", content=b"{}", headers=OURS).status_code == 401


@pytest.mark.parametrize("wrong", ["", "x", "é", "A" * 43])
def test_a_wrong_token_opens_nothing(stranger, door, wrong):
    cookie = f"{door.cookie}={wrong}".encode("latin-1")
    assert stranger.get("/api/data", headers={"Cookie": cookie}).status_code == 401
    assert stranger.get("/", params={"token": wrong}).status_code == 401


def test_the_cookie_of_another_port_opens_nothing(stranger, door):
    """Cookies ignore ports, so another local server's cookie arrives here as well."""
    stranger.cookies.set(f"draftproof-{PORT + 1}", door.token)
    assert stranger.get("/api/data").status_code == 401


def test_a_token_in_the_path_of_the_api_is_no_cookie(stranger, door):
    assert stranger.get("/api/data", params={"token": door.token}).status_code == 401


def test_the_link_with_the_token_sets_a_cookie_and_cleans_the_address(stranger, door):
    answer = stranger.get("/lesson/3", params={"token": door.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/lesson/3")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"draftproof-{PORT}={door.token};")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.get("/api/data").status_code == 200


def test_the_redirect_cannot_lead_to_another_host(stranger, door):
    answer = stranger.get(f"{HOME}//evil.example/", params={"token": door.token})
    assert answer.headers["location"] == "/evil.example/"


def test_each_start_has_its_own_token():
    one, other = Door(PORT), Door(PORT)
    assert one.token != other.token
    assert len(one.token) >= 43
    assert one.token not in repr(one)


@pytest.mark.parametrize("length", ["1001", "9" * 30, "-1", "abc", "1e9"])
def test_an_announced_oversized_or_senseless_length_is_refused(learner, length):
    headers = OURS | {"Content-Length": length}
    assert learner.post("/api/data", content=b"{}", headers=headers).status_code == 413


def test_an_unannounced_oversized_body_is_refused(learner):
    chunks = (b"x" * 100 for _ in range(11))
    assert learner.post("/api/data", content=chunks, headers=OURS).status_code == 413
    assert learner.post("/api/data", content=(b"x" * 100,), headers=OURS).text == "100"


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/nothing", 404), ("/api/data", 401), ("/?token=x", 401)]
)
def test_every_answer_carries_the_baseline_headers(stranger, path, status):
    answer = stranger.get(path)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in BASELINE} == BASELINE
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-embedder-policy"] == "require-corp"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_a_refused_host_is_not_told_more_than_one_sentence(learner):
    answer = learner.get("/", headers={"Host": "evil.example"})
    assert list(answer.json()) == ["error"]


def test_other_origins_get_no_preflight(learner):
    asks = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
    assert learner.options("/api/data", headers=asks).status_code == 403


def test_page_policy_allows_no_inline_script_no_eval_and_no_other_host():
    policy = page_policy("abc")
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self'"
    assert directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy


def test_worker_policy_reaches_the_interpreter_and_nothing_else():
    policy = worker_policy(HOME, "/static/worker.js", "/static/pyodide/")
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["connect-src"] == f"{HOME}/static/pyodide/"
    assert "'self'" not in policy
    assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")


class Anything(frozenset):
    """A set that claims to hold whatever is looked for."""

    def __contains__(self, _):
        return True


FAULTS = {
    "any Host is answered": (
        lambda patch: patch.setattr(Door, "hosts", Anything()),
        lambda learner: test_another_name_for_this_server_is_refused(learner, "evil.example", "/"),
    ),
    "any Origin may write": (
        lambda patch: patch.setattr(Door, "origins", Anything()),
        lambda learner: test_a_foreign_page_cannot_write_even_with_the_cookie(
            learner, {"Origin": "http://evil.example"}, "/api/data"
        ),
    ),
    "Origin is taken from Host": (
        lambda patch: [patch.setattr(Door, name, Anything()) for name in ("hosts", "origins")],
        lambda learner: test_origin_is_not_derived_from_host(learner),
    ),
    "nothing is asked of who reads": (
        lambda patch: patch.setattr(Guard, "_is_ours", lambda *_: True),
        lambda learner: test_a_foreign_page_cannot_even_read_the_api(learner, "cross-site"),
    ),
    "any token opens": (
        lambda patch: patch.setattr(Door, "opens_for", lambda *_: True),
        lambda learner: test_a_wrong_token_opens_nothing(learner, Door(PORT), "x"),
    ),
    "no token is needed": (
        lambda patch: patch.setattr(Door, "opens_for", lambda *_: True),
        lambda learner: (
            learner.cookies.clear(),
            test_the_api_needs_the_token_and_the_pages_do_not(learner),
        ),
    ),
    "any announced length will do": (
        lambda patch: patch.setattr(security, "_small", lambda *_: True),
        lambda learner: test_an_announced_oversized_or_senseless_length_is_refused(learner, "1001"),
    ),
    "what arrives is not counted": (
        lambda patch: patch.setattr(Guard, "_measured", lambda _, receive: receive),
        lambda learner: test_an_unannounced_oversized_body_is_refused(learner),
    ),
    "no content policy": (
        lambda patch: patch.delitem(BASELINE, "Content-Security-Policy"),
        lambda learner: test_every_answer_carries_the_baseline_headers(learner, "/", 200),
    ),
    "no baseline headers": (
        lambda patch: patch.setattr(security, "_with_baseline", lambda send: send),
        lambda learner: test_every_answer_carries_the_baseline_headers(learner, "/", 200),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guard_with_a_fault_would_be_noticed(learner, monkeypatch, fault):
    plant, attack = FAULTS[fault]
    attack(learner)
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        attack(learner)
