"""A sentence for whoever opened an address that leads nowhere: a page in a browser, JSON elsewhere.

The page needs no built file, so that it can be shown where the guard lets nothing else through.
"""

from __future__ import annotations

import html
import secrets

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

STYLE = """
body { max-width: 36rem; margin: 4rem auto; padding: 0 1rem; font: 1.15rem/1.6 Georgia, serif;
  color: #22262e; background: #fcfbf8 }
a { color: #1f5f8b }
@media (prefers-color-scheme: dark) {
  body { color: #e6e4de; background: #17191d } a { color: #8cc0e6 } }
"""


def wants_page(request: Request) -> bool:
    """Say whether somebody looks at the answer: a browser that opens an address asks for HTML."""
    return "text/html" in request.headers.get("accept", "")


def notice(request: Request, status: int, why: str, *, path: str = "/") -> Response:
    """Give the sentence `why`; a page offers the lessons, or `path`, as the way on."""
    if not wants_page(request):
        return JSONResponse({"error": why}, status_code=status)
    nonce = secrets.token_urlsafe(16)
    allowed = f"style-src 'nonce-{nonce}'; img-src data:"
    policy = f"default-src 'none'; {allowed}; frame-ancestors 'none'"
    onward = "the lessons" if path == "/" else "this address without it"
    return HTMLResponse(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Not here - draftproof</title>
<link rel="icon" href="data:,">
<style nonce="{nonce}">{STYLE}</style>
</head>
<body>
<main>
<h1>Not here</h1>
<p>{html.escape(why[:1].upper() + why[1:])}</p>
<p><a href="{html.escape(path)}">Go to {onward}</a></p>
</main>
</body>
</html>
""",
        status_code=status,
        headers={"Content-Security-Policy": policy},
    )
