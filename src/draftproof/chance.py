"""Where luck comes from: `Dice` draws it, `outcomes` goes through all of it.

Everything random in draftproof asks a `Chance` and nothing else, so the code that runs is the
code that is proved: give it `Dice` and it decodes, give it to `outcomes` and every way its luck
can fall is visited, with its exact probability.

Draws are keyed. ``chance.after(n)`` is the luck of the round that starts after n tokens,
``.at("coin", 2)`` one purpose and node within it, ``.own(j)`` the target's own luck at the
absolute position n + j, which no round number enters. Different keys are independent; one key
gives one draw, whatever was asked before it, so a batch cannot disturb a request.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from draftproof.dist import Row, keeps, quantile
from draftproof.errors import InvalidInput, LuckReused, NotADistribution

T = TypeVar("T")
Key: TypeAlias = tuple[str | int, ...]


class Chance(Protocol):
    """The only source of luck."""

    def after(self, length: int) -> Chance:
        """Give the luck of the round that starts after `length` tokens."""
        ...

    def at(self, purpose: str, *index: int) -> Chance:
        """Give the luck of one purpose ("draft", "coin", "residual", "bonus") in this round."""
        ...

    def own(self, offset: int) -> Chance:
        """Give the target's own luck at the absolute position `offset` after the round's start.

        It does not depend on where rounds begin, so a rule that emits the target's own draw
        gives one text for one seed, whatever was drafted.
        """
        ...

    def accepts(self, p: Any, q: Any = 1) -> bool:
        """Say yes with probability ``min(1, p / q)``: never when p is 0, always when p >= q."""
        ...

    def pick(self, weights: Row) -> int:
        """Choose an index in proportion to its weight; never one of weight 0."""
        ...

    def race(self, weights: Row) -> int:
        """Choose an index in proportion to its weight, from noise that belongs to this key.

        Index v arrives at time ``e_v / weights[v]``, where e_v ~ Exp(1) is fixed by the key, and
        the first to arrive is chosen. Two races at one key share their noise: equal weights give
        equal winners, and close weights mostly do (`shared_race` has the joint law).
        """
        ...


def _whole(index: tuple[int, ...]) -> tuple[int, ...]:
    """Give the numbers of a key as plain integers: dice and proofs must agree on keys."""
    try:
        return tuple(map(operator.index, index))
    except TypeError:
        raise InvalidInput(f"a key holds {index!r}; a purpose is followed by integers.") from None


class Dice:
    """Luck from a seed.

    Uniforms are 53-bit numbers in [0, 1), the keyed BLAKE2b hash of (seed, key, turn): streams
    with different keys are independent for every practical purpose, and a draw can be repeated
    from its key alone.

    Parameters
    ----------
    seed
        A non-negative integer.

    Examples
    --------
    >>> dice = Dice(7)
    >>> dice.after(12).at("coin", 0).uniform() == Dice(7).after(12).at("coin", 0).uniform()
    True
    >>> dice.at("coin", 0).uniform() == dice.at("coin", 1).uniform()
    False
    """

    __slots__ = ("_key", "_secret", "_start", "_turn")

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InvalidInput(f"seed is {seed!r}; it must be a non-negative integer.")
        self._secret = blake2b(str(int(seed)).encode(), person=b"draftproof").digest()
        self._start, self._key, self._turn = 0, (), 0

    _start: int
    _key: Key
    _turn: int

    def _child(self, start: int, key: Key) -> Dice:
        child = object.__new__(Dice)
        child._secret, child._start, child._key, child._turn = self._secret, start, key, 0
        return child

    def after(self, length: int) -> Dice:
        """Give the luck of the round that starts after `length` tokens."""
        return self._child(length, ("round", int(length)))

    def at(self, purpose: str, *index: int) -> Dice:
        """Give the luck of one purpose and node in this round."""
        return self._child(self._start, (*self._key, purpose, *_whole(index)))

    def own(self, offset: int) -> Dice:
        """Give the target's own luck at an absolute position."""
        return self._child(self._start, ("own", int(self._start + offset)))

    def _digest(self, size: int) -> bytes:
        message = f"{self._key}/{self._turn}".encode()
        self._turn += 1
        return blake2b(message, key=self._secret, digest_size=size).digest()

    def uniform(self) -> float:
        """Draw the next uniform of this stream, in [0, 1)."""
        return (int.from_bytes(self._digest(8), "big") >> 11) * 2.0**-53

    def peek(self) -> float:
        """Give the uniform that the next draw will use, without drawing it."""
        turn = self._turn
        coming = self.uniform()
        self._turn = turn
        return coming

    def generator(self) -> np.random.Generator:
        """Give a NumPy generator keyed like this stream, for noise over a whole vocabulary."""
        key = int.from_bytes(self._digest(16), "big")
        return np.random.Generator(np.random.Philox(key=key))

    def accepts(self, p: Any, q: Any = 1) -> bool:
        """Say yes iff ``u * q < p`` (see `draftproof.dist.keeps`)."""
        return keeps(self.uniform(), p, q)

    def pick(self, weights: Row) -> int:
        """Choose an index in proportion to its weight by inverse transform."""
        return quantile(weights, self.uniform())

    def race(self, weights: Row) -> int:
        """Choose the index with the least ``noise / weight``; the noise belongs to the key."""
        require_mass(weights)
        noise = self.at("race").generator().standard_exponential(len(weights))
        speeds = weights.astype(np.float64)
        arrivals = np.full(len(weights), np.inf)
        np.divide(noise, speeds, out=arrivals, where=speeds > 0)
        return int(arrivals.argmin())


