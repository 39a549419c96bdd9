"""Drafts over another vocabulary: proved exact on vocabularies of letters."""

from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice
from draftproof.contracts import Draft
from draftproof.decode import Limits
from draftproof.errors import VocabularyMismatch
from draftproof.proof import Instance, prove_instance, prove_loop
from draftproof.proposers import DraftModel
from draftproof.proposers.branching import Siblings
from draftproof.proposers.vocabularies import ByText, Intersected, shared_ids
from draftproof.rules import find_rule
from worlds import random_table

OURS = ("a", "b", "ab", "c")
THEIRS = ("b", "a", "d")


def reader(pieces):
    """Longest match first; letters that it cannot spell are left out."""
    order = sorted(range(len(pieces)), key=lambda at: -len(pieces[at]))

    def read(text):
        tokens, at = [], 0
        while at < len(text):
            found = next((t for t in order if text.startswith(pieces[t], at)), None)
            if found is not None:
                tokens.append(found)
            at += len(pieces[found]) if found is not None else 1
        return tuple(tokens)

    return read


def between(pieces, others):
    read = reader(others)
    return lambda tokens: read("".join(pieces[token] for token in tokens))


TO_DRAFT, TO_TARGET = between(OURS, THEIRS), between(THEIRS, OURS)


def intersected(seed):
    return Intersected(random_table(f"q{seed}", 3, memory=2), OURS, THEIRS, to_draft=TO_DRAFT)


def by_text(seed):
    drafting = DraftModel(random_table(f"q{seed}", 3, memory=2))
    return ByText(drafting, 4, to_draft=TO_DRAFT, to_target=TO_TARGET, exact=True)


@pytest.mark.parametrize("name", ["token-wise", "block", "point-mass", "exact-match"])
@pytest.mark.parametrize("seed", range(6))
def test_a_draft_on_the_intersection_is_exact(name, seed):
    one = Instance(
        name="letters",
        target=random_table(f"p{seed}", 4, memory=2),
        proposer=DraftModel(intersected(seed)),
        k=2,
        text=(0,),
    )
    proof = prove_instance(find_rule(name), one)
    assert proof.exact, proof.counterexample


def test_several_drafts_on_the_intersection_are_exact():
    for seed in range(4):
        one = Instance(
            name="letters",
            target=random_table(f"p{seed}", 4, memory=2),
            proposer=Siblings(intersected(seed), 2, "without-replacement"),
            k=1,
        )
        assert prove_instance(find_rule("rrs-without-replacement"), one).exact


@pytest.mark.parametrize("name", ["token-wise", "block", "point-mass", "exact-match"])
@pytest.mark.parametrize("seed", range(6))
def test_a_draft_by_text_is_exact(name, seed):
    one = Instance(
        name="letters",
        target=random_table(f"p{seed}", 4, memory=2),
        proposer=by_text(seed),
        k=2,
        text=(2,),
    )
    proof = prove_instance(find_rule(name), one)
    assert proof.exact, proof.counterexample


@pytest.mark.parametrize("make", [lambda: DraftModel(intersected(1)), lambda: by_text(1)])
def test_the_loop_is_exact_too(make):
    target = random_table("p1", 4, memory=1)
    limits = Limits(max_tokens=3, stop=frozenset({3}))
    for name in ("token-wise", "exact-match"):
        assert prove_loop(find_rule(name), target, make(), k=2, limits=limits).exact


def test_masking_after_sampling_is_refuted():
    """Drawing from all of q, dropping what the target lacks, and claiming q on the intersection."""
    law = fractions("1/4", "1/4", "1/2")

    class MaskedLater:
        name = "masked-later"

        def propose(self, chance, text, k):
            token = chance.at("draft", 0).pick(law)
            if THEIRS[token] not in OURS:
                return Draft.empty()
            claimed = np.array([law[1], law[0], F(0), F(0)], dtype=object)
            return Draft.chain([OURS.index(THEIRS[token])], [claimed])

    target = Table(fractions("1/2", "1/6", "1/6", "1/6"))
    honest = Instance(name="masked", target=target, proposer=MaskedLater(), k=1)
    assert not prove_instance(find_rule("token-wise"), honest).exact


def test_the_row_is_the_draft_on_what_both_can_say():
    over = Intersected(Table(fractions("1/4", "1/4", "1/2")), OURS, THEIRS, to_draft=TO_DRAFT)
    assert over.rows((), Draft.empty())[0].tolist() == [F(1, 2), F(1, 2), 0, 0]


def test_a_draft_that_says_nothing_shared_leaves_all_shared_tokens_equally_likely():
    over = Intersected(Table(fractions(0, 0, 1)), OURS, THEIRS, to_draft=TO_DRAFT)
    row = over.rows((), Draft.empty())[0]
    assert row.sum() == 1
    assert row[0] == row[1] > 0


def test_the_prefix_reaches_the_draft_in_its_own_tokens():
    asked = []

    def row(text):
        asked.append(text)
        return fractions("1/3", "1/3", "1/3")

    over = Intersected(Table(row), OURS, THEIRS, to_draft=TO_DRAFT)
    drafted = Draft.chain([2], [fractions(0, 0, 1, 0)])
    tuple(over.rows((0,), drafted))
    assert asked == [(1,), (1, 1, 0)]


def test_text_comes_back_in_the_targets_tokens():
    drafting = DraftModel(Table(lambda text: fractions(1, 0, 0) if text else fractions(0, 1, 0)))
    over = ByText(drafting, 4, to_draft=TO_DRAFT, to_target=TO_TARGET)
    assert over.propose(Dice(0), (), 2).tokens == (2,)
    assert over.propose(Dice(0), (0,), 2).tokens == ()
    assert over.name == "draft-model by text"


def test_vocabularies_without_a_common_piece_are_refused():
    with pytest.raises(VocabularyMismatch, match="2 tokens and the draft's 3 have no piece"):
        shared_ids(["x", ""], ["", "y", "z"])
