"""A report as one JSON object, and as one HTML file that needs no network.

The page says the verdict in words first; then the evidence over samples, the law seen against the
law wanted, the suspects, and what was announced before the run. It follows the reader's light or
dark preference, and every figure has the numbers beside it as a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import Any

from draftproof import __version__
from draftproof.audit.findings import Finding, Report
from draftproof.audit.power import SampleSize
from draftproof.audit.wording import bound_words, facts_in_words, notes

VERDICTS = {
    "consistent": "Consistent with the target",
    "refuted": "Refuted: this is not the target's law",
    "faulty": "Faulty: something else than a token came out",
    "inconclusive": "Inconclusive",
}

WRONG = ("refuted", "faulty")
"""Verdicts of a case in which something is wrong."""


def as_json(report: Report) -> dict[str, Any]:
    """Give the JSON object of a report; exact values are strings of fractions."""
    bound = report.tv_bound
    return {
        "target": report.target,
        "signature": report.signature,
        "verdict": report.verdict,
        "reason": report.reason,
        "method": report.method,
        "samples": report.samples,
        "log10_e": report.log10_e,
        "gap": None if report.gap is None else _number(report.gap),
        "tv_bound": bound and {"value": bound.value, "partition": bound.partition},
        "smallest_detectable": report.smallest_detectable,
        "suspects": [
            {"name": one.name, "weight": one.weight, "reference": list(one.references)}
            for one in report.diagnosis.suspects
        ],
        "twins": list(report.diagnosis.twins),
        "telling": list(report.diagnosis.telling),
        "counterexample": report.counterexample,
        "faults": report.faults,
        "remarks": list(report.remarks),
        "announced": [_announced(size) for size in report.announced],
        "cases": [_case(finding) for finding in report.findings],
        "level": report.budget.level,
        "detect": report.budget.detect,
        "seed": report.budget.seed,
        "seconds": report.seconds,
        **report.facts,
    }


def _announced(size: SampleSize) -> dict[str, Any]:
    return {
        "suspect": size.suspect,
        "mean": _finite(size.mean),
        "most": _finite(size.most),
        "named": _finite(size.named),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _case(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "rows": finding.rows,
        "method": finding.method,
        "verdict": finding.verdict,
        "outcomes": list(finding.labels),
        "wanted": [_number(value) for value in finding.wanted],
        "seen": [_number(value) for value in finding.seen],
        "counterexample": finding.counterexample,
    }


def _number(value: Any) -> Any:
    """Give an exact value as a fraction, a measured one as a number."""
    if isinstance(value, Fraction):
        small = value.denominator < 10**12
        return str(value) if small else float(value)
    return float(value)


def shown(value: Any) -> str:
    """Write a probability for people.

    Examples
    --------
    >>> shown(Fraction(3, 8)), shown(0.37512345), shown(Fraction(1, 10**6 + 3))
    ('3/8', '0.3751', '1e-06')
    """
    if isinstance(value, Fraction) and value.denominator < 10**5:
        return str(value)
    return f"{float(value):.4g}"


# ---------------------------------------------------------------- the page

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #5b6570;
  --line: #d5dae0; --wanted: #2563a8; --seen: #b4500f; --good: #1d6f42; --bad: #b3261e;
  --wait: #7a5900; --panel: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14171b; --soft: #9aa5b1;
  --line: #343b43; --wanted: #7fb2ea; --seen: #f0a468; --good: #6fcf97; --bad: #ff8a80;
  --wait: #e8c35a; --panel: #1c2127; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .4rem 0; max-width: 48rem; }
.soft { color: var(--soft); }
.verdict { border-left: .4rem solid var(--edge); background: var(--panel);
  padding: .75rem 1rem; margin: 1rem 0; }
.verdict strong { font-size: 1.25rem; color: var(--edge); }
.consistent { --edge: var(--good); } .refuted, .faulty { --edge: var(--bad); }
.inconclusive { --edge: var(--wait); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .75rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; white-space: nowrap; }
.wide > table { min-width: 30rem; } .wide > svg { min-width: 26rem; }
svg { max-width: 100%; height: auto; display: block; margin: .5rem 0; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.axis { stroke: var(--line); } .limit { stroke: var(--bad); stroke-dasharray: 5 4; }
.course { fill: none; stroke: var(--wanted); stroke-width: 2; stroke-linejoin: round; }
.bar { display: block; height: .6rem; min-width: 1px; }
.bar.w { background: var(--wanted); } .bar.s { background: var(--seen); }
.bars { width: 14rem; }
.key span { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; }
summary { cursor: pointer; }
"""