def require_mass(weights: Row) -> Any:
    """Give the sum of the weights; refuse weights from which nothing can be drawn."""
    total = weights.sum()
    if not 0 < total < float("inf"):
        raise NotADistribution(
            f"the weights to draw from sum to {total}; they need a positive, finite sum."
        )
    return total


def shared_race(first: Row, second: Row) -> list[list[Any]]:
    """Joint law of the winners of two races on one noise field: ``law[x][y]``.

    With q = `first`, p = `second`, ``M(t) = sum_v max(q_v, t p_v)`` and ``r_v = q_v / p_v``::

        P(x, x) = q_x / M(r_x)
        P(x, y) = q_x p_y * integral of dt / M(t)^2 from r_y to r_x      (0 when r_y >= r_x)

    Proof: put ``a = e_x / q_x`` and ``b = e_y / p_y`` for the two winning times. Token v loses
    both races iff ``e_v > max(a q_v, b p_v)``; integrating over a at a fixed ratio ``t = b / a``
    leaves ``1 / M(t)^2``. M is piecewise linear with corners at the r_v, and between two
    neighbouring corners the integral is ``(t' - t) / (M(t) M(t'))``, so everything is rational.
    The diagonal is the coupling of Daliri, Musco and Suresh 2024 (arXiv 2408.07978).

    Examples
    --------
    >>> half = np.array([Fraction(1, 2), Fraction(1, 2)])
    >>> sure = np.array([Fraction(0), Fraction(1)])
    >>> shared_race(half, sure)[0]
    [0, Fraction(1, 2)]
    """
    corners = sorted({q / p for q, p in zip(first, second, strict=True) if p > 0})
    level = [sum(np.maximum(first, t * second)) for t in corners]
    upto = [0]
    for at in range(1, len(corners)):
        step = (corners[at] - corners[at - 1]) / (level[at] * level[at - 1])
        upto.append(upto[-1] + step)
    beyond = upto[-1] + 1 / (level[-1] * sum(second))
    place = {t: at for at, t in enumerate(corners)}

    def joint(x: int, y: int) -> Any:
        if not (first[x] > 0 and second[y] > 0):
            return 0
        if x == y:
            return first[x] / level[place[first[x] / second[x]]]
        end = upto[place[first[x] / second[x]]] if second[x] > 0 else beyond
        begin = upto[place[first[y] / second[y]]]
        return first[x] * second[y] * max(end - begin, 0)

    tokens = range(len(first))
    return [[joint(x, y) for y in tokens] for x in tokens]


