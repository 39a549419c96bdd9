"""Every rule held to what it promises, on random rational worlds and at the edges of floats."""

import random
from dataclasses import replace
from fractions import Fraction as F
from math import prod

import numpy as np
import pytest

from draftproof.backends.table import Table
from draftproof.battery import World, at_temperature_zero, instances, proposers
from draftproof.chance import Dice
from draftproof.contracts import ROOT, Draft, Guarantee, Source
from draftproof.decode import Limits, generate
from draftproof.dist import keeps, quantile
from draftproof.errors import InexactRule, InvalidInput, NotADistribution, UnsupportedDraft
from draftproof.laws import round_leaves
from draftproof.proof import Instance, prove_instance
from draftproof.proposers import DraftModel, PromptLookup
from draftproof.proposers.branching import GumbelDraft, Siblings, TreeModel
from draftproof.rules import RULES, find_rule
from draftproof.rules.lossy import lenience, threshold, top_k_relaxed, typical
from draftproof.rules.ordering import largest_of
from draftproof.rules.selection import k_seq_factor
from worlds import ALMOST_ONE, random_row, random_table

EXACT = [rule for rule in RULES.values() if rule.guarantee is Guarantee.EXACT]
LOSSY = [rule for rule in RULES.values() if rule.guarantee is Guarantee.LOSSY]
COMPARING = "token-wise block rrs rrs-without-replacement k-seq greedy-draft max-ratio tree"
COMPARING += " tree-without-replacement traversal multi-path-block"
OWN_DRAW = ("exact-match", "gumbel", "tree-target-only")


def by_name(rules):
    return [pytest.param(rule, id=rule.name) for rule in rules]


# ---------------------------------------------------------------- exact, on random worlds

SIZES = {
    "chain": [(2, 1, 1), (3, 1, 1), (4, 1, 1), (2, 2, 1), (3, 2, 1), (2, 3, 1)],
    "wide": [(2, 1, 2), (3, 1, 2), (2, 1, 3), (2, 2, 1), (4, 1, 1), (4, 1, 2), (2, 2, 2)],
}
RARE = {
    "chain": [(4, 2, 1), (3, 3, 1), (4, 3, 1)],
    "wide": [(3, 1, 3), (3, 2, 2), (4, 1, 3), (2, 3, 2)],
}
"""Vocabulary, k and drafts; the rare ones come up once in twenty worlds."""

WORLDS_TRIED = 200


def random_size(seed, shape):
    kind = "chain" if shape == "chain" else "wide"
    generator = random.Random(f"size {seed}")
    return generator.choice(RARE[kind] if seed % 20 == 0 else SIZES[kind])


def random_world(seed, size):
    """World of random rows that depend on the text.

    In one of eight p and q are the same, in one p is one-hot, in one q is.
    """
    target, draft = (
        random_table(f"p{seed}", size, memory=2),
        random_table(f"q{seed}", size, memory=2),
    )
    target = certain(target) if seed % 8 == 3 else target
    draft = {1: target, 5: certain(draft)}.get(seed % 8, draft)
    return World(f"random world {seed}", target, draft)


def certain(table):
    return at_temperature_zero(World("", table, table)).target


def random_instances(seed, rule):
    size, k, drafts = random_size(seed, rule.shape)
    return instances(random_world(seed, size), rule, k=k, drafts=drafts)


def configurations(one):
    """Number of drafts that can come up, an upper bound."""
    size, k = len(one.target.row(())), one.k
    if getattr(one.proposer, "scheme", None) == "deterministic":
        return 1
    shape = getattr(one.proposer, "shape", (1,))
    counts = [shape[depth] if depth < len(shape) else 1 for depth in range(k)]
    return size ** sum(prod(counts[: depth + 1]) for depth in range(k))


@pytest.mark.parametrize("rule", by_name(EXACT))
def test_gap_is_zero_on_random_worlds_and_no_rule_beats_its_optimum(rule):
    for seed in range(WORLDS_TRIED):
        for one in random_instances(seed, rule):
            assert configurations(one) <= 5_000
            proof = prove_instance(rule, one)
            assert proof.gap == 0, proof.counterexample
            assert proof.acceptance <= proof.optimal_acceptance
            if proof.most_accepted is not None:
                assert proof.expected_accepted <= proof.most_accepted
            if rule.name in ("block", "optimal-transport", "greedy-draft"):
                assert proof.gap_to_optimum == 0
            if rule.name == "block":
                assert proof.expected_accepted == proof.most_accepted


