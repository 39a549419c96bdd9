"""The report as JSON and as a page: complete, honest about bounds, and without the network."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from draftproof.audit import audit
from draftproof.audit.pairs import WORKED_PAIR
from draftproof.audit.report import as_html, as_json, course

WORKED = (WORKED_PAIR.p, WORKED_PAIR.q)
MUST = {
    "verdict", "method", "samples", "log10_e", "gap", "tv_bound", "smallest_detectable", "suspects",
}  # fmt: skip


def naive(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.random() < min(1, p[token] / q[token]):
        return token
    return rng.choice(len(p), p=p)


def sampled(p, q, rng):
    rng.normal()
    return naive(p, q, rng)


@pytest.fixture(scope="module")
def proved():
    return audit(naive, *WORKED)


@pytest.fixture(scope="module")
def gathered():
    return audit(sampled, *WORKED)


def test_the_object_has_the_promised_fields_and_exact_values_are_fractions(proved):
    told = as_json(proved)
    assert set(told) >= MUST
    assert told["gap"] == "1/8"
    assert told["cases"][0]["seen"] == ["3/8", "3/8", "1/4"]
    assert set(told["suspects"][0]) == {"name", "weight", "reference"}
    assert told["tv_bound"] is None
    json.dumps(told, allow_nan=False)


def test_measured_values_are_numbers(gathered):
    told = as_json(gathered)
    assert told["log10_e"] >= 6
    assert all(isinstance(value, float) for value in told["cases"][0]["seen"])
    assert told["announced"][0]["mean"] > 0
    json.dumps(told, allow_nan=False)


def test_an_impossible_token_and_an_unbounded_size_are_null_and_not_infinite():
    def escapes(p, q, rng):
        rng.normal()
        return int(rng.integers(3))

    rows = [np.array([0.5, 0.5, 0.0])] * 2
    told = as_json(audit(escapes, *rows))
    assert told["log10_e"] is None
    assert "cannot emit" in told["counterexample"]
    json.dumps(told, allow_nan=False)


class Page(HTMLParser):
    """Collects the tags of a page and checks that they close."""

    void = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.links += [v for k, v in attrs if k in ("src", "href") or (v or "").startswith("http")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("which", ["proved", "gathered"])
def test_the_page_is_well_formed_complete_and_asks_the_network_for_nothing(which, request):
    report = request.getfixturevalue(which)
    text = as_html(report)
    page = Page(text)
    assert not page.open
    assert not page.links
    assert "http" not in re.sub(r"https?://www\.w3\.org", "", text)
    tags = [tag for tag, _ in page.seen]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert ("html", {"lang": "en"}) in page.seen
    assert "prefers-color-scheme: dark" in text
    assert report.diagnosis.best in text
    assert ("svg" in tags) == (which == "gathered")
    assert all(attrs.get("aria-label") for tag, attrs in page.seen if tag == "svg")


def test_what_a_stranger_wrote_is_shown_and_not_obeyed():
    def raises(p, q, rng):
        raise ValueError("<script>alert(1)</script>")

    text = as_html(audit(raises, *WORKED))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_course_is_thinned_and_keeps_its_end():
    points = [(n, n / 1_000) for n in range(0, 100_000, 10)]
    drawn = re.search(r'points="([^"]*)"', course(points, 6.0))[1].split()
    assert 300 < len(drawn) < 600
    assert drawn[-1].startswith("628.0,")
