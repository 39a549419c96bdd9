"""What every page must be for everyone: no fault that axe finds, nothing wider than the screen."""

from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def spotless(page, *rules):
    """The faults that axe finds on the page as it is now, by all rules or only by some."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make web)")
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
    asked = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    found = page.evaluate("(asked) => axe.run(document, {runOnly: asked})", asked)
    return [
        (fault["id"], node["target"], node["failureSummary"])
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


def resized(page, size):
    """The page once it has followed its new size, which takes it a frame."""
    page.bring_to_front()
    page.set_viewport_size(size)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return page


def narrow_enough(page, width):
    """Whether nothing but a scrolling region is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth") <= width
