"""Scripted coins: right verifiers pass every edge, and each planted fault fails at its own."""

import numpy as np
import pytest

from draftproof.audit import audit
from draftproof.audit.catalogue import speculative
from draftproof.audit.coins import (
    CASES,
    COINS,
    ScriptedGenerator,
    check_coins,
    edge_remarks,
    wrong_edges,
)
from draftproof.audit.pairs import WORKED_PAIR
from draftproof.dist import check_row, keeps, quantile, residual, speculative_step
from draftproof.errors import InvalidInput


def right(target_rows, draft_rows, tokens, rng):
    for at, token in enumerate(tokens):
        p, q = check_row(target_rows[at]), check_row(draft_rows[at])
        if not keeps(rng.random(), p[token], q[token]):
            return at, quantile(residual(p, q), rng.random())
    return len(tokens), quantile(check_row(target_rows[-1]), rng.random())


def careless(accept, again=residual, check=check_row, draw=quantile):
    """Give a verifier with one part replaced."""

    def fn(target_rows, draft_rows, tokens, rng):
        token = tokens[0]
        p, q = check(target_rows[0]), check(draft_rows[0])
        if accept(rng.random(), p[token], q[token]):
            return 1, draw(target_rows[1], rng.random())
        return 0, draw(again(p, q), rng.random())

    return fn


def divided(p, q):
    under = np.maximum(p - q, 0)
    return under / under.sum()


def first_of_the_edges(row, u):
    return int(np.searchsorted(np.cumsum(row), u))


def wrong(fn):
    return [finding.case for finding in check_coins(fn, "block") if not finding.ok]


def test_a_right_step_and_a_right_block_pass_every_edge():
    assert [f for f in check_coins(speculative_step) if not f.ok] == []
    assert [f for f in check_coins(right, "block") if not f.ok] == []


def test_the_batch_form_passes_too():
    def fn(target_rows, draft_rows, tokens, rng):
        requests = zip(target_rows, draft_rows, tokens, strict=True)
        return [right(*request, rng) for request in requests]

    assert all(finding.ok for finding in check_coins(fn, "batch"))


def test_a_coin_that_is_not_strict_keeps_impossible_tokens():
    cases = wrong(careless(lambda u, p, q: u * q <= p))
    assert "p(x) = 0, u = 0" in cases
    assert "a padding id was drafted, u = 0" in cases
    assert all(case.endswith("u = 0") for case in cases)


def test_a_coin_compared_the_wrong_way_rejects_what_it_must_keep():
    cases = wrong(careless(lambda u, p, q: u < p / q - 2**-20))
    assert "p = q, the largest u below 1" in cases
    assert "one-hot rows that agree, the largest u below 1" in cases


def test_an_empty_residual_that_is_divided_by_its_sum_is_no_answer():
    cases = wrong(careless(lambda u, p, q: u * q < p, again=divided))
    assert "q one rounding above p, the largest u below 1" in cases


def test_an_empty_residual_answered_by_token_0_is_found_where_token_0_is_impossible():
    def token_zero(p, q):
        under = np.maximum(p - q, 0)
        return under if under.sum() > 0 else np.eye(len(p))[0]

    fn = careless(lambda u, p, q: p > 0 and u * q < 0.999 * p, again=token_zero)
    assert "one-hot rows that agree, the largest u below 1" in wrong(fn)


def test_rows_that_are_not_checked_give_a_token_where_an_error_belongs():
    fn = careless(
        lambda u, p, q: u * q < p, divided, check=lambda row: row, draw=first_of_the_edges
    )
    cases = wrong(fn)
    assert "target row with one NaN, u = 1/2" in cases
    assert "target row all NaN, u = 1/2" in cases


def test_the_end_of_the_vocabulary_is_not_a_place_to_land():
    fn = careless(lambda u, p, q: u * q < p, draw=first_of_the_edges)
    assert "p(x) = 0 beside several, u = 0" in wrong(fn)


