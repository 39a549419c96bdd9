"""Every rule proved on the stated battery, every suspect refuted by it, in words."""

import re
from dataclasses import replace
from fractions import Fraction as F

import pytest

from draftproof.backends.table import Table, fractions
from draftproof.battery import (
    WORLDS,
    at_temperature_zero,
    constant_world,
    instance,
    instances,
    prove_all,
    prove_rule,
)
from draftproof.contracts import Guarantee, Source, Verdict
from draftproof.proof import prove, prove_instance
from draftproof.rules import RULES, find_rule
from suspects import branching_suspects as suspects

EXACT = [rule for rule in RULES.values() if rule.guarantee is Guarantee.EXACT]
LOSSY = [rule for rule in RULES.values() if rule.guarantee is Guarantee.LOSSY]
BRANCHING = [rule for rule in EXACT if rule.shape != "chain"]
SMALL = (WORLDS[0], WORLDS[-1])

names = pytest.mark.parametrize


def by_name(rules):
    return [pytest.param(rule, id=rule.name) for rule in rules]


# ---------------------------------------------------------------- what holds


@names("rule", by_name(EXACT))
def test_every_exact_rule_is_exact_on_the_battery(rule):
    proof = prove_rule(rule, k=2)
    assert proof.exact, proof.counterexample
    assert proof.gap == 0
    assert proof.total_variation == 0
    assert proof.counterexample is None
    assert proof.gap_to_optimum >= 0


@names("rule", by_name(rule for rule in EXACT if rule.shape == "chain"))
def test_chains_of_three_are_exact_too(rule):
    assert prove_rule(rule, k=3, worlds=WORLDS[1:3]).exact


@names("rule", by_name(BRANCHING))
def test_three_drafts_are_exact_too(rule):
    assert prove_rule(rule, k=1, drafts=3, worlds=WORLDS[1:]).exact


@names("rule", by_name(LOSSY))
def test_every_lossy_rule_misses_the_target_in_the_worked_pair(rule):
    proof = prove_rule(rule, k=1, worlds=WORLDS[:1])
    assert not proof.exact
    assert proof.gap > 0
    assert proof.total_variation > 0
    assert proof.kept
    assert "too much" in proof.counterexample


def test_lenience_keeps_more_than_the_optimum_of_exact_rules():
    proof = prove_rule("lenience", k=1, worlds=WORLDS[:1])
    assert proof.acceptance > proof.optimal_acceptance
    assert proof.gap_to_optimum < 0


def test_chains_never_pass_the_expected_length_of_block():
    for world in WORLDS[:2]:
        most = instance(world, find_rule("block"), k=3).most_accepted
        for rule in EXACT:
            if rule.shape == "chain" and not rule.one_hot:
                proof = prove_instance(rule, instance(world, rule, k=3))
                assert proof.expected_accepted <= proof.most_accepted == most
    block = prove_instance(find_rule("block"), instance(WORLDS[1], find_rule("block"), k=3))
    assert block.expected_accepted == block.most_accepted


def test_greedy_is_tried_at_temperature_zero():
    assert instance(WORLDS[0], find_rule("greedy"), k=1).name.endswith("at temperature 0")
    assert at_temperature_zero(WORLDS[0]).target.row(()).tolist() == [1, 0, 0]


def test_traversal_is_tried_with_and_without_replacement():
    assert len(instances(WORLDS[0], find_rule("traversal"), k=1)) == 2
    assert len(instances(WORLDS[0], find_rule("tree"), k=1)) == 1


def test_prove_all_goes_through_every_rule_in_order():
    proofs = list(prove_all(k=1, worlds=WORLDS[-1:]))
    assert [proof.rule for proof in proofs] == list(RULES)
    assert all(proof.kept for proof in proofs)


def test_the_first_world_gives_the_figures_of_a_proof():
    proof = prove_rule("token-wise", k=2)
    assert proof.world == "the worked pair"
    assert (proof.acceptance, proof.expected_accepted) == (F(3, 4), F(21, 16))
    assert (proof.optimal_acceptance, proof.gap_to_optimum) == (F(3, 4), 0)
    assert proof.most_accepted == F(11, 8)
    assert proof.instances == len(WORLDS) + 1


# ---------------------------------------------------------------- what must fail

