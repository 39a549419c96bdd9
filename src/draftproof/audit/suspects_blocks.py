"""Wrong block verifiers: the suspects that show only over several positions.

Each is written as foreign code is, ``judge(target_rows, draft_rows, tokens, rng) -> (accepted,
token)``, most of them as token-wise verification with one part exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.suspects import draw, likeliest_of, ratio
from draftproof.contracts import Text
from draftproof.dist import Row, normalised
from draftproof.rules.judging import correction, without

Judge: TypeAlias = Callable[[Row, Row, Any, np.random.Generator], tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSuspect:
    """A known bug in the verification of a drafted chain."""

    name: str
    about: str
    references: tuple[str, ...] = ()
    judge: Judge
    probe: str = ""
    parts: BlockParts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockParts:
    """The exchangeable parts of token-wise verification.

    `row`, `bonus_row` and `rest_row` say which target row serves position i (of n drafted
    tokens); `keeps` and `rest` are those of one step; `coin` draws the uniform of position i.
    """

    row: Callable[[int, int], int] = lambda at, _n: at
    bonus_row: Callable[[int], int] = lambda n: n
    rest_row: Callable[[int, int], int] = lambda at, _n: at
    keeps: Callable[[Row, Row, int], Any] = lambda p, q, token: ratio(p, q)[token]
    rest: Callable[[Row, Row, int], Row] = lambda p, q, _token: correction(p, q)
    first_judged: int = 0
    one_coin: bool = False

    def judge(self, target: Row, draft: Row, tokens: Any, rng: np.random.Generator) -> Any:
        """Judge a chain."""
        n, coin = len(tokens), None
        for at in range(self.first_judged, n):
            token, q = int(tokens[at]), draft[at]
            coin = rng.random() if coin is None or not self.one_coin else coin
            if not coin < self.keeps(target[self.row(at, n)], q, token):
                return at, draw(rng, self.rest(target[self.rest_row(at, n)], q, token))
        return n, draw(rng, target[self.bonus_row(n)])

    def law(
        self, target: Sequence[Row], draft: Sequence[Row], tokens: Text
    ) -> Iterator[tuple[Text, Any]]:
        """Give what `judge` emits for one chain, with probabilities: closed form of the same."""
        n, going = len(tokens), Fraction(1)
        for at in range(self.first_judged, n):
            token, q = tokens[at], draft[at]
            keeps = self.keeps(target[self.row(at, n)], q, token)
            onward = min(going, keeps) if self.one_coin else going * keeps
            if onward < going:
                rest = normalised(self.rest(target[self.rest_row(at, n)], q, token))
                yield from _then(tokens[:at], rest, going - onward)
            going = onward
        yield from _then(tokens, target[self.bonus_row(n)], going)


def _then(begun: Text, row: Row, weight: Any) -> Iterator[tuple[Text, Any]]:
    """Give every way to end a round with one more token."""
    return (((*begun, token), weight * p) for token, p in enumerate(row) if weight * p > 0)


def _exchanged(
    name: str, about: str, *references: str, probe: str = "", **parts: Any
) -> BlockSuspect:
    made = BlockParts(**parts)
    return BlockSuspect(
        name=name, about=about, references=references, judge=made.judge, probe=probe, parts=made
    )


def _running(target: Row, draft: Row, tokens: Any, *, capped: bool) -> list[Any]:
    """Products of p/q along the draft; the running product is capped at 1 if it should be."""
    weights: list[Any] = [1]
    for at, token in enumerate(tokens):
        product = weights[-1] * target[at][token] / draft[at][token]
        weights.append(min(product, 1) if capped else product)
    return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRule:
    """Block verification with its parts exchangeable."""

    weighted: bool = True
    capped: bool = True
    stops_at_failure: bool = False

    def judge(self, target: Row, draft: Row, tokens: Any, rng: np.random.Generator) -> Any:
        """Keep the longest prefix that passes its own test."""
        weights = _running(target, draft, tokens, capped=self.capped)
        n = kept = len(tokens)
        passed = 0
        for size in range(1, n + 1):
            if rng.random() < self._chance(size, weights, target, draft):
                passed = size
            elif self.stops_at_failure:
                break
        kept = passed
        if kept == n:
            return n, draw(rng, target[n])
        weight = min(weights[kept], 1) if self.weighted else 1
        return kept, draw(rng, correction(weight * target[kept], draft[kept]))

    def _chance(self, size: int, weights: list[Any], target: Row, draft: Row) -> Any:
        weight = min(weights[size], 1)
        if size == len(draft):
            return weight
        under = np.maximum(weight * target[size] - draft[size], 0).sum()
        whole = under + 1 - weight
        return under / whole if whole > 0 else 1


TOKEN_WISE = BlockParts()
BLOCK = BlockRule()
"""The two right rules put together from these parts; the tests prove them exact."""

BLOCK_SUSPECTS: tuple[BlockSuspect, ...] = (
    _exchanged(
        "everything accepted",
        "every drafted token is kept",
        "huggingface/transformers#28508",
        "vllm-project/vllm-ascend#13766",
        "1bit-MONSTER/1bit-MONSTER#111",
        probe="drafts [2, 1] when the target must say 0",
        keeps=lambda _p, _q, _token: 1,
    ),
    _exchanged(
        "first token unjudged",
        "the first drafted token is committed without being looked at",
        "ohdearquant/lattice#243",
        "PyPI sequential-speculative-decoding 0.1.1",
        probe="k = 2, drafts [2, 1] when the target must say 0",
        first_judged=1,
    ),
    _exchanged(
        "row one position late",
        "each drafted token is judged by the row after it",
        "openvinotoolkit/openvino.genai#4190",
        "vllm-project/vllm#8320",
        probe="one-hot rows 0, 1, 2, drafts [0, 1]",
        row=lambda at, _n: at + 1,
        rest_row=lambda at, _n: at + 1,
    ),
    _exchanged(
        "row one position early",
        "each drafted token but the first is judged by the row before it",
        "vllm-project/vllm#46533",
        probe="one-hot rows 0, 1, 2, drafts [0, 1]",
        row=lambda at, _n: max(0, at - 1),
        rest_row=lambda at, _n: max(0, at - 1),
    ),
    _exchanged(
        "correction from the next row",
        "the rejection is noticed one position late, so its token comes from the wrong row",
        "openvinotoolkit/openvino.genai#4190",
        probe="one-hot rows 0, 1, 2, drafts [0, 2]",
        rest_row=lambda at, _n: at + 1,
    ),
    _exchanged(
        "last position judged by the first row",
        "the last drafted token is compared with position 0",
        "vllm-project/vllm#29274",
        probe="one-hot rows 0, 1, 2, drafts [0, 1]",
        row=lambda at, n: 0 if at == n - 1 else at,
    ),
    _exchanged(
        "bonus from the last drafted row",
        "a fully kept draft is followed by a draw from the row before the right one",
        "vllm-project/vllm#8320",
        probe="one-hot rows 0, 1, 2, drafts [0, 1]",
        bonus_row=lambda n: max(0, n - 1),
    ),
    _exchanged(
        "one coin for the block",
        "one uniform decides every position, so the acceptances are not independent",
        "flashinfer-ai/flashinfer#424",
        "smart-lty/ParallelSpeculativeDecoding",
        probe="the joint law of two positions; every marginal of the first is right",
        one_coin=True,
    ),
    _exchanged(
        "block resampled from p",
        "a rejection draws from the target's row instead of from the residual",
        "NJUNLP/MCSD#5 (suspected there)",
        probe="p = (1/2, 3/10, 1/5), q = (1/4, 1/2, 1/4)",
        rest=lambda p, _q, _token: p,
    ),
    _exchanged(
        "block accepts iff p >= q",
        "no coin is tossed",
        "vllm-project/vllm-project.github.io#80",
        probe="p = (2/5, 3/5), q = (3/5, 2/5)",
        keeps=lambda p, q, token: 1 if p[token] >= q[token] else 0,
    ),
    _exchanged(
        "block argmax match, else p",
        "a token is kept when it is the row's likeliest, and else the row is drawn from",
        "tanishqkumar/ssd",
        probe="p = q = (3/5, 2/5)",
        keeps=lambda p, _q, token: likeliest_of(p)[token],
        rest=lambda p, _q, _token: p,
    ),
    _exchanged(
        "block residual of a one-hot draft",
        "the coin takes the real q and the residual takes q(x) = 1",
        "vllm-project/vllm-ascend#2881",
        probe="p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2)",
        rest=lambda p, _q, token: without(p, token),
    ),
    BlockSuspect(
        name="block verification with a plain residual",
        about="the prefix is chosen as a block, and corrected as if token by token",
        references=("vllm-project/vllm-ascend#7807",),
        judge=BlockRule(weighted=False).judge,
    ),
    BlockSuspect(
        name="block verification that stops early",
        about="the first prefix that fails ends the search, though a longer one may pass",
        references=("vllm-project/vllm-ascend#7807",),
        judge=BlockRule(stops_at_failure=True).judge,
    ),
    BlockSuspect(
        name="block verification without the cap",
        about="the running ratio may exceed 1 on its way and is clipped only where it is used",
        references=("arXiv 2601.05724 (reference code)",),
        judge=BlockRule(capped=False).judge,
    ),
)
