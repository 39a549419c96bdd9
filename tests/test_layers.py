"""Who may import whom, and what importing draftproof loads."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parent.parent

HEAVY = (
    "scipy",
    "click",
    "rich",
    "openvino",
    "openvino_genai",
    "torch",
    "transformers",
    "llama_cpp",
    "numba",
    "starlette",
    "uvicorn",
    "hypothesis",
    "asyncio",
)


def loaded_after(statement):
    """Give the modules a fresh interpreter holds after `statement`."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_imports_go_one_way_and_model_libraries_stay_in_their_back_ends(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, capsys.readouterr().out


def test_a_forbidden_import_is_seen(tmp_path, monkeypatch, capsys):
    package = tmp_path / "toyproof"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "low.py").write_text("from toyproof import high\n")
    (package / "high.py").touch()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.importlinter]\nroot_package = 'toyproof'\n"
        "[[tool.importlinter.contracts]]\nname = 'layers'\ntype = 'layers'\n"
        "layers = ['toyproof.high', 'toyproof.low']\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert lint_imports(no_cache=True, no_logo=True) != 0
    assert "toyproof.low -> toyproof.high" in capsys.readouterr().out


def test_every_module_is_in_a_layer():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    placed = {name.strip() for layer in layers for name in layer.split("|")}
    package = ROOT / "src" / "draftproof"
    there = {
        f"draftproof.{path.stem}"
        for path in package.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[0] != "_"
    }
    assert there - placed - {"draftproof.data"} == set()


@pytest.mark.parametrize(
    "statement", ["import draftproof", "from draftproof import *", "import draftproof.proof"]
)
def test_importing_draftproof_loads_numpy_and_nothing_heavy(statement):
    roots = {name.split(".")[0] for name in loaded_after(statement)}
    assert roots.isdisjoint(HEAVY)


def test_the_package_alone_loads_not_even_its_own_modules():
    loaded = loaded_after("import draftproof")
    assert {name for name in loaded if name.startswith("draftproof")} == {"draftproof"}


def test_a_heavy_import_would_be_seen():
    assert "scipy" in loaded_after("import scipy")
