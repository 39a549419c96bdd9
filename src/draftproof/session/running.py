"""Options in, rounds and text out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from draftproof.chance import Chance, Dice
from draftproof.contracts import Draft, Guarantee, Predictor, Proposer, Rule, Text
from draftproof.decode import Limits, NoDraft, Round, Schedule, Tally, rounds
from draftproof.errors import InvalidInput
from draftproof.planner.policy import Adaptive
from draftproof.proposers import NAMED, Setting
from draftproof.rules import find_rule
from draftproof.session.costing import round_seconds
from draftproof.session.drafting import model_proposer, named_proposer
from draftproof.session.foreign import check_vocabularies, foreign_proposer
from draftproof.session.models import Model, open_model
from draftproof.session.refusals import check_options
from draftproof.session.typist import Piece, Typist
from draftproof.trace import FORMAT, Glass, TraceWriter, Witness, round_record
from draftproof.warp import Warp, Warped

Vocabulary = Literal["same", "intersection", "text"]

OWN_LUCK = frozenset({"exact-match", "gumbel", "tree-target-only"})
"""Rules that emit the target's own draw: their text does not depend on the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to run. The defaults are those of `draftproof run`.

    Parameters
    ----------
    target, draft
        Names, or paths of models.
    rule
        Name of the verification rule; a lossy one is thereby asked for.
    k, drafts
        Positions to draft per round, ``"auto"`` to have `draftproof.planner.policy` choose them
        round by round, and drafts per position (None: one for a rule that judges
        a chain, else two).
    max_tokens, min_tokens, stop, seed
        Where the text ends, before which token it may not, and its luck.
    chat
        Put the prompt into the model's chat template.
    earlier
        Texts written before, for the draft ``suffix`` to copy from too.
    vocabulary
        What a draft model over other tokens than the target's is used for: nothing (``"same"``,
        it is refused), its law on what both can say (``"intersection"``), or its text
        (``"text"``).
    warp
        How logits become probabilities, of target and draft alike.
    """

    target: str = "smollm2"
    draft: str = "ngram"
    rule: str = "token-wise"
    k: int | Literal["auto"] = 4
    drafts: int | None = None
    max_tokens: int = 128
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    seed: int = 0
    chat: bool = True
    earlier: tuple[str, ...] = ()
    vocabulary: Vocabulary = "same"
    warp: Warp = field(default_factory=lambda: Warp(temperature=0.4))


@dataclass(frozen=True, slots=True)
class Step:
    """One round, cut where the text ends, and what it typed."""

    round: Round
    pieces: tuple[Piece, ...]


@dataclass(slots=True)
class Transcript:
    """What a run has produced so far; it stays valid when the run is interrupted."""

    pieces: list[Piece] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    prefill: float = 0.0
    ends: str | None = None

    def add(self, step: Step) -> None:
        """Count one more step."""
        self.pieces.extend(step.pieces)
        self.tokens.extend(step.round.emitted)
        self.tally.add(step.round)
        self.ends = step.round.ends

    @property
    def text(self) -> str:
        """The text typed so far."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def seconds(self) -> float:
        """Seconds of decoding, prefill not included."""
        tally = self.tally
        return tally.draft_seconds + tally.target_seconds + tally.other_seconds

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens over seconds of decoding; None before the first token."""
        return self.tally.emitted / self.seconds if self.tally.emitted else None

    @property
    def tokens_per_second_with_prefill(self) -> float | None:
        """Emitted tokens over all seconds; None before the first token."""
        whole = self.seconds + self.prefill
        return self.tally.emitted / whole if self.tally.emitted else None


def open_session(options: Options) -> Session:
    """Open the models that `options` name.

    Raises
    ------
    InvalidInput
        For an unknown rule or draft, a rule that cannot take these drafts, or a draft model over
        another vocabulary.
    MissingExtra, BackendError
        When a model cannot be opened; the message says what to type.
    """
    rule = find_rule(options.rule)
    check_options(options, rule)
    target = open_model(options.target)
    second = None
    if options.draft not in NAMED:
        second = open_model(options.draft)
        check_vocabularies(target, second, options.vocabulary)
    return Session(options, rule, target, second)


class Session:
    """An opened target with its draft and rule.

    Parameters
    ----------
    options
        The settings; those that name models have been followed already.
    rule
        The rule they name.
    target
        The model.
    second
        The draft model, when the draft is one.
    """

    def __init__(
        self, options: Options, rule: Rule, target: Model, second: Model | None = None
    ) -> None:
        eos = tuple(sorted(target.eos))
        warp = replace(options.warp, min_tokens=options.min_tokens, eos=eos)
        self.options = replace(options, warp=warp)
        self.rule, self.target, self.second = rule, target, second
        self._proposers: dict[Text, Proposer] = {}
        self._seconds: tuple[float, ...] | None = None

    @property
    def limits(self) -> Limits:
        """Where a text ends."""
        return Limits(
            max_tokens=self.options.max_tokens,
            stop=frozenset(self.target.eos),
            context_limit=self.target.backend.context_limit,
        )

    @property
    def texts_must_agree(self) -> bool:
        """True when plain decoding with the same seed must give the same text.

        That is at temperature 0 with an exact rule, and with a rule that emits the target's own
        draw, whose luck no draft enters.
        """
        exact = self.rule.guarantee is Guarantee.EXACT
        return exact and (self.options.warp.greedy or self.rule.name in OWN_LUCK)

    def encode(self, prompt: str) -> Text:
        """Turn a prompt into tokens, in the chat template unless the options say otherwise.

        Raises
        ------
        InvalidInput
            If the prompt is empty.
        ContextFull
            If it exceeds the model's context.
        """
        blank = prompt.strip() == "" if self.options.chat else prompt == ""
        if blank:
            raise InvalidInput("the prompt is empty; write what the model shall read.")
        text = self.target.encode(prompt, chat=self.options.chat)
        self.limits.budget(text)
        return text

    def predictor(self, text: Text) -> Warped:
        """Give the target's probability rows after the prompt `text`."""
        return Warped(self.target.backend, self.options.warp, prompt=len(text))

    def proposer(self, text: Text) -> Proposer:
        """Give the draft for the prompt `text`; the same one for the same prompt."""
        if text not in self._proposers:
            self._proposers = {text: self._make_proposer(text)}
        return self._proposers[text]

    def _make_proposer(self, text: Text) -> Proposer:
        options = self.options
        setting = Setting(
            vocab_size=self.target.backend.vocab_size,
            warp=options.warp,
            eos=options.warp.eos,
            prompt=len(text),
            earlier=tuple(self.target.encode(one, chat=False) for one in options.earlier),
        )
        limit = self.target.backend.context_limit
        if self.second is None:
            return named_proposer(self.rule, options.draft, setting, self.drafts, limit)
        if options.vocabulary != "same":
            return foreign_proposer(
                self.rule, self.target, self.second, setting, self.drafts,
                by_text=options.vocabulary == "text",
            )  # fmt: skip
        return model_proposer(self.rule, self.second, setting, self.drafts, limit)

    @property
    def drafts(self) -> int:
        """Drafts per position."""
        return self.options.drafts or (1 if self.rule.shape == "chain" else 2)

    def run(
        self,
        text: Text,
        script: Transcript,
        *,
        plain: bool = False,
        trace: TraceWriter | None = None,
    ) -> Iterator[Step]:
        """Decode after the prompt `text`, one round at a time, adding each step to `script`.

        Parameters
        ----------
        text
            The prompt, from `encode`.
        script
            Where the steps are added before they are yielded.
        plain
            Decode without a draft, with the same luck.
        trace
            Where to write the record of the run; see docs/trace.md.
        """
        witness = Witness(Dice(self.options.seed))
        target = Glass(self.predictor(text))
        proposer: Proposer = NoDraft() if plain else self.proposer(text)
        typist = Typist(self.target.speller(), self.options.stop)
        k = 0 if plain else self.schedule(text)
        script.prefill = self._prefill(target, proposer, text)
        if trace is not None:
            trace.write(self.header(text, proposer))
        try:
            for one in self._rounds(witness, target, proposer, text, k):
                step = _typed(one, typist)
                script.add(step)
                if trace is not None:
                    coins = witness.coins(one.start)
                    trace.write(round_record(step.round, target.last, coins, self.target.spell))
                yield step
                if typist.ended:
                    break
        finally:
            script.pieces.extend(typist.finish())
        script.ends = script.ends or "length"  # no round at all, where no token was asked for
        if trace is not None:
            trace.write(_ending(script))

    def _rounds(
        self,
        chance: Chance,
        target: Predictor,
        proposer: Proposer,
        text: Text,
        k: int | Schedule,
    ) -> Iterator[Round]:
        return rounds(
            chance, target, proposer, self.rule, text, k=k, limits=self.limits, allow_lossy=True
        )

    def schedule(self, text: Text, tick: Callable[[], None] = lambda: None) -> int | Schedule:
        """Give the fixed k, or the policy that chooses it, with the costs it knows.

        The first policy for a model and draft on a machine has its costs measured; `tick` is called
        `draftproof.session.costing.REPEATS` times meanwhile.
        """
        if self.options.k != "auto":
            return self.options.k
        if self._seconds is None:
            self._seconds = round_seconds(
                self.predictor(text), self.proposer(text), text, key=self._key(), tick=tick
            )
        return Adaptive(self._seconds)

    def _key(self) -> tuple[object, ...] | None:
        """What measured costs belong to; None for a model that is no file."""
        backend = self.target.backend
        folder, profile = getattr(backend, "folder", None), getattr(backend, "profile", None)
        if folder is None:
            return None
        options = self.options
        return (str(folder), repr(profile), options.draft, options.vocabulary, options.warp.greedy)

    def _prefill(self, target: Predictor, proposer: Proposer, text: Text) -> float:
        """Let target and draft read the prompt, and give the seconds it took.

        Keyed luck makes the draft that is thrown away here harmless: nothing is used up.
        """
        began = time.perf_counter()
        if self.options.max_tokens > 0 and len(text) > 1:
            target.rows(text[:-1], Draft.empty())
            proposer.propose(Dice(self.options.seed).at("prefill"), text[:-1], 1)
        return time.perf_counter() - began

    def header(self, text: Text, proposer: Proposer) -> dict[str, Any]:
        """Give the first record of a trace."""
        options, warp = self.options, self.options.warp
        return {
            "type": "header",
            "format": FORMAT,
            "target": self.target.backend.name,
            "draft": proposer.name,
            "rule": self.rule.name,
            "guarantee": self.rule.guarantee.value,
            "engine": self.target.engine,
            "k": options.k,
            "k_costs": None if self._seconds is None else list(self._seconds),
            "drafts": self.drafts,
            "seed": options.seed,
            "temperature": warp.temperature,
            "top_k": warp.top_k,
            "top_p": warp.top_p,
            "min_p": warp.min_p,
            "repetition_penalty": warp.repetition_penalty,
            "presence_penalty": warp.presence_penalty,
            "frequency_penalty": warp.frequency_penalty,
            "logit_bias": [list(pair) for pair in dict(warp.logit_bias).items()],
            "min_tokens": warp.min_tokens,
            "stop": list(options.stop),
            "prompt": list(text),
        }


def _typed(one: Round, typist: Typist) -> Step:
    """Type a round; where a stop string ends the text inside it, the round ends there too."""
    began = time.perf_counter()
    pieces: list[Piece] = []
    emitted, ends = one.emitted, one.ends
    for at, (token, source) in enumerate(zip(one.emitted, one.verdict.sources, strict=False)):
        pieces.extend(typist.type(token, source))
        if typist.ended:
            emitted, ends = one.emitted[: at + 1], "stop"
            break
    if ends is not None:
        pieces.extend(typist.finish())
    other = one.seconds.other + time.perf_counter() - began
    seconds = replace(one.seconds, other=other)
    return Step(replace(one, emitted=emitted, ends=ends, seconds=seconds), tuple(pieces))


def _ending(script: Transcript) -> dict[str, Any]:
    return {
        "type": "end",
        "ends": script.ends,
        "text": script.text,
        "rounds": script.tally.rounds,
        "drafted": script.tally.drafted,
        "accepted": script.tally.accepted,
        "emitted": script.tally.emitted,
    }