SENTENCE = re.compile(
    r"In .+, after \[\]: the text \[[\d ]+\] comes out with probability \d+/?\d*; "
    r"the target gives it \d+/?\d*: \d+/\d+ too much\."
)
WAY = re.compile(r"  with probability \d+/\d+: drafted \[[\d ]+\]( and \[[\d ]+\])*(, .+)?")


@names("suspect", by_name(suspects.WRONG_RULES))
def test_every_suspect_is_refuted_in_words(suspect):
    depth = 2 if suspect.shape == "chain" else 1
    tried = [
        *(one for world in SMALL for one in instances(world, suspect, k=2)),
        *instances(WORLDS[1], suspect, k=depth),
    ]
    proof = prove(suspect, tried)
    assert not proof.exact
    assert not proof.kept
    first, *ways = proof.counterexample.splitlines()
    assert SENTENCE.fullmatch(first)
    assert ways
    assert all(WAY.fullmatch(way) for way in ways)


def test_every_exact_rule_has_a_suspect():
    elsewhere = {
        "token-wise": "suspects.rules",
        "rrs-without-replacement": "claims_replacement, below",
    }
    wrong = {suspects.MISTAKEN[suspect.name] for suspect in suspects.WRONG_RULES}
    assert {rule.name for rule in EXACT} == wrong | set(elsewhere)


def test_the_parts_the_block_suspects_are_made_of_are_right():
    assert prove_rule(suspects.BLOCK_BY_HAND, k=3).exact


def test_a_mistake_that_shows_only_in_the_loop_is_found_there():
    """Right for drafts of two tokens, wrong for the shorter ones that end a text."""
    token_wise = find_rule("token-wise")

    def verify(chance, draft, rows):
        if len(draft) == 1:
            return Verdict((0,), (Source.TARGET,), ())
        return token_wise.verify(chance, draft, rows)

    rule = replace(token_wise, name="wrong-at-the-end", verify=verify)
    assert prove(rule, [instance(world, rule, k=2) for world in WORLDS]).exact
    proof = prove_rule(rule, k=2)
    assert not proof.exact
    assert proof.gap > 0
    assert "too much" in proof.counterexample or "too little" in proof.counterexample


def test_siblings_that_claim_to_be_drawn_with_replacement_are_refuted():
    rule = find_rule("rrs-without-replacement")
    tried = [
        replace(instance(world, rule, k=1), proposer=suspects.claims_replacement(world))
        for world in WORLDS
    ]
    proof = prove(rule, tried)
    assert not proof.exact
    assert "too much" in proof.counterexample


def test_noise_shared_with_the_draft_breaks_exact_match_by_race_only():
    world = WORLDS[1]
    tried = instance(world, find_rule("gumbel"), k=2)
    coupled = replace(tried, proposer=suspects.coupled_but_compared(world))
    assert prove_instance(find_rule("gumbel"), coupled).exact
    assert not prove_instance(suspects.NOISE_AGAIN, coupled).exact
    assert prove_instance(find_rule("token-wise"), coupled).exact


def test_a_counterexample_names_draft_coins_and_token():
    world = constant_world(fractions("1/2", "1/2"), fractions("1/4", "3/4"), "a coin")
    proof = prove_instance(
        suspects.FORGETS_REJECTIONS, instance(world, suspects.FORGETS_REJECTIONS, k=1)
    )
    assert proof.counterexample.splitlines() == [
        "In a coin, after []: the text [1] comes out with probability 5/8; the target gives it "
        "1/2: 1/8 too much.",
        "  with probability 3/8: drafted [1] and [1], token 1 kept (coin below 2/3)",
        "  with probability 1/8: drafted [1] and [0], token 1 kept (coin below 2/3)",
        "  with probability 1/8: drafted [1] and [1], token 1 rejected (coin from 2/3 up), "
        "token 1 kept (coin below 2/3)",
    ]


def test_rows_that_depend_on_the_text_can_be_given():
    target = Table({(): fractions("1/2", "1/2"), (0,): fractions(1, 0), (1,): fractions(0, 1)})
    draft = Table(lambda text: fractions("1/3", "2/3"))
    world = replace(WORLDS[0], name="written down", target=target, draft=draft)
    proof = prove_rule("token-wise", k=1, worlds=(world,))
    assert proof.exact
    assert proof.world == "written down"
    assert proof.instances == 1
