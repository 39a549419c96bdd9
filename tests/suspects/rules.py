"""Verification rules that are wrong on purpose, as runnable code.

Each is the token-wise rule with one plausible mistake in it, and each declares itself exact, as
its author would have. The laws of `draftproof.proof` must tell every one of them from the truth.
"""

import numpy as np

from draftproof.contracts import Guarantee, Rule, Source, Trial, Verdict
from draftproof.rules.judging import correction


def _judge(
    chance,
    draft,
    rows,
    *,
    row_of=lambda rows, node: rows[node],
    coin=lambda luck, p, q: luck.accepts(p, q),
    weights=correction,
    residual_key=lambda node: ("residual", node),
    bonus_row=lambda rows, size: rows[size],
):
    """Token-wise verification with its parts exchangeable."""
    trials = []
    for node, token in enumerate(draft.tokens):
        p, q = row_of(rows, node), draft.rows[node]
        kept = coin(chance.at("coin", node), p[token], q[token])
        trials.append(Trial(node, token, p[token], q[token], kept))
        if not kept:
            last = chance.at(*residual_key(node)).pick(weights(p, q))
            return _verdict(draft, node, last, Source.RESIDUAL, trials)
    size = len(draft)
    last = chance.at("bonus", size).pick(bonus_row(rows, size))
    return _verdict(draft, size, last, Source.BONUS if size else Source.TARGET, trials)


def _verdict(draft, accepted, last, source, trials):
    return Verdict(
        emitted=(*draft.tokens[:accepted], last),
        sources=(*(Source.DRAFT,) * accepted, source),
        path=tuple(range(accepted)),
        trials=tuple(trials),
    )


def _suspect(name, **parts):
    def verify(chance, draft, rows):
        return _judge(chance, draft, rows, **parts)

    return Rule(name=name, guarantee=Guarantee.EXACT, verify=verify, source="a mistake")


def _likeliest(p, q):
    """One-hot on the largest entry of the residual."""
    under = correction(p, q)
    return np.where(np.arange(len(under)) == int(under.argmax()), under, under * 0)


NO_MISTAKE = _suspect("the token-wise rule, put together from the parts used here")

RESAMPLE_FROM_P = _suspect("resample-from-p", weights=lambda p, q: p)
ALWAYS_ACCEPT = _suspect("always-accept", coin=lambda luck, p, q: luck.accepts(1) or True)
SWAPPED_RATIO = _suspect("swapped-ratio", coin=lambda luck, p, q: luck.accepts(q, p))
SWAPPED_RESIDUAL = _suspect("swapped-residual", weights=lambda p, q: correction(q, p))
LIKELIEST_RESIDUAL = _suspect("likeliest-residual", weights=_likeliest)
ACCEPT_WITH_P = _suspect("accept-with-p", coin=lambda luck, p, q: luck.accepts(p))
ROW_TOO_LATE = _suspect("row-too-late", row_of=lambda rows, node: rows[node + 1])
ROW_TOO_EARLY = _suspect("row-too-early", row_of=lambda rows, node: rows[max(0, node - 1)])
WRONG_BONUS_ROW = _suspect("wrong-bonus-row", bonus_row=lambda rows, size: rows[max(0, size - 1)])
COIN_REUSED = _suspect("coin-reused", residual_key=lambda node: ("coin", node))


def _without_bonus(chance, draft, rows):
    """Stop after a fully kept draft: nothing wrong in law, a token short in speed."""
    verdict = _judge(chance, draft, rows)
    if verdict.sources[-1] is not Source.BONUS:
        return verdict
    return Verdict(verdict.emitted[:-1], verdict.sources[:-1], verdict.path, verdict.trials)


def _going_on_after_a_rejection(chance, draft, rows):
    """Replace the rejected token and go on judging a draft that assumed another one."""
    emitted, sources = [], []
    for node, token in enumerate(draft.tokens):
        p, q = rows[node], draft.rows[node]
        kept = chance.at("coin", node).accepts(p[token], q[token])
        if not kept:
            token = chance.at("residual", node).pick(correction(p, q))
        emitted.append(token)
        sources.append(Source.DRAFT if kept else Source.RESIDUAL)
    emitted.append(chance.at("bonus", len(draft)).pick(rows[len(draft)]))
    return Verdict(tuple(emitted), (*sources, Source.BONUS), ())


MISSING_BONUS = Rule(
    name="missing-bonus", guarantee=Guarantee.EXACT, verify=_without_bonus, source="a mistake"
)
GOES_ON = Rule(
    name="goes-on-after-a-rejection",
    guarantee=Guarantee.EXACT,
    verify=_going_on_after_a_rejection,
    source="a mistake",
)

WRONG_LAW = (
    RESAMPLE_FROM_P,
    ALWAYS_ACCEPT,
    SWAPPED_RATIO,
    SWAPPED_RESIDUAL,
    LIKELIEST_RESIDUAL,
    ACCEPT_WITH_P,
    ROW_TOO_LATE,
    ROW_TOO_EARLY,
    WRONG_BONUS_ROW,
    GOES_ON,
)
"""Every suspect whose law is wrong; `COIN_REUSED` is refused and `MISSING_BONUS` is only slow."""
