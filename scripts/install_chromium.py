"""Install Debian's chromium for the browser tests, where apt is there and may be used.

Its headless shell is enough, and takes less than half the time of the whole browser for a page;
where there is no such package the browser is installed. Elsewhere nothing is done: the browser
tests then say that they were skipped and why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

SHELL = "chromium-headless-shell"


def main() -> int:
    """Install chromium with apt-get when it is missing and that is possible."""
    if any(map(shutil.which, (SHELL, "chromium", "chromium-browser"))):
        return 0
    if not shutil.which("apt-get") or os.geteuid() != 0:
        print("draftproof: no chromium here and no right to install it; browser tests will skip")
        return 0
    print("draftproof: installing chromium with apt-get (a minute on a new machine)", flush=True)
    apt("update")
    options = ("install", "-y", "--no-install-recommends", "fonts-dejavu-core")
    if apt(*options, SHELL) and apt(*options, "chromium"):
        print("draftproof: apt-get could not install chromium; browser tests will skip")
    return 0


def apt(*arguments: str) -> int:
    """Run apt-get quietly and give its exit code."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", *arguments]
    return subprocess.run(command, stdout=subprocess.DEVNULL, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
