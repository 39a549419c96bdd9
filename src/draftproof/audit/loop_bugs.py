"""Wrong decode loops in any small world: the laws that a loop under audit is held against.

`draftproof.audit.suspects_loops` writes each loop bug down in a world of its own. Here the same
bugs, and those of single steps and blocks, are put into the world the audited loop runs in, so
that their joint laws over several emitted tokens can be weighed by what it really emits. A loop
is a sequence of rounds; a bug exchanges parts of a round, so that the law of one round is a closed
form, and the law of the loop follows by going through the texts a round can leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.suspects import Part, Parts
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS, TOKEN_WISE, BlockParts
from draftproof.audit.suspects_loops import LOOP_SUSPECTS, RAW, THIRDS, counted, cut
from draftproof.backends.table import Table, fractions
from draftproof.battery import WORLDS
from draftproof.contracts import Text
from draftproof.decode import Limits
from draftproof.dist import Row, normalised
from draftproof.errors import InvalidInput
from draftproof.laws import Law, plain_law

MOST_TEXTS = 512
"""Largest joint law an audit of a loop looks at."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A model's own rows, and its rows after the user's settings.

    Parameters
    ----------
    raw
        Rows without the settings.
    after
        The row after a text with the settings applied, from the text and from what the settings
        look at, which is the text itself where the loop is right.

    Examples
    --------
    >>> no_repeats = applied(Table(THIRDS), counted)
    >>> [str(p) for p in no_repeats.after((0, 1), (0,))]
    ['1/7', '3/7', '3/7']
    """

    raw: Table
    after: Callable[[Text, Text], Row]

    @property
    def target(self) -> Table:
        """The rows that a right loop follows."""
        return Table(lambda text: self.after(text, text))


def applied(raw: Table, apply: Callable[[Row, Text], Row]) -> Settings:
    """Give the settings that turn a raw row and what they look at into a row."""
    return Settings(raw, lambda text, seen: apply(raw.row(text), seen))


@dataclass(frozen=True, kw_only=True)
class LoopWorld:
    """Where a decode loop is watched.

    Parameters
    ----------
    name
        What the world is called.
    target, draft
        Rows after every text, the prompt included, with the user's settings applied. The target's
        are the law that the loop must follow; the draft's let the suspects bet.
    prompt
        The text before the first token.
    k
        Tokens drafted per round, fewer where the text is about to end.
    tokens
        Tokens to emit.
    stop
        Ids that end the text earlier; the one that does is emitted.
    settings
        The target before the user's settings, which lets the suspects forget them.
    sure
        A draft ends after a token to which its row gives less than this.
    """

    name: str
    target: Table
    draft: Table
    prompt: Text = ()
    k: int = 2
    tokens: int = 3
    stop: frozenset[int] = frozenset()
    settings: Settings | None = None
    sure: float = 0.0

    def __post_init__(self) -> None:
        if self.size**self.tokens > MOST_TEXTS or self.tokens < 1 or self.k < 0:
            raise InvalidInput(
                f"a loop with k = {self.k} over {self.tokens} tokens of a vocabulary of "
                f"{self.size} has no small joint law; take 1 token or more, k of 0 or more, and "
                f"at most {MOST_TEXTS} texts."
            )
        if len(self.draft.row(self.prompt)) != self.size:
            raise InvalidInput(
                f"target has {self.size} tokens and draft "
                f"{len(self.draft.row(self.prompt))}; both need one vocabulary."
            )

    @property
    def size(self) -> int:
        """Number of tokens in the vocabulary."""
        return len(self.target.row(self.prompt))

    @property
    def limits(self) -> Limits:
        """Give where the text ends."""
        return Limits(max_tokens=self.tokens, stop=self.stop)

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """Every text a loop that knows its limits can emit."""
        every = itertools.product(range(self.size), repeat=self.tokens)
        return tuple(dict.fromkeys(self.ended(text) for text in every))

    def ended(self, emitted: Text) -> Text:
        """Cut a text at its first stop token and at the number of tokens asked for."""
        stops = (at + 1 for at, token in enumerate(emitted) if token in self.stop)
        return emitted[: min(next(stops, self.tokens), self.tokens)]

    def is_over(self, emitted: Text) -> bool:
        """Say whether a text has ended."""
        return bool(emitted) and (len(emitted) >= self.tokens or emitted[-1] in self.stop)

    def wanted(self) -> Law:
        """Give the law of plain decoding."""
        return plain_law(self.target, self.prompt, self.limits)

    def over_texts(self, law: Law) -> Row:
        """Give a law of texts as a row over `texts`."""
        return np.array([law.get(text, Fraction(0)) for text in self.texts], dtype=object)


Asked: TypeAlias = Callable[[LoopWorld, Text, Text, bool, Text], Row]
"""Row for a position, from the world, the text before the block, the drafted tokens since,
whether it is the bonus row, and the state that the loop keeps."""


def _right(world: LoopWorld, text: Text, prefix: Text, _bonus: bool, _state: Text) -> Row:  # noqa: FBT001
    return world.target.row(text + prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """The exchangeable parts of a decode loop.

    `block` judges a chain; `asked` gives the target's rows; `drawn` is the law the draft really
    comes from, of its row; `drops` ends a chain before a token; `keeps_state` makes the loop's
    state after a round from the state, what was drafted and what came out.
    """

    block: BlockParts = TOKEN_WISE
    asked: Asked = _right
    drawn: Part = lambda _p, q: q
    drops: Callable[[LoopWorld, int, Row], bool] = lambda _world, _token, _q: False
    keeps_state: Callable[[Text, Text, Text], Text] = lambda _state, _drafted, _emitted: ()

    def law(self, world: LoopWorld) -> Law:
        """Give the joint law of what the loop emits."""
        law: Law = {}
        going: dict[tuple[Text, Text], Any] = {((), world.prompt): Fraction(1)}
        while going:
            emitted, state = min(going, key=lambda key: len(key[0]))
            weight = going.pop((emitted, state))
            for chain, round_, share in self._round(world, emitted, state):
                text = world.ended(emitted + round_)
                if world.is_over(text):
                    law[text] = law.get(text, 0) + weight * share
                    continue
                key = text, self.keeps_state(state, chain, round_)
                going[key] = going.get(key, 0) + weight * share
        return law

    def _round(
        self, world: LoopWorld, emitted: Text, state: Text
    ) -> Iterator[tuple[Text, Text, Any]]:
        """Give every chain of one round, what then comes out, and how likely both are."""
        text, k = world.prompt + emitted, min(world.k, world.tokens - len(emitted) - 1)
        for chain, drafted in self._chains(world, text, k):
            prefixes = [chain[:at] for at in range(len(chain) + 1)]
            target = [self.asked(world, text, p, len(p) == len(chain), state) for p in prefixes]
            draft = [world.draft.row(text + prefix) for prefix in prefixes[:-1]]
            for round_, share in self.block.law(target, draft, chain):  # type: ignore[arg-type]
                yield chain, round_, drafted * share

    def _chains(self, world: LoopWorld, text: Text, k: int) -> Iterator[tuple[Text, Any]]:
        """Draft at most k tokens; a chain that drops a token ends before it."""
        if k == 0:
            yield (), Fraction(1)
            return
        q = world.draft.row(text)
        lost = Fraction(0)
        for token, weight in enumerate(normalised(self.drawn(world.target.row(text), q))):
            if self.drops(world, token, q):
                lost += weight
            elif weight > 0:
                left = k - 1 if q[token] >= world.sure else 0
                for rest, onward in self._chains(world, (*text, token), left):
                    yield (token, *rest), weight * onward
        if lost > 0:
            yield (), lost


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBug:
    """A known bug of a decode loop, wherever the loop runs.

    `needs` says what a world must have for the bug to be possible: "settings", "stop" or nothing.
    """

    name: str
    about: str
    references: tuple[str, ...] = ()
    needs: str = ""
    parts: LoopParts

    def shows_in(self, world: LoopWorld) -> bool:
        """Say whether the world has what the bug needs."""
        return not self.needs or bool(getattr(world, self.needs))


def _settings(world: LoopWorld) -> Settings:
    assert world.settings is not None, "bugs of settings are only tried where there are some"
    return world.settings


def _seen(world: LoopWorld, text: Text, prefix: Text, seen: Text) -> Row:
    return _settings(world).after(text + prefix, seen)


def _raw(world: LoopWorld, text: Text, prefix: Text) -> Row:
    return _settings(world).raw.row(text + prefix)


def _bug(name: str, about: str, *cases: str, needs: str = "", **parts: Any) -> LoopBug:
    """Give a bug with the reports of the `cases`, the loop suspects it is an instance of."""
    known = {suspect.name: suspect.references for suspect in LOOP_SUSPECTS}
    references = tuple(dict.fromkeys(report for case in cases for report in known[case]))
    return LoopBug(
        name=name, about=about, references=references, needs=needs, parts=LoopParts(**parts)
    )


SETTINGS_BUGS = (
    _bug(
        "settings on bonus tokens only",
        "drafted tokens are judged by rows without the user's settings",
        "min-p on bonus tokens only",
        "temperature on bonus tokens only",
        needs="settings",
        asked=lambda w, text, prefix, bonus, _s: (
            w.target.row(text + prefix) if bonus else _raw(w, text, prefix)
        ),
    ),
    _bug(
        "settings on the first position only",
        "only the first position of a block is judged with the user's settings",
        "grammar ignored inside the block",
        needs="settings",
        asked=lambda w, text, prefix, _b, _s: (
            _raw(w, text, prefix) if prefix else w.target.row(text)
        ),
    ),
    _bug(
        "settings ignored",
        "every token is judged by the rows without the user's settings",
        "logit bias ignored",
        "temperature 0 judged by the raw rows",
        needs="settings",
        asked=lambda w, text, prefix, _b, _s: _raw(w, text, prefix),
    ),
    _bug(
        "settings see the block's start",
        "penalties and masks of a whole block are computed from the text before it",
        "penalty not advanced inside the block",
        "min_tokens looks at the block's start",
        "grammar not advanced inside the block",
        "constraint that starts inside a draft",
        needs="settings",
        asked=lambda w, text, prefix, _b, _s: _seen(w, text, prefix, text),
    ),
    _bug(
        "settings see the last token twice",
        "the last token of the text is counted again when a block begins",
        "last token penalised twice",
        needs="settings",
        asked=lambda w, text, prefix, _b, _s: _seen(w, text, prefix, text + text[-1:] + prefix),
    ),
    _bug(
        "settings see rejected drafts",
        "the state of penalties keeps the tokens of drafts that were rejected",
        "rejected drafts penalised",
        needs="settings",
        asked=lambda w, text, prefix, _b, state: _seen(w, text, prefix, state + prefix),
        keeps_state=lambda state, drafted, emitted: (*state, *drafted, *emitted[-1:]),
    ),
    _bug(
        "settings see one token of a round",
        "only the last token that a round emitted enters the state of penalties",
        "one token of a round penalised",
        needs="settings",
        asked=lambda w, text, prefix, _b, state: _seen(w, text, prefix, state + prefix),
        keeps_state=lambda state, _drafted, emitted: state + emitted[-1:],
    ),
)

SCHEDULE_BUGS = (
    _bug(
        "stop token taken out of the draft",
        "a sampled end-of-sequence token is dropped unjudged, and the target drawn from",
        "drafted stop token dropped by the loop",
        needs="stop",
        drops=lambda world, token, _q: token in world.stop,
    ),
    _bug(
        "draft length chosen after looking",
        "the draft ends before a token whose own probability is below 1/2",
        "length chosen after looking",
        drops=lambda _world, token, q: bool(2 * q[token] < 1),
    ),
)


def _of_a_step(parts: Parts) -> LoopParts:
    """Give the loop that judges every position with these parts of a step."""

    def asked(world: LoopWorld, text: Text, prefix: Text, _bonus: bool, _state: Text) -> Row:  # noqa: FBT001
        after = text + prefix
        return parts.target(world.target.row(after), world.draft.row(after))

    block = BlockParts(
        keeps=lambda p, q, token: parts.keeps(p, q)[token],
        rest=lambda p, q, _token: parts.rest(p, q),
    )
    return LoopParts(block=block, asked=asked, drawn=parts.drawn)


def _known(suspects: Sequence[Any], made: Callable[[Any], LoopParts]) -> Iterator[LoopBug]:
    for one in suspects:
        if one.parts is not None:
            parts = made(one.parts)
            yield LoopBug(name=one.name, about=one.about, references=one.references, parts=parts)


LOOP_BUGS: tuple[LoopBug, ...] = (
    *SETTINGS_BUGS,
    *SCHEDULE_BUGS,
    *_known(STEP_SUSPECTS, _of_a_step),
    *_known(BLOCK_SUSPECTS, lambda parts: LoopParts(block=parts)),
)
"""Every bug whose law in a loop is known, the bugs of steps and blocks included."""


def loop_laws(world: LoopWorld) -> dict[str, Row]:
    """Give the joint law of every bug that is possible in a world, over its texts.

    Examples
    --------
    >>> world = LOOP_WORLDS[1]
    >>> laws = loop_laws(world)
    >>> wanted = world.over_texts(world.wanted())
    >>> bool((laws["settings on bonus tokens only"] == wanted).all())
    False
    """
    shown = (bug for bug in LOOP_BUGS if bug.shows_in(world))
    return {bug.name: world.over_texts(bug.parts.law(world)) for bug in shown}


def settled(name: str, settings: Settings, draft: Table, **where: Any) -> LoopWorld:
    """Give the world of a target whose rows the user's settings change."""
    return LoopWorld(name=name, target=settings.target, draft=draft, settings=settings, **where)


LOOP_WORLDS = (
    settled(
        "a frequency penalty",
        applied(Table(THIRDS), counted),
        Table(fractions("1/5", "1/5", "3/5")),
        prompt=(0,),
    ),
    settled(
        "min-p 1/5, and id 0 ends a text",
        applied(Table(RAW), lambda row, _seen: cut(row)),
        Table(fractions("1/4", "1/4", "1/2")),
        stop=frozenset({0}),
    ),
    LoopWorld(
        name="rows that follow the text", target=WORLDS[-1].target, draft=WORLDS[-1].draft, tokens=4
    ),
)
"""Where the bugs of loops are told apart, and where the tests try them."""