def test_random_worlds_have_zeros_one_hot_rows_and_equal_rows():
    worlds = [random_world(seed, 3) for seed in range(WORLDS_TRIED)]
    pairs = [(world.target.row(()), world.draft.row(())) for world in worlds]
    counts = (
        sum(bool((p == q).all()) for p, q in pairs),
        sum(p.max() == 1 for p, _ in pairs),
        sum(q.max() == 1 for _, q in pairs),
        sum(bool(((p == 0) & (q > 0)).any()) for p, q in pairs),
        sum(bool(((p > 0) & (q == 0)).any()) for p, q in pairs),
    )
    assert min(counts) >= WORLDS_TRIED // 8


def test_block_never_accepts_fewer_than_token_wise():
    block, token_wise = find_rule("block"), find_rule("token-wise")
    more = 0
    for seed in range(WORLDS_TRIED):
        (one,) = random_instances(seed, block)
        a, b = (prove_instance(rule, one).expected_accepted for rule in (block, token_wise))
        assert a >= b
        more += a > b
    assert more >= 20


def test_k_seq_keeps_its_promised_share_of_the_optimum():
    for seed in range(60):
        for one in random_instances(seed, find_rule("k-seq")):
            proof = prove_instance(find_rule("k-seq"), one)
            n = one.proposer.shape[0]
            assert proof.acceptance >= (1 - (1 - F(1, n)) ** n) * proof.optimal_acceptance - F(
                1, 10**6
            )


def test_traversal_is_block_on_a_chain():
    traversal, block = find_rule("traversal"), find_rule("block")
    for seed in range(30):
        (one,) = random_instances(seed, block)
        laws = [
            {
                (leaf.draft.tokens, leaf.verdict): leaf.weight
                for leaf in _merged(round_leaves(rule, one.target, one.proposer, (), one.k))
            }
            for rule in (traversal, block)
        ]
        assert _by_text(laws[0]) == _by_text(laws[1])


def _merged(leaves):
    """Add up the leaves with one draft and one verdict."""
    weights, first = {}, {}
    for leaf in leaves:
        key = leaf.draft.tokens, leaf.verdict.emitted, leaf.verdict.path
        weights[key] = weights.get(key, 0) + leaf.weight
        first[key] = leaf
    return [replace(first[key], weight=weight) for key, weight in weights.items()]


def _by_text(law):
    return {
        (draft, verdict.emitted, verdict.path): weight for (draft, verdict), weight in law.items()
    }


def test_traversal_keeps_more_than_a_walk_down_the_tree():
    more = 0
    for seed in range(40):
        world = random_world(seed, 3)
        tree = TreeModel(world.draft, (2, 1), "without-replacement")
        one = Instance(name="tree", target=world.target, proposer=tree, k=2)
        names = ("tree-without-replacement", "traversal")
        walk, whole = (prove_instance(find_rule(name), one) for name in names)
        assert whole.exact
        assert whole.expected_accepted >= walk.expected_accepted
        more += whole.expected_accepted > walk.expected_accepted
    assert more >= 5


def test_with_replacement_neither_the_walk_nor_traversal_keeps_more_everywhere():
    """The walk lets repeated children compete together, traversal tries whole branches."""
    better = set()
    for seed in range(40):
        world = random_world(seed, 2)
        tree = TreeModel(world.draft, (2, 2), "iid")
        one = Instance(name="tree", target=world.target, proposer=tree, k=2)
        kept = {
            name: prove_instance(find_rule(name), one).expected_accepted
            for name in ("tree", "traversal")
        }
        if kept["tree"] != kept["traversal"]:
            better.add(max(kept, key=kept.get))
    assert better == {"tree", "traversal"}


