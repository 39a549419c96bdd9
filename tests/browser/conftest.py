"""A real browser against the real server; of either, only the times of `test_timing` are made up.

Every page is watched: an error on the console, a refused content policy, an answer of 400 or
above, or a request to another machine fails the test, unless the test says that it expects it.
"""

import contextlib
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from browser.grading import Exercise
from browser.lab import Lab, Watch, predict, settled
from draftproof.lesson.assets import shipped

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("DRAFTPROOF_CHROMIUM") or next(
    filter(None, map(shutil.which, BROWSERS)), None
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
VIEWPORT = {"width": 1100, "height": 900}
SILENT = "window.LoudWorker = Worker; window.Worker = class { postMessage() {} terminate() {} }"


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


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Quiet:
    """Pages that several tests of a file look at, without Python; each test judges what it saw."""

    def __init__(self, chromium):
        self.context = chromium.new_context(viewport=VIEWPORT)
        self.context.add_init_script(SILENT)
        self.watch = Watch()

    def open(self, address):
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        self.watch.over(page)
        page.goto(address)
        return page

    @contextlib.contextmanager
    def judged(self):
        try:
            yield
            self.watch.check()
        finally:
            self.watch.seen.clear()


@pytest.fixture(scope="module")
def quiet(chromium):
    shared = Quiet(chromium)
    yield shared
    shared.context.close()


@pytest.fixture(scope="session")
def _second(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("second"))
    yield lab
    lab.stop()


@pytest.fixture(scope="module")
def kept_lab(_second):
    """A server for the pages that a file shares: nothing is forgotten from test to test."""
    _second.forget()
    return _second


@pytest.fixture
def watch():
    return Watch()


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.stop()


@pytest.fixture
def lab(running):
    """The running server, with nothing saved yet."""
    running.forget()
    return running


@pytest.fixture
def start():
    """Starts servers of a test's own, as `Lab` does; they outlive its pages, which still save."""
    labs = []

    def begin(*arguments, **options):
        labs.append(Lab(*arguments, **options))
        return labs[-1]

    yield begin
    for lab in labs:
        lab.stop()


@pytest.fixture
def visit(chromium, watch, start):
    """Opens watched pages: ``visit(address, python=False, **context_options)``.

    Where a test needs no Python its worker stays silent, which saves a second of two cores.
    """
    contexts = []

    def open_page(address, context=None, *, python=False, **options):
        if context is None:
            context = chromium.new_context(**{"viewport": VIEWPORT} | options)
            contexts.append(context)
            if not python:
                context.add_init_script(SILENT)
        page = context.new_page()
        page.set_default_timeout(15_000)
        watch.over(page)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    watch.check()


@pytest.fixture
def page(visit, lab):
    """The lesson, fresh, with its scripts running."""
    return settled(visit(lab.address))


@pytest.fixture
def opened(page):
    """The lesson after the prediction, so that every step is open."""
    return predict(page)


@pytest.fixture
def coding(visit, lab):
    """The opened lesson with Python in it."""
    return predict(settled(visit(lab.address, python=True)))


@pytest.fixture(scope="module")
def _shared(quiet, kept_lab):
    return predict(settled(quiet.open(kept_lab.address)))


@pytest.fixture
def shared(_shared, quiet):
    """The opened lesson that the tests of a file share: for those that need no fresh one."""
    with quiet.judged():
        _shared.evaluate("document.getElementById('announcer').textContent = ''")
        yield _shared


@pytest.fixture(scope="module")
def bench(chromium, kept_lab):
    """One page for a whole file: what one program does must not reach the next one anyway."""
    context, watch = chromium.new_context(viewport=VIEWPORT), Watch()
    page = context.new_page()
    watch.over(page)
    page.goto(kept_lab.address)
    yield Exercise(predict(settled(page))), watch
    context.close()


@pytest.fixture
def exercise(bench, watch):
    """The exercise of the shared page; `watch` then judges what this test made it do."""
    shared, seen = bench
    seen.seen = watch.seen
    yield shared
    watch.check()