def _shares(weights: Row) -> Row:
    """Give weights as shares of their sum; whole numbers become fractions, so nothing is lost."""
    total = require_mass(weights)
    if isinstance(total, int | np.integer):
        total = Fraction(int(total))
        weights = np.array([int(weight) for weight in weights], dtype=object)
    elif isinstance(total, Fraction) and total == 1:  # the usual row, without a division for each
        return np.array([Fraction(weight) for weight in weights], dtype=object)
    shares: Row = weights / total
    return shares


def _coin(p: Any, q: Any) -> list[tuple[bool, Any]]:
    yes = p / q if isinstance(p, float) else Fraction(p) / Fraction(q)
    return [(True, yes), (False, 1 - yes)]


@dataclass(frozen=True, slots=True)
class Turn:
    """One choice of a run: what was asked for, what can come of it, how likely it is to get here.

    `asked` is what the code handed over; the next run must hand over the same here.
    """

    key: Key
    asked: Any
    options: list[tuple[Any, Any]]
    reached: Any


class Branch:
    """One way the luck can fall: a script of choices, and the probability of following it.

    `before` are the turns that the run before this one took along the same script.
    """

    def __init__(self, script: list[int], before: Sequence[Turn] = ()) -> None:
        self.script = script
        self.before = before
        self.turns: list[Turn] = []
        self.used: set[Key] = set()
        self.races: dict[Key, tuple[Row, int]] = {}
        self.over = False

    @property
    def sizes(self) -> list[int]:
        """How many ways each choice could go."""
        return [len(turn.options) for turn in self.turns]

    @property
    def weight(self) -> Any:
        """The probability of the choices so far."""
        if not self.turns:
            return Fraction(1)
        last = self.turns[-1]
        return last.reached * last.options[self.script[len(self.turns) - 1]][1]

    def choose(self, options: list[tuple[T, Any]], key: Key = ()) -> T:
        """Follow the script, or take the first option where it ends."""
        return self.decide(key, options, lambda: options)

    def decide(self, key: Key, asked: Any, options: Callable[[], list[tuple[T, Any]]]) -> T:
        """Choose as `choose` does; `options` is only asked for what no run before this one saw."""
        at = len(self.turns)
        turn = self.before[at] if at < len(self.before) else None
        if turn is None or turn.asked != asked:
            possible = [(value, weight) for value, weight in options() if weight > 0]
            if turn is not None and not _alike(possible, turn.options):
                raise _elsewhere()
            turn = turn or Turn(key, asked, possible, self.weight)
        if turn.key != key:
            raise _elsewhere()
        if at == len(self.script):
            self.script.append(0)
        self.turns.append(turn)
        value: T = turn.options[self.script[at]][0]
        return value


def _alike(first: list[tuple[Any, Any]], second: list[tuple[Any, Any]]) -> bool:
    """Tell whether two choices are one, but for the rounding of floats."""
    return len(first) == len(second) and all(
        a == b and (v == w or (isinstance(v, float) and math.isclose(v, w)))
        for (a, v), (b, w) in zip(first, second, strict=True)
    )


def _elsewhere() -> LuckReused:
    return LuckReused(
        "with the same luck the code did something else than before, so it takes luck from "
        "elsewhere (a random module, a clock, what an earlier call left); take every draw from "
        "`chance`."
    )


