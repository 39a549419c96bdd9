"""From logits to probabilities, in one stated order; nothing above this module sees a logit.

The order, for every row, of target and draft alike:

1. **logit bias**: added to the logits it names;
2. **penalties**: repetition (prompt and generated text; a positive logit is divided by it, any
   other multiplied, once per token however often it was seen), then presence and frequency
   (generated text only; ``presence + frequency * count`` is subtracted);
3. **min-tokens**: end-of-sequence ids become impossible until enough was generated;
4. **temperature**: weight ``exp((logit - largest) / temperature)``; 0 means greedy, the largest
   logit, lowest id on a tie, and steps 5-7 then have nothing left to do;
5. **top-k**: the k largest logits stay;
6. **top-p**: the shortest run of largest weights that holds ``top_p`` of what is left stays;
7. **min-p**: weights of at least ``min_p`` times the largest stay.

Where equal values straddle the edge of top-k or top-p the lowest ids stay, so a row is a function
of its logits alone. What stays is divided by its sum; everything else is exactly 0.

Steps 1-3 change which token is best, so they come first; transformers and vLLM also put them
there, and temperature before the cuts. llama.cpp's default chain cuts first and applies
temperature last, mlx-lm cuts first too: there top-p and min-p mean the same only at temperature
1. vLLM takes min-p before top-k and top-p, which agrees with this order except where top-p sums
over what min-p would have removed.

Penalties look at the text *including the drafted prefix*: the row after draft node i is
penalised for the tokens on the way to i. Each row is computed from scratch, so a rejected token
leaves nothing behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.contracts import ROOT, Backend, Draft, Lazily, Text
from draftproof.dist import Row
from draftproof.errors import BackendError, InvalidInput, NotADistribution

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Ids: TypeAlias = npt.NDArray[np.intp]
Past: TypeAlias = Sequence[int] | Ids

COLDEST = 1e-6
"""Smallest temperature that is not greedy; below it the reciprocal would leave float range."""

FLOORS = (1e-2, 1e-4, 1e-8, 0.0)
"""Weights, relative to the largest, among which top-p looks for its edge, one after another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warp:
    """How logits become probabilities. The defaults change nothing: softmax at temperature 1.

    Parameters
    ----------
    temperature
        0 (greedy) or at least 1e-6.
    top_k
        Number of tokens kept, at least 1; None keeps all.
    top_p
        Share of the probability kept, above 0; 1 keeps all, exactly.
    min_p
        Smallest probability kept, as a share of the largest one, in [0, 1]; 0 keeps all.
    repetition_penalty
        Above 0; 1 is none.
    presence_penalty, frequency_penalty
        Any finite number; 0 is none.
    logit_bias
        Token id to number added; ``-inf`` forbids the token. Kept as sorted pairs.
    min_tokens
        Number of generated tokens before one of `eos` may come.
    eos
        End-of-sequence ids; only `min_tokens` looks at them.

    Raises
    ------
    InvalidInput
        Names the field, shows the value and states the rule.

    Examples
    --------
    >>> Warp(temperature=0).row([1.0, 3.0, 3.0]).tolist()
    [0.0, 1.0, 0.0]
    >>> Warp(top_k=2).row([0.0, 0.0, 0.0]).tolist()
    [0.5, 0.5, 0.0]
    >>> Warp(repetition_penalty=2.0).row(np.log([2.0, 4.0]), text=(1,)).round(3).tolist()
    [0.5, 0.5]
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] | tuple[tuple[int, float], ...] = ()
    min_tokens: int = 0
    eos: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "logit_bias", _pairs(self.logit_bias))
        object.__setattr__(self, "eos", _ids(self.eos))
        _check(self)

    @property
    def greedy(self) -> bool:
        """True when every row is one-hot: temperature 0."""
        return self.temperature == 0

    @property
    def looks_back(self) -> bool:
        """True when a row depends on the text and not on its logits alone."""
        neutral = self.repetition_penalty == 1
        return not neutral or self._counts or self.min_tokens > 0

    @property
    def pairs(self) -> tuple[tuple[int, float], ...]:
        """The logit bias as pairs, ascending by id."""
        return tuple(dict(self.logit_bias).items())

    @property
    def _counts(self) -> bool:
        return self.presence_penalty != 0 or self.frequency_penalty != 0

    def row(
        self,
        logits: npt.ArrayLike,
        text: Past = (),
        *,
        prompt: int = 0,
        name: str = "logits",
    ) -> Row:
        """Give the probabilities that follow `text`: float64, summing to 1 within 1e-12.

        Parameters
        ----------
        logits
            One number per token, float32 or float64 (float32 is widened before any arithmetic);
            ``-inf`` means impossible. Not changed.
        text
            Everything before this position, drafted prefix included; only penalties and
            min-tokens look at it.
        prompt
            How many leading tokens of `text` are the prompt, that is, were not generated.
        name
            What the error messages call these logits.

        Raises
        ------
        NotADistribution
            For NaN, ``+inf``, or nothing but ``-inf``, before or after steps 1-3.
        InvalidInput
            If `text`, `logit_bias` or `eos` holds an id outside the vocabulary, or `prompt` is not
            a number of tokens.
        """
        scores = _as_scores(logits, name)
        kept, law = self._law(self._adjusted(scores, None, text, prompt, name), name)
        if kept is None:
            return law
        row = np.zeros(scores.size)
        row[kept] = law
        return row

    def row_on(
        self,
        ids: npt.NDArray[np.integer[Any]],
        logits: npt.ArrayLike,
        text: Past = (),
        *,
        prompt: int = 0,
        name: str = "logits",
    ) -> tuple[Ids, Row]:
        """Give the same law for a draft that knows a few tokens only.

        Parameters
        ----------
        ids
            The tokens it knows, ascending; every other token counts as ``-inf``.
        logits
            One number for each of `ids`.
        text, prompt, name
            As for `row`.

        Returns
        -------
        The ids that stay, ascending, and their probabilities.

        Examples
        --------
        >>> ids, law = Warp(top_k=2).row_on(np.array([3, 8, 9]), np.log([0.2, 0.6, 0.2]))
        >>> ids.tolist(), law.round(2).tolist()
        ([3, 8], [0.25, 0.75])
        """
        support = np.asarray(ids, dtype=np.intp)
        scores = self._adjusted(_as_scores(logits, name), support, text, prompt, name)
        kept, law = self._law(scores, name)
        return support if kept is None else support[kept], law

    def _adjusted(
        self, scores: Floats, support: Ids | None, text: Past, prompt: int, name: str
    ) -> Floats:
        if not (self.logit_bias or self.looks_back):
            return scores
        _peak(scores, name)
        _check_prompt(prompt)
        history = np.asarray(text, dtype=np.intp)
        out = scores.astype(np.float64)
        self._add_bias(out, support)
        self._penalise(out, support, history, history[prompt:])
        if len(history) - prompt < self.min_tokens:
            at, _ = _places(np.asarray(self.eos, dtype=np.intp), support, out.size, "eos")
            out[at] = -np.inf
        if out.max() == -np.inf:
            raise NotADistribution(
                f"{name} leaves no token possible once logit_bias and min_tokens have forbidden "
                f"theirs; forbid fewer."
            )
        return out

    def _add_bias(self, out: Floats, support: Ids | None) -> None:
        ids = np.array([token for token, _ in self.pairs], dtype=np.intp)
        at, known = _places(ids, support, out.size, "logit_bias")
        out[at] += np.array([add for _, add in self.pairs])[known]

    def _penalise(self, out: Floats, support: Ids | None, seen: Ids, generated: Ids) -> None:
        if self.repetition_penalty != 1:
            at, _ = _places(seen, support, out.size, "text")
            old = out[at]
            up, down = old * self.repetition_penalty, old / self.repetition_penalty
            out[at] = np.where(old > 0, down, up)
        if self._counts:
            ids, counts = np.unique(generated, return_counts=True)
            at, known = _places(ids, support, out.size, "text")
            out[at] -= self.presence_penalty + self.frequency_penalty * counts[known]

    def _law(self, scores: Floats, name: str) -> tuple[Ids | None, Row]:
        """Give the positions that stay (None: all of them) and their probabilities."""
        peak = _peak(scores, name)
        if self.greedy:
            return np.array([scores.argmax()]), np.ones(1)
        kept: Ids | None = None
        if self.top_k is not None and self.top_k < scores.size:
            kept = _first(scores, np.partition(scores, -self.top_k)[-self.top_k], self.top_k)
            scores = scores[kept]
        weights = _weights(scores, peak, self.temperature)
        for cut, share in ((_nucleus, self.top_p), (_likely, self.min_p)):
            inner = cut(weights, share)
            if inner is not None:
                kept = inner if kept is None else kept[inner]
                weights = weights[inner]
        weights *= 1 / weights.sum()
        return kept, weights


class Warped:
    """A back end behind a warp: it speaks probabilities, so it is a `Predictor`.

    Parameters
    ----------
    backend
        The model.
    warp
        How its logits become probabilities.
    prompt
        Number of leading tokens of every text that are the prompt.

    Notes
    -----
    Rows are computed when they are looked at; a row behind a rejection costs nothing here.
    """

    def __init__(self, backend: Backend, warp: Warp, *, prompt: int = 0) -> None:
        _check_prompt(prompt)
        for field, ids in (("logit_bias", [token for token, _ in warp.pairs]), ("eos", warp.eos)):
            _places(np.array(ids, dtype=np.intp), None, backend.vocab_size, field)
        self.backend, self.warp, self.prompt = backend, warp, prompt

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one row after `text`, then one after each draft node.

        Raises
        ------
        NotADistribution
            When a row that is looked at holds NaN, ``+inf``, or nothing but ``-inf``.
        BackendError
            When the back end gives a wrong number of rows, or a row of the wrong length.
        """
        logits = self.backend.logits(text, draft)
        if len(logits) != len(draft) + 1:
            raise BackendError(
                f"{self.backend.name} gave {len(logits)} rows for a draft of {len(draft)} tokens; "
                f"it must give {len(draft) + 1}: one after the text, one after each token."
            )
        past = cache(lambda: np.array(text, dtype=np.intp))
        return Lazily(len(logits), lambda at: self._row(logits[at], past, draft, at - 1))

    def _row(self, logits: Any, past: Any, draft: Draft, node: int) -> Row:
        place = "the text" if node == ROOT else f"draft node {node}"
        name = f"the logit row of {self.backend.name} after {place}"
        if np.shape(logits) != (self.backend.vocab_size,):
            raise BackendError(
                f"{name} has shape {np.shape(logits)}; it must be ({self.backend.vocab_size},), "
                f"one logit per token."
            )
        if not self.warp.looks_back:
            return self.warp.row(logits, name=name)
        text = np.concatenate([past(), np.array(draft.prefix(node), dtype=np.intp)])
        return self.warp.row(logits, text, prompt=self.prompt, name=name)


