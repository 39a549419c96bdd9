"""The suite that the author of a back end runs: no answer may depend on earlier questions.

A back end keeps a cache and rolls it back; a mistake there changes the output law silently. The
suite knows nothing about caches. It asks for the row after a token sequence once on a clean
slate, then for the same row in every other way the interface allows, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from draftproof.contracts import ROOT, Backend, Draft, Logits, Text
from draftproof.errors import ContextFull, DraftproofError, InvalidInput, UnsupportedDraft

TOLERANCE = 1e-3
"""Largest logit difference allowed where a back end does not claim to be bit-exact."""

LENGTHS = (1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65)
"""Text lengths asked about: around the block sizes caches are made of."""

FEW_LENGTHS = (31, 33)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one scenario showed.

    `logit_gap` is the largest difference of a logit from the clean answer, `total_variation` the
    largest distance of the softmax rows; `fault` says what else was wrong, `at` where the
    largest difference was.
    """

    scenario: str
    rows: int
    logit_gap: float
    total_variation: float
    at: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Conformance:
    """The findings of `check_backend`, and whether they keep what the back end promises.

    `str()` gives a table.
    """

    backend: str
    engine: str
    tolerance: float
    findings: tuple[Finding, ...]

    @property
    def logit_gap(self) -> float:
        """The largest logit difference seen anywhere."""
        return max((finding.logit_gap for finding in self.findings), default=0.0)

    @property
    def total_variation(self) -> float:
        """The largest total variation seen anywhere."""
        return max((finding.total_variation for finding in self.findings), default=0.0)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that break the promise."""
        return tuple(f for f in self.findings if f.fault or not f.logit_gap <= self.tolerance)

    @property
    def holds(self) -> bool:
        """True when every row was the clean one, within the tolerance, and errors were right."""
        return not self.failures

    def __str__(self) -> str:
        head = f"{self.backend} ({self.engine}, largest logit difference allowed {self.tolerance})"
        return "\n".join([head, *map(_line, self.findings)])


def _line(finding: Finding) -> str:
    text = (
        f"  {finding.scenario:<16} {finding.rows:>4} rows  logits {finding.logit_gap:<9.3g} "
        f"total variation {finding.total_variation:<9.3g}"
    )
    return f"{text} {finding.fault or finding.at}".rstrip()


def check_backend(
    backend: Backend,
    *,
    seed: int = 0,
    tolerance: float | None = None,
    quick: bool = False,
    at_limit: bool = True,
) -> Conformance:
    """Ask a back end the same questions in many ways and demand the same rows.

    Scenarios: shuffled order; several draft lengths; after rejections; growing one token at a
    time; after refused questions; tree drafts (unless the back end refuses them); beside other
    requests (where it has ``logits_batch``); at the context limit.

    Parameters
    ----------
    backend
        What to check. Its ``engine``, where it has one, says ``"bit-exact"`` or ``"tolerance"``.
    seed
        Chooses the questions.
    tolerance
        Largest logit difference allowed. By default 0 for a bit-exact back end, else
        ``TOLERANCE``.
    quick
        Ask fewer questions, for a check of about a second.
    at_limit
        Whether to fill the context once (a long pass on a model with a large context).

    Examples
    --------
    >>> import numpy as np
    >>> class Echo:
    ...     name, engine, vocab_size, context_limit = "echo", "bit-exact", 8, 80
    ...     def logits(self, text, draft):
    ...         check_question(self, text, draft)
    ...         ends = [text[-1], *draft.tokens]
    ...         return [np.eye(8, dtype=np.float32)[end] for end in ends]
    >>> check_backend(Echo()).holds
    True
    """
    engine = str(getattr(backend, "engine", "tolerance"))
    allowed = tolerance if tolerance is not None else 0.0 if engine == "bit-exact" else TOLERANCE
    suite = _Suite(backend, np.random.default_rng(seed), FEW_LENGTHS if quick else LENGTHS)
    scenarios: list[Callable[[], Iterator[Finding]]]
    scenarios = [suite.shuffled, suite.rejections, suite.growing, suite.beside]
    if not quick:
        suite.junk = (1, 3, 8)
        scenarios += [suite.draft_lengths, suite.refusals, suite.trees]
        scenarios += [suite.limit] if at_limit else []
    findings = tuple(finding for scenario in scenarios for finding in scenario())
    return Conformance(backend.name, engine, allowed, findings)


def check_question(backend: Backend, text: Text, draft: Draft) -> None:
    """Refuse a question that no back end may answer; for authors of back ends.

    Raises
    ------
    InvalidInput
        If the text is empty, or a token id is outside the vocabulary.
    ContextFull
        If text and draft together are longer than the context.
    """
    if not text:
        raise InvalidInput("text is empty; a model needs at least one token to predict from.")
    for role, tokens in (("text", text), ("draft", draft.tokens)):
        low, high = min(tokens, default=0), max(tokens, default=0)
        if low < 0 or high >= backend.vocab_size:
            raise InvalidInput(
                f"{role} holds token id {low if low < 0 else high}; {backend.name} knows ids "
                f"0 to {backend.vocab_size - 1}."
            )
    if len(text) + len(draft) > backend.context_limit:
        raise ContextFull(
            f"the text has {len(text)} tokens and the draft {len(draft)}, and {backend.name} "
            f"holds {backend.context_limit}; shorten the prompt or ask for fewer tokens."
        )


@dataclass(slots=True)
class _Comparison:
    """Collects the differences of one scenario."""

    scenario: str
    rows: int = 0
    gap: float = 0.0
    variation: float = 0.0
    at: str = ""

    def add(self, got: Logits, clean: Logits, at: str) -> None:
        self.rows += 1
        if np.array_equal(got, clean):
            return
        difference = float(np.nan_to_num(np.abs(got - clean), nan=np.inf).max())
        if difference >= self.gap:
            self.gap, self.at = difference, f"largest {at}"
        self.variation = max(self.variation, total_variation(got, clean))

    def miscounted(self, got: int, due: int) -> None:
        self.gap, self.at = float("inf"), f"{got} rows came, {due} were due"

    def finding(self, fault: str = "") -> Finding:
        return Finding(self.scenario, self.rows, self.gap, self.variation, self.at, fault)


def total_variation(first: Logits, second: Logits) -> float:
    """Give half the sum of absolute differences of two softmax rows, computed in float64."""
    return float(np.abs(_softmax(first) - _softmax(second)).sum() / 2)


def _softmax(row: Logits) -> npt.NDArray[np.float64]:
    wide = np.asarray(row, np.float64)
    weights = np.exp(wide - wide.max())
    return np.asarray(weights / weights.sum())


@dataclass(slots=True)
class _Suite:
    backend: Backend
    random: np.random.Generator
    lengths: Sequence[int]
    line: Text = ()
    junk: Sequence[int] = (3,)
    known: dict[Text, Logits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        room = self.backend.context_limit - 9
        self.lengths = [n for n in self.lengths if n <= room] or [1]
        self.line = self.tokens(max(self.lengths) + 8)

    def tokens(self, count: int) -> Text:
        """Draw token ids; never 0, which starts only the text that clears the slate."""
        drawn = self.random.integers(1, self.backend.vocab_size, count)
        return tuple(int(token) for token in drawn)

    def ask(self, text: Text, draft: Draft | None = None) -> list[Logits]:
        rows = self.backend.logits(text, Draft.empty() if draft is None else draft)
        return [np.array(row) for row in rows]

    def clean(self, text: Text) -> Logits:
        """Give the row after `text`, asked for when the text before shared nothing with it."""
        if text not in self.known:
            self.ask((0, 0))
            self.known[text] = self.ask(text)[0]
        return self.known[text]

    def compare(
        self, into: _Comparison, text: Text, draft: Draft, rows: Sequence[Logits] | None = None
    ) -> None:
        """Ask (unless the rows are given) and compare every row with its clean answer."""
        got = self.ask(text, draft) if rows is None else rows
        if len(got) != len(draft) + 1:
            into.miscounted(len(got), len(draft) + 1)
            return
        for node, row in enumerate(got, start=ROOT):
            sequence = text + (draft.prefix(node) if node != ROOT else ())
            into.add(row, self.clean_later(sequence), f"after {len(sequence)} tokens")

    def clean_later(self, sequence: Text) -> Logits:
        """Give a clean answer without disturbing the state under test: it must be known."""
        return self.known[sequence]

    def questions(self, drafted: Iterable[int]) -> list[tuple[Text, Draft]]:
        """Pair every text length with a draft that continues the line; learn the answers."""
        pairs = []
        for length in self.lengths:
            for count in drafted:
                for end in range(length, length + count + 1):
                    self.clean(self.line[:end])
                pairs.append((self.line[:length], _chain(self.line[length : length + count])))
        return pairs

    def shuffled(self) -> Iterator[Finding]:
        """Ask in an order with no order, twice."""
        comparison = _Comparison("shuffled order")
        pairs = self.questions((0, 2))
        for _ in range(2):
            for at in self.random.permutation(len(pairs)):
                self.compare(comparison, *pairs[at])
        yield comparison.finding()

    def draft_lengths(self) -> Iterator[Finding]:
        """Ask about one text with longer and shorter drafts."""
        comparison = _Comparison("draft lengths")
        for text, draft in self.questions((2,)):
            for count in (2, 0, 1, 2):
                self.compare(comparison, text, _chain(draft.tokens[:count]))
        yield comparison.finding()

    def rejections(self) -> Iterator[Finding]:
        """Draft junk first, then ask for what follows after the rejection."""
        comparison = _Comparison("after rejection")
        for text, draft in self.questions((2,)):
            for count in self.junk:
                for junk in (self.tokens(count), (*draft.tokens[:1], *self.tokens(count - 1))):
                    self.ask(text, _chain(junk))
                    self.compare(comparison, text, draft)
                    self.ask(text, _chain(junk))
                    self.compare(comparison, text + draft.tokens, Draft.empty())
        yield comparison.finding()

    def growing(self) -> Iterator[Finding]:
        """Grow one text by one token at a time, past every length there are answers for."""
        comparison = _Comparison("one by one")
        for end in range(max(1, min(self.lengths) - 8), len(self.line) - 5):
            row = self.ask(self.line[:end])
            if self.line[:end] in self.known:
                self.compare(comparison, self.line[:end], Draft.empty(), row)
        yield comparison.finding()

    def refusals(self) -> Iterator[Finding]:
        """Between two good questions ask one that must be refused and starts like the second."""
        comparison = _Comparison("after errors")
        beyond, limit = self.backend.vocab_size, self.backend.context_limit
        wrong: list[str] = []
        for text, draft in self.questions((2,)):
            filling = (1,) * (limit - len(text))
            for bad, drafted, error in (
                ((), (), InvalidInput),
                ((*text, beyond), (), InvalidInput),
                (text, (1, beyond), InvalidInput),
                ((*text, -1), (), InvalidInput),
                ((*text, *filling, 1), (), ContextFull),
                ((*text, *filling), (1,), ContextFull),
            ):
                self.ask(self.tokens(len(text) + 1))
                wrong += self._unless_refused(bad, drafted, error)
                self.compare(comparison, text, draft)
        yield comparison.finding("; ".join(dict.fromkeys(wrong)))

    def _unless_refused(
        self, text: Text, drafted: Text, error: type[DraftproofError]
    ) -> Iterator[str]:
        what = f"{error.__name__} was due (text of {len(text)}, draft of {len(drafted)})"
        try:
            self.ask(text, _chain(drafted))
        except error:
            return
        except Exception as other:  # noqa: BLE001 - whatever it raises instead is the finding
            yield f"{what}, and {type(other).__name__} came"
        else:
            yield f"{what}, and it answered"

    def trees(self) -> Iterator[Finding]:
        """Ask with drafts that branch, between chains; every path must give its clean rows."""
        comparison = _Comparison("trees")
        for length in self.lengths:
            text, a, b = self.line[:length], *self.tokens(2)
            after = self.line[length : length + 2]
            tokens, parents = (after[0], a, after[1], b, b), (ROOT, ROOT, 0, 0, 1)
            draft = Draft(tokens, parents, (None,) * 5)  # type: ignore[arg-type]
            for node in range(ROOT, len(draft)):
                self.clean(text + (draft.prefix(node) if node != ROOT else ()))
            try:
                self.compare(comparison, text, draft)
            except UnsupportedDraft:
                return
            self.compare(comparison, text, _chain(after))
        yield comparison.finding()

    def beside(self) -> Iterator[Finding]:
        """Ask for several at once and in changing company."""
        batch: Any = getattr(self.backend, "logits_batch", None)
        if batch is None:
            return
        comparison = _Comparison("beside others")
        pairs = self.questions((0, 2))
        for size in (2, 3, 5, len(pairs)):
            chosen = [pairs[at] for at in self.random.permutation(len(pairs))[:size]]
            for (text, draft), rows in zip(chosen, batch(chosen), strict=True):
                self.compare(comparison, text, draft, rows)
        yield comparison.finding()

    def limit(self) -> Iterator[Finding]:
        """Fill the context to its last token, cleanly and in steps."""
        comparison = _Comparison("context limit")
        limit = self.backend.context_limit
        if limit < 4:
            return
        text = self.tokens(limit)
        for end in range(limit, limit - 3, -1):
            self.clean(text[:end])
        self.compare(comparison, text[: limit - 2], _chain(text[limit - 2 :]))
        fault = "; ".join(self._unless_refused(text, (1,), ContextFull))
        self.compare(comparison, text[: limit - 1], _chain(text[limit - 1 :]))
        yield comparison.finding(fault)


def _chain(tokens: Sequence[int]) -> Draft:
    """Give a chain without draft rows, which no back end looks at."""
    return Draft.chain(tokens, (None,) * len(tokens))  # type: ignore[arg-type]
