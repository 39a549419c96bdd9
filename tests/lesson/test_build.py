"""What the build makes of the page's sources, and the page's own unit tests.

The page's arithmetic is compared with the library's on random rows, both exact.
"""

import json
import os
import random
import re
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from draftproof import dist
from draftproof.lesson.assets import MIME, Assets, shipped
from draftproof.lesson.shortcuts import OUTPUTS

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "src/draftproof/lesson/static"
ROOM = 7_500_000
"""Bytes that the built files may take in a wheel of 12 MB, beside code and n-gram data."""

sys.path.insert(0, str(ROOT / "scripts"))
import build_web  # noqa: E402

built = pytest.mark.skipif(not shipped().built, reason="the pages are not built (make web)")
can_run = pytest.mark.skipif(
    build_web.find_node() is None or not build_web.installed(),
    reason="no Node, or the page's packages are not installed (make web)",
)


def fractions(chance, tokens):
    weights = [chance.choice([0, 1, 2, 3, 5, 8, 13]) for _ in range(tokens)]
    weights[chance.randrange(tokens)] += 1
    return np.array([Fraction(weight, sum(weights)) for weight in weights], dtype=object)


def case(chance):
    tokens = chance.randrange(2, 7)
    p, q = fractions(chance, tokens), fractions(chance, tokens)
    columns = {
        "p": p,
        "q": q,
        "acceptance": dist.acceptance(p, q),
        "residual": dist.residual(p, q),
        "exact": dist.exact_distribution(p, q),
        "naive": dist.naive_distribution(p, q),
        **{name: OUTPUTS[name](p, q) for name in ("matched", "redrawn", "greedy")},
    }
    shown = {name: [str(value) for value in row] for name, row in columns.items()}
    once = {"reject": dist.rejection_probability(p, q), "agreement": (p * q).sum()}
    return shown | {name: str(value) for name, value in once.items()}


def page_tests(cases, folder):
    """Run the page's unit tests; those of the laws read `cases`."""
    file = folder / "cases.json"
    file.write_text(json.dumps(cases), encoding="utf-8")
    command = [build_web.find_node().node, "tools/test.mjs"]
    env = os.environ | {"LAW_CASES": str(file)}
    return subprocess.run(command, cwd=WEB, env=env, capture_output=True, text=True, timeout=300)


@can_run
def test_the_page_computes_what_the_library_computes(tmp_path):
    chance = random.Random(3)
    done = page_tests([case(chance) for _ in range(300)], tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped 0" in done.stdout


@can_run
def test_a_wrong_law_would_be_noticed(tmp_path):
    wrong = case(random.Random(3))
    wrong["naive"] = wrong["exact"][::-1]
    assert page_tests([wrong], tmp_path).returncode != 0


@can_run
def test_the_page_has_no_type_errors():
    command = [build_web.find_node().node, "node_modules/typescript/bin/tsc", "-p", "."]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]


@built
def test_every_file_of_the_manifest_is_there_and_named_by_its_content():
    assets = shipped()
    assert {"main.js", "styles.css", "worker.js", "pyodide"} <= set(assets.files)
    for source, name in assets.files.items():
        if source == "pyodide":
            assert re.fullmatch(r"pyodide-[0-9a-f]{12}", name)
            continue
        file = assets.find(name)
        assert file is not None
        assert re.search(r"-[A-Z0-9]{8}\.", name)


@built
def test_only_files_of_the_folder_are_found():
    assets = shipped()
    for path in ("../assets.py", "/etc/passwd", "", ".", "manifest", "static", "%2e%2e/assets.py"):
        assert assets.find(path) is None
    assert assets.find("THIRD_PARTY_LICENSES") is None, "it has no media type"
    wasm = assets.find(f"{assets.pyodide}/pyodide.asm.wasm")
    assert wasm is not None
    assert wasm.mime == MIME[".wasm"]


def test_nothing_is_found_where_nothing_was_built(tmp_path):
    (tmp_path / "main.js").write_text("1")
    assert Assets.read(tmp_path).find("main.js") is None


@built
def test_built_files_ask_no_other_machine():
    """Addresses in licence headers and namespaces are no requests; these would be."""
    for file in STATIC.glob("*.*"):
        if file.suffix in (".js", ".css"):
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"(import\(|fetch\(|src=|url\()\s*[\"']?https?://", text), file


@built
def test_the_worker_is_one_file():
    """Its content policy lets it load no other script of ours."""
    text = (STATIC / shipped().worker).read_text(encoding="utf-8")
    assert not re.search(r"\bfrom\s*[\"']\./", text)
    assert not re.search(r"import\s*[\"']\./", text)


@built
def test_the_built_files_leave_room_in_the_wheel():
    files = [file for file in STATIC.rglob("*") if file.is_file()]
    assert sum(len(zlib.compress(file.read_bytes(), 6)) for file in files) <= ROOM


@built
def test_every_shipped_package_has_its_licence_text():
    text = (STATIC / "THIRD_PARTY_LICENSES").read_text(encoding="utf-8")
    for package in json.loads((WEB / "package.json").read_text())["dependencies"]:
        assert f"\n{package} " in f"\n{text}"
    for said in (
        "Mozilla Public License Version 2.0",
        "SIL OPEN FONT LICENSE",
        "github.com/pyodide",
    ):
        assert said in text


def test_the_lock_file_names_no_registry():
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "registry." not in text


def test_a_changed_source_is_out_of_date(tmp_path, monkeypatch):
    web, lessons = tmp_path / "web", tmp_path / "lessons"
    for folder in (web / "src", web / "test", web / "node_modules", lessons):
        folder.mkdir(parents=True)
    source, lesson = web / "src/main.tsx", lessons / "01-a.toml"
    source.write_text("1")
    lesson.write_text("1")
    for name, value in (("ROOT", tmp_path), ("WEB", web), ("LESSONS", lessons)):
        monkeypatch.setattr(build_web, name, value)
    monkeypatch.setattr(build_web, "STAMP", tmp_path / "stamp")
    assert not build_web.up_to_date()
    build_web.STAMP.write_text(build_web.digest())
    assert build_web.up_to_date()
    for irrelevant in (web / "test/a.test.ts", web / "node_modules/x.js"):
        irrelevant.write_text("2")
        assert build_web.up_to_date()
    for file in (source, lesson):
        file.write_text("2")
        assert not build_web.up_to_date()
        build_web.STAMP.write_text(build_web.digest())
