"""Reads metrics out of what an engine wrote: OpenMetrics text, log lines, or a JSON answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from draftproof.errors import InvalidInput
from draftproof.planner import figures, sglang
from draftproof.planner.metrics import Definition, Metrics, pooled

ENDINGS = re.compile(
    r"(?P<engine>\w{1,60}?)[:_](?:spec_decode|spec)_num_"
    r"(?P<what>drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)(?:_total)?"
)
DEFINITIONS = {
    "accepted_tokens": Definition.PER_DRAFTED,
    "drafts": Definition.LENGTH,
    "accepted_tokens_per_pos": Definition.SURVIVAL,
}
VLLM_LINE = re.compile(
    r"SpecDecoding metrics:.*?Mean acceptance length: (?P<length>[^\s,]*)"
    r".*?Accepted: (?P<accepted>\S*) tokens, Drafted: (?P<drafted>\S*) tokens"
    r"(?:, Per-position acceptance rate: (?P<rates>[^A-Za-z\n]*))?"
)
LLAMA_LINE = re.compile(
    r"draft acceptance(?: rate)? = \S* \( *(?P<accepted>\S*) accepted / *(?P<drafted>\S*) "
    r"generated\)(?:, mean len = *(?P<length>[^\s,]*))?"
)
JSON = re.compile(r"\s*(\{|\[\s*([\[{\]]|$))")
"""How an answer of llama.cpp begins; a log line may begin with a time in brackets."""


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
    whole = _from_json if JSON.match(text) else _from_counters
    for read in (_from_vllm_log, _from_llama_log, sglang.from_log, whole):
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
    except (RecursionError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"metrics {name}: is JSON with too deep a nesting or too long a number; give what the "
            f"server answered."
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
    for key in ("draft_n", "draft_n_accepted"):
        if not isinstance(one.get(key), int) or isinstance(one[key], bool):
            shown = f"is {json.dumps(one[key]):.60}" if key in one else "is missing"
            raise InvalidInput(f"metrics {name}: {key} {shown}; it must be a count.")
    return Metrics(
        source="llama.cpp timings",
        running=False,
        drafted=figures.count(one["draft_n"], f"metrics {name}: draft_n"),
        accepted=figures.count(one["draft_n_accepted"], f"metrics {name}: draft_n_accepted"),
        names=(("draft_n_accepted / draft_n", Definition.PER_DRAFTED),),
    )


def _from_vllm_log(text: str, name: str) -> Metrics | None:
    lines = [_vllm_line(match, f"metrics {name}: ") for match in VLLM_LINE.finditer(text)]
    return pooled(lines) if lines else None


def _vllm_line(match: re.Match[str], name: str) -> Metrics:
    parts = [part.strip() for part in (match["rates"] or "").split(",") if part.strip()]
    what = f"{name}Per-position acceptance rate"
    rates = [figures.share(figures.decimal(part, what), what) for part in parts]
    accepted = figures.count(match["accepted"], f"{name}Accepted")
    drafted = figures.count(match["drafted"], f"{name}Drafted")
    drafts = _rounds(
        accepted, drafted, (match["length"], f"{name}Mean acceptance length"), len(rates)
    )
    return Metrics(
        source="vLLM log",
        running=False,
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


def _rounds(accepted: int, drafted: int, length: tuple[str, str], positions: int) -> int | None:
    """Give the rounds behind a log line, which it does not tell.

    Full drafts give drafted / positions; unless the printed length, rounded as it is, speaks
    against it: then it decides.
    """
    if drafted == 0:
        return 0
    full = round(drafted / positions) if positions else 0
    mean = figures.length(figures.decimal(*length), length[1])
    if full and abs(1 + accepted / full - mean) <= 0.005 + 1e-9:
        return full
    return round(accepted / (mean - 1)) if mean > 1 and accepted else full or None


def _from_llama_log(text: str, name: str) -> Metrics | None:
    lines = [_llama_line(match, f"metrics {name}: ") for match in LLAMA_LINE.finditer(text)]
    return pooled(lines) if lines else None


def _llama_line(match: re.Match[str], name: str) -> Metrics:
    accepted = figures.count(match["accepted"], f"{name}accepted")
    drafted = figures.count(match["drafted"], f"{name}generated")
    length = match["length"]
    drafts = None if length is None else _rounds(accepted, drafted, (length, f"{name}mean len"), 0)
    return Metrics(
        source="llama.cpp log",
        running=False,
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        names=(("draft acceptance", Definition.PER_DRAFTED), ("mean len", Definition.LENGTH)),
    )


def _from_counters(text: str, name: str) -> Metrics | None:
    try:
        samples = [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if not sample.name.endswith("_created")
        ]
    except (ValueError, IndexError, OverflowError) as error:
        raise InvalidInput(
            f"metrics {name}: holds no log line about speculation that is known, and is not "
            f"OpenMetrics text ({str(error) or 'a broken line'!r:.90})."
        ) from None
    return sglang.from_gauges(samples, name) or _from_totals(samples, name)


def _from_totals(samples: list[Any], name: str) -> Metrics | None:
    totals: dict[str, int] = {}
    kept: dict[int, int] = {}
    names: dict[str, Definition] = {}
    engine = ""
    for sample in samples:
        if (match := ENDINGS.fullmatch(sample.name)) is None:
            continue
        if engine not in ("", match["engine"]):
            raise InvalidInput(
                f"metrics {name}: it holds counters of {engine} and of {match['engine']}, which "
                f"may count the same drafts twice; give those of one."
            )
        engine, what = match["engine"], match["what"]
        count = figures.count(sample.value, f"metrics {name}: {sample.name}")
        if what == "accepted_tokens_per_pos":
            at = figures.position(sample.labels.get("position"), f"metrics {name}: {sample.name}")
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
