"""The suite for back ends: a right one passes, and each planted fault is found."""

from __future__ import annotations

import numpy as np
import pytest

from draftproof.backends.conformance import check_backend, check_question, total_variation
from draftproof.contracts import ROOT
from draftproof.errors import ContextFull, InvalidInput, UnsupportedDraft


class Honest:
    """A cheap model with a cache: its state after a token is a hash of all tokens so far."""

    name, engine, vocab_size, context_limit = "honest", "bit-exact", 97, 96

    def __init__(self):
        self.tokens = []
        self.states = []

    def row(self, state):
        return np.random.default_rng(state).standard_normal(self.vocab_size).astype(np.float32)

    def feed(self, tokens):
        for token in tokens:
            before = self.states[-1] if self.states else 7
            self.tokens.append(token)
            self.states.append((before * 1_000_003 + token) % 2**61)

    def shared(self, text):
        same = [a == b for a, b in zip(self.tokens, text, strict=False)]
        return min(([*same, False]).index(False), len(text) - 1)

    def rewind(self, count):
        del self.tokens[count:], self.states[count:]

    def check(self, text, draft):
        check_question(self, text, draft)

    def logits(self, text, draft):
        self.check(text, draft)
        if draft.is_chain:
            whole = (*text, *draft.tokens)
            self.rewind(self.shared(text))
            self.feed(whole[len(self.tokens) :])
            return [self.row(state) for state in self.states[len(text) - 1 :]]
        rows = []
        for node in range(ROOT, len(draft)):
            whole = text + draft.prefix(node) if node != ROOT else text
            self.rewind(self.shared(whole))
            self.feed(whole[len(self.tokens) :])
            rows.append(self.row(self.states[-1]))
        return rows

    def logits_batch(self, questions):
        return [self.logits(text, draft) for text, draft in questions]


class ChainsOnly(Honest):
    def logits(self, text, draft):
        if not draft.is_chain:
            raise UnsupportedDraft("chains only")
        return super().logits(text, draft)


class RollbackOffByOne(Honest):
    """Keeps one token too many of what was rejected."""

    def shared(self, text):
        count = super().shared(text)
        return min(count + 1, len(text) - 1) if count and len(self.tokens) > count else count


class StaleAfterError(Honest):
    """Notes the new tokens before it looks at them, and keeps the note when it refuses."""

    def check(self, text, draft):
        try:
            super().check(text, draft)
        except (InvalidInput, ContextFull):
            self.tokens[: len(text)] = text[: len(self.tokens)]
            raise


class RowsOffByOne(Honest):
    """Gives the row before the one that was asked for."""

    def logits(self, text, draft):
        rows = super().logits(text, draft)
        return [rows[0], *rows[:-1]]


class DependsOnOrder(Honest):
    """Lets the number of calls so far leak into the last digit."""

    calls = 0

    def row(self, state):
        self.calls += 1
        return super().row(state) + np.float32(1e-6 * self.calls)


class DependsOnSplit(Honest):
    """Uses another kernel, with another last digit, for a single new token."""

    def feed(self, tokens):
        self.bump = np.float32(1e-5 if len(tokens) == 1 else 0)
        super().feed(tokens)

    def row(self, state):
        return super().row(state) * (1 + self.bump)


class DependsOnCompany(Honest):
    def logits_batch(self, questions):
        return [
            [row + np.float32(1e-6 * len(questions)) for row in self.logits(*question)]
            for question in questions
        ]


class SiblingsSeeEachOther(Honest):
    """Runs a tree as if it were a chain."""

    def logits(self, text, draft):
        if draft.is_chain:
            return super().logits(text, draft)
        self.check(text, draft)
        self.rewind(self.shared(text))
        self.feed((*text, *draft.tokens)[len(self.tokens) :])
        return [self.row(state) for state in self.states[len(text) - 1 :]]


class ForgetsTheLastRow(Honest):
    def logits(self, text, draft):
        return super().logits(text, draft)[: len(draft) or 1]


class NeverRefuses(Honest):
    def check(self, text, draft):
        if not text:
            raise InvalidInput("text is empty")


FAULTS = {
    RollbackOffByOne: "after rejection",
    StaleAfterError: "after errors",
    RowsOffByOne: "draft lengths",
    DependsOnOrder: "shuffled order",
    DependsOnSplit: "one by one",
    DependsOnCompany: "beside others",
    SiblingsSeeEachOther: "trees",
    ForgetsTheLastRow: "draft lengths",
    NeverRefuses: "after errors",
}


@pytest.mark.parametrize("seed", range(3))
def test_a_right_back_end_passes_with_difference_zero(seed):
    report = check_backend(Honest(), seed=seed)
    assert report.holds
    assert report.logit_gap == report.total_variation == 0.0
    assert all(finding.rows > 0 for finding in report.findings)
    assert {"trees", "beside others", "context limit"} <= {f.scenario for f in report.findings}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_every_planted_fault_is_found_where_it_belongs(fault, seed):
    report = check_backend(fault(), seed=seed)
    assert not report.holds
    assert FAULTS[fault] in {finding.scenario for finding in report.failures}


@pytest.mark.parametrize("fault", [RollbackOffByOne, RowsOffByOne, DependsOnSplit])
def test_the_quick_check_finds_what_a_machine_could_get_wrong(fault):
    assert not check_backend(fault(), quick=True).holds
    assert check_backend(Honest(), quick=True).holds


def test_the_worst_faults_are_not_hidden_by_a_tolerance():
    assert check_backend(DependsOnSplit(), tolerance=1e-3).holds
    assert not check_backend(RollbackOffByOne(), tolerance=1e-3).holds


def test_a_back_end_that_claims_less_is_held_to_the_stated_tolerance():
    class Modest(DependsOnSplit):
        engine = "tolerance"

    report = check_backend(Modest())
    assert report.holds
    assert 0 < report.logit_gap <= report.tolerance == 1e-3
    assert 0 < report.total_variation < 1e-4


def test_a_back_end_may_refuse_trees():
    report = check_backend(ChainsOnly())
    assert report.holds
    assert "trees" not in {finding.scenario for finding in report.findings}


def test_the_limit_is_asked_about_only_on_request():
    report = check_backend(Honest(), at_limit=False)
    assert "context limit" not in {finding.scenario for finding in report.findings}


def test_a_fault_says_what_was_due():
    (finding,) = [f for f in check_backend(NeverRefuses()).failures if f.scenario == "after errors"]
    assert "ContextFull was due" in finding.fault
    assert "InvalidInput was due" in finding.fault


def test_the_report_prints_a_line_for_each_scenario():
    report = check_backend(Honest())
    lines = str(report).splitlines()
    assert lines[0].startswith("honest (bit-exact")
    assert len(lines) == 1 + len(report.findings)


def test_total_variation_of_two_sure_rows_is_one():
    sure = np.array([200.0, 0.0], np.float32)
    assert total_variation(sure, sure[::-1]) == pytest.approx(1.0)
    assert total_variation(sure, sure) == 0.0
