"""Rules that judge a chain: one drafted token per position.

Each rule asks `chance` for its coins under ``at("coin", node)`` and for the token that ends the
round under ``at("residual", ...)`` or ``at("bonus")``.
"""

from __future__ import annotations

from collections.abc import Sequence

from draftproof.chance import Chance
from draftproof.contracts import (
    Draft,
    Guarantee,
    Rule,
    Source,
    Trial,
    Verdict,
    require_chain,
)
from draftproof.dist import Row, excess


def correction(p: Row, q: Row) -> Row:
    """Weights of the residual, not normalised; p itself where p and q agree everywhere."""
    under = excess(p, q)
    return under if under.any() else p


def verify_token_wise(chance: Chance, draft: Draft, rows: Sequence[Row]) -> Verdict:
    """Keep drafted tokens one by one; at the first rejection, correct from the residual and stop.

    Token x at position i is kept with probability ``min(1, p_i(x) / q_i(x))``; a rejection emits
    a draw from ``max(0, p_i - q_i)`` normalised; a fully kept draft is followed by a bonus token
    from the target's last row. Exact: position by position the emitted token follows p.

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
            return _ending(chance, draft, node, correction(p, q), Source.RESIDUAL, trials)
    ending = Source.BONUS if draft.tokens else Source.TARGET
    return _ending(chance, draft, len(draft), rows[len(draft)], ending, trials)


def _ending(
    chance: Chance,
    draft: Draft,
    accepted: int,
    weights: Row,
    source: Source,
    trials: list[Trial],
) -> Verdict:
    purpose = "residual" if source is Source.RESIDUAL else "bonus"
    last = chance.at(purpose, accepted).pick(weights)
    return Verdict(
        emitted=(*draft.tokens[:accepted], last),
        sources=(*(Source.DRAFT,) * accepted, source),
        path=tuple(range(accepted)),
        trials=tuple(trials),
    )


TOKEN_WISE = Rule(
    name="token-wise",
    guarantee=Guarantee.EXACT,
    verify=verify_token_wise,
    source="Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2",
)