@pytest.mark.parametrize("name", ["rrs", "tree", "traversal", "greedy-draft"])
@pytest.mark.parametrize("scheme", ["iid", "without-replacement", "greedy-draft", "deterministic"])
def test_rules_that_read_each_row_judge_every_scheme(name, scheme):
    for seed in range(20):
        world = random_world(seed, 3)
        one = Instance(
            name="any scheme",
            target=world.target,
            proposer=TreeModel(world.draft, (2, 1), scheme),
            k=2,
        )
        if seed % 4 == 0:
            assert prove_instance(find_rule(name), one).exact


def test_without_replacement_covers():
    """With as many drafts as q has tokens, and p inside them, something is always kept."""
    for seed in range(40):
        world = random_world(seed, 3)
        support = int((world.draft.row(()) > 0).sum())
        covered = not ((world.target.row(()) > 0) & (world.draft.row(()) == 0)).any()
        siblings = Siblings(world.draft, support, "without-replacement")
        one = Instance(name="cover", target=world.target, proposer=siblings, k=1)
        proof = prove_instance(find_rule("rrs-without-replacement"), one)
        assert not covered or proof.acceptance == 1


def test_paths_of_three_tokens_are_judged_exactly():
    """The place of a prefix among all strings matters from the third position on."""
    rule = find_rule("multi-path-block")
    for seed in (0, 2, 4, 6):
        (one,) = instances(random_world(seed, 2), rule, k=3, drafts=2)
        proof = prove_instance(rule, one)
        assert proof.exact, proof.counterexample


def test_verdicts_name_a_real_branch_of_the_tree():
    rule = find_rule("tree")
    for seed in range(10):
        world = random_world(seed, 2)
        tree = TreeModel(world.draft, (2, 2), "iid")
        for leaf in round_leaves(rule, world.target, tree, (), 2):
            path = leaf.verdict.path
            assert path == (leaf.draft.path(path[-1]) if path else ())
            tokens = tuple(leaf.draft.tokens[node] for node in path)
            assert leaf.verdict.emitted[:-1] == tokens


# ---------------------------------------------------------------- one seed, one text


@pytest.mark.parametrize("name", OWN_DRAW)
def test_the_targets_own_draw_gives_one_text_for_every_draft(name):
    target, draft = random_table("p", 4, memory=2), random_table("q", 4, memory=2)
    drafting = [
        DraftModel(draft),
        DraftModel(target),
        PromptLookup(4),
        TreeModel(draft, (2, 2), "deterministic")
        if name == "tree-target-only"
        else GumbelDraft(draft),
    ]
    if name == "exact-match":
        drafting.pop()
    rule, limits = find_rule(name), Limits(max_tokens=12)
    for seed in range(12):
        plain = generate(Dice(seed), target, DraftModel(draft), rule, (0,), k=0, limits=limits)
        for proposing in drafting:
            for k in (1, 2, 5):
                text = generate(Dice(seed), target, proposing, rule, (0,), k=k, limits=limits)
                assert text.tokens == plain.tokens


def test_a_draft_on_the_targets_noise_with_the_targets_rows_is_kept_whole():
    target = random_table("p", 4, memory=2)
    text = generate(
        Dice(3),
        target,
        GumbelDraft(target),
        find_rule("gumbel"),
        (0,),
        k=3,
        limits=Limits(max_tokens=16),
    )
    assert text.tally.acceptance_rate == 1


# ---------------------------------------------------------------- the numerics contract


class Scripted:
    """Luck whose every uniform is `u`, whatever the key; races take the largest weight."""

    def __init__(self, u):
        self.u = u

    def after(self, length):
        return self

    def at(self, purpose, *index):
        return self

    def own(self, offset):
        return self

    def accepts(self, p, q=1):
        return keeps(self.u, p, q)

    def pick(self, weights):
        return quantile(weights, self.u)

    def race(self, weights):
        return int(weights.argmax())


def judge(rule, u, p, q, token):
    """Judge one drafted token, all rows alike."""
    p, q = np.array(p), np.array(q)
    return rule.verify(Scripted(u), Draft.chain([token], [q]), [p, p])


COMPARING_RULES = by_name(find_rule(name) for name in COMPARING.split())


