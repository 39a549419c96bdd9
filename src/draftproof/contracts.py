"""The three borders of the project, each one method wide, and the values that cross them.

* `Predictor.rows(text, draft)`: one probability row after the text, one after each draft node.
* `Proposer.propose(chance, text, k)`: a draft that carries the rows its tokens were drawn from.
* `Rule.verify(chance, draft, rows)`: a verdict.

Nobody on the near side of a border sees a cache, a logit or a random generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.chance import Chance
from draftproof.dist import Row
from draftproof.errors import InvalidInput, UnsupportedDraft

Logits: TypeAlias = npt.NDArray[np.float32]
Text: TypeAlias = tuple[int, ...]

ROOT = -1
"""Parent of a draft node that directly follows the text."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A tree of guessed tokens, each with the very row it was drawn from.

    A chain is a tree without branches; several drafts for one position are several roots.
    Nodes are listed parents first.

    Parameters
    ----------
    tokens
        Token id of each node.
    parents
        Index of each node's parent, or ``ROOT`` (-1); always smaller than the node's own index.
    rows
        For each node, the probability row its token was drawn from: the same object, never a
        recomputed copy. For a token chosen without luck it is one-hot.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> Draft.chain([1, 0], [half, half]).parents
    (-1, 0)
    >>> Draft((1, 0), (ROOT, ROOT), (half, half)).is_chain
    False
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.parents) == len(self.rows):
            raise InvalidInput(
                f"a draft needs one parent and one row for each token; got {len(self.tokens)} "
                f"tokens, {len(self.parents)} parents, {len(self.rows)} rows."
            )
        for node, parent in enumerate(self.parents):
            if not ROOT <= parent < node:
                raise InvalidInput(
                    f"parents[{node}] is {parent}; a parent is {ROOT} (the text) or an earlier "
                    f"node, so it must lie between {ROOT} and {node - 1}."
                )

    @classmethod
    def empty(cls) -> Draft:
        """Give the draft without tokens: the round is then one plain decoding step."""
        return cls((), (), ())

    @classmethod
    def chain(cls, tokens: Sequence[int], rows: Sequence[Row]) -> Draft:
        """Give a draft without branches."""
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)), tuple(rows))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_chain(self) -> bool:
        """True when every node has at most one child and there is at most one root."""
        return self.parents == tuple(range(ROOT, len(self.tokens) - 1))

    def children(self, node: int = ROOT) -> tuple[int, ...]:
        """Give the children of a node in the order in which they were drawn."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == node)

    def path(self, node: int) -> tuple[int, ...]:
        """Give the nodes from a root down to `node`, both included; empty for ``ROOT``."""
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return tuple(reversed(nodes))

    def prefix(self, node: int) -> Text:
        """Give the tokens from a root down to `node`, both included."""
        return tuple(self.tokens[step] for step in self.path(node))


def require_chain(draft: Draft, rule: str) -> None:
    """Refuse a draft with branches on behalf of a rule that judges chains only."""
    if not draft.is_chain:
        raise UnsupportedDraft(
            f"rule {rule!r} judges a chain, and this draft branches (parents={draft.parents}); "
            f"use a tree rule, or a proposer that drafts one token per position."
        )


class Source(Enum):
    """Where an emitted token came from."""

    DRAFT = "draft"
    """a drafted token that was kept"""
    RESIDUAL = "residual"
    """the correction after a rejection"""
    BONUS = "bonus"
    """drawn from the target after a fully kept draft"""
    TARGET = "target"
    """the target's own draw, no draft involved (k = 0, or a rule that emits the target's draw)"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One look at one drafted token.

    `p` and `q` are the numbers whose ratio was the probability of keeping it. The coin itself
    belongs to the luck: `draftproof.trace.Witness` records it by its key. Where no coin decided
    (the target's own draw did, or a threshold), `coin` is False and `p` and `q` are only what the
    two rows say of the token.
    """

    node: int
    token: int
    p: Any
    q: Any
    kept: bool
    coin: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one round lets out.

    Parameters
    ----------
    emitted
        Kept draft tokens, then one more.
    sources
        Where each emitted token came from.
    path
        The kept draft nodes, in order; `accepted` is their number.
    trials
        Every drafted token that was looked at, in the order of looking.
    """

    emitted: Text
    sources: tuple[Source, ...]
    path: tuple[int, ...]
    trials: tuple[Trial, ...] = field(default=(), compare=False)

    @property
    def accepted(self) -> int:
        """Number of draft tokens kept."""
        return len(self.path)


class Guarantee(Enum):
    """What a rule promises about the law of what it emits."""

    EXACT = "exact"
    """what comes out follows the target, for every text length"""
    LOSSY = "lossy"
    """what comes out may not follow the target"""


Verify: TypeAlias = Callable[[Chance, Draft, Sequence[Row]], Verdict]

SHAPES = ("chain", "siblings", "paths", "tree")
"""Which drafts a rule may take; see `Rule`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a draft is judged, and what that promises.

    Parameters
    ----------
    name, guarantee, verify
        What it is called, what it promises, and the function that judges.
    source
        The paper and section the rule comes from.
    shape
        Which drafts it takes: ``"chain"``, ``"siblings"`` (several drafts for one position, each
        going on as a chain), ``"paths"`` (several whole chains, judged as blocks) or ``"tree"``.
    scheme
        How the children of one node must have been drawn for the promise to hold: ``"any"`` (each
        from the row it carries, or chosen without luck), ``"iid"``, ``"without-replacement"``,
        ``"greedy-draft"``, ``"deterministic"``, or ``"coupled"`` (with the target's own noise).
    one_hot
        True for a rule that takes only target rows of temperature 0.

    Raises
    ------
    InvalidInput
        If the guarantee is not a `Guarantee`, or there is no such shape.
    """

    name: str
    guarantee: Guarantee
    verify: Verify
    source: str
    shape: str = "chain"
    scheme: str = "any"
    one_hot: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise InvalidInput(
                f"guarantee is {self.guarantee!r}; give Guarantee.EXACT or Guarantee.LOSSY."
            )
        if self.shape not in SHAPES:
            raise InvalidInput(f"shape is {self.shape!r}; choose one of {', '.join(SHAPES)}.")

    def judge(self, chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
        """Call `verify`, and refuse an answer that is no verdict on this draft.

        Raises
        ------
        InvalidInput
            Says what is wrong with the answer. A round that emits nothing is refused too: the
            loop would never end.
        """
        answer = self.verify(chance, draft, rows)
        fault = _fault(answer, draft, len(rows[0]))
        if fault:
            raise InvalidInput(f"rule {self.name!r} {fault}")
        return answer


def _fault(answer: Any, draft: Draft, size: int) -> str | None:
    """Say what keeps an answer from being a verdict on `draft` over `size` tokens."""
    if not isinstance(answer, Verdict):
        return f"returned {answer!r}; it must return a Verdict of draftproof.contracts."
    for name in ("emitted", "sources", "path"):
        if not isinstance(getattr(answer, name), tuple):
            return f"returned {name}={getattr(answer, name)!r}; it must be a tuple."
    emitted, path = answer.emitted, answer.path
    if not emitted:
        return "emitted no token; a round emits the kept tokens and one more."
    for token in emitted:
        if not isinstance(token, int | np.integer) or not 0 <= token < size:
            return f"emitted {token!r}; a token is an integer from 0 to {size - 1}."
    if len(answer.sources) != len(emitted):
        return f"gave {len(answer.sources)} sources for {len(emitted)} tokens; give one for each."
    nodes = range(len(draft))
    if any(node not in nodes for node in path) or len(path) > len(emitted):
        return f"returned path={path!r}; it lists the kept nodes of a draft of {len(draft)}."
    return None


class Predictor(Protocol):
    """Anything that knows what comes next."""

    def rows(self, text: Text, draft: Draft) -> Sequence[Row]:
        """Give one probability row after `text`, then one after each draft node.

        ``rows[0]`` follows the text, ``rows[i + 1]`` follows node ``i``. The answer depends on
        the arguments only: not on earlier calls, nor on their order. An implementation may
        remember a prefix to save work, and may compute a row only when it is looked at.
        """
        ...


class Backend(Protocol):
    """A language model that speaks logits; caches and rollback stay behind it."""

    @property
    def name(self) -> str:
        """Short name for reports."""
        ...

    @property
    def vocab_size(self) -> int:
        """Number of token ids; every logit row has this length."""
        ...

    @property
    def context_limit(self) -> int:
        """Largest number of tokens, text and draft together, that one call may hold."""
        ...

    def logits(self, text: Text, draft: Draft) -> Sequence[Logits]:
        """Give one float32 logit row after `text`, then one after each draft node.

        Same indexing and same promise as `Predictor.rows`. Raises `ContextFull` when text and
        draft exceed `context_limit`, `InvalidInput` for an empty text or an id outside the
        vocabulary, `BackendError` when the library fails.
        """
        ...


class Proposer(Protocol):
    """Something that guesses what comes next."""

    @property
    def name(self) -> str:
        """Short name for reports."""
        ...

    def propose(self, chance: Chance, text: Text, k: int) -> Draft:
        """Draft at most `k` tokens after `text`, with the rows they were drawn from.

        How many it drafts may depend only on what was known before each token was drawn
        (algorithm papers call this non-anticipating); a draft may end after a token, never
        because of a token that is then dropped.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Lazily(Sequence[Any]):
    """A read-only sequence whose items are computed once, when first looked at.

    Examples
    --------
    >>> squares = Lazily(3, lambda i: i * i)
    >>> squares[2], len(squares)
    (4, 3)
    """

    size: int
    make: Callable[[int], Any]
    _seen: dict[int, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self.size)))
        at = index + self.size if index < 0 else index
        if not 0 <= at < self.size:
            raise IndexError(f"row {index} was asked for; there are {self.size}.")
        if at not in self._seen:
            self._seen[at] = self.make(at)
        return self._seen[at]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.size))
