"""`draftproof` whose lesson server notes the ``marker`` of every request before it judges it.

RECORD names the file for the notes. With LAX the worker gets a content policy that allows
everything, the fault that the notes are there to find.
"""

import os
from urllib.parse import parse_qs

from draftproof.cli import main
from draftproof.lesson import server

guarded = server.Site.app


def recorded(site, door):
    app = guarded(site, door)

    async def noting(scope, receive, send):
        for marker in parse_qs(scope.get("query_string", b"").decode()).get("marker", []):
            with open(os.environ["RECORD"], "a", encoding="utf-8") as notes:
                notes.write(f"{marker}\n")
        await app(scope, receive, send)

    return noting


if __name__ == "__main__":
    server.Site.app = recorded
    if os.environ.get("LAX"):
        allowed = "default-src * 'unsafe-inline' 'unsafe-eval' blob: ws:"
        server.worker_policy = lambda *_: allowed
    main()