def _check_prompt(prompt: object) -> None:
    if not _whole(prompt, 0):
        raise InvalidInput(f"prompt is {prompt!r}; it is a number of tokens, 0 or more.")


def _as_scores(logits: npt.ArrayLike, name: str) -> Floats:
    scores = np.asarray(logits)
    if scores.dtype not in (np.float32, np.float64):
        try:
            scores = scores.astype(np.float64)
        except (TypeError, ValueError):
            raise NotADistribution(f"{name} is {logits!r}; give one number per token.") from None
    if scores.ndim != 1 or scores.size == 0:
        found = "is empty" if scores.size == 0 else f"has shape {scores.shape}"
        raise NotADistribution(
            f"{name} {found}; it must be one-dimensional, one logit for each token."
        )
    return scores


def _peak(scores: Floats, name: str) -> float:
    peak = float(scores.max())
    if math.isfinite(peak):
        return peak
    if math.isnan(peak):
        found = f"holds NaN (at token {int(np.isnan(scores).argmax())})"
    elif peak > 0:
        found = f"holds +inf (at token {int(scores.argmax())})"
    else:
        found = "leaves no token possible (every logit is -inf)"
    raise NotADistribution(
        f"{name} {found}; a row needs finite logits, or -inf for what is impossible, and at least "
        f"one possible token."
    )


