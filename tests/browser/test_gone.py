"""The server is quit while the page is open: every part says so, and quickly."""

from browser.lab import predict, settled, words

GONE = "The lesson server does not answer."
REFUSED = "ERR_CONNECTION_REFUSED|Failed to fetch"


def test_what_needs_the_server_says_that_it_is_gone(visit, start, tmp_path, watch):
    """The editor that was not loaded yet, the export, and Python once its spares are used up."""
    watch.expect(REFUSED)
    lab = start(tmp_path / "data")
    page = settled(visit(lab.address, python=True))
    page.locator(".python.ready").wait_for(timeout=20_000, state="attached")
    lab.stop()
    predict(page)
    page.locator("#code .write").scroll_into_view_if_needed()
    box = page.locator("textarea.plain-code")
    box.wait_for()
    assert GONE in words(page.locator("#code .write").inner_text())
    page.locator("summary", has_text="My work").click()
    page.get_by_role("button", name="Export a report").click()
    page.locator(".trouble", has_text=GONE).wait_for()
    beside(page)
    for run in (1, 2, 3):
        box.press("Control+Enter")
        done = page.locator("#code .results[aria-busy=false]", has_text=f"Run {run}")
        done = done.and_(page.locator("#code .results:not(.stale)"))
        done.wait_for(timeout=6_000)
        if GONE in done.inner_text():
            break
    assert GONE in done.inner_text()
    page.locator(".python.unavailable", has_text=GONE).wait_for()


def beside(page):
    """The message stands beside the buttons: it moves none of them and no open menu covers it."""
    message = page.locator(".trouble").bounding_box()
    button = page.get_by_role("button", name="Colours").bounding_box()
    menu = page.locator(".menu > div").bounding_box()
    assert message["x"] + message["width"] <= button["x"]
    assert message["y"] + message["height"] <= menu["y"]
    assert "`" not in page.locator(".trouble").inner_text()