@pytest.mark.parametrize("rule", COMPARING_RULES)
def test_coins_at_the_edges(rule):
    p, q = [0.25, 0.75], [0.5, 0.5]
    assert judge(rule, 0.0, p, q, 0).accepted == 1
    assert judge(rule, np.nextafter(0.5, 0), p, q, 0).accepted == 1
    assert judge(rule, 0.5, p, q, 0).accepted == 0
    assert judge(rule, ALMOST_ONE, p, q, 0).accepted == 0
    assert judge(rule, ALMOST_ONE, p, q, 1).accepted == 1
    assert judge(rule, ALMOST_ONE, q, q, 0).accepted == 1


def test_a_prefix_whose_test_is_zero_over_zero_passes_block():
    """With p = q the whole draft passes for sure; luck that denies it goes no further down."""

    class Denying(Scripted):
        def accepts(self, p, q=1):
            return False

    row = np.array([0.5, 0.5])
    draft = Draft.chain([0, 1], [row, row])
    verdict = find_rule("block").verify(Denying(0.0), draft, [row] * 3)
    assert verdict.accepted == 1
    assert [trial.kept for trial in verdict.trials] == [False, True]


def test_coins_at_the_edges_of_rules_with_other_numbers():
    point_mass = find_rule("point-mass")
    for rule in (point_mass, threshold(1, 1)):
        assert judge(rule, np.nextafter(0.25, 0), [0.25, 0.75], [0.5, 0.5], 0).accepted == 1
        assert judge(rule, 0.25, [0.25, 0.75], [0.5, 0.5], 0).accepted == 0
        assert judge(rule, ALMOST_ONE, [1.0, 0.0], [0.5, 0.5], 0).accepted == 1
    assert judge(lenience(0.5), np.nextafter(0.5, 0), [0.25, 0.75], [1.0, 0.0], 0).accepted == 1
    assert judge(lenience(0.5), 0.5, [0.25, 0.75], [1.0, 0.0], 0).accepted == 0


@pytest.mark.parametrize("u", [0.0, 0.5, ALMOST_ONE])
@pytest.mark.parametrize("rule", by_name(RULES.values()))
def test_a_token_of_probability_zero_is_never_kept_and_never_emitted(rule, u):
    p = [0.0, 1.0, 0.0] if rule.one_hot else [0.0, 0.5, 0.5]
    for token in (0, 1):
        verdict = judge(rule, u, p, [0.5, 0.5, 0.0], token)
        assert 0 not in verdict.emitted
        assert verdict.accepted == 0 or token == 1


@pytest.mark.parametrize("rule", by_name(RULES.values()))
def test_an_empty_draft_is_one_plain_step(rule):
    p = np.array([0.0, 1.0])
    verdict = rule.verify(Dice(1), Draft.empty(), [p])
    assert verdict.emitted == (1,)
    assert verdict.accepted == 0
    assert verdict.sources == (Source.TARGET,)


# ---------------------------------------------------------------- rows


def float_world(rule, size, seed=0, concentration=0.05):
    """Random float rows by text, one-hot on the target's side for a rule that wants that."""

    def row(side):
        def after(text):
            key = [seed, side, *map(int, text[-2:])]
            values = np.random.default_rng(key).dirichlet(np.full(size, concentration))
            if rule.one_hot and side == 0:
                values = np.eye(1, size, int(values.argmax()))[0]
            values.setflags(write=False)
            return values

        return after

    return Table(row(0)), Table(row(1))


def draft_for(rule, draft, seed, k=3):
    scheme = "iid" if rule.shape == "tree" and rule.scheme == "any" else rule.scheme
    drafting = proposers(draft, rule.shape, scheme, k=k, drafts=2)[0]
    return drafting.propose(Dice(seed).after(0), (), k)


@pytest.mark.parametrize("rule", by_name(RULES.values()))
def test_inputs_are_never_changed(rule):
    target, draft = float_world(rule, 5, concentration=0.5)
    for seed in range(20):
        drafted = draft_for(rule, draft, seed)
        before = [row.copy() for row in drafted.rows]
        rows = tuple(target.rows((), drafted))
        verdict = rule.verify(Dice(seed).after(0), drafted, rows)
        assert len(verdict.emitted) == verdict.accepted + 1
        assert all((a == b).all() for a, b in zip(before, drafted.rows, strict=True))


