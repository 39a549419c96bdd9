"""Every rule proved on the stated battery, every suspect refuted by it, in words."""

import random
import re
from dataclasses import replace
from fractions import Fraction as F

import pytest

from draftproof import laws
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
from draftproof.chance import Dice
from draftproof.contracts import ROOT, Guarantee, Source, Verdict
from draftproof.decode import Limits, rounds
from draftproof.errors import InvalidInput, LuckReused
from draftproof.proof import prove, prove_instance, prove_loop
from draftproof.proposers import DraftModel
from draftproof.rules import RULES, find_rule
from draftproof.rules.branching import Choice, choose_by_rejection, walk
from draftproof.rules.judging import correction
from suspects import branching_suspects as suspects

TOKEN_WISE = find_rule("token-wise")
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
    assert proof.instances == 3 * len(WORLDS) + 1  # k = 2, 1, 0, and the loop


# ---------------------------------------------------------------- what must fail

SENTENCE = re.compile(
    r"In .+, after \[\]: the text \[[\d ]+\] comes out with probability \d+/?\d*; "
    r"the target gives it \d+/?\d*: \d+/\d+ too much\."
)
WAY = re.compile(
    r"  with probability \d+/?\d*: (drafted \[[\d ]+\]( and \[[\d ]+\])*(, .+)?|\d+ more)"
)


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
    seen, parts = told(proof.counterexample)
    assert sum(parts) == seen
    assert parts[:3] == sorted(parts[:3], reverse=True)


def test_every_exact_rule_has_a_suspect():
    elsewhere = {
        "token-wise": "suspects.rules",
        "rrs-without-replacement": "claims_replacement, below",
    }
    wrong = {suspects.MISTAKEN[suspect.name] for suspect in suspects.WRONG_RULES}
    assert {rule.name for rule in EXACT} == wrong | set(elsewhere)


def test_the_parts_the_block_suspects_are_made_of_are_right():
    assert prove_rule(suspects.BLOCK_BY_HAND, k=3).exact


@names("worlds", [WORLDS, (WORLDS[0],)], ids=["battery", "rows of one's own"])
@names("length", [0, 1])
def test_a_mistake_with_the_short_drafts_that_end_a_text_is_found(length, worlds):
    def verify(chance, draft, rows):
        if len(draft) == length:
            return Verdict((0,), (Source.TARGET,), ())
        return TOKEN_WISE.verify(chance, draft, rows)

    rule = replace(TOKEN_WISE, name="wrong-at-the-end", verify=verify)
    assert prove(rule, [instance(world, rule, k=2) for world in worlds]).exact
    proof = prove_rule(rule, k=2, worlds=worlds)
    assert not proof.exact
    assert proof.total_variation >= proof.gap > 0
    assert "too much" in proof.counterexample


def test_what_only_the_loop_can_show_is_found_there(monkeypatch):
    """One round is right; the loop that runs it over several is not."""
    skipped = replace(TOKEN_WISE, name="first token of a round is said twice")
    real = laws.generate

    def stutter(*args, **options):
        done = real(*args, **options)
        return replace(done, tokens=(*done.tokens[:1], *done.tokens[:-1]))

    monkeypatch.setattr(laws, "generate", stutter)
    proof = prove_rule(skipped, k=2)
    assert not proof.exact
    assert proof.total_variation >= proof.gap > 0
    assert proof.counterexample.startswith("In the loop, in two tokens, up to 3 tokens")


def test_luck_kept_from_the_round_before_is_refused_in_the_loop():
    def verify(chance, draft, rows):
        return TOKEN_WISE.verify(chance.after(0), draft, rows)

    rule = replace(TOKEN_WISE, name="one luck for all rounds", verify=verify)
    with pytest.raises(LuckReused, match="used twice"):
        prove_rule(rule, k=1)


# ---------------------------------------------------------------- rules that are no rules


def spoil(p):
    p[int(p.argmin())] = 0


@names("find", [lambda draft, rows: rows[0], lambda draft, rows: draft.rows[0]])
def test_a_rule_cannot_change_the_rows_it_is_held_to(find):
    def verify(chance, draft, rows):
        if draft:
            spoil(find(draft, rows))
        return TOKEN_WISE.verify(chance, draft, rows)

    with pytest.raises(InvalidInput, match="'spoils' changes a row it was given; copy"):
        prove_rule(replace(TOKEN_WISE, name="spoils", verify=verify), k=1)


def test_rows_of_another_predictor_cannot_be_changed_either():
    class Loose:
        def rows(self, text, draft):
            return [WORLDS[0].target.row(()).copy() for _ in range(len(draft) + 1)]

    def verify(chance, draft, rows):
        spoil(rows[0])
        return TOKEN_WISE.verify(chance, draft, rows)

    rule = replace(TOKEN_WISE, name="spoils", verify=verify)
    where = replace(instance(WORLDS[0], rule, k=1), target=Loose())
    with pytest.raises(InvalidInput, match="copy a row before you change it"):
        prove_instance(rule, where)
    with pytest.raises(InvalidInput, match="copy a row before you change it"):
        prove_loop(rule, Loose(), where.proposer, k=1, limits=Limits(max_tokens=2))


