"""Wrong decode loops in any small world: the laws that a loop under audit is held against.

`draftproof.audit.suspects_loops` writes each loop bug down in a world of its own. Here the same
bugs, and those of single steps and blocks, are put into the world the audited loop runs in, so
that their joint laws over several emitted tokens can be weighed by what it really emits. A loop
is a sequence of rounds; a bug exchanges parts of a round, so that the law of one round is a closed
form, and the law of the loop follows by going through the texts a round can leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from draftproof.audit.catalogue import STEP_SUSPECTS
from draftproof.audit.loop_world import LoopWorld, Settings, applied, settled
from draftproof.audit.suspects import Part, Parts
from draftproof.audit.suspects_blocks import BLOCK_SUSPECTS, TOKEN_WISE, BlockParts
from draftproof.audit.suspects_loops import LOOP_SUSPECTS, RAW, THIRDS, counted, cut
from draftproof.backends.table import Table, fractions
from draftproof.battery import WORLDS
from draftproof.contracts import Text
from draftproof.dist import Row, normalised
from draftproof.laws import Law

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
            for round_, share in self.block.law(target, draft, chain):
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