@pytest.mark.parametrize("rule", by_name(RULES.values()))
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_numbers_is_refused_by_name(rule, bad):
    good, broken = np.array([1.0, 0.0]), np.array([1.0, bad])
    with pytest.raises(NotADistribution, match=r"rows\[0\]\[1\] is"):
        rule.verify(Dice(0), Draft.chain([0], [good]), [broken, good])
    with pytest.raises(NotADistribution, match=r"draft\.rows\[0\]\[1\] is"):
        rule.verify(Dice(0), Draft.chain([0], [broken]), [good, good])


@pytest.mark.parametrize("rule", by_name(RULES.values()))
def test_rows_that_do_not_fit_the_draft_are_refused(rule):
    row = np.array([1.0, 0.0])
    with pytest.raises(InvalidInput, match="rows has 1 entries for a draft of 1 tokens"):
        rule.verify(Dice(0), Draft.chain([0], [row]), [row])
    with pytest.raises(InvalidInput, match=r"draft\.tokens\[0\] is 2"):
        rule.verify(Dice(0), Draft.chain([2], [row]), [row, row])


@pytest.mark.parametrize("rule", by_name(RULES.values()))
def test_floats_and_fractions_decide_alike(rule):
    """On rows without ties: where p/q is the same for two tokens, rounding may order them."""
    for seed in range(60):
        generator = random.Random(f"{rule.name}{seed}")
        size = 3
        p = [random_row(generator, size, largest=97) for _ in range(3)]
        if rule.one_hot:
            p = [np.array([F(int(at == row.argmax())) for at in range(size)]) for row in p]
        q = Table(random_row(generator, size, largest=97))
        drafted = draft_for(rule, q, seed, k=2)
        depth = [len(drafted.path(node)) for node in (ROOT, *range(len(drafted)))]
        rows = [p[d] for d in depth]
        floats = Draft(drafted.tokens, drafted.parents, tuple(_floats(drafted.rows)))
        exact = rule.verify(Dice(seed), drafted, rows)
        fast = rule.verify(Dice(seed), floats, list(_floats(rows)))
        assert (exact.emitted, exact.path) == (fast.emitted, fast.path)


def _floats(rows):
    """Give the rows as floats, the same object for the same object."""
    made = {id(row): row.astype(np.float64) for row in rows}
    return [made[id(row)] for row in rows]


@pytest.mark.parametrize(
    "rule", by_name(rule for rule in RULES.values() if rule.name != "optimal-transport")
)
def test_every_rule_runs_on_a_real_vocabulary(rule):
    target, draft = float_world(rule, 49_152)
    for seed in range(2):
        drafted = draft_for(rule, draft, seed)
        rows = target.rows((), drafted)
        verdict = rule.verify(Dice(seed).after(0), drafted, rows)
        last = drafted.prefix(verdict.path[-1]) if verdict.path else ()
        assert target.row(last)[verdict.emitted[-1]] > 0


# ---------------------------------------------------------------- refusals


def test_optimal_transport_refuses_a_vocabulary_too_large_for_it():
    rule = find_rule("optimal-transport")
    target, draft = float_world(rule, 1_000)
    drafted = draft_for(rule, draft, 0)
    with pytest.raises(
        UnsupportedDraft, match="too many for rule 'optimal-transport'; use 'k-seq'"
    ):
        rule.verify(Dice(0), drafted, target.rows((), drafted))


@pytest.mark.parametrize("name", ["k-seq", "max-ratio", "optimal-transport", "multi-path-block"])
def test_rules_for_independent_drafts_refuse_others(name):
    world = random_world(3, 3)
    drafted = Siblings(world.draft, 2, "without-replacement").propose(Dice(0), (), 1)
    assert len(drafted) == 2
    with pytest.raises(UnsupportedDraft, match="drawn independently from one row"):
        find_rule(name).verify(Dice(0), drafted, tuple(world.target.rows((), drafted)))