def _weights(scores: Floats, peak: float, temperature: float) -> Floats:
    with np.errstate(over="ignore"):
        weights = scores.astype(np.float64)
        weights -= peak
        if temperature != 1:
            weights *= 1 / temperature
    np.exp(weights, out=weights)
    return weights


def _first(values: Floats, edge: Any, count: int) -> Ids:
    """Positions of all values above `edge`, and of as many equal to it as make up `count`."""
    kept = values > edge
    missing = count - np.count_nonzero(kept)
    kept[np.flatnonzero(values == edge)[:missing]] = True
    return np.flatnonzero(kept)


def _nucleus(weights: Floats, mass: float) -> Ids | None:
    """Positions of the shortest run of largest weights that reaches `mass` of their sum."""
    if mass == 1:
        return None
    goal = mass * weights.sum()
    for floor in FLOORS:
        ranked = np.sort(weights[np.flatnonzero(weights >= floor)])[::-1]
        reached = ranked.cumsum()
        if reached[-1] >= goal:
            count = int(reached.searchsorted(goal)) + 1
            return _first(weights, ranked[count - 1], count)
    return None


def _likely(weights: Floats, share: float) -> Ids | None:
    """Positions of weights of at least `share` of the largest, which is 1."""
    return np.flatnonzero(weights >= share) if share > 0 else None