def test_what_is_no_token_is_wrong_where_a_token_belongs_and_is_no_error_where_one_does():
    found = check_coins(lambda p, q, rng: None)
    assert not any(finding.ok for finding in found)
    assert found[0].seen == "it returned nothing"

    def refuses(p, q, rng):
        raise ValueError("no")

    verdicts = {finding.wanted: finding.ok for finding in check_coins(refuses)}
    assert verdicts.pop("an error") is True
    assert not any(verdicts.values())


def test_logits_may_be_asked_for():
    def on_logits(target, draft, tokens, rng):
        return right(np.exp(target), np.exp(draft), tokens, rng)

    exact = [f for f in check_coins(on_logits, "block", form="logits") if not f.ok]
    assert [f.case for f in exact if f.wanted == "an error"] == []


@pytest.mark.parametrize("coin", COINS)
def test_scripted_coins_are_as_fine_as_their_type(coin):
    double, single = ScriptedGenerator(coin).random(), ScriptedGenerator(coin).random(dtype="f4")
    assert np.float32(single) == single
    assert (double == single) == (coin in ("u = 0", "u = 1/2", "u = 1"))


def test_every_edge_of_the_issue_is_covered():
    names = " ".join(case.name for case in CASES)
    for coin in COINS:
        assert coin in names
    for edge in ("NaN", "inf", "-inf", "disjoint", "one-hot", "pad", "tie", "rounding"):
        assert edge in names


def test_arguments_are_checked():
    for wrong_one in ({"signature": "round"}, {"form": "logprobs"}, {"luck": "cupy"}):
        with pytest.raises(InvalidInput):
            check_coins(right, **{"signature": "block", **wrong_one})
    with pytest.raises(InvalidInput):
        ScriptedGenerator("heads")


# ---------------------------------------------------------------- within an audit


def not_strict(p, q, rng):
    token = rng.choice(len(q), p=q)
    return token if rng.random() * q[token] <= p[token] else int(rng.choice(len(p), p=p))


def not_strict_but_right(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.random() * q[token] <= p[token]:
        return token
    return int(rng.choice(len(p), p=divided(p, q)))


def test_an_audit_reports_edge_coins_and_keeps_the_verdict_of_the_law():
    report = audit(not_strict_but_right, WORKED_PAIR.p, WORKED_PAIR.q)
    assert report.verdict == "consistent"
    assert "edge coins: 4 wrong" in report.reason
    (said,) = [remark for remark in report.remarks if remark.startswith("edge coins")]
    assert "4 of 19 wrong" in said
    assert "p(x) = 0, u = 0: wanted token 0, but token 1" in said


def test_right_edges_go_without_a_word_and_a_refuted_law_needs_none():
    rows = WORKED_PAIR.p, WORKED_PAIR.q
    for fn in (speculative_step, not_strict):
        report = audit(fn, *rows)
        assert not any("edge coins" in said for said in (report.reason, *report.remarks))
    assert audit(speculative, *rows).verdict == "consistent"


def test_edges_that_could_not_be_tried_are_not_called_wrong():
    def elsewhere(p, q, rng):
        return np.random.Generator(rng.bit_generator).choice(len(p), p=p)

    def waits(p, q, rng):
        while rng.random() == 0:
            pass
        return speculative_step(p, q, rng)

    found = check_coins(elsewhere)
    assert wrong_edges(found) == []
    assert "none could be tried" in edge_remarks(found)[0]
    slow = check_coins(waits, cases=CASES[:3], seconds=0.05)
    assert wrong_edges(slow) == []
    assert "1 of 3 could not be tried (it did not return" in edge_remarks(slow)[0]


def test_rows_that_are_none_are_reported_apart():
    (said,) = edge_remarks(check_coins(lambda p, q, rng: int(p.argmax()), cases=CASES[-1:]))
    assert said.startswith("rows that are none give a token where an error belongs: ")
