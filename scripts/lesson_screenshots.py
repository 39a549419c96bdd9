"""Take the pictures of the lesson that the documents show: light, dark and narrow.

    python scripts/lesson_screenshots.py

Needs the built pages (make web), Playwright (the dev extra) and a Chromium on the path.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from draftproof.lesson.shelf import find

FOLDER = Path("docs/images")
WIDE = {"width": 1100, "height": 900}
LOOKS: dict[str, dict[str, Any]] = {
    "lesson-light": {"viewport": WIDE, "color_scheme": "light"},
    "lesson-dark": {"viewport": WIDE, "color_scheme": "dark"},
    "lesson-narrow": {"viewport": {"width": 320, "height": 780}, "color_scheme": "light"},
}
LEARN = ["-c", "from draftproof.cli import main; main()", "learn", "3", "--no-browser"]


def main() -> None:
    """Start the lesson in a fresh folder and photograph it once per look."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))
    chromium = next(filter(None, found), None)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        words = [sys.executable, *LEARN, "--port", "0", "--data-dir", data]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, look in LOOKS.items():
            photograph(browser, address, name, look)
        browser.close()
        server.send_signal(signal.SIGINT)
        server.wait(10)


def photograph(browser: Browser, address: str, name: str, look: dict[str, Any]) -> None:
    """Show the table in one look, and in the first look the passed exercise as well."""
    page = browser.new_page(**look)
    page.goto(address)
    predict(page)
    shoot(page, "#table", f"{name}.png")
    if name == "lesson-light":
        passed(page)
        shoot(page, "#code figure.frequencies", "lesson-passed.png")
    page.close()


def predict(page: Page) -> None:
    """Answer the prediction, unless an earlier look has done so."""
    page.locator("#predict fieldset").wait_for()
    keep = page.get_by_role("button", name="Keep my prediction")
    if keep.count():
        page.locator("#predict").get_by_label("Yes", exact=True).check()
        keep.click()
    page.locator("table.laws").wait_for()


def passed(page: Page) -> None:
    """Run the reference solution, so that the proof by simulation is drawn."""
    page.get_by_label("Plain text box").check()
    box = page.locator("textarea.plain-code")
    box.fill(find(3).step("code").reference)  # type: ignore[attr-defined]
    box.press("Control+Enter")
    page.locator("figure.frequencies").first.wait_for(timeout=120_000)
    page.get_by_label("Plain text box").uncheck()


def shoot(page: Page, place: str, name: str) -> None:
    """Scroll a place to the top and take what the window shows."""
    page.locator(place).evaluate("(one) => one.scrollIntoView({behavior: 'instant'})")
    page.wait_for_timeout(400)
    page.screenshot(path=FOLDER / name)
    print(FOLDER / name)


if __name__ == "__main__":
    main()
