"""Exact rules that judge a chain: one drafted token per position.

Two families. The first compares p with q: each drafted token has a coin under ``at("coin", node)``
and the token that ends the round comes from ``at("residual", i)`` or ``at("bonus", i)``. The second
never reads q: the target draws for itself under ``own(i)``, and the draft is kept as far as it
agrees; so one seed gives one text, whatever was drafted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from draftproof.chance import Chance
from draftproof.contracts import Draft, Guarantee, Rule, Source, Trial, Verdict, require_chain
from draftproof.dist import Row, excess
from draftproof.errors import UnsupportedDraft
from draftproof.rules.judging import bonus, correction, guarded, share, verdict, without


@guarded
def verify_token_wise(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Keep drafted tokens one by one; at the first rejection, correct from the residual and stop.

    Token x at position i is kept with probability ``min(1, p_i(x) / q_i(x))``; a rejection emits
    a draw from ``max(0, p_i - q_i)`` normalised; a fully kept draft is followed by a bonus token
    from the target's last row. Exact: position by position the emitted token follows p. No exact
    rule keeps a single drafted token more often.

    Source: Leviathan, Kalman and Matias 2023, arXiv 2211.17192, algorithm 1; Chen et al. 2023,
    arXiv 2302.01318, algorithm 2.
    """
    require_chain(draft, "token-wise")
    trials: list[Trial] = []
    for node, token in enumerate(draft.tokens):
        p, q = rows[node], draft.rows[node]
        kept = chance.at("coin", node).accepts(p[token], q[token])
        trials.append(Trial(node, token, p[token], q[token], kept))
        if not kept:
            last = chance.at("residual", node).pick(correction(p, q))
            return verdict(draft, range(node), last, Source.RESIDUAL, trials)
    return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)


