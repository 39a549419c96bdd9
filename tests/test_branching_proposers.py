"""Proposers of several drafts: what they draw, the rows they carry, and how they end."""

from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice, law
from draftproof.contracts import ROOT
from draftproof.proposers.branching import GumbelDraft, Siblings, TreeModel
from worlds import random_table

Q = fractions("1/2", "1/3", "1/6")


def drafts(proposer, k=1, text=()):
    """Exact law of what is drafted: tokens and the rows they carry."""
    return law(
        lambda luck: (lambda draft: (draft.tokens, tuple(tuple(row) for row in draft.rows)))(
            proposer.propose(luck.after(0), text, k)
        )
    )


def test_independent_siblings_share_one_row_and_follow_it():
    seen = drafts(Siblings(Table(Q), 2))
    assert {rows for _, rows in seen} == {(tuple(Q), tuple(Q))}
    for (tokens, _), weight in seen.items():
        assert weight == Q[tokens[0]] * Q[tokens[1]]


def test_siblings_without_replacement_carry_the_row_without_their_elders():
    seen = drafts(Siblings(Table(Q), 2, "without-replacement"))
    for (tokens, rows), weight in seen.items():
        first, second = tokens
        assert first != second
        assert rows[0] == tuple(Q)
        assert rows[1][first] == 0
        assert sum(rows[1]) == 1
        assert weight == Q[first] * Q[second] / (1 - Q[first])


def test_siblings_without_replacement_end_where_the_row_does():
    table = Table(fractions("1/2", "1/2", 0))
    assert {len(tokens) for tokens, _ in drafts(Siblings(table, 3, "without-replacement"))} == {2}


def test_greedy_drafting_chooses_the_likeliest_and_draws_one_from_the_rest():
    seen = drafts(Siblings(Table(Q), 2, "greedy-draft"))
    assert seen == {
        ((0, 1), ((1, 0, 0), (0, F(2, 3), F(1, 3)))): F(2, 3),
        ((0, 2), ((1, 0, 0), (0, F(2, 3), F(1, 3)))): F(1, 3),
    }


def test_greedy_drafting_draws_nothing_where_nothing_is_left():
    assert drafts(Siblings(Table(fractions(1, 0)), 2, "greedy-draft")) == {((0,), ((1, 0),)): 1}


def test_deterministic_siblings_use_no_luck():
    assert drafts(Siblings(Table(Q), 2, "deterministic")) == {((0, 1), ((1, 0, 0), (0, 1, 0))): 1}


@pytest.mark.parametrize("scheme", ["iid", "without-replacement", "greedy-draft", "deterministic"])
def test_trees_have_the_shape_asked_for_and_rows_of_their_own_prefix(scheme):
    table = random_table("tree", 4)
    draft = TreeModel(table, (2, 2), scheme).propose(Dice(5).after(1), (1,), 3)
    depths = [len(draft.path(node)) for node in range(len(draft))]
    assert depths == sorted(depths)
    assert max(depths) == 3
    for node in (ROOT, *range(len(draft))):
        children = draft.children(node)
        depth = len(draft.path(node))
        assert len(children) <= (2 if depth < 2 else 1)
        if scheme == "iid" and depth < 3:
            row = table.row((1, *draft.prefix(node)))
            assert all(draft.rows[child] is row for child in children)


def test_a_tree_near_the_context_limit_gets_fewer_levels():
    table = Table([0.5, 0.5])
    levels = {}
    for limit in range(12):
        draft = TreeModel(table, (2, 2), context_limit=limit).propose(Dice(0), (0,), 3)
        levels[limit] = len(draft)
    assert [levels[limit] for limit in range(12)] == [0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 10]


def test_siblings_go_on_as_chains():
    draft = Siblings(Table([0.5, 0.5]), 3).propose(Dice(0), (), 2)
    assert draft.parents == (-1, -1, -1, 0, 1, 2)
    assert Siblings(Table([0.5, 0.5]), 3).propose(Dice(0), (), 0).tokens == ()


def test_the_gumbel_draft_is_the_winner_at_the_targets_own_position():
    row = np.array([0.2, 0.3, 0.5])
    for seed in range(20):
        luck = Dice(seed).after(3)
        draft = GumbelDraft(Table(row)).propose(luck, (0, 0, 0), 2)
        assert draft.tokens == (luck.own(0).race(row), luck.own(1).race(row))
        assert Dice(seed).after(4).own(0).race(row) == draft.tokens[1]
