"""``draftproof learn check``: the grader on a file, with the user's own Python and NumPy.

The submission runs in a process of its own, which is killed when its time is up and whose memory is
limited where the system can do that. This guards against accidents, not against malice: the program
is the user's own and can do what any program of theirs can.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from draftproof.errors import InvalidInput
from draftproof.lesson.content import Code, Json
from draftproof.lesson.grader import grade
from draftproof.lesson.shelf import find

MEMORY_LIMIT = 1 << 30
START_LIMIT_S = 60.0
SIZE_LIMIT = 1 << 20
INTERRUPTED = "was stopped because it took too long"
"""What the grader says of every KeyboardInterrupt; the page makes one when the time is up."""


@dataclass(frozen=True)
class CheckResult:
    """The outcome of a check; ``tests`` are as in the reply of the grader."""

    lesson: str
    passed: bool
    status: str
    message: str
    tests: tuple[Json, ...]
    stdout: str

    def to_json(self) -> Json:
        """Return the result as plain JSON."""
        return {
            "lesson": self.lesson,
            "passed": self.passed,
            "status": self.status,
            "message": self.message,
            "tests": list(self.tests),
            "stdout": self.stdout,
        }


def read_source(file: str | Path) -> str:
    """Read a submission, or say in one sentence why that cannot be done."""
    path = Path(file)
    if path.is_dir():
        raise InvalidInput(f"FILE must be a Python file, but {str(path)!r} is a directory")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InvalidInput(
            f"FILE {str(path)!r} does not exist; `draftproof learn` offers your code as a download"
        ) from None
    except OSError as error:
        raise InvalidInput(f"FILE {str(path)!r} cannot be read: {error.strerror}") from None
    if len(data) > SIZE_LIMIT:
        raise InvalidInput(f"FILE {str(path)!r} has {len(data)} bytes; at most 1 MiB is a program")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"FILE {str(path)!r} is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None


def check(lesson: str | int, file: str | Path, *, time_limit_s: float | None = None) -> CheckResult:
    """Grade a file as the solution of a lesson's exercise.

    Parameters
    ----------
    lesson
        The lesson's number or id.
    file
        A Python file.
    time_limit_s
        Wall-clock seconds for the tests; the lesson's own limit if not given.

    Raises
    ------
    InvalidInput
        There is no such lesson, or the file cannot be read.
    """
    found = find(lesson)
    code = found.only(Code)
    source = read_source(file)
    limit = code.time_limit_s if time_limit_s is None else time_limit_s
    reply = _Child({"source": source, "exercise": code.exercise()}).wait(code, limit)
    return CheckResult(
        lesson=found.id,
        passed=reply["passed"],
        status=reply["status"],
        message=_raised(reply["message"]),
        tests=tuple(test | {"message": _raised(test["message"])} for test in reply["tests"]),
        stdout=reply["stdout"],
    )


def _raised(message: str) -> str:
    """Say what stopped the run: nobody interrupts it here, so the program has raised it itself."""
    return message.replace(INTERRUPTED, "was stopped by a KeyboardInterrupt of the program's own")


class _Child:
    """The process that runs the grader; it sends one JSON line per event."""

    def __init__(self, work: Json) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        reader.start()
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(json.dumps(work).encode())

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(b"")

    def wait(self, code: Code, limit: float) -> Json:
        """Collect results until the reply comes, the time is up or the process is gone."""
        done: list[Json] = []
        deadline = time.monotonic() + START_LIMIT_S
        try:
            while line := self._lines.get(timeout=max(0.0, deadline - time.monotonic())):
                event = json.loads(line)
                if "ready" in event:
                    deadline = time.monotonic() + limit
                elif "reply" in event:
                    reply: Json = event["reply"]
                    return reply
                else:
                    done.append(event["test"])
        except queue.Empty:
            return _unfinished(
                code, done, f"was stopped after {limit:g} s; is there a loop that never ends?"
            )
        finally:
            self._end()
        return _unfinished(code, done, self._obituary())

    def _end(self) -> None:
        """Kill the process, and with it whatever it has started, its own end notwithstanding."""
        if self._process.returncode is None:  # not waited for yet, so the group is still its own
            if hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()

    def _obituary(self) -> str:
        status = self._process.returncode
        if status < 0 and -status != signal.SIGKILL:
            return (
                f"had no result: Python itself crashed (signal {-status}); is there a recursion "
                f"without end?"
            )
        return (
            "had no result: the Python process ended without an answer; does the program end it or "
            "use it up?"
        )


def _unfinished(code: Code, done: list[Json], message: str) -> Json:
    """Return the reply of a run that did not get to its end."""
    result: Json = {"status": "error", "passed": False, "message": "", "tests": done, "stdout": ""}
    if len(done) < len(code.tests):
        test = code.tests[len(done)]
        blamed = {"id": test.id, "name": test.name, "status": "error", "call": "", "got": ""}
        result["tests"] = [*done, blamed | {"message": f"Here the run {message}", "known": ""}]
    result["message"] = f"The run {message}"
    return result


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def _serve() -> None:
    """Grade what comes on standard input; the learner's program cannot write to the answers."""
    import numpy  # noqa: F401 - so that its start does not count against the learner

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    work = json.load(sys.stdin)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)

    def send(**event: Any) -> None:
        answers.write(json.dumps(event) + "\n")
        answers.flush()

    _limit_memory()
    send(ready=True)
    send(reply=grade(work["source"], work["exercise"], lambda result: send(test=result)))
    answers.close()
    os._exit(0)


if __name__ == "__main__":
    _serve()
