"""Wrong decode loops: the rule is right, and what it is fed does not follow the text.

Penalties, grammars, truncation and temperature that reach some positions only; drafts that are
dropped after looking at them; luck that two rounds or two requests share. Each suspect is our own
loop with one bent part, in a world small enough that its joint law is enumerated and compared
with plain decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np

from draftproof.audit.explore import explore_symbols
from draftproof.audit.suspects import likeliest_of
from draftproof.backends.table import Table, fractions
from draftproof.chance import Chance
from draftproof.chance import law as law_of
from draftproof.contracts import Draft, Predictor, Proposer, Text
from draftproof.decode import Limits, generate
from draftproof.dist import Row, normalised
from draftproof.laws import plain_law
from draftproof.proposers import DraftModel
from draftproof.rules import find_rule
from draftproof.rules.judging import correction, without

RowAfter: TypeAlias = Callable[[Text], Row]
Bent: TypeAlias = Callable[[Text, Text, bool], Row]
"""Row from the text before the block, the drafted tokens since, and whether it is the bonus row."""

JointLaw: TypeAlias = dict[Text, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSuspect:
    """A known bug of a decode loop: what it emits in its world, and what it should."""

    name: str
    about: str
    references: tuple[str, ...] = ()
    probe: str = ""
    law: Callable[[], JointLaw]
    wanted: Callable[[], JointLaw]


@dataclass(frozen=True, slots=True)
class BentPredictor:
    """A predictor that is right only where the bend says so."""

    bent: Bent

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one row after the text and one after each drafted token."""
        prefixes = [(), *(draft.prefix(node) for node in range(len(draft)))]
        last = len(prefixes) - 1
        return [self.bent(text, prefix, at == last) for at, prefix in enumerate(prefixes)]


@dataclass(slots=True)
class Remembering:
    """A predictor that keeps state of its own between rounds, as a penalty counter does.

    `note` is told each round's text and draft, and returns what the state then holds.
    """

    base: Row
    note: Callable[[Text, Text, Text], Text]
    state: Text = ()
    seen: Text = field(default=())

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give rows penalised by the state, and remember the round."""
        new = text[len(self.seen) :]
        self.state, self.seen = self.note(self.state, new, draft.tokens), text
        prefixes = [(), *(draft.prefix(node) for node in range(len(draft)))]
        return [penalised(self.base, self.state + prefix) for prefix in prefixes]


@dataclass(frozen=True, slots=True)
class Choosy:
    """A proposer that ends its draft before a token it has already seen."""

    proposer: Proposer
    drops: Callable[[int, Row], bool]
    name: str = "choosy"

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft, and cut the draft where a token is not liked."""
        draft = self.proposer.propose(chance, text, k)
        bad = (n for n, t in enumerate(draft.tokens) if self.drops(t, draft.rows[n]))
        fine = next(bad, len(draft))
        return Draft.chain(draft.tokens[:fine], draft.rows[:fine])


def penalised(base: Row, text: Text) -> Row:
    """Divide the weight of every token of the text by 3: ln 3 off its logit, once seen."""
    weights = [w / 3 if token in text else w for token, w in enumerate(base)]
    return normalised(np.array(weights, dtype=object))


def counted(base: Row, text: Text) -> Row:
    """Divide the weight of a token by 3 for every time the text has it (frequency penalty)."""
    weights = [w / 3 ** text.count(token) for token, w in enumerate(base)]
    return normalised(np.array(weights, dtype=object))


