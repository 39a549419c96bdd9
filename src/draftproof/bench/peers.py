"""Other people's engines on the same weights, each behind one function.

An opener takes the path of the GGUF file and gives a function of a job that returns how many
tokens came out. Nothing here is imported before the peer is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from draftproof.backends import weights

THREADS = 2
LOOKUP = 5
"""Tokens a prompt-lookup peer drafts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One text to decode."""

    text: str
    temperature: float
    max_tokens: int
    seed: int


Engine = Callable[[Job], int]


def _openvino(model: Path, *, lookup: bool) -> Engine:
    import openvino_genai as genai

    folder = str(weights.find_default())  # the same weights, converted
    pipe = genai.LLMPipeline(folder, "CPU", **({"prompt_lookup": True} if lookup else {}))

    def run(job: Job) -> int:
        config = genai.GenerationConfig()
        config.max_new_tokens = job.max_tokens
        config.apply_chat_template = False
        config.do_sample = job.temperature > 0
        if config.do_sample:
            config.temperature, config.rng_seed = job.temperature, job.seed
            config.top_k = 0
        if lookup:
            config.num_assistant_tokens, config.max_ngram_size = LOOKUP, 3
        answer = pipe.generate([job.text], config)
        return int(answer.perf_metrics.get_num_generated_tokens())

    return run


def _transformers(model: Path, *, lookup: bool) -> Engine:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

    torch.set_num_threads(THREADS)
    folder, file = str(model.parent), model.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    network = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)

    def run(job: Job) -> int:
        set_seed(job.seed)
        asked: dict[str, Any] = {"do_sample": job.temperature > 0}
        if job.temperature > 0:
            asked |= {"temperature": job.temperature, "top_k": 0, "top_p": 1.0}
        if lookup:
            asked["prompt_lookup_num_tokens"] = LOOKUP
        read = tokenizer(job.text, return_tensors="pt", add_special_tokens=False)
        out = network.generate(**read, max_new_tokens=job.max_tokens, **asked)
        return int(out.shape[1] - read["input_ids"].shape[1])

    return run


def _llama(model: Path, *, lookup: bool) -> Engine:
    import xllamacpp as llama

    params = llama.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = THREADS
    params.port = 0
    if lookup:
        kind = llama.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE
        params.speculative.types = [kind]
        params.speculative.ngram_simple.size_n = 3
        params.speculative.ngram_simple.size_m = LOOKUP
    server = llama.Server(params)

    def run(job: Job) -> int:
        answer = server.handle_completions(
            {
                "prompt": job.text,
                "n_predict": job.max_tokens,
                "temperature": job.temperature,
                "top_k": 0,
                "top_p": 1.0,
                "min_p": 0.0,
                "seed": job.seed,
                "cache_prompt": False,
            }
        )
        return int(answer["timings"]["predicted_n"])

    return run


PEERS: dict[str, tuple[str, Callable[[Path], Engine]]] = {
    "openvino-genai, plain": ("openvino_genai", lambda model: _openvino(model, lookup=False)),
    "openvino-genai, prompt lookup": (
        "openvino_genai",
        lambda model: _openvino(model, lookup=True),
    ),
    "llama.cpp, plain": ("xllamacpp", lambda model: _llama(model, lookup=False)),
    "llama.cpp, n-gram": ("xllamacpp", lambda model: _llama(model, lookup=True)),
    "transformers, plain": ("transformers", lambda model: _transformers(model, lookup=False)),
    "transformers, prompt lookup": (
        "transformers",
        lambda model: _transformers(model, lookup=True),
    ),
}
"""Names, the module a peer needs, and how it is opened."""


def installed() -> list[str]:
    """Give the names of the peers whose module is here."""
    return [name for name, (module, _) in PEERS.items() if find_spec(module) is not None]


def missing() -> dict[str, str]:
    """Give the peers that are not here, each with the module it needs."""
    return {name: module for name, (module, _) in PEERS.items() if find_spec(module) is None}