def as_html(report: Report) -> str:
    """Give a report as one HTML page, complete in itself."""
    parts = [
        _head(report),
        _evidence(report),
        _suspects(report),
        _laws(report),
        _detectable(report),
        _remarks(report),
    ]
    title = escape(f"Audit of {report.target}: {report.verdict}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{''.join(part for part in parts if part)}</main>\n</body>\n</html>\n"
    )


def _head(report: Report) -> str:
    facts = [
        ("Method", f"{report.method}, signature {report.signature}"),
        ("Error level", f"{report.budget.level:g}: a correct sampler is refuted no more often"),
        ("Samples", f"{report.samples:,}, seed {report.budget.seed}"),
        ("Evidence", _evidence_words(report)),
        ("Total variation", bound_words(report)),
        ("Time", f"{report.seconds:.1f} s, draftproof {__version__}"),
    ]
    if report.gap is not None:
        facts.insert(3, ("Largest gap", f"{shown(report.gap)} in an enumerated law"))
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts)
    said = [report.reason[:1].upper() + report.reason[1:] + "."]
    if report.counterexample:
        said.append(report.counterexample[:1].upper() + report.counterexample[1:] + ".")
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    beside = "".join(f"<p>{escape(fact)}</p>" for fact in facts_in_words(report.facts))
    return (
        f'<h1>Audit of <code>{escape(report.target)}</code></h1>\n<div class="verdict '
        f'{report.verdict}" role="status"><strong>{VERDICTS[report.verdict]}</strong>{words}</div>'
        f"<dl>{listed}</dl>\n{beside}"
    )


def _evidence_words(report: Report) -> str:
    if report.samples == 0:
        found = report.method == "enumeration"
        return "none was needed: the law itself was found" if found else "nothing was sampled"
    if report.log10_e is None:
        return "an outcome came out that the target cannot emit"
    return f"at most 10^{report.log10_e:.2f} to 1 against the target"


WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 240, 56, 36, 14


def _evidence(report: Report) -> str:
    points = [(n, e) for n, e in report.trail if math.isfinite(e)]
    if len(points) < 2:
        return ""
    need = -math.log10(report.budget.level)
    return (
        "<h2>Evidence over samples</h2>\n<p class='soft'>Power of ten by which what came out "
        "is better explained by the suspects and the open bet than by the target. At the dashed "
        f"line the target is refuted at level {report.budget.level:g}.</p>\n"
        f'<div class="wide">{course(points, need)}</div>'
    )


def course(points: Sequence[tuple[int, float]], need: float) -> str:
    """Draw evidence over samples as SVG, thinned to a few hundred points."""
    few = points[:: max(1, len(points) // 400)]
    few = few if few[-1] == points[-1] else [*few, points[-1]]
    most = max(few[-1][0], 1)
    low = min(-1.0, *(e for _, e in few))
    high = max(need * 1.15, *(e for _, e in few))

    def x(samples: float) -> float:
        return LEFT + samples / most * (WIDTH - LEFT - 12)

    def y(evidence: float) -> float:
        return TOP + (high - evidence) / (high - low) * (HEIGHT - TOP - BOTTOM)

    line = " ".join(f"{x(n):.1f},{y(e):.1f}" for n, e in few)
    label = f"Evidence ends at 10 to the {few[-1][1]:.1f} after {most:,} samples"
    ticks = "".join(
        f'<text x="{LEFT - 8}" y="{y(e) + 4:.1f}" text-anchor="end">{e:.0f}</text>'
        for e in sorted({0.0, need, math.floor(high), math.ceil(low)})
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{label}"><line class="axis" x1="{LEFT}" x2="{WIDTH - 12}" '
        f'y1="{y(0):.1f}" y2="{y(0):.1f}"/><line class="axis" x1="{LEFT}" x2="{LEFT}" '
        f'y1="{TOP}" y2="{HEIGHT - BOTTOM}"/><line class="limit" x1="{LEFT}" '
        f'x2="{WIDTH - 12}" y1="{y(need):.1f}" y2="{y(need):.1f}"/>{ticks}'
        f'<polyline class="course" points="{line}"/>'
        f'<text x="{LEFT}" y="{HEIGHT - 10}">0</text><text x="{WIDTH - 12}" y="{HEIGHT - 10}" '
        f'text-anchor="end">{most:,} samples</text></svg>\n'
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], numeric: Iterable[int]) -> str:
    """Give a table of ready-made cells; the columns in `numeric` are set to the right."""
    right = set(numeric)
    head = "".join(
        f'<th scope="col"{" class=n" if at in right else ""}>{h}</th>' for at, h in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if at in right else ''}>{c}</td>" for at, c in enumerate(row))
        + "</tr>\n"
        for row in rows
    )
    whole = f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"
    return f'<div class="wide"><table>{whole}</table></div>\n'