HALF = fractions("1/2", "1/2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a loop is watched: the draft's row, the prompt, k, and where the text ends."""

    draft: Row = field(default_factory=HALF.copy)
    text: Text = ()
    k: int = 2
    tokens: int = 3
    stop: frozenset[int] = frozenset()

    @property
    def limits(self) -> Limits:
        """Give where the text ends."""
        return Limits(max_tokens=self.tokens, stop=self.stop)


def spoken(make: Callable[[], Predictor], proposer: Proposer, scene: Scene) -> JointLaw:
    """Enumerate what our loop emits with a predictor that is made anew for every way it goes."""
    rule = find_rule("token-wise")

    def play(chance: Chance) -> Text:
        return generate(
            chance, make(), proposer, rule, scene.text, k=scene.k, limits=scene.limits
        ).tokens

    return law_of(play)


def _bent(
    name: str,
    about: str,
    *references: str,
    right: RowAfter,
    bent: Bent | None = None,
    make: Callable[[], Predictor] | None = None,
    drops: Callable[[int, Row], bool] = lambda token, row: False,
    probe: str = "",
    **scene: Any,
) -> LoopSuspect:
    """Give the suspect that is our loop with a bent predictor, or with a choosy proposer."""
    where = Scene(**scene)
    target = Table(right)
    proposer = Choosy(DraftModel(Table(where.draft)), drops)
    predictor = make or (lambda: BentPredictor(bent) if bent is not None else target)
    return LoopSuspect(
        name=name,
        about=about,
        references=references,
        probe=probe,
        law=lambda: spoken(predictor, proposer, where),
        wanted=lambda: plain_law(target, where.text, where.limits),
    )


THIRDS = fractions("1/3", "1/3", "1/3")
RAW = fractions("3/5", "3/10", "1/10")


def cut(row: Row) -> Row:
    """Apply min-p = 1/5."""
    return normalised(np.where(5 * row >= row.max(), row, 0 * row))


PENALTIES = (
    _bent(
        "penalty not advanced inside the block",
        "every position of the block is penalised for the text before the block only",
        "sgl-project/sglang#28180",
        "NVIDIA/TensorRT-LLM#17701",
        "mlx-node/mlx-node#11",
        "ml-explore/mlx-lm#1175",
        right=lambda text: penalised(HALF, text),
        bent=lambda text, _prefix, _bonus: penalised(HALF, text),
        tokens=2,
        probe="two tokens of equal logits, ln 3 off once seen: P(aa) = 1/8, not 1/4",
    ),
    _bent(
        "last token penalised twice",
        "the last token of the text is counted again when a block begins",
        "vllm-project/vllm#33251",
        right=lambda text: counted(HALF, text),
        bent=lambda text, prefix, _bonus: counted(HALF, text + text[-1:] + prefix),
        text=(0,),
        tokens=2,
        probe="a frequency penalty, counts after one round",
    ),
    _bent(
        "rejected drafts penalised",
        "the penalty state keeps the tokens of drafts that were rejected",
        "osaurus-ai/vmlx-swift#361",
        right=lambda text: penalised(THIRDS, text),
        make=lambda: Remembering(THIRDS, lambda state, new, drafted: state + new + drafted),
        draft=fractions("1/5", "1/5", "3/5"),
        k=1,
        probe="a rejected token must be unpenalised in the next round",
    ),
    _bent(
        "one token of a round penalised",
        "only the last token that a round emitted enters the penalty state",
        "sgl-project/sglang#33643",
        right=lambda text: penalised(HALF, text),
        make=lambda: Remembering(HALF, lambda state, new, _drafted: state + new[-1:]),
        k=1,
        tokens=4,
        probe="two tokens, ln 3 off once seen, several rounds",
    ),
)

SETTINGS = (
    _bent(
        "min-p on bonus tokens only",
        "logit processors that keep the argmax are skipped on verified positions",
        "vllm-project/vllm#42744",
        right=lambda _text: cut(RAW),
        bent=lambda _text, _prefix, bonus: cut(RAW) if bonus else RAW,
        draft=THIRDS,
        k=1,
        tokens=2,
        probe="min-p 1/5 on (3/5, 3/10, 1/10): token 2 must never come out",
    ),
    _bent(
        "logit bias ignored",
        "a token banned by the user's bias is judged by the row without the bias",
        "vllm-project/vllm#38202",
        "vllm-project/vllm#38467",
        right=lambda _text: without(RAW, 0) / without(RAW, 0).sum(),
        bent=lambda _text, _prefix, _bonus: RAW,
        draft=fractions("1", "0", "0"),
        k=1,
        tokens=2,
        probe="bias of minus infinity on the only drafted token",
    ),
    _bent(
        "temperature on bonus tokens only",
        "drafted tokens are judged by the row before the temperature",
        "ohdearquant/lattice#388",
        "vllm-project/vllm#9834",
        right=lambda _text: fractions("3/4", "1/4"),
        bent=lambda _text, _prefix, bonus: (
            fractions("3/4", "1/4") if bonus else fractions("9/10", "1/10")
        ),
        k=1,
        tokens=2,
        probe="logits (ln 9, 0) at temperature 2",
    ),
    _bent(
        "temperature 0 judged by the raw rows",
        "the ratio test runs on the softmax at temperature 1 though temperature 0 was asked for",
        "jaymody/speculative-sampling#9",
        right=lambda _text: likeliest_of(fractions("3/10", "1/2", "1/5")),
        bent=lambda _text, _prefix, _bonus: fractions("3/10", "1/2", "1/5"),
        draft=fractions("2/5", "3/10", "3/10"),
        k=1,
        tokens=2,
        probe="p = (3/10, 1/2, 1/5), q = (2/5, 3/10, 3/10), temperature 0 must give token 1",
    ),
    _bent(
        "min_tokens looks at the block's start",
        "whether the text may end yet is decided once for a block, not for each position",
        "vllm-project/vllm#19482",
        "sgl-project/sglang#33643",
        right=lambda text: fractions("0", "1") if len(text) < 2 else HALF,
        bent=lambda text, _prefix, _bonus: fractions("0", "1") if len(text) < 2 else HALF,
        stop=frozenset({0}),
        probe="min_tokens = 2 and an end-of-sequence token drafted at the third position",
    ),
)

GRAMMAR = {(): (0,), (0,): (1,)}
"""The language "a, then b, then b for ever", as the tokens allowed after a text; b otherwise."""


def masked(text: Text) -> Row:
    """Give even weights over what the grammar allows, beside a third token it never does."""
    allowed = GRAMMAR.get(text, (1,))
    weights = [Fraction(token in allowed) for token in range(3)]
    return normalised(np.array(weights, dtype=object))


def switched(text: Text) -> Row:
    """Give a row whose constraint (no token 2) starts after the first token 1."""
    return fractions("1/2", "1/2", "0") if 1 in text else THIRDS


GRAMMARS = (
    _bent(
        "grammar ignored inside the block",
        "only the first position of a block is masked",
        "vllm-project/vllm#9423",
        "vllm-project/vllm#44993",
        right=masked,
        bent=lambda text, prefix, _bonus: masked(text) if not prefix else THIRDS,
        draft=THIRDS,
        tokens=2,
        probe='grammar "ab", drafts [a, c]',
    ),
    _bent(
        "grammar not advanced inside the block",
        "every position of a block is masked by the state before the block",
        "vllm-project/vllm#44006",
        "vllm-project/vllm#46272",
        right=masked,
        bent=lambda text, _prefix, _bonus: masked(text),
        draft=THIRDS,
        tokens=2,
        probe='grammar "ab", drafts [a, b]',
    ),
    _bent(
        "constraint that starts inside a draft",
        "a constraint switched on by a drafted token is not applied until the next block",
        "vllm-project/vllm#44297",
        right=switched,
        bent=lambda text, _prefix, _bonus: switched(text),
        draft=THIRDS,
        tokens=2,
        probe="grammar switched on by token t, drafts [t, illegal]",
    ),
)

SCHEDULES = (
    _bent(
        "drafted stop token dropped by the loop",
        "a sampled end-of-sequence token is taken out of the draft, and the target drawn from",
        "huggingface/transformers#47912 (its fix)",
        right=lambda _text: fractions("1/5", "4/5"),
        drops=lambda token, _row: token == 0,
        k=1,
        tokens=2,
        stop=frozenset({0}),
        probe="p = (1/5, 4/5), q = (1/2, 1/2), id 0 ends a text",
    ),
    _bent(
        "length chosen after looking",
        "the draft ends before a token whose own probability is small",
        "ggml-org/llama.cpp#22506",
        right=lambda _text: HALF,
        drops=lambda token, row: bool(2 * row[token] < 1),
        draft=fractions("1/5", "4/5"),
        k=1,
        tokens=2,
        probe="p = (1/2, 1/2), q = (1/5, 4/5)",
    ),
)

P, Q = fractions("2/5", "2/5", "1/5"), fractions("1/10", "1/10", "4/5")


def _step_on(luck: Sequence[Any]) -> int:
    """One right speculative step on three given uniforms."""
    token = _pick(Q, luck[0])
    return token if luck[1] * Q[token] < P[token] else _pick(correction(P, Q), luck[2])


def _pick(weights: Row, u: Any) -> int:
    edges = np.cumsum(normalised(weights))
    return next(token for token, edge in enumerate(edges) if u < edge)


def _twice_on_one_luck(rng: Any) -> Text:
    luck = [rng.random() for _ in range(3)]
    return (_step_on(luck), _step_on(luck))


def _coin_by_position(rng: Any) -> Text:
    coin = rng.random()
    return tuple(_step_on([rng.random(), coin, rng.random()]) for _ in range(2))


def _pairs() -> JointLaw:
    return {(x, y): P[x] * P[y] for x in range(3) for y in range(3)}


def _shared(name: str, about: str, play: Any, *references: str, probe: str) -> LoopSuspect:
    return LoopSuspect(
        name=name,
        about=about,
        references=references,
        probe=probe,
        law=lambda: cast(JointLaw, explore_symbols(play).law),
        wanted=_pairs,
    )


SHARED_LUCK = (
    _shared(
        "one stream for two requests",
        "unseeded requests draw from one stream, so they say the same",
        _twice_on_one_luck,
        "NVIDIA/TensorRT-LLM#19487",
        "vllm-project/vllm#6038",
        "sgl-project/sglang#33395",
        probe="two unseeded runs must differ",
    ),
    _shared(
        "coin fixed by the position",
        "every prompt sees the same coin at the same position",
        _coin_by_position,
        "smart-lty/ParallelSpeculativeDecoding",
        "anthony-chaudhary/fak#13146",
        "vllm-project/vllm#35398",
        probe="acceptances of two prompts at one position must be independent",
    ),
)

LOOP_SUSPECTS: tuple[LoopSuspect, ...] = (
    *PENALTIES,
    *SETTINGS,
    *GRAMMARS,
    *SCHEDULES,
    *SHARED_LUCK,
)
