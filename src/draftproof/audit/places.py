"""What a server emitted, and the row that was wanted at each place.

The row of a place comes from a local reference, from a control, or from the server itself: beside
the token where that can be believed, and else by asking for the token after that prefix anew.
Whether a place is judged never depends on the token that came out there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.audit.asking import FAR, Asker, Place, Prompt
from draftproof.audit.client import Completion, Key, Listing
from draftproof.audit.numerics import VARIANTS, Step, judged, row_gap

CHECKED = 8
"""Positions at which a row reported while drafting is compared with the row asked for again."""

LEAST_ALLOWANCE = 1e-6
ASSUMED_GAP = 0.05
"""Difference in logprob allowed between a control and a server that tells no logprobs."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A local model whose rows are the target's."""

    backend: Any

    @classmethod
    def open(cls, name: str) -> Reference:
        """Open a model by name or path."""
        from draftproof.backends import open_backend

        return cls(open_backend(name))

    def ids(self, text: str) -> tuple[int, ...]:
        """Give the ids of a prompt."""
        return tuple(self.backend.tokenizer.raw(text))

    def row(self, prefix: Sequence[int], length: int) -> Listing:
        """Give the logprobs of the likeliest tokens after a prefix."""
        from draftproof.contracts import Draft

        scores = np.asarray(self.backend.logits(tuple(prefix), Draft.empty())[0], np.float64)
        scores = scores - np.logaddexp.reduce(scores)
        top = np.argsort(-scores, kind="stable")[:length]
        return {int(token): float(scores[token]) for token in top}


@dataclass(frozen=True, slots=True)
class Emission:
    """One emitted token: after which prefix, the row told beside it, and at which ask."""

    ask: int
    prefix: tuple[Key, ...] | None
    token: Key | None
    told: Listing | None


def emissions(ask: int, prompt: Prompt, done: Completion) -> list[Emission]:
    """Give every token of an answer but its first, and the end where it is not shown.

    Examples
    --------
    >>> done = Completion((7, 8), ({7: -0.1}, None), ended=True)
    >>> [(one.prefix, one.token) for one in emissions(0, (1, 2), done)]
    [((1, 2, 7), 8), ((1, 2, 7, 8), None)]
    """
    tokens: list[Key | None] = [*done.tokens] + [None] * done.ended
    lists = [*done.lists, None]
    found = []
    for at in range(1, len(tokens)):
        by_id = not isinstance(prompt, str) and all(isinstance(t, int) for t in done.tokens[:at])
        prefix = (*prompt, *done.tokens[:at]) if by_id else None
        found.append(Emission(ask, prefix, tokens[at], lists[at]))
    return found


def copied(prefix: Sequence[Key] | None) -> Key | None:
    """Give what followed the last token where it last stood before, as a lookup draft would.

    Examples
    --------
    >>> copied((5, 6, 7, 5)), copied((1, 2))
    (6, None)
    """
    if prefix is None:
        return None
    earlier = [at for at in range(len(prefix) - 1) if prefix[at] == prefix[-1]]
    return prefix[earlier[-1] + 1] if earlier else None


UNSEEN_END = Step(np.ones(1), np.ones(1), None, (np.zeros(1),) * len(VARIANTS))
"""An end at a place whose row cannot be asked for: every bet is paid the least it may have won."""


class Rows:
    """The row wanted at each position, and the rows its ceiling is made of."""

    def __init__(self, asker: Asker, reference: Reference | None, *, has_control: bool) -> None:
        self._asker, self._reference, self._has_control = asker, reference, has_control
        self.trusted = asker.abilities.raw
        self.allowance = LEAST_ALLOWANCE
        self.gap = 0.0
        self._local: dict[tuple[Key, ...], Listing] = {}

    def own(self, one: Emission) -> Listing | None:
        """Give the row told beside a token, where it can be believed."""
        return self._asker.trimmed(one.told) if self.trusted else None

    def steps(self, found: Sequence[Emission]) -> list[Step | None]:
        """Get the rows of some emissions, and make them ready; None where no row is to be had."""
        known = self._asker.rows(place for one in found for place in self._first_needs(one))
        doubted = [one for one in found if self._doubted(one, known)]
        known |= self._asker.rows(_at("server", one) for one in doubted)
        return [self._step(one, known) for one in found]

    def per_token(self, found: Sequence[Emission]) -> float:
        """Give how many rows have to be asked for, for each token, judging by some of them."""
        needs = [place for one in found for place in self._first_needs(one)]
        known = self._asker.rows(needs)
        doubted = sum(self._doubted(one, known) for one in found)
        return (len(needs) + doubted) / max(len(found), 1)

    def _first_needs(self, one: Emission) -> list[Place]:
        if one.prefix is None:
            return []
        needs = [] if self.own(one) else [_at("server", one)]
        return needs + ([_at("control", one)] if self._has_control else [])

    def _target(self, one: Emission, known: Mapping[Place, Listing | None]) -> Listing | None:
        if one.prefix is None:
            return None
        if self._reference is not None:
            length = self._asker.abilities.length
            ids = tuple(int(token) for token in one.prefix)
            if ids not in self._local:
                self._local[ids] = self._reference.row(ids, length)
            return self._local[ids]
        return known.get(_at("control", one)) if self._has_control else None

    def _doubted(self, one: Emission, known: Mapping[Place, Listing | None]) -> bool:
        """Say whether the row told beside a token is too far from the target's to be believed."""
        own, target = self.own(one), self._target(one, known)
        return own is not None and target is not None and row_gap(own, target) > FAR

    def _step(self, one: Emission, known: Mapping[Place, Listing | None]) -> Step | None:
        again = None if one.prefix is None else known.get(_at("server", one))
        own, target = again or self.own(one), self._target(one, known)
        wanted = target or own
        if wanted is None:
            return UNSEEN_END if one.token is None and one.prefix is None else None
        setting = self._asker.setting(one.ask)
        if not setting.known_from(wanted):
            return None
        others = [own] if own is not None and own is not wanted else []
        others = [row for row in others if setting.known_from(row)]
        for row in others:
            self.gap = max(self.gap, row_gap(row, wanted))
        spare = 0.0 if own is not None else ASSUMED_GAP
        return judged(
            one.token, wanted, others, setting, self.allowance + spare, copied(one.prefix)
        )

    def measure(self, found: Sequence[Emission]) -> str | None:
        """Find what the same row differs by when it is asked for again; a remark, if any."""
        gaps = []
        for who in self._asker.clients:
            for prompt in self._asker.prompts[:4]:
                pair = [self._asker.row_again(who, prompt) for _ in range(2)]
                if pair[0] is not None and pair[1] is not None:
                    gaps.append(row_gap(pair[0], pair[1]))
        told = [one for one in found if one.prefix is not None and self.own(one)][:CHECKED]
        again = self._asker.rows(_at("server", one) for one in told)
        checks = [_gap(self.own(one), again[_at("server", one)]) for one in told]
        if checks and max(checks) > FAR:
            self.trusted = False
        else:
            gaps += checks
        self.allowance = max([LEAST_ALLOWANCE, *(gap for gap in gaps if gap <= FAR)])
        if self.trusted or not checks:
            return None
        return (
            f"rows told beside sampled tokens differ by up to {max(checks):.2g} in logprob from "
            f"the same rows asked for again, so the latter were used"
        )


def _gap(one: Listing | None, other: Listing | None) -> float:
    return 0.0 if one is None or other is None else row_gap(one, other)


def _at(who: str, one: Emission) -> Place:
    assert one.prefix is not None
    return who, tuple(int(token) for token in one.prefix)
