"""Reads metrics out of what an engine wrote: OpenMetrics text, log lines, or a JSON answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from draftproof.errors import InvalidInput
from draftproof.planner.metrics import Definition, Metrics, pooled

ENDINGS = re.compile(
    r"(?P<engine>\w+?)[:_](?:spec_decode|spec)_num_"
    r"(?P<what>drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)(?:_total)?"
)
DEFINITIONS = {
    "accepted_tokens": Definition.PER_DRAFTED,
    "drafts": Definition.LENGTH,
    "accepted_tokens_per_pos": Definition.SURVIVAL,
}
VLLM_LINE = re.compile(
    r"SpecDecoding metrics:.*?Mean acceptance length: (?P<length>[\d.]+|nan)"
    r".*?Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens"
    r"(?:, Per-position acceptance rate: (?P<rates>[\d., ]+))?"
)
SGLANG_LINE = re.compile(r"accept len(?:gth)?: (?P<length>[\d.]+)")
LLAMA_LINE = re.compile(
    r"draft acceptance(?: rate)? = [\d.]+ \(\s*(?P<accepted>\d+) accepted /\s*(?P<drafted>\d+) "
    r"generated\)(?:, mean len =\s*(?P<length>[\d.]+))?"
)


def read_metrics_file(path: Path) -> Metrics:
    """Read the metrics in a file; see `read_metrics`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"metrics {path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"metrics {path}: is not UTF-8 text; save it as UTF-8.") from None
    return read_metrics(text, str(path))


def read_metrics(text: str, name: str = "text") -> Metrics:
    """Read what an engine counted about speculation, pooled over labels and lines.

    Parameters
    ----------
    text
        OpenMetrics or Prometheus text, a log of vLLM, SGLang or llama.cpp, or the JSON answer of
        llama.cpp's server.
    name
        What to call it in errors.

    Raises
    ------
    InvalidInput
        If the text is empty, is of no known form, or contradicts itself.

    Examples
    --------
    >>> read_metrics('''vllm:spec_decode_num_drafts_total 10
    ... vllm:spec_decode_num_draft_tokens_total 40
    ... vllm:spec_decode_num_accepted_tokens_total 20
    ... ''').mean_length
    3.0
    """
    if not text.strip():
        raise InvalidInput(f"metrics {name}: the file is empty; give what /metrics answered.")
    whole = _from_json if text.lstrip()[0] in "{[" else _from_counters
    for read in (_from_vllm_log, _from_llama_log, _from_sglang_log, whole):
        found = read(text, name)
        if found is not None:
            return found
    raise InvalidInput(
        f"metrics {name}: it holds nothing about speculation; wanted are counters that end in "
        f"spec_decode_num_draft_tokens, gauges like sglang:spec_accept_length, or log lines of "
        f"vLLM, SGLang or llama.cpp."
    )


