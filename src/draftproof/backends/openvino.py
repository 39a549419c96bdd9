"""The OpenVINO back end: a real language model whose rows do not depend on its past.

A row depends on the tokens before it and on nothing else: not on how they were split into
passes, what was drafted and rejected, or who shared the pass. On processors where the library
gives that bit for bit the back end says ``engine == "bit-exact"``; where it does not, it says
``"tolerance"``; `draftproof.backends.opening` finds out which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from draftproof.backends import weights
from draftproof.backends.conformance import check_question
from draftproof.backends.paged import BLOCK, PagedModel, Piece, Profile, Rows
from draftproof.backends.tokens import Tokenizer
from draftproof.contracts import ROOT, Draft, Logits, Text
from draftproof.errors import BackendError, InvalidInput

TOKENS_PER_PASS = 256
"""Most tokens fed in one pass; longer texts go in several, which bounds the memory."""


@dataclass(slots=True)
class _Stream:
    """One token sequence in the cache: the tokens that are in, and the blocks that hold them."""

    model: PagedModel
    tokens: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def rewind(self, text: Sequence[int], most: int) -> None:
        """Keep the longest prefix shared with `text`, at most `most` tokens."""
        shared = 0
        for mine, theirs in zip(self.tokens[:most], text, strict=False):
            if mine != theirs:
                break
            shared += 1
        del self.tokens[shared:]

    def reserve(self, length: int) -> None:
        """Own enough blocks for `length` tokens."""
        missing = -(-length // BLOCK) - len(self.blocks)
        if missing > 0:
            self.blocks += self.model.take(missing)

    def release(self) -> None:
        """Forget everything and give the blocks back."""
        self.tokens.clear()
        self.model.give_back(self.blocks)
        self.blocks.clear()


@dataclass(slots=True)
class _Job:
    """Bring a stream to the end of `tokens`; keep the rows after the `wanted` positions."""

    stream: _Stream
    tokens: Sequence[int]
    wanted: frozenset[int]
    rows: dict[int, Logits] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return len(self.tokens) - len(self.stream.tokens)

    def piece(self, most: int) -> Piece:
        past = len(self.stream.tokens)
        count = min(self.missing, most)
        self.stream.reserve(Piece.room(past, count))
        wanted = [at for at in range(count) if past + at in self.wanted]
        return Piece(self.tokens[past : past + count], past, self.stream.blocks, wanted)

    def keep(self, piece: Piece, rows: Rows) -> None:
        """Note that the piece is in the cache now, and what followed it."""
        self.rows |= {piece.past + at: row for at, row in zip(piece.wanted, rows, strict=True)}
        self.stream.tokens += piece.tokens


class OpenVinoBackend:
    """A causal language model run by OpenVINO on the processor.

    Open one with `draftproof.backends.open_backend`.

    Parameters
    ----------
    folder
        A folder with ``openvino_model.xml`` and its tokenizer.
    profile
        How the library is to run.
    name
        Short name for reports.
    engine
        ``"bit-exact"`` or ``"tolerance"``: what the check on this machine found.
    context_limit
        Most tokens of text and draft together.
    """

    def __init__(
        self, folder: Path, profile: Profile, *, name: str, engine: str, context_limit: int
    ) -> None:
        self.folder = folder
        self.name = name
        self.engine = engine
        self.context_limit = context_limit
        self._model = PagedModel(folder / weights.MODEL, profile)
        self._streams: list[_Stream] = []
        self._unfinished = False

    @property
    def vocab_size(self) -> int:
        """Number of token ids; every logit row has this length."""
        return self._model.vocab_size

    @property
    def profile(self) -> Profile:
        """The settings the library runs with."""
        return self._model.profile

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return Tokenizer(self.folder)

    def logits(self, text: Text, draft: Draft) -> Sequence[Logits]:
        """Give one float32 logit row after `text`, then one after each draft node.

        Only tokens that the cache does not hold yet are computed; a draft that branches is
        computed as one sequence for each path, side by side on blocks shared with the text.
        A call that fails or is interrupted costs the cache, never the next answer.

        Raises
        ------
        InvalidInput
            If the text is empty, or holds an id outside the vocabulary.
        ContextFull
            If text and draft exceed `context_limit`.
        BackendError
            If the library fails, or a row is not finite (the message names the row).
        """
        return self.logits_batch([(text, draft)])[0]

    def logits_batch(self, questions: Sequence[tuple[Text, Draft]]) -> list[Sequence[Logits]]:
        """Answer several questions in shared passes; each as `logits` answers it alone.

        Question i continues what question i held in the call before, so ask for the same
        sequences in the same places.
        """
        for text, draft in questions:
            check_question(self, text, draft)
        if self._unfinished:
            self.forget()
        self._unfinished = True
        answers = self._answer(questions)
        self._unfinished = False
        return answers

    def forget(self) -> None:
        """Empty the cache and give its memory back."""
        self._streams = []
        self._model.reset()

    def _answer(self, questions: Sequence[tuple[Text, Draft]]) -> list[Sequence[Logits]]:
        while len(self._streams) < len(questions):
            self._streams.append(_Stream(self._model))
        chains = [
            _chain_job(stream, text, draft)
            for stream, (text, draft) in zip(self._streams, questions, strict=False)
        ]
        self._advance(chains)
        return [
            self._collect(job, text, draft)
            for job, (text, draft) in zip(chains, questions, strict=True)
        ]

    def sample_texts(
        self,
        prompts: Sequence[Text],
        *,
        temperature: float,
        max_tokens: int,
        seed: int,
        batch: int = 32,
    ) -> Iterator[tuple[int, Text]]:
        """Let the model write, many texts at a time; for studies and for learning drafts.

        Parameters
        ----------
        prompts
            Token ids to continue, one text for each.
        temperature
            Greater than 0.
        max_tokens
            Most tokens of each text; an end-of-text token ends it earlier and is included.
        seed
            Text i depends on the seed, i and its prompt only, not on its company.
        batch
            Texts in one pass.

        Yields
        ------
        tuple
            The prompt's index and the tokens written, as texts are finished.
        """
        if not temperature > 0:
            raise InvalidInput(f"temperature is {temperature}; sampling needs one above 0.")
        if batch < 1:
            raise InvalidInput(f"batch is {batch}; it must be at least 1.")
        waiting = iter(enumerate(prompts))
        slots = [_Writer(seed, *next_) for next_ in _first(waiting, batch)]
        while slots:
            asked = [(slot.text, Draft.empty()) for slot in slots]
            for at, (row,) in enumerate(self.logits_batch(asked)):
                slot = slots[at]
                slot.write(row, temperature)
                if slot.written[-1] in self.tokenizer.ends or len(slot.written) >= max_tokens:
                    yield slot.index, tuple(slot.written)
                    following = _first(waiting, 1)
                    slots[at] = _Writer(seed, *following[0]) if following else slot.over()
            self._drop_streams([at for at, slot in enumerate(slots) if slot.done])
            slots = [slot for slot in slots if not slot.done]

    def _drop_streams(self, places: Sequence[int]) -> None:
        for at in reversed(places):
            self._streams.pop(at).release()

    def _collect(self, job: _Job, text: Text, draft: Draft) -> Sequence[Logits]:
        """Put a question's rows in the draft's order, walking the tree's paths if it has any."""
        last = len(text) - 1
        rows = {ROOT: job.rows[last]}
        if draft.is_chain:
            rows |= {node: job.rows[last + 1 + node] for node in range(len(draft))}
        else:
            rows |= self._walk(job.stream, text, draft)
        ordered = [rows[node] for node in range(ROOT, len(draft))]
        for index, row in enumerate(ordered):
            if not np.isfinite(row.max()):
                raise BackendError(
                    f"{self.name} gave a row that is not finite: row {index} of "
                    f"{len(ordered)}, after {len(text)} tokens of text."
                )
        return ordered

    def _walk(self, trunk: _Stream, text: Text, draft: Draft) -> dict[int, Logits]:
        """Compute every path of a tree as a sequence of its own that shares the text's blocks."""
        paths = [draft.path(node) for node in range(len(draft)) if not draft.children(node)]
        wholes = [[*text, *(draft.tokens[node] for node in path)] for path in paths]
        jobs = [
            _Job(self._fork(trunk, len(text)), whole, frozenset(range(len(text), len(whole))))
            for whole in wholes
        ]
        self._advance(jobs)
        for job in jobs:
            self._model.give_back(job.stream.blocks[len(text) // BLOCK :])
        return {
            node: job.rows[len(text) + depth]
            for path, job in zip(paths, jobs, strict=True)
            for depth, node in enumerate(path)
        }

    def _fork(self, trunk: _Stream, length: int) -> _Stream:
        """Give a stream that holds the first `length` tokens of another.

        Full blocks are shared, the last, partly filled one is copied.
        """
        shared, rest = divmod(length, BLOCK)
        branch = _Stream(self._model, trunk.tokens[:length], trunk.blocks[:shared])
        if rest:
            branch.reserve(length)
            self._model.copy_block(trunk.blocks[shared], branch.blocks[shared])
        return branch

    def _advance(self, jobs: Sequence[_Job]) -> None:
        """Run passes until every job is done.

        A stream's record of its tokens is cut before a pass and lengthened after it.
        """
        while active := [job for job in jobs if job.missing]:
            pieces: list[tuple[_Job, Piece]] = []
            room = TOKENS_PER_PASS
            for job in active:
                if room < 1:
                    break
                pieces.append((job, job.piece(room)))
                room -= max(2, len(pieces[-1][1].tokens))
            answers = self._model.run([piece for _, piece in pieces])
            for (job, piece), rows in zip(pieces, answers, strict=True):
                job.keep(piece, rows)


def _chain_job(stream: _Stream, text: Text, draft: Draft) -> _Job:
    """Plan the work for a text with its draft, or for the text alone if the draft branches."""
    tokens = [*text, *draft.tokens] if draft.is_chain else list(text)
    stream.rewind(tokens, most=len(text) - 1)
    return _Job(stream, tokens, frozenset(range(len(text) - 1, len(tokens))))


class _Writer:
    """A text being written by `OpenVinoBackend.sample_texts`."""

    def __init__(self, seed: int, index: int, prompt: Text) -> None:
        self.index = index
        self.written: list[int] = []
        self.done = False
        self._prompt = prompt
        self._random = np.random.default_rng([seed, index])

    @property
    def text(self) -> Text:
        return (*self._prompt, *self.written)

    def write(self, row: Logits, temperature: float) -> None:
        weights = np.exp((row - row.max()) / np.float32(temperature))
        sums = np.cumsum(weights, dtype=np.float64)
        at = np.searchsorted(sums, self._random.random() * sums[-1], side="right")
        self.written.append(int(at))

    def over(self) -> _Writer:
        self.done = True
        return self


def _first(source: Iterator[tuple[int, Text]], count: int) -> list[tuple[int, Text]]:
    return [item for _, item in zip(range(count), source, strict=False)]
