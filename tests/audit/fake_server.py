"""A server with the completions API over a toy model whose rows are known, with bugs on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from draftproof.warp import Warp

VOCAB = 32
WORDS = [f" w{token}" for token in range(VOCAB)]
DRAFTS = 3
BUGS = (
    "temperature on the draft only",
    "resample from p",
    "min-p skipped on drafts",
    "top-k on the draft only",
)


@cache
def scores(last: int, kind: str) -> np.ndarray:
    """Logits after one token: the target's, and a draft's that resembles them."""
    seed = int.from_bytes(hashlib.sha256(f"{last}".encode()).digest()[:4], "big")
    target = np.random.default_rng(seed).normal(0, 1.3, VOCAB)
    if kind == "target":
        return target
    return target + np.random.default_rng(seed + 1).normal(0, 0.5, VOCAB)


@dataclass
class Behaviour:
    """How the server behaves; `mishaps` are statuses to come (0: hang up, None: none)."""

    bug: str | None = None
    speculates: bool = True
    greedy: bool = False
    noise: float = 0.0
    lists: str = "all"
    ids: bool = True
    metrics: bool = True
    old_form: bool = False
    strict_api: bool = False
    mishaps: list[int | None] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    drafted: int = 0
    accepted: int = 0
    busy: int = 0
    most_busy: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def logits(self, last: int) -> np.ndarray:
        """The target's logits on this machine."""
        return scores(last, "target") + self.noise * scores(last + 1000, "target")


def _warp(body: dict[str, Any], **changed: Any) -> Warp:
    top_k = body.get("top_k", -1)
    fields: dict[str, Any] = {
        "temperature": body.get("temperature", 1.0),
        "top_k": top_k if top_k > 0 else None,
        "min_p": body.get("min_p", 0.0),
    }
    return Warp(**fields | changed)


@dataclass
class Writer:
    """Writes one answer by speculative decoding."""

    behaviour: Behaviour
    body: dict[str, Any]
    rng: np.random.Generator

    def write(self, last: int, length: int) -> list[tuple[int, int, bool]]:
        """Tokens, each with the token before it and whether it was a kept draft."""
        out = [self.plain(last)]
        while len(out) < length:
            out += self.round(out[-1][0]) if self.behaviour.speculates else [self.plain(out[-1][0])]
        return out[:length]

    def plain(self, last: int) -> tuple[int, int, bool]:
        row = _warp(self.body).row(self.behaviour.logits(last))
        return int(self.rng.choice(VOCAB, p=row)), last, False

    def round(self, last: int) -> list[tuple[int, int, bool]]:
        out: list[tuple[int, int, bool]] = []
        for _ in range(DRAFTS):
            colder = {"temperature": 0.0} if self.behaviour.greedy else {}
            q = _warp(self.body, **colder).row(scores(last, "draft"))
            draft = int(self.rng.choice(VOCAB, p=q))
            p = self.judge().row(self.behaviour.logits(last))
            self.behaviour.drafted += 1
            if self.rng.random() * q[draft] < p[draft]:
                self.behaviour.accepted += 1
                out.append((draft, last, True))
                last = draft
                continue
            rest = p if self.behaviour.bug == "resample from p" else np.maximum(p - q, 0)
            return [*out, (int(self.rng.choice(VOCAB, p=rest / rest.sum())), last, False)]
        return [*out, self.plain(last)]

    def judge(self) -> Warp:
        """The warp of the rows that drafted positions are judged by."""
        changed: dict[str, dict[str, Any]] = {
            "temperature on the draft only": {"temperature": 1.0},
            "min-p skipped on drafts": {"min_p": 0.0},
            "top-k on the draft only": {"top_k": None},
        }
        return _warp(self.body, **changed.get(self.behaviour.bug or "", {}))


def _top(behaviour: Behaviour, last: int, count: int) -> list[tuple[int, float]]:
    logits = behaviour.logits(last)
    logprobs = logits - np.logaddexp.reduce(logits)
    return [(int(t), float(logprobs[t])) for t in np.argsort(-logprobs)[:count]]


def _entries(behaviour: Behaviour, body: dict[str, Any], written: Any) -> list[dict[str, Any]]:
    entries = []
    for token, last, kept in written:
        top = _top(behaviour, last, body.get("logprobs") or 0)
        hidden = behaviour.lists == "none" or (behaviour.lists == "not drafted" and kept)
        own = dict(_top(behaviour, last, VOCAB))[token]
        entry: dict[str, Any] = {"token": WORDS[token], "logprob": 0.0 if hidden else own}
        listed = [] if hidden else top
        entry["top_logprobs"] = [
            {"token": WORDS[t], "logprob": lp} | ({"id": t} if behaviour.ids else {})
            for t, lp in listed
        ]
        entries.append(entry | ({"id": token} if behaviour.ids else {}))
    return entries


def _logprobs(behaviour: Behaviour, entries: list[dict[str, Any]]) -> dict[str, Any]:
    if not behaviour.old_form:
        return {"content": entries}
    tops = [[*one["top_logprobs"], one] for one in entries]
    return {
        "tokens": [one["token"] for one in entries],
        "token_logprobs": [one["logprob"] for one in entries],
        "top_logprobs": [{one["token"]: one["logprob"] for one in top} for top in tops],
    }


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for a `Behaviour`."""

    protocol_version = "HTTP/1.1"
    behaviour: Behaviour

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/metrics" or not self.behaviour.metrics:
            return self.say(404, "no such page")
        counts = {"drafts": 0, "draft_tokens": self.behaviour.drafted}
        counts |= {"drafts": self.behaviour.drafted, "accepted_tokens": self.behaviour.accepted}
        return self.say(
            200, "".join(f"toy:spec_decode_num_{n}_total {c}\n" for n, c in counts.items())
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            ids = [WORDS.index(f" {word}") for word in body["content"].split()]
            return self.say(200, {"tokens": ids}) if self.behaviour.ids else self.say(404, "no")
        with self.behaviour.lock:
            self.behaviour.asked.append(body)
            mishap = self.behaviour.mishaps.pop(0) if self.behaviour.mishaps else None
            self.behaviour.busy += 1
            self.behaviour.most_busy = max(self.behaviour.most_busy, self.behaviour.busy)
        if mishap == 0:
            self.over()
            return self.connection.close()
        return self.say(mishap, "mishap") if mishap else self.complete(body)

    def over(self) -> None:
        """Count the request as done, before its answer can be seen."""
        with self.behaviour.lock:
            self.behaviour.busy -= self.path.endswith("/completions")

    def complete(self, body: dict[str, Any]) -> None:
        if self.behaviour.strict_api and {"top_k", "return_tokens_as_token_ids"} & set(body):
            return self.say(400, "unknown field")
        prompt = body["prompt"]
        last = prompt[-1] if isinstance(prompt, list) else WORDS.index(" " + prompt.split()[-1])
        rng = np.random.default_rng(body.get("seed", len(self.behaviour.asked)))
        written = Writer(self.behaviour, body, rng).write(last, body.get("max_tokens", 16))
        entries = _entries(self.behaviour, body, written)
        text = "".join(WORDS[token] for token, _, _ in written)
        choice = {"text": text, "finish_reason": "length"}
        return self.say(
            200, {"choices": [choice | {"logprobs": _logprobs(self.behaviour, entries)}]}
        )

    def say(self, status: int, what: Any) -> None:
        self.over()
        data = (what if isinstance(what, str) else json.dumps(what)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """Serve on a loopback port while the block runs; gives the address."""
    handler = type("BoundHandler", (Handler,), {"behaviour": behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
