"""No server is asked more often, or for longer, than was announced; and the end says why."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit import fake_server
from audit.fake_server import Behaviour, Handler, serving
from draftproof.audit.client import Client, Patience, Purse, Spent
from draftproof.audit.sequential import Budget
from draftproof.audit.server import FIRST_ANSWERS, ServerOptions, audit_server
from draftproof.errors import ServerError

HASTY = Patience(timeout=5, tries=3, pause=0.001)


class Wordless(Handler):
    """Answers without logprobs."""

    def say(self, status: int, what: Any) -> None:
        if isinstance(what, dict) and "choices" in what:
            what["choices"][0]["logprobs"] = None
        super().say(status, what)


class Empty(Handler):
    """Answers with nothing, and says that the text ended."""

    def say(self, status: int, what: Any) -> None:
        if isinstance(what, dict) and "choices" in what:
            lists = {"tokens": [], "token_logprobs": [], "top_logprobs": []}
            what["choices"] = [{"text": "", "finish_reason": "stop", "logprobs": lists}]
        super().say(status, what)


class Mute(Handler):
    """Takes every request and answers none, until it is released."""

    released = threading.Event()

    def do_GET(self) -> None:
        self.released.wait(30)

    def do_POST(self) -> None:
        self.released.wait(30)


class Trickling(Handler):
    """Answers with a byte now and then, without end."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not Mute.released.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()


class Cut(Handler):
    """Closes the connection in the middle of an answer."""

    def do_POST(self) -> None:
        self.behaviour.asked.append({})
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"{}")
        self.close_connection = True


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.txt"
    path.write_text("\n".join(f"w{at} w{at + 1}" for at in range(0, 24, 3)))
    return path


@pytest.fixture
def release() -> Iterator[None]:
    Mute.released.clear()
    yield
    Mute.released.set()


@pytest.mark.parametrize("handler", [Wordless, Empty])
def test_answers_that_name_no_tokens_end_the_audit_at_once(
    handler: type[Handler], prompts: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fake_server, "Handler", handler)
    behaviour = Behaviour(ids=False)
    budget = Budget(max_samples=300, seconds=60)
    with serving(behaviour) as url:
        report = audit_server(url, ServerOptions(prompts=prompts, budget=budget, patience=HASTY))
    assert (report.verdict, report.samples) == ("inconclusive", 0)
    assert report.reason.startswith("no target law: the answers of the server name no tokens")
    assert len(behaviour.asked) == report.facts["requests"] < 3 * FIRST_ANSWERS


def test_no_more_requests_are_sent_than_were_announced_whatever_fails(prompts: Path):
    behaviour, told = Behaviour(), []

    def storm(what: str) -> None:
        if not told:
            behaviour.mishaps = [500, 500, None] * 1000
        told.append(what)

    options = ServerOptions(
        prompts=prompts, patience=HASTY, budget=Budget(max_samples=400, detect=0.03)
    )
    with serving(behaviour) as url:
        report = audit_server(url, options, storm)
    most = report.facts["cost_estimate"]["requests"]
    assert f"at most {most:,} requests" in told[0]
    assert most - 3 <= len(behaviour.asked) <= most
    assert report.facts["requests"] == len(behaviour.asked)
    assert report.verdict == "inconclusive"
    assert "the requests announced beforehand were used up" in report.reason
    assert 0 < report.samples < 400


def test_a_long_list_of_prompts_is_not_asked_before_the_cost_is_told(tmp_path: Path):
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"w{at % 30} w{at % 7}" for at in range(200)))
    behaviour, told = Behaviour(), []
    options = ServerOptions(prompts=path, patience=HASTY, budget=Budget(max_samples=7))
    with serving(behaviour) as url:
        audit_server(url, options, lambda what: told.append(len(behaviour.asked)))
    assert told[0] < 40


def test_a_server_that_never_answers_ends_with_the_time_limit(
    prompts: Path, monkeypatch: pytest.MonkeyPatch, release: None
):
    monkeypatch.setattr(fake_server, "Handler", Mute)
    options = ServerOptions(prompts=prompts, budget=Budget(seconds=0.5))
    with serving(Behaviour()) as url, pytest.raises(ServerError, match=r"time limit of 0\.5 s"):
        audit_server(url, options)


def test_an_answer_that_trickles_ends_with_the_time(monkeypatch: pytest.MonkeyPatch, release: None):
    monkeypatch.setattr(fake_server, "Handler", Trickling)
    with serving(Behaviour()) as url, pytest.raises(Spent, match="the time ran out"):
        Client(url, purse=Purse(0.5)).complete("w1")


def test_an_answer_that_is_cut_off_is_asked_for_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fake_server, "Handler", Cut)
    behaviour = Behaviour()
    with serving(behaviour) as url, pytest.raises(ServerError, match="IncompleteRead"):
        Client(url, patience=HASTY).complete("w1")
    assert len(behaviour.asked) == HASTY.tries


def test_no_pause_goes_beyond_the_time_that_is_left():
    now = [0.0]
    purse = Purse(10, clock=lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    behaviour = Behaviour(mishaps=[500] * 100)
    patience = Patience(tries=50, pause=1)
    with serving(behaviour) as url, pytest.raises(Spent, match=r"the time ran out .*500"):
        Client(url, patience=patience, purse=purse, sleep=wait).complete("w1")
    assert now[0] == 1 + 2 + 4
    assert purse.sent == len(behaviour.asked) == 4
