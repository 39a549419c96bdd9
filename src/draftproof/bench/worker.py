"""A peer in a process of its own: one JSON line in, one JSON line out."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

from draftproof.bench.peers import PEERS, Engine, Job
from draftproof.bench.running import Run
from draftproof.errors import BackendError

PATIENCE = 240.0
"""Seconds that a peer may take to open, and for one text; then it is left out."""


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

    Parameters
    ----------
    name
        One of `PEERS`.
    model
        The GGUF file.
    patience
        Seconds to wait for an answer.

    Raises
    ------
    BackendError
        If the peer cannot be opened, dies, or does not answer in time; the last line it wrote is
        in the message.
    """

    def __init__(self, name: str, model: Path, *, patience: float = PATIENCE) -> None:
        self.name, self._patience = name, patience
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the peer)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "draftproof.bench.worker", name, str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        self._read()

    def run(self, job: Job) -> Run:
        """Decode one text; the seconds it took include prefill."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(job)) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        answer = json.loads(self._read())
        return Run(tokens=answer["tokens"], seconds=answer["seconds"])

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _read(self) -> str:
        try:
            line = self._answers.get(timeout=self._patience)
        except queue.Empty:
            self.close()
            raise BackendError(
                f"the peer {self.name!r} did not answer within {self._patience:g} s."
            ) from None
        if not line:
            raise self._ended()
        return line

    def _ended(self) -> BackendError:
        code = self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        self.close()
        reason = f" ({lines[-1].strip():.200})" if lines else ""
        return BackendError(f"the peer {self.name!r} ended with code {code}{reason}.")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                stream.close()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