@pytest.mark.parametrize(
    "rule",
    by_name(rule for rule in RULES.values() if rule.shape == "chain" and rule.name != "threshold"),
)
def test_chain_rules_refuse_a_tree(rule):
    row = np.array([1.0, 0.0])
    with pytest.raises(UnsupportedDraft, match="judges a chain, and this draft branches"):
        rule.verify(Dice(0), Draft((0, 0), (ROOT, ROOT), (row, row)), [row] * 3)


def test_multi_path_block_refuses_a_tree():
    row = np.array([0.5, 0.5])
    tree = TreeModel(Table(row), (2, 2)).propose(Dice(0), (), 2)
    with pytest.raises(UnsupportedDraft, match="separate chains of one length"):
        find_rule("multi-path-block").verify(Dice(0), tree, [row] * 7)


def test_greedy_refuses_a_temperature_that_leaves_a_choice():
    with pytest.raises(UnsupportedDraft, match="set the temperature to 0"):
        judge(find_rule("greedy"), 0.0, [0.6, 0.4], [1.0, 0.0], 0)


@pytest.mark.parametrize("rule", by_name(LOSSY))
def test_the_loop_refuses_lossy_rules_unless_asked(rule):
    table = Table([0.5, 0.5])
    with pytest.raises(InexactRule, match="allow_lossy=True"):
        generate(Dice(0), table, DraftModel(table), rule, (0,))
    limits = Limits(max_tokens=3)
    text = generate(Dice(0), table, DraftModel(table), rule, (0,), limits=limits, allow_lossy=True)
    assert len(text.tokens) == 3


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: lenience(0), "factor is 0"),
        (lambda: lenience(2), "factor is 2"),
        (lambda: typical(epsilon=0), "epsilon is 0"),
        (lambda: top_k_relaxed(top=0), "top is 0"),
        (lambda: top_k_relaxed(delta=2), "delta is 2"),
        (lambda: threshold(single=0), "single is 0"),
        (lambda: Siblings(Table([1.0]), 0), r"shape is \(0,\)"),
        (lambda: Siblings(Table([1.0]), 2, "some"), "scheme is 'some'"),
    ],
)
def test_parameters_out_of_range_are_refused(make, word):
    with pytest.raises(InvalidInput, match=word):
        make()


def test_an_unknown_rule_is_refused_with_the_names_there_are():
    with pytest.raises(
        InvalidInput, match="'best' is not known; choose one of greedy, exact-match"
    ):
        find_rule("best")


# ---------------------------------------------------------------- parts


def test_threshold_at_one_is_the_rule_for_the_targets_own_draw():
    for seed in range(20):
        world = random_world(seed, 3)
        tree = TreeModel(world.draft, (2, 1), "deterministic")
        one = Instance(name="tree", target=world.target, proposer=tree, k=2)
        strict, own = (
            prove_instance(rule, one) for rule in (threshold(1, 1), find_rule("tree-target-only"))
        )
        assert strict.exact
        assert strict.expected_accepted == own.expected_accepted


def test_the_factor_of_k_seq_is_safe_exactly_and_tight():
    for seed in range(40):
        generator = random.Random(seed)
        p, q = random_row(generator, 4), random_row(generator, 4)
        for n in (2, 3):
            rho = k_seq_factor(p, q, n)
            assert _slack(p, q, n, rho) >= 0
            below = rho - F(2, 2**24)
            assert below < 1 or _slack(p, q, n, below) < 0


def _slack(p, q, n, rho):
    b = sum(min(a, c / rho) for a, c in zip(q, p, strict=True))
    return rho * b - (1 - (1 - b) ** n)


def test_the_law_of_the_largest_draw_loses_no_digits():
    q = np.array([0.5, 0.5 - 1e-12, 1e-12])
    exact = np.array([F(value) for value in q.tolist()], dtype=object)
    order = np.array([0, 1, 2])
    fast = largest_of(q, order, 3, start=0.25, mass=1e-9)
    slow = largest_of(exact, order, 3, start=F(1, 4), mass=F(1e-9))
    assert np.allclose(fast, slow.astype(np.float64), rtol=1e-14, atol=0)
