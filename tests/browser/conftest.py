"""A real browser against the real server: nothing of either is simulated.

Every page is watched: an error on the console, a refused content policy, an answer of 400 or
above, or a request to another machine fails the test, unless the test says that it expects it.
"""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from draftproof.lesson.assets import shipped

CHROMIUM = os.environ.get("DRAFTPROOF_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
LOCAL = re.compile(r"(http|ws)://127\.0\.0\.1:\d+/|blob:|data:|about:|chrome-extension:")


def why_not():
    """The reason to skip, or None."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (pip install 'draftproof[dev]')"
    if CHROMIUM is None:
        return "no chromium on this machine (apt-get install chromium, or set DRAFTPROOF_CHROMIUM)"
    if not shipped().built:
        return "the pages are not built (make web)"
    return None


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    reason = why_not()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


class Lab:
    """A running `draftproof learn` with a progress folder of its own."""

    def __init__(self, folder, *, model=False, port=0):
        self.folder = folder
        hidden = {} if model else {"DRAFTPROOF_CACHE": str(folder / "no-models")}
        self.process = subprocess.Popen(
            [
                *[sys.executable, "-c", "from draftproof.cli import main; main()", "learn", "3"],
                *["--no-browser", "--port", str(port), "--data-dir", str(folder)],
            ],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | hidden,
        )
        self.address = self.process.stdout.readline().split()[-1]
        self.process.stdout.readline()
        self.home = self.address.split("/lesson")[0]

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

    def expect(self, pattern):
        self.expected.append(re.compile(pattern))

    def note(self, what):
        self.seen.append(what)

    def check(self):
        faults = [one for one in self.seen if not any(known.search(one) for known in self.expected)]
        assert faults == []


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def watch():
    return Watch()


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path / "data")
    yield lab
    lab.stop()


@pytest.fixture
def visit(chromium, watch):
    """Opens watched pages: ``visit(address, **context_options)``."""
    contexts = []

    def open_page(address, context=None, **options):
        if context is None:
            context = chromium.new_context(viewport={"width": 1100, "height": 900}, **options)
            context.route(lambda url: not LOCAL.match(url), lambda route: route.abort())
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: message.type == "error" and watch.note(message.text))
        page.on("pageerror", lambda error: watch.note(str(error)))
        page.on("request", lambda ask: LOCAL.match(ask.url) or watch.note(f"asked {ask.url}"))
        page.on("response", lambda got: got.status >= 400 and watch.note(f"{got.status} {got.url}"))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    watch.check()


@pytest.fixture
def page(visit, lab):
    """The lesson, fresh, with its scripts running."""
    page = visit(lab.address)
    page.locator("#predict fieldset").wait_for()
    return page


@pytest.fixture
def opened(page):
    """The lesson after the prediction, so that every step is open."""
    return predict(page)


def predict(page, answer="Yes"):
    page.locator("#predict").get_by_label(answer, exact=True).check()
    page.get_by_role("button", name="Keep my prediction").click()
    page.locator("#table .content").wait_for()
    return page


def wait_until(true, seconds=5):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