class BranchLuck:
    """The `Chance` that `outcomes` hands to the code it explores."""

    __slots__ = ("_branch", "_key", "_start", "_turn")

    def __init__(self, branch: Branch, start: int = 0, key: Key = ()) -> None:
        self._branch, self._start, self._key, self._turn = branch, start, key, 0

    def after(self, length: int) -> BranchLuck:
        """Give the luck of the round that starts after `length` tokens."""
        return BranchLuck(self._branch, length, ("round", length))

    def at(self, purpose: str, *index: int) -> BranchLuck:
        """Give the luck of one purpose and node in this round."""
        return BranchLuck(self._branch, self._start, (*self._key, purpose, *_whole(index)))

    def own(self, offset: int) -> BranchLuck:
        """Give the target's own luck at an absolute position."""
        return BranchLuck(self._branch, self._start, ("own", self._start + offset))

    def _consume(self) -> None:
        key = (*self._key, self._turn)
        self._turn += 1
        if key in self._branch.used:
            raise LuckReused(
                f"the draw {key[:-1]} was used twice, so two choices share one uniform; give each "
                f"choice its own key with chance.at(purpose, index)."
            )
        self._branch.used.add(key)

    def accepts(self, p: Any, q: Any = 1) -> bool:
        """Branch on a coin; a certain outcome is no branch."""
        self._consume()
        if p <= 0 or p >= q:
            return bool(p > 0)
        return self._branch.decide(self._key, (p, q), lambda: _coin(p, q))

    def pick(self, weights: Row) -> int:
        """Branch over every index of positive weight."""
        self._consume()
        asked = weights.tolist()
        return self._branch.decide(self._key, asked, lambda: list(enumerate(_shares(weights))))

    def race(self, weights: Row) -> int:
        """Branch over the winners; the second race at a key is conditioned on the first.

        A third race on one noise field is refused: its joint law with the other two is not
        written down here, and independence would be a lie.
        """
        weights = _shares(weights)
        asked = weights.tolist()
        if self._key not in self._branch.races:
            winner = self._branch.decide(self._key, asked, lambda: list(enumerate(weights)))
            self._branch.races[self._key] = (weights, winner)
            return winner
        if ("race", *self._key) in self._branch.used:
            raise LuckReused(
                f"three races share the noise of {self._key}, and only two can; give the third "
                f"choice its own key with chance.at(purpose, index)."
            )
        self._branch.used.add(("race", *self._key))
        first, winner = self._branch.races[self._key]
        if len(first) != len(weights):
            raise InvalidInput(
                f"two races on one noise field run over {len(first)} and {len(weights)} tokens; "
                f"they must be over the same tokens."
            )

        def given() -> list[tuple[int, Any]]:
            joint = shared_race(first, weights)[winner]
            return [(at, weight / first[winner]) for at, weight in enumerate(joint)]

        return self._branch.decide(self._key, asked, given)


def outcomes(play: Callable[[Chance], T]) -> Iterator[tuple[T, Any]]:
    """Yield every result `play` can have, with the exact probability of each way to reach it.

    `play` is run once for each branch; it must be a function of its luck alone. With rows of
    fractions the probabilities are fractions and sum to exactly 1. A key consumed twice in one
    run raises `LuckReused`: two choices that share a uniform are not independent, and a proof
    that ignored it would prove another program. So does code that goes another way with the same
    luck.

    Examples
    --------
    >>> half = np.array([Fraction(1, 2), Fraction(1, 2)])
    >>> sum(weight for total, weight in outcomes(lambda luck:
    ...     luck.at("a").pick(half) + luck.at("b").pick(half)) if total == 1)
    Fraction(1, 2)
    """
    script: list[int] = []
    known: list[Turn] = []
    while True:
        branch = Branch(script, known)
        result = play(BranchLuck(branch))
        if len(branch.turns) < len(script):
            raise _elsewhere()
        yield result, branch.weight
        while script and script[-1] + 1 == len(branch.turns[len(script) - 1].options):
            script.pop()
        if not script:
            return
        script[-1] += 1
        known = branch.turns[: len(script)]


def law(play: Callable[[Chance], T]) -> dict[T, Any]:
    """Give the exact law of what `play` returns, by going through all of its luck.

    Examples
    --------
    >>> law(lambda luck: luck.accepts(Fraction(1, 3)))
    {True: Fraction(1, 3), False: Fraction(2, 3)}
    """
    total: dict[T, Any] = {}
    for result, weight in outcomes(play):
        total[result] = total.get(result, 0) + weight
    return total