def _places(
    ids: Ids, support: Ids | None, size: int, field: str
) -> tuple[Ids, Ids | npt.NDArray[np.bool]]:
    """Where in the row these ids are, and which of them are in it."""
    if support is not None:
        at = np.minimum(support.searchsorted(ids), size - 1)
        known = support[at] == ids
        return at[known], known
    outside = (ids < 0) | (ids >= size)
    if outside.any():
        raise InvalidInput(
            f"{field} holds token {int(ids[outside][0])}; ids run from 0 to {size - 1} here."
        )
    return ids, np.arange(ids.size)


def _pairs(bias: Mapping[int, float] | tuple[tuple[int, float], ...]) -> Any:
    try:
        return tuple(sorted((index(token), float(add)) for token, add in dict(bias).items()))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"logit_bias is {bias!r}; give a mapping from token ids to numbers, like {{50: -1.5}}."
        ) from None


def _ids(eos: Any) -> tuple[int, ...]:
    try:
        return tuple(eos)
    except TypeError:
        raise InvalidInput(f"eos is {eos!r}; give token ids, like ({eos!r},).") from None


def _check(warp: Warp) -> None:
    for name, (holds, rule) in RULES.items():
        value = getattr(warp, name)
        if not holds(value):
            raise InvalidInput(f"{name} is {value!r}; it must be {rule}.")
    if warp.min_tokens and not warp.eos:
        raise InvalidInput(
            f"min_tokens is {warp.min_tokens} and eos is empty; name the end-of-sequence ids that "
            f"must wait, Warp(min_tokens={warp.min_tokens}, eos=(...))."
        )


def _number(value: object) -> bool:
    known = isinstance(value, int | float | np.integer | np.floating)
    return known and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]


def _whole(value: object, least: int) -> bool:
    known = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return known and value >= least  # type: ignore[operator]


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "temperature": (lambda t: _number(t) and (t == 0 or t >= COLDEST), "0 (greedy) or >= 1e-6"),
    "top_k": (lambda k: k is None or _whole(k, 1), "a whole number >= 1, or None"),
    "top_p": (lambda share: _number(share) and 0 < share <= 1, "above 0 and at most 1"),
    "min_p": (lambda share: _number(share) and 0 <= share <= 1, "between 0 and 1"),
    "repetition_penalty": (lambda r: _number(r) and r > 0, "above 0 (1 is none)"),
    "presence_penalty": (lambda c: _number(c), "a finite number (0 is none)"),
    "frequency_penalty": (lambda c: _number(c), "a finite number (0 is none)"),
    "logit_bias": (
        lambda pairs: all(token >= 0 and add < math.inf for token, add in pairs),
        "ids >= 0 with finite numbers or -inf",
    ),
    "min_tokens": (lambda n: _whole(n, 0), "a whole number >= 0"),
    "eos": (lambda ids: all(_whole(token, 0) for token in ids), "token ids >= 0"),
}
"""What each field of `Warp` must be, as a test and in words."""
