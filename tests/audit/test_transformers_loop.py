"""Assisted generation of transformers, whole: right as installed, refuted with a planted bug."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from draftproof.audit.transformers_loop import (  # noqa: E402
    DRAFT,
    PROMPT,
    SCENES,
    TARGET,
    loop_of,
    prepare_transformers,
    world_of,
)

TEMPERED, PENALISED, STOPPED = SCENES[1:]
pytestmark = pytest.mark.usefixtures("few_plain_runs")


@pytest.mark.parametrize("model", [TARGET, DRAFT])
@pytest.mark.parametrize("text", [(1,), PROMPT, (2, 0, 1, 0, 1, 1, 2)])
def test_the_row_written_down_is_the_row_of_the_model(model, text):
    """Single precision: 2**-20 for a row of three."""
    with torch.no_grad():
        seen = model.built()(torch.tensor([text])).logits[0, -1].softmax(-1).numpy()
    assert np.abs(seen - model.row(text).astype(np.float64)).max() < 2**-20


def test_a_text_is_as_long_as_asked_for_and_ends_at_its_stop_token():
    generate = loop_of(world_of(STOPPED), STOPPED)
    torch.manual_seed(0)
    texts = {tuple(generate(PROMPT, None)) for _ in range(10)}
    assert texts <= set(world_of(STOPPED).texts)


@pytest.mark.parametrize(
    ("way", "scene"),
    [
        ("assistant model", TEMPERED),
        ("assistant model", STOPPED),
        ("prompt lookup", STOPPED),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_assisted_generation_has_the_law_of_plain_decoding(way, scene):
    report = prepare_transformers(way, scenes=(scene,)).run()
    assert (report.verdict, report.method) == ("consistent", "enumeration"), report.reason
    assert report.target == f"transformers {transformers.__version__}, generate with {way}"


def resampling_from_p(
    candidate_input_ids, candidate_logits, candidate_length, new_logits, **_options
):
    """The library's own verification, but for its residual."""
    drafted = candidate_input_ids[:, -candidate_length:]
    q, p = candidate_logits.softmax(-1)[0], new_logits.softmax(-1)[0]
    kept = 0
    while kept < candidate_length:
        token = int(drafted[0, kept])
        if torch.rand(1) >= p[kept, token] / q[kept, token]:
            break
        kept += 1
    last = torch.multinomial(p[kept][None], 1)
    return torch.cat([drafted[:, :kept], last], dim=-1), kept


def test_a_planted_residual_is_refuted_and_named(monkeypatch):
    monkeypatch.setattr("transformers.generation.utils._speculative_sampling", resampling_from_p)
    report = prepare_transformers(scenes=(replace(TEMPERED, tokens=2),)).run()
    assert report.verdict == "refuted"
    assert "resample from p" in (report.diagnosis.best, *report.diagnosis.twins)


def test_a_cache_that_is_not_rolled_back_is_refuted(monkeypatch):
    """Attention averages the whole cache, so a rejected token that stays in it shows."""
    monkeypatch.setattr("transformers.cache_utils.DynamicCache.crop", lambda self, length: None)
    report = prepare_transformers(scenes=(replace(TEMPERED, tokens=2),)).run()
    assert report.verdict == "refuted"
    assert report.diagnosis.best is None
