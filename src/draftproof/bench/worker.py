"""A peer in a process of its own: one JSON line in, one JSON line out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from draftproof.bench.peers import PEERS, Engine, Job
from draftproof.errors import BackendError


def serve(name: str, model: Path) -> None:
    """Answer jobs on standard input until it ends; libraries may print to standard error only."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine: Engine = PEERS[name][1](model)
    answers.write("{}\n")
    answers.flush()
    for line in sys.stdin:
        began = time.perf_counter()
        tokens = engine(Job(**json.loads(line)))
        seconds = time.perf_counter() - began
        answers.write(json.dumps({"tokens": tokens, "seconds": seconds}) + "\n")
        answers.flush()


class Worker:
    """The other end: a peer that is asked and answers.

    Raises
    ------
    BackendError
        If the peer cannot be opened, or dies; its last line is in the message.
    """

    def __init__(self, name: str, model: Path) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "draftproof.bench.worker", name, str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._read()

    def run(self, job: Job) -> tuple[int, float]:
        """Decode one text; give its tokens and the seconds it took, prefill included."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._read())
        return answer["tokens"], answer["seconds"]

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self.close()
            raise BackendError(f"the peer {self.name!r} ended with code {code}.")
        return line

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
