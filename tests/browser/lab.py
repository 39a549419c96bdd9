"""What the browser tests share: a running server, a watch over pages, and reading aids."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

DRAFTPROOF = (sys.executable, "-c", "from draftproof.cli import main; main()")
RECORDER = (sys.executable, str(Path(__file__).with_name("recorder.py")))
LOCAL = re.compile(r"(http|ws)://127\.0\.0\.1:\d+/|blob:|data:|about:")

MATHS = {chr(0x1D44E + n): chr(97 + n) for n in range(26)}
MATHS |= {chr(0x1D434 + n): chr(65 + n) for n in range(26)}
MINUS = "\N{MINUS SIGN}"


class Lab:
    """A running `draftproof learn` with a progress folder of its own.

    `command` starts draftproof another way, as from another environment or through the recorder.
    """

    def __init__(self, folder, *, command=DRAFTPROOF, model=False, port=0, **environment):
        self.folder = folder
        hidden = {} if model else {"DRAFTPROOF_CACHE": str(folder / "no-models")}
        self.process = subprocess.Popen(
            [
                *command,
                "learn",
                "3",
                "--no-browser",
                "--port",
                str(port),
                "--data-dir",
                str(folder),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | hidden | environment,
        )
        self.address = self.process.stdout.readline().split()[-1]
        self.process.stdout.readline()
        self.home = self.address.split("/lesson")[0]
        self.port = int(self.home.split(":")[2])

    def entrance(self, lesson):
        """The address of another lesson that lets the browser in."""
        return self.address.replace("/lesson/3", f"/lesson/{lesson.id}")

    def forget(self):
        """Begin with nothing done. Over HTTP, so that a late save of an earlier page loses."""
        self.save({})
        for file in self.folder.glob("progress.*-*"):
            file.unlink()

    def save(self, data):
        """Make `data` the progress, whatever it was before."""
        with httpx2.Client(
            base_url=self.home, headers={"Origin": self.home}, verify=False
        ) as client:
            client.get(self.address)
            done = False
            while not done:
                rev = client.get("/api/progress").json()["rev"]
                answer = client.put("/api/progress", json={"rev": rev, "data": data})
                done = answer.status_code == 200

    def saved(self, lesson):
        """What is on disk about a lesson, step by step."""
        file = self.folder / "progress.json"
        data = json.loads(file.read_text(encoding="utf-8"))["data"] if file.exists() else {}
        return data.get("lessons", {}).get(lesson.id, {}).get("steps", {})

    def asked(self):
        """The markers of the requests that the recorder saw."""
        file = self.folder / "asked.txt"
        return file.read_text(encoding="utf-8").split() if file.exists() else []

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()


@dataclass
class Watch:
    """What a page did that nobody should do; `expect` names what a test provokes on purpose."""

    expected: list = field(default_factory=list)
    seen: list = field(default_factory=list)

    def over(self, page):
        page.on("console", lambda message: message.type == "error" and self.note(message.text))
        page.on("pageerror", lambda error: self.note(str(error)))
        page.on("request", lambda ask: LOCAL.match(ask.url) or self.note(f"asked {ask.url}"))
        page.on("response", lambda got: got.status >= 400 and self.note(f"{got.status} {got.url}"))

    def expect(self, pattern):
        self.expected.append(re.compile(pattern))

    def note(self, what):
        self.seen.append(what)

    def check(self):
        faults = [one for one in self.seen if not any(known.search(one) for known in self.expected)]
        assert faults == []


def settled(page):
    """Wait until the scripts have taken over."""
    page.locator("#predict button").wait_for()
    return page


def predict(page, answer="Yes"):
    page.locator("#predict").get_by_label(answer, exact=True).check()
    page.get_by_role("button", name="Keep my prediction").click()
    page.locator("#table .content").wait_for()
    return page


def editor(page):
    """Go to the editor, which is loaded when it comes near."""
    page.locator("#code .write").scroll_into_view_if_needed()
    page.locator("#code .cm-content").wait_for()
    return page.locator("#code .cm-content")


def wait_until(true, seconds=15):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def words(text):
    """Text as it is read: maths letters plain, white space single, minus signs as hyphens."""
    plain = "".join(MATHS.get(letter, letter) for letter in text)
    return " ".join(plain.replace("\u2061", "").replace(MINUS, "-").split())


def squeezed(text):
    """The same without any white space, for formulas."""
    return words(text).replace(" ", "")
