"""What users install: a wheel, in an environment that has no checkout and asks no network."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from browser.grading import Exercise
from browser.lab import predict, settled
from draftproof.lesson.shelf import find

ROOT = Path(__file__).parents[2]
SMALL_ENOUGH = 12_000_000
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel, built from this checkout with the pages that are built in it."""
    pytest.importorskip("hatchling", reason="the build backend is not installed (dev extra)")
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*PIP, "wheel", *options, str(ROOT)], check=True)
    (file,) = folder.glob("draftproof-*.whl")
    return file


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """Python of an environment with the wheel; other packages are lent by this one."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=False)
    python = home / "bin/python"
    options = ["--python", str(python), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*PIP, *options], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size <= SMALL_ENOUGH


def test_the_lesson_runs_from_the_wheel(visit, start, installed, tmp_path):
    asked = [installed, "-I", "-c", "import draftproof; print(draftproof.__file__)"]
    where = subprocess.run(asked, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert str(installed.parents[1]) in where
    lab = start(tmp_path, command=(str(installed.with_name("draftproof")),), PYTHONPATH="")
    page = predict(settled(visit(lab.address, python=True)))
    page.locator(".python.ready").wait_for(timeout=30_000)
    code = find(3).step("code")
    passed = f"{len(code.tests)} of {len(code.tests)} tests passed"
    assert passed in Exercise(page).run(code.reference)