def _from_json(text: str, name: str) -> Metrics | None:
    try:
        found = [_timings(one, name) for one in _objects(json.loads(text))]
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"metrics {name}: is not JSON (line {error.lineno}: {error.msg})."
        ) from None
    if not found:
        raise InvalidInput(f"metrics {name}: it holds no timings with draft_n.")
    return pooled(found)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object with a draft count, wherever it is."""
    if isinstance(value, dict):
        if "draft_n" in value:
            yield value
        else:
            for part in value.values():
                yield from _objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _timings(one: dict[str, Any], name: str) -> Metrics:
    counts = [one["draft_n"], one.get("draft_n_accepted", 0)]
    if not all(isinstance(count, int) for count in counts):
        raise InvalidInput(f"metrics {name}: draft_n is {counts[0]!r}; it must be a count.")
    return Metrics(
        source="llama.cpp timings",
        drafted=counts[0],
        accepted=counts[1],
        names=(("draft_n_accepted / draft_n", Definition.PER_DRAFTED),),
    )


def _from_vllm_log(text: str, name: str) -> Metrics | None:
    lines = [_vllm_line(match) for match in VLLM_LINE.finditer(text)]
    return pooled(lines) if lines else None


def _vllm_line(match: re.Match[str]) -> Metrics:
    rates = [float(part) for part in re.findall(r"[\d.]+", match["rates"] or "")]
    accepted, drafted = int(match["accepted"]), int(match["drafted"])
    drafts = _rounds(accepted, drafted, match["length"], len(rates))
    return Metrics(
        source="vLLM log",
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        kept=tuple(round(rate * drafts) for rate in rates) if drafts else (),
        names=(
            ("Mean acceptance length", Definition.LENGTH),
            ("Per-position acceptance rate", Definition.SURVIVAL),
            ("Avg Draft acceptance rate", Definition.PER_DRAFTED),
        ),
    )


def _rounds(accepted: int, drafted: int, length: str, positions: int) -> int | None:
    """Give the rounds behind a log line, which it does not tell.

    Full drafts give drafted / positions; unless the printed length, rounded as it is, speaks
    against it: then it decides.
    """
    if drafted == 0:
        return 0
    full = round(drafted / positions) if positions else 0
    mean = float(length)
    if full and abs(1 + accepted / full - mean) <= 0.005 + 1e-9:
        return full
    return round(accepted / (mean - 1)) if mean > 1 and accepted else full or None


def _from_llama_log(text: str, name: str) -> Metrics | None:
    lines = [_llama_line(match) for match in LLAMA_LINE.finditer(text)]
    return pooled(lines) if lines else None


def _llama_line(match: re.Match[str]) -> Metrics:
    accepted, drafted = int(match["accepted"]), int(match["drafted"])
    length = match["length"]
    drafts = _rounds(accepted, drafted, length, 0) if length else None
    return Metrics(
        source="llama.cpp log",
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        names=(("draft acceptance", Definition.PER_DRAFTED), ("mean len", Definition.LENGTH)),
    )


def _from_sglang_log(text: str, name: str) -> Metrics | None:
    lengths = [float(match["length"]) for match in SGLANG_LINE.finditer(text)]
    if not lengths:
        return None
    return Metrics(
        source="SGLang log",
        length=sum(lengths) / len(lengths),
        names=(("accept len", Definition.LENGTH),),
    )


def _from_counters(text: str, name: str) -> Metrics | None:
    try:
        samples = [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if not sample.name.endswith("_created")
        ]
    except ValueError as error:
        raise InvalidInput(f"metrics {name}: is not OpenMetrics text ({error}).") from None
    return _from_gauges(samples, name) or _from_totals(samples, name)


def _from_totals(samples: list[Any], name: str) -> Metrics | None:
    totals: dict[str, int] = {}
    kept: dict[int, int] = {}
    names: dict[str, Definition] = {}
    engine = ""
    for sample in samples:
        if (match := ENDINGS.fullmatch(sample.name)) is None:
            continue
        engine, what = match["engine"], match["what"]
        count = _count(sample, name)
        if what == "accepted_tokens_per_pos":
            at = int(sample.labels.get("position", "0"))
            kept[at] = kept.get(at, 0) + count
        else:
            totals[what] = totals.get(what, 0) + count
        if what in DEFINITIONS:
            names[sample.name] = DEFINITIONS[what]
    if not totals:
        return None
    return Metrics(
        source=f"{engine} counters",
        drafts=totals.get("drafts"),
        drafted=totals.get("draft_tokens"),
        accepted=totals.get("accepted_tokens"),
        kept=tuple(kept.get(at, 0) for at in range(max(kept, default=-1) + 1)),
        names=tuple(names.items()),
    )


def _count(sample: Any, name: str) -> int:
    value = float(sample.value)
    if not math.isfinite(value) or value < 0:
        raise InvalidInput(
            f"metrics {name}: {sample.name} is {sample.value:g}; a counter is 0 or more."
        )
    return int(value)


def _from_gauges(samples: list[Any], name: str) -> Metrics | None:
    """Read SGLang's gauges, which are means over the last interval."""
    by_name: dict[str, list[float]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(float(sample.value))
    lengths = by_name.get("sglang:spec_accept_length")
    if not lengths:
        return None
    length = sum(lengths) / len(lengths)
    return Metrics(
        source="sglang gauges",
        length=length,
        k=_steps(by_name, length),
        names=(
            ("sglang:spec_accept_length", Definition.LENGTH),
            ("sglang:spec_accept_rate", Definition.PER_DRAFTED),
        ),
    )


def _steps(by_name: dict[str, list[float]], length: float) -> int | None:
    """Give k as configured, or as length and rate imply: both count kept drafts."""
    if steps := by_name.get("sglang:spec_num_steps"):
        return int(steps[0]) or None
    rates = by_name.get("sglang:spec_accept_rate", [])
    rate = sum(rates) / len(rates) if rates else 0.0
    return round((length - 1) / rate) if rate > 0 and length > 1 else None