@guarded
def verify_point_mass(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Keep x with probability ``p_i(x)``; otherwise draw from p without x, and stop.

    Token-wise verification with the draft taken as certain of its token. Exact given the drafted
    token, for every token, so q is never needed and no way of choosing the draft can bias it. The
    price: acceptance is ``sum_x q(x) p(x)`` instead of ``sum_x min(p, q)``.

    Source: the one-hot case of Leviathan et al. 2023, arXiv 2211.17192, algorithm 1.
    """
    require_chain(draft, "point-mass")
    trials: list[Trial] = []
    for node, token in enumerate(draft.tokens):
        p = rows[node]
        kept = chance.at("coin", node).accepts(p[token])
        trials.append(Trial(node, token, p[token], 1, kept))
        if not kept:
            last = chance.at("residual", node).pick(without(p, token))
            return verdict(draft, range(node), last, Source.RESIDUAL, trials)
    return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)


@guarded
def verify_block(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Judge the draft as one block: keep the longest prefix that passes its own test.

    With the clipped running ratio ``w_0 = 1``, ``w_i = min(1, w_{i-1} p_i(x_i) / q_i(x_i))`` and
    ``S_i = sum_x max(0, w_i p_{i+1}(x) - q_{i+1}(x))``, the prefix of length i passes with
    probability ``S_i / (S_i + 1 - w_i)``, the whole draft with ``w_k``, each by its own coin; the
    longest that passes is kept. The next token comes from ``max(0, w_i p_{i+1} - q_{i+1})``.

    Exact, and no exact rule for one chain keeps more: ``P(accepted >= i | x_1..x_i) = w_i`` for
    every i at once, which is the most there is. The tests are asked from the longest prefix back,
    which changes no probability and spares the sums that a success makes needless.

    Source: Sun et al. 2025, arXiv 2403.10444, algorithm 2.
    """
    require_chain(draft, "block")
    weights = _running_ratios(draft, rows)
    trials: list[Trial] = []

    def passes(length: int, part: Any, whole: Any) -> bool:
        node = length - 1
        kept = bool(whole == 0) or chance.at("coin", node).accepts(part, whole)
        trials.append(Trial(node, draft.tokens[node], part, whole, kept))
        return kept

    length = len(weights) - 1
    if length == len(draft):
        if length == 0 or passes(length, *_last_ratio(weights, draft, rows)):
            return bonus(chance, draft, range(length), rows[length], trials)
        length -= 1
    else:
        trials.append(Trial(length, draft.tokens[length], 0, 1, kept=False))
    under, mass = _under(weights[length], rows[length], draft.rows[length])
    while length > 0 and not passes(length, mass, mass + 1 - weights[length]):
        length -= 1
        under, mass = _under(weights[length], rows[length], draft.rows[length])
    last = chance.at("residual", length).pick(under if mass > 0 else rows[length])
    return verdict(draft, range(length), last, Source.RESIDUAL, trials)


def _running_ratios(draft: Draft, rows: Sequence[Row]) -> list[Any]:
    """Give the clipped ratios w_0, w_1, ... as long as they are above 0."""
    weights: list[Any] = [1]
    for node, token in enumerate(draft.tokens):
        part = weights[-1] * rows[node][token]
        if part == 0:
            break
        weights.append(share(part, draft.rows[node][token]))
    return weights


def _last_ratio(weights: list[Any], draft: Draft, rows: Sequence[Row]) -> tuple[Any, Any]:
    """Give w_k as two numbers, because a coin compares them without dividing."""
    node = len(draft) - 1
    token = draft.tokens[node]
    return weights[node] * rows[node][token], draft.rows[node][token]


def _under(weight: Any, p: Row, q: Row) -> tuple[Row, Any]:
    """Give what the draft leaves uncovered of the target's share, and its mass."""
    under = excess(weight * p, q)
    return under, under.sum()


Draw = Callable[[Chance, Row], int]


def _follow(
    chance: Chance, draft: Draft, rows: Sequence[Row], draw: Draw, source: Source
) -> Verdict:
    """Keep the draft as far as it agrees with what the target draws for itself."""
    trials: list[Trial] = []
    for node, token in enumerate(draft.tokens):
        p, q = rows[node], draft.rows[node]
        own = draw(chance.own(node), p)
        trials.append(Trial(node, token, p[token], q[token], own == token, coin=False))
        if own != token:
            return verdict(draft, range(node), own, source, trials)
    last = draw(chance.own(len(draft)), rows[len(draft)])
    return verdict(draft, range(len(draft)), last, source, trials)


@guarded
def verify_exact_match(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Let the target draw at every position, and keep the draft while the two agree.

    What is emitted is always the target's own draw, so the rule is exact for every draft, known
    or unknown q, and one seed gives one text for every k and proposer. The draw must be
    independent of the draft. Acceptance is ``sum_x q(x) p(x)``.

    Source: folklore; what llama.cpp's server does, and Hugging Face transformers where the draft
    comes without rows.
    """
    require_chain(draft, "exact-match")
    return _follow(chance, draft, rows, lambda own, row: own.pick(row), Source.TARGET)


@guarded
def verify_gumbel(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Let the target race at every position, on the noise the draft raced on, while they agree.

    Token v at absolute position t has one noise ``e ~ Exp(1)``, fixed by the seed; the target
    takes the v with the least ``e / p(v)``, the draft the one with the least ``e / q(v)``. What
    is emitted is always the target's winner: exact for every draft, one text for one seed, and
    kept with probability ``sum_x 1 / sum_y max(p(y)/p(x), q(y)/q(x)) >= (1 - TV) / (1 + TV)``.
    Draft with `draftproof.proposers.branching.GumbelDraft`, which races on that noise.

    Source: Daliri, Musco and Suresh 2024, arXiv 2408.07978, Gumbel coupling.
    """
    require_chain(draft, "gumbel")
    return _follow(chance, draft, rows, lambda own, row: own.race(row), Source.TARGET)


@guarded
def verify_greedy(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Keep the draft while it is what the target, at temperature 0, must say; no luck is used.

    Takes rows with all their probability on one token, as a warp of temperature 0 makes them.

    Raises
    ------
    UnsupportedDraft
        If a row it looks at leaves the target a choice: taking the likeliest token would then
        not follow the target.

    Source: Stern, Shazeer and Uszkoreit 2018, arXiv 1811.03115, section 3.
    """
    require_chain(draft, "greedy")
    return _follow(chance, draft, rows, lambda _, row: _only_token(row), Source.TARGET)


def _only_token(row: Row) -> int:
    token = int(row.argmax())
    if row[token] != row.sum():
        raise UnsupportedDraft(
            f"rule 'greedy' judges at temperature 0, and here the likeliest token has probability "
            f"{row[token]}; set the temperature to 0, or use the rule 'token-wise'."
        )
    return token


TOKEN_WISE = Rule(
    name="token-wise",
    guarantee=Guarantee.EXACT,
    verify=verify_token_wise,
    source="Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2",
)
POINT_MASS = Rule(
    name="point-mass",
    guarantee=Guarantee.EXACT,
    verify=verify_point_mass,
    source="Leviathan et al. 2023, algorithm 1 with a one-hot draft row",
)
BLOCK = Rule(
    name="block",
    guarantee=Guarantee.EXACT,
    verify=verify_block,
    source="Sun et al. 2025, arXiv 2403.10444, algorithm 2",
)
EXACT_MATCH = Rule(
    name="exact-match",
    guarantee=Guarantee.EXACT,
    verify=verify_exact_match,
    source="sample and match: the target's own draw is emitted",
)
GUMBEL = Rule(
    name="gumbel",
    guarantee=Guarantee.EXACT,
    verify=verify_gumbel,
    source="Daliri et al. 2024, arXiv 2408.07978, Gumbel coupling",
    scheme="coupled",
)
GREEDY = Rule(
    name="greedy",
    guarantee=Guarantee.EXACT,
    verify=verify_greedy,
    source="Stern et al. 2018, arXiv 1811.03115, section 3",
    one_hot=True,
)

CHAIN_RULES = (GREEDY, EXACT_MATCH, POINT_MASS, TOKEN_WISE, BLOCK, GUMBEL)