@names(
    ("answer", "words"),
    [
        (None, "returned None; it must return a Verdict"),
        ((0, 1), r"returned \(0, 1\); it must return a Verdict"),
        (Verdict((), (), ()), "emitted no token; a round emits"),
        (Verdict((9,), (Source.TARGET,), ()), "emitted 9; a token is an integer from 0 to 2"),
        (Verdict((-1,), (Source.TARGET,), ()), "emitted -1; a token"),
        (Verdict((0.0,), (Source.TARGET,), ()), "emitted 0.0; a token"),
        (Verdict([0], (Source.TARGET,), ()), r"returned emitted=\[0\]; it must be a tuple"),
        (Verdict((0,), (), ()), "gave 0 sources for 1 tokens"),
        (Verdict((0,), (Source.TARGET,), (5,)), r"returned path=\(5,\)"),
    ],
)
def test_what_is_no_verdict_is_refused_in_words(answer, words):
    rule = replace(TOKEN_WISE, name="odd", verify=lambda chance, draft, rows: answer)
    with pytest.raises(InvalidInput, match=f"rule 'odd' {words}"):
        prove_rule(rule, k=1)


def test_a_rule_without_a_bonus_token_is_refused_before_it_loops_for_ever():
    def verify(chance, draft, rows):
        found = TOKEN_WISE.verify(chance, draft, rows)
        if found.sources[-1] is Source.RESIDUAL:
            return found
        return replace(found, emitted=found.emitted[:-1], sources=found.sources[:-1])

    rule = replace(TOKEN_WISE, name="no-bonus", verify=verify)
    with pytest.raises(InvalidInput, match="'no-bonus' emitted no token"):
        prove_rule(rule, k=2)
    target, draft = (WORLDS[0].target, DraftModel(WORLDS[0].target))
    with pytest.raises(InvalidInput, match="'no-bonus' emitted no token"):
        list(rounds(Dice(1), target, draft, rule, (), k=2, limits=Limits(max_tokens=3)))


def test_luck_from_elsewhere_is_refused():
    luck = random.Random(3)

    def verify(chance, draft, rows):
        if not draft or luck.random() < 0.5:
            return TOKEN_WISE.verify(chance, draft, rows)
        last = chance.at("residual", 0).pick(rows[0])
        return Verdict((last,), (Source.RESIDUAL,), ())

    rule = replace(TOKEN_WISE, name="its own coin", verify=verify)
    with pytest.raises(LuckReused, match="takes luck from elsewhere"):
        prove_rule(rule, k=1)


# ---------------------------------------------------------------- trees of several levels


def right_at_the_root_only(fork):
    """Below the root, siblings are tried against the whole target and not what is left of it."""
    if fork.draft.parents[fork.nodes[0]] == ROOT:
        return choose_by_rejection(fork)
    for node in fork.nodes:
        token, d = fork.draft.tokens[node], fork.draft.rows[node]
        if fork.coin(node, fork.p[token], d[token]).kept:
            return Choice(node, token)
    return Choice(None, fork.rest(correction(fork.p, d)))


@names(("k", "drafts"), [(2, 2), (2, 3), (3, 2)])
def test_siblings_below_the_root_are_tried_in_every_vocabulary(k, drafts):
    rule = replace(
        find_rule("tree-without-replacement"), name="wrong", verify=walk(right_at_the_root_only)
    )
    proof = prove_rule(rule, k=k, drafts=drafts, worlds=WORLDS[:1])
    assert not proof.exact
    assert "branch at one level at a time" in proof.notes[0]


def test_a_tree_that_is_proved_whole_needs_no_note():
    rule = find_rule("tree")
    assert prove_rule(rule, k=2, worlds=WORLDS[-1:]).notes == ()
    assert prove_rule(rule, k=1).notes == ()
    assert "branch at one level" in prove_rule(rule, k=2, worlds=WORLDS[:1]).notes[0]


def test_the_target_of_greedy_is_said_to_be_at_temperature_zero():
    (note,) = prove_rule("greedy", k=1, worlds=WORLDS[:1]).notes
    assert "temperature 0" in note


# ---------------------------------------------------------------- the words


def told(counterexample):
    head, *ways = counterexample.splitlines()
    seen = F(re.search(r"with probability (\S+); the target", head)[1])
    return seen, [F(re.match(r"  with probability (\S+):", way)[1]) for way in ways]


@names("rule", by_name(LOSSY))
def test_the_ways_told_sum_to_the_probability_of_the_text(rule):
    seen, ways = told(prove(rule, instances(WORLDS[0], rule, k=3)).counterexample)
    assert sum(ways) == seen


def test_only_what_matters_to_the_text_is_told():
    proof = prove(find_rule("lenience"), instances(WORLDS[-1], find_rule("lenience"), k=3))
    assert proof.counterexample.splitlines()[1:] == [
        "  with probability 2/3: drafted [1], token 1 kept (coin below 1)"
    ]


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
    assert proof.instances == 2  # k = 1 and 0
