"""Print how fast the lesson is in a real browser, and how large the wheel is.

    python benchmarks/lesson_budgets.py [VISITS]

Every visit is a new browser profile, so nothing is cached. Needs the built pages (make web), the
dev extra and a Chromium on the path. The budgets are the project's own: the page readable in 1 s,
Python ready in 3 s, a first verdict within 0.2 s of Ctrl+Enter, a wheel of at most 12 MB.
"""

from __future__ import annotations

import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from draftproof.lesson.shelf import find

ROOT = Path(__file__).resolve().parent.parent
LEARN = ["-c", "from draftproof.cli import main; main()", "learn", "3", "--no-browser"]
READABLE = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
VERDICTS = """async () => {
    const place = document.querySelector('#code .exercise');
    const seen = (wanted) => new Promise((done) => {
        const look = () => place.querySelector(wanted) && done(performance.now() - start);
        const changes = {childList: true, subtree: true, attributes: true};
        new MutationObserver(look).observe(place, changes);
    });
    const start = performance.now();
    const first = seen('.tests .pass, .tests .fail'), all = seen('.results[aria-busy=false]');
    document.querySelector('textarea.plain-code').dispatchEvent(
        new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true}));
    return [await first, await all];
}"""


def main() -> None:
    """Measure some visits and the wheel, and print the median of each figure."""
    visits = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    figures: dict[str, list[float]] = {}
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(visits):
            for name, value in visit(browser).items():
                figures.setdefault(name, []).append(value)
        browser.close()
    for name, values in figures.items():
        print(f"{name:<42} {statistics.median(values):8.2f} s  (median of {visits})")
    print(f"{'wheel':<42} {wheel_bytes() / 1e6:8.2f} MB")


def visit(browser: Browser) -> dict[str, float]:
    """Start a server, open the lesson in a new profile and run the reference solution."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, *LEARN, "--port", "0", "--data-dir", data]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        page = browser.new_page()
        try:
            page.goto(server.stdout.readline().split()[-1])
            return measured(page)
        finally:
            page.close()
            server.send_signal(signal.SIGINT)
            server.wait(10)


def measured(page: Page) -> dict[str, float]:
    """Give the seconds of one visit, by what they were needed for."""
    page.locator(".python.ready").wait_for(state="attached", timeout=120_000)
    ready = page.evaluate("performance.now()")
    page.locator("#predict").get_by_label("Yes", exact=True).check()
    page.get_by_role("button", name="Keep my prediction").click()
    page.get_by_label("Plain text box").check()
    page.locator("textarea.plain-code").fill(find(3).step("code").reference)  # type: ignore[attr-defined]
    first, every = page.evaluate(VERDICTS)
    return {
        "page readable": page.evaluate(READABLE) / 1000,
        "Python ready": ready / 1000,
        "Ctrl+Enter to the first verdict": first / 1000,
        "Ctrl+Enter to all verdicts and the drawing": every / 1000,
    }


def wheel_bytes() -> int:
    """Build the wheel and give its size."""
    options = ["--quiet", "--no-deps", "--no-build-isolation"]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, str(ROOT)]
        subprocess.run(pip, check=True)
        return next(Path(folder).glob("draftproof-*.whl")).stat().st_size


if __name__ == "__main__":
    main()
