"""Drafts as token trees, lazily computed rows, verdicts."""

import numpy as np
import pytest

from draftproof.contracts import (
    ROOT,
    Draft,
    Lazily,
    Source,
    Trial,
    Verdict,
    require_chain,
)
from draftproof.errors import InvalidInput, UnsupportedDraft

HALF = np.array([0.5, 0.5])
TREE = Draft((5, 6, 7, 8, 9), (ROOT, ROOT, 0, 2, 1), (HALF,) * 5)
"""Two roots 5 and 6; 7 follows 5, 8 follows 7, 9 follows 6."""


def test_a_chain_is_a_tree_without_branches():
    chain = Draft.chain([3, 4, 5], [HALF, HALF, HALF])
    assert chain.parents == (ROOT, 0, 1)
    assert chain.is_chain
    assert len(chain) == 3
    assert chain.prefix(2) == (3, 4, 5)
    assert not TREE.is_chain


def test_the_empty_draft_is_a_chain():
    assert Draft.empty().is_chain
    assert len(Draft.empty()) == 0
    assert Draft.empty().children() == ()


def test_children_paths_and_prefixes_of_a_tree():
    assert TREE.children() == (0, 1)
    assert TREE.children(0) == (2,)
    assert TREE.children(3) == ()
    assert TREE.path(3) == (0, 2, 3)
    assert TREE.prefix(3) == (5, 7, 8)
    assert TREE.prefix(4) == (6, 9)
    assert TREE.path(ROOT) == TREE.prefix(ROOT) == ()


def test_one_parent_below_two_nodes_is_no_chain():
    assert not Draft((1, 2), (ROOT, ROOT), (HALF, HALF)).is_chain
    assert not Draft((1, 2, 3), (ROOT, 0, 0), (HALF,) * 3).is_chain


def test_a_draft_carries_the_very_rows_it_was_given():
    row = np.array([0.25, 0.75])
    assert Draft.chain([1], [row]).rows[0] is row


@pytest.mark.parametrize(
    ("tokens", "parents", "rows", "said"),
    [
        ((1, 2), (ROOT,), (HALF, HALF), "2 tokens, 1 parents, 2 rows"),
        ((1,), (ROOT,), (), "1 tokens, 1 parents, 0 rows"),
        ((1, 2), (ROOT, 1), (HALF, HALF), r"parents\[1\] is 1"),
        ((1, 2), (1, ROOT), (HALF, HALF), r"parents\[0\] is 1"),
        ((1,), (-2,), (HALF,), r"parents\[0\] is -2"),
    ],
)
def test_malformed_drafts_are_refused(tokens, parents, rows, said):
    with pytest.raises(InvalidInput, match=said):
        Draft(tokens, parents, rows)


def test_drafts_and_verdicts_cannot_be_changed():
    with pytest.raises(AttributeError):
        TREE.tokens = ()
    with pytest.raises(AttributeError):
        Verdict((1,), (Source.TARGET,), ()).emitted = ()


def test_a_branching_draft_is_refused_on_behalf_of_the_rule():
    with pytest.raises(UnsupportedDraft, match=r"rule 'mine' .* branches .*-1, -1, 0, 2, 1"):
        require_chain(TREE, "mine")
    require_chain(Draft.empty(), "mine")


def test_a_verdict_counts_its_path_and_compares_without_its_trials():
    trial = Trial(node=0, token=3, p=0.5, q=0.5, kept=True)
    one = Verdict((3, 1), (Source.DRAFT, Source.BONUS), (0,), (trial,))
    assert one.accepted == 1
    assert one == Verdict((3, 1), (Source.DRAFT, Source.BONUS), (0,))


def test_lazy_items_are_made_once_and_only_when_looked_at():
    made = []
    items = Lazily(5, lambda at: made.append(at) or at * 10)
    assert len(items) == 5
    assert made == []
    assert items[3] == items[-2] == items[3] == 30
    assert made == [3]
    assert items[1:3] == (10, 20)
    assert made == [3, 1, 2]
    assert list(items) == [0, 10, 20, 30, 40]
    assert sorted(made) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("index", [5, -6])
def test_lazy_items_end_where_they_end(index):
    with pytest.raises(IndexError, match="there are 5"):
        Lazily(5, lambda at: at)[index]