def _suspects(report: Report) -> str:
    diagnosis = report.diagnosis
    if not diagnosis.suspects:
        return ""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in diagnosis.sentences())
    rows = [
        (
            escape(one.name),
            f"{one.weight:.1%}",
            escape(one.about),
            escape(", ".join(one.references)) or "-",
        )
        for one in diagnosis.suspects[:12]
    ]
    heads = ("suspect", "weight", "what it does", "reported in")
    return f"<h2>Which bug is it?</h2>\n{said}{_table(heads, rows, [1])}"


def _laws(report: Report) -> str:
    bad = [finding for finding in report.findings if finding.verdict in WRONG]
    good = [finding for finding in report.findings if finding.verdict not in WRONG]
    key = (
        "<p class='key soft'><span style='background:var(--wanted)'></span>wanted &nbsp; "
        "<span style='background:var(--seen)'></span>seen</p>"
    )
    folded = "".join(
        f"<details{' open' if not bad and at == 0 else ''}><summary>{escape(one.name)}: "
        f"{escape(one.verdict)}</summary>{_law(one)}</details>"
        for at, one in enumerate(good)
    )
    return f"<h2>Law seen against law wanted</h2>\n{key}{''.join(map(_law_titled, bad))}{folded}"


def _law_titled(finding: Finding) -> str:
    return f"<h3>{escape(finding.name)}: {escape(finding.verdict)}</h3>{_law(finding)}"


MOST_ROWS = 24


def _law(finding: Finding) -> str:
    """Draw one case, the outcomes that differ most first where there are many."""
    order = range(len(finding.labels))
    if len(finding.labels) > MOST_ROWS:
        gaps = [abs(float(s) - float(w)) for s, w in zip(finding.seen, finding.wanted, strict=True)]
        order = sorted(order, key=lambda at: -gaps[at])[:MOST_ROWS]  # type: ignore[assignment]
    scale = max([*map(float, finding.wanted), *map(float, finding.seen), 1e-9])
    rows = []
    for at in order:
        wanted, seen = finding.wanted[at], finding.seen[at]
        bars = "".join(
            f'<span class="bar {kind}" style="width:{100 * float(value) / scale:.1f}%"></span>'
            for kind, value in (("w", wanted), ("s", seen))
        )
        difference = f"{float(seen) - float(wanted):+.4f}"
        label = escape(finding.labels[at])
        rows.append(
            (label, shown(wanted), shown(seen), difference, f'<div class="bars">{bars}</div>')
        )
    note = f"<p class='soft'>{escape(finding.rows)}. Found by {escape(finding.method)}.</p>"
    if finding.counterexample:
        note += f"<p>{escape(finding.counterexample[:1].upper() + finding.counterexample[1:])}.</p>"
    heads = ("outcome", "wanted", "seen", "difference", "")
    return note + _table(heads, rows, [1, 2, 3])


def _detectable(report: Report) -> str:
    sizes = {size.suspect: size for size in report.announced}
    rows = []
    for name, least in report.smallest_detectable.items():
        size = sizes.get(name)
        mean = f"{size.mean:,.0f}" if size and math.isfinite(size.mean) else "-"
        most = f"{size.most:,.0f}" if size and math.isfinite(size.most) else "-"
        rows.append((escape(name), mean, most, "not here" if least is None else f"{least:.2g}"))
    heads = (
        "suspect",
        "samples, mean",
        "samples, 99 in 100",
        "smallest size that would have shown",
    )
    return (
        "<h2>What would have been seen</h2>\n<p class='soft'>The sample sizes were computed before "
        "the run, for sampling at the level above. The last column is the smallest total variation "
        "of each bug that would have shown with what was spent; &ldquo;not here&rdquo; means that "
        "the bug does not show on these inputs with this budget.</p>\n"
        f"{_table(heads, rows, [1, 2, 3])}"
    )


def _remarks(report: Report) -> str:
    items = [f"{what} ({share})" for what, share in report.faults.items()]
    items.extend(notes(report))
    if not items:
        return ""
    listed = "".join(f"<li>{escape(item)}</li>" for item in items[:40])
    return f"<h2>Remarks</h2>\n<ul>{listed}</ul>\n"
