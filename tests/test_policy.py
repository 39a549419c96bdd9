"""The policy behind `-k auto`: exact, repeatable, and close to the best fixed k."""

from dataclasses import dataclass
from fractions import Fraction as F
from itertools import pairwise

import pytest

from draftproof.backends.table import Table, fractions
from draftproof.chance import Dice
from draftproof.contracts import Draft
from draftproof.decode import Limits, generate, rounds
from draftproof.errors import InvalidInput
from draftproof.planner import Costs, seconds_for
from draftproof.planner.policy import Adaptive, Seen, round_times
from draftproof.planner.simulate import MODELS, STEADY, STEEP, simulated_seconds
from draftproof.proof import prove_loop
from draftproof.proposers import DraftModel, PromptLookup
from draftproof.rules import find_rule
from draftproof.rules.chain import TOKEN_WISE
from worlds import random_table

CHEAP = (1.0, 1.1, 1.2, 1.3)
DEAR = (1.0, 1.7, 2.5, 3.4)
MIDDLING = (1.0, 1.15, 1.35, 1.6)

# ---------------------------------------------------------------- exactness


def pair(seed, size):
    return random_table(f"p{seed}", size), random_table(f"q{seed}", size)


@pytest.mark.parametrize("seconds", [CHEAP, MIDDLING, DEAR])
@pytest.mark.parametrize("name", ["token-wise", "block"])
@pytest.mark.parametrize("seed", range(3))
def test_the_loop_with_the_policy_in_it_is_exact(seed, name, seconds):
    target, draft = pair(seed, 2)
    limits = Limits(max_tokens=5, stop=frozenset({1}))
    policy = Adaptive(seconds)
    proof = prove_loop(find_rule(name), target, DraftModel(draft), k=policy, limits=limits)
    assert proof.exact, proof.counterexample


@pytest.mark.parametrize("seed", range(3))
def test_it_is_exact_without_a_stop_and_with_three_tokens(seed):
    target, draft = pair(seed, 3)
    proof = prove_loop(
        TOKEN_WISE,
        target,
        DraftModel(draft),
        k=Adaptive(MIDDLING[:3]),
        limits=Limits(max_tokens=4),
    )
    assert proof.exact, proof.counterexample


class Watched(Adaptive):
    """The policy, with a record of what it chose."""

    def __init__(self, seconds):
        super().__init__(seconds)
        self.chosen = set()

    def __call__(self, text, last):
        k = super().__call__(text, last)
        self.chosen.add((len(text), k))
        return k


def test_in_these_proofs_the_policy_chooses_different_ks_on_different_branches():
    target, draft = pair(0, 2)
    policy = Watched(MIDDLING)
    prove_loop(TOKEN_WISE, target, DraftModel(draft), k=policy, limits=Limits(max_tokens=5))
    at_2 = {k for length, k in policy.chosen if length == 2}
    assert len(at_2) > 1


class Peeking(DraftModel):
    """A policy that looks at the draft: it verifies only as far as the draft was confident."""

    def propose(self, chance, text, k):
        draft = super().propose(chance, text, k)
        sure = 0
        while sure < len(draft) and draft.rows[sure][draft.tokens[sure]] >= F(1, 2):
            sure += 1
        return Draft.chain(draft.tokens[:sure], draft.rows[:sure])


class Retrospective(DraftModel):
    """Algorithm suspect: whether token 1 is verified depends on what token 1 leads to."""

    def propose(self, chance, text, k):
        draft = super().propose(chance, text, k)
        keep = len(draft) if draft.tokens[:1] == (0,) else 0
        return Draft.chain(draft.tokens[:keep], draft.rows[:keep])


@pytest.mark.parametrize("suspect", [Peeking, Retrospective])
def test_a_policy_that_peeks_at_the_draft_is_refuted(suspect):
    target, draft = Table(fractions("7/10", "3/10")), Table(fractions("1/2", "1/2"))
    skewed = Table(fractions("9/10", "1/10"))
    proofs = [
        prove_loop(TOKEN_WISE, target, suspect(q), k=Adaptive(CHEAP), limits=Limits(max_tokens=3))
        for q in (draft, skewed)
    ]
    assert not all(proof.exact for proof in proofs)
    honest = prove_loop(
        TOKEN_WISE, target, DraftModel(skewed), k=Adaptive(CHEAP), limits=Limits(max_tokens=3)
    )
    assert honest.exact


def test_a_retrospective_choice_gives_the_law_of_the_published_counterexample():
    """DSpark, appendix A: p = (.7, .3), q = (.5, .5) comes out as (.85, .15)."""
    target, draft = Table(fractions("7/10", "3/10")), Table(fractions("1/2", "1/2"))
    proof = prove_loop(
        TOKEN_WISE, target, Retrospective(draft), k=lambda *_: 1, limits=Limits(max_tokens=2)
    )
    first = sum(weight for text, weight in proof.law.items() if text[0] == 0)
    assert first == F(85, 100)


# ---------------------------------------------------------------- one seed, one text


def play(policy, seed, target, draft):
    done = rounds(
        Dice(seed), target, DraftModel(draft), TOKEN_WISE, (0,), k=policy,
        limits=Limits(max_tokens=60),
    )  # fmt: skip
    return [(one.k, one.emitted) for one in done]


def test_one_policy_used_twice_gives_the_same_text_and_the_same_ks():
    target, draft = Table([0.6, 0.4]), Table([0.3, 0.7])
    policy = Adaptive(MIDDLING)
    first = play(policy, 1, target, draft)
    play(policy, 2, target, draft)
    assert play(policy, 1, target, draft) == first == play(Adaptive(MIDDLING), 1, target, draft)


class Forgetful(Adaptive):
    """A policy that does not begin anew with a new text."""

    def __call__(self, text, last):
        if last is None and getattr(self, "used", False):
            return self._decide()
        self.used = True
        return super().__call__(text, last)


def test_a_policy_that_carries_over_from_text_to_text_would_be_seen():
    target, draft = Table([0.6, 0.4]), Table([0.3, 0.7])
    policy = Forgetful(MIDDLING)
    first = play(policy, 1, target, draft)
    assert play(policy, 1, target, draft) != first


# ---------------------------------------------------------------- speed, on simulated costs

TOKENS, SEEDS = 1000, 8


@dataclass
class Chain:
    """A draft of which only the length matters."""

    length: int
    is_chain: bool = True

    def __len__(self):
        return self.length


@dataclass
class Past:
    """What a policy looks at in a round."""

    k: int
    accepted: int
    draft: Chain


def mean_seconds(policy, text_at, times, tokens=TOKENS):
    each = [simulated_seconds(policy, text_at, times, tokens, seed=seed) for seed in range(SEEDS)]
    return sum(each) / len(each)


@pytest.mark.parametrize("text", STEADY)
@pytest.mark.parametrize(("curve", "t_draft"), MODELS.values(), ids=MODELS)
def test_on_a_steady_text_it_is_within_5_percent_of_the_best_fixed_k(curve, t_draft, text):
    costs = Costs(t_target=curve.at(1), t_verify=curve, t_draft=t_draft)
    times = round_times(costs, 15)
    acceptances = STEADY[text][: len(times) - 1]
    best = min(seconds_for(TOKENS, acceptances, k, costs) for k in range(len(times)))
    assert mean_seconds(Adaptive(times), lambda at: acceptances, times) <= 1.05 * best


def always(k):
    return lambda text, last: k


def test_on_a_text_that_changes_it_beats_every_fixed_k():
    costs = Costs(t_target=STEEP.at(1), t_verify=STEEP)
    times = round_times(costs, 8)

    def text_at(at):
        return STEADY["poor"] if at % 600 < 300 else STEADY["certain"]

    fixed = min(mean_seconds(always(k), text_at, times, 1800) for k in range(9))
    assert mean_seconds(Adaptive(times), text_at, times, 1800) < fixed


def test_it_switches_off_and_tries_again_at_growing_intervals():
    times = round_times(Costs(t_target=STEEP.at(1), t_verify=STEEP), 8)
    policy = Adaptive(times)
    last, chosen = None, []
    for _ in range(400):
        chosen.append(policy((), last))
        last = Past(chosen[-1], 0, Chain(chosen[-1]))
    tries = [at for at, k in enumerate(chosen) if k]
    gaps = [after - before - 1 for before, after in pairwise(tries)]
    grown = [gap for gap in gaps if gap]
    assert grown == [8, 16, 32, 64, 128]
    assert len(tries) < 20


def test_a_draft_that_is_not_made_costs_nothing():
    """Lookup drafts are often empty; asking for many is right where the few made are kept."""
    times = round_times(Costs(t_target=STEEP.at(1), t_verify=STEEP), 8)
    policy, rare = Adaptive(times), (1.0,) * 8
    spent = [
        simulated_seconds(
            policy,
            lambda at: rare,
            times,
            1000,
            seed=seed,
            drafted=lambda k, at: k * (at % 10 == 0),
        )
        for seed in range(SEEDS)
    ]
    plain = 1000 * times[0]
    assert sum(spent) / SEEDS < 0.9 * plain


def test_a_lookup_draft_switches_k_up_on_text_that_repeats_itself():
    loop = Table(fractions("1", "0"))
    policy = Watched(CHEAP)
    generate(
        Dice(0), loop, PromptLookup(2), TOKEN_WISE, (0, 0, 0), k=policy,
        limits=Limits(max_tokens=40),
    )  # fmt: skip
    assert max(k for _, k in policy.chosen) == 3


def test_the_simulation_of_a_fixed_k_takes_the_expected_time():
    """False alarm below 1e-6 if both are right: 400 texts, mean within 5 standard errors."""
    costs = Costs(t_target=STEEP.at(1), t_verify=STEEP, t_draft=0.001)
    times, shares = round_times(costs, 4), (0.9, 0.5, 0.7, 0.2)
    spent = [simulated_seconds(always(3), lambda at: shares, times, 60, seed=n) for n in range(400)]
    middle = sum(spent) / len(spent)
    error = (sum((one - middle) ** 2 for one in spent) / len(spent) ** 2) ** 0.5
    assert abs(middle - seconds_for(60, shares, 3, costs)) < 5 * error


def test_a_simulation_refuses_what_it_has_no_numbers_for():
    with pytest.raises(InvalidInput, match=r"drafts 3 tokens after 0; seconds is known for 2"):
        simulated_seconds(always(3), lambda at: (1.0,) * 3, (1.0, 1.1, 1.2), 9)


# ---------------------------------------------------------------- counts and refusals


def test_a_position_that_was_asked_for_and_not_drafted_counts_as_not_kept():
    seen = Seen.nothing(3).after(k=3, drafted=1, accepted=1)
    assert (seen.asked, seen.drafted) == ((1, 1, 1), (1, 0, 0))
    assert (seen.looked, seen.kept) == ((1, 1, 0), (1, 0, 0))


def test_only_the_positions_behind_the_first_rejection_stay_unseen():
    """The pattern kept, rejected, (would be kept) counts one kept token, not two."""
    seen = Seen.nothing(3).after(k=3, drafted=3, accepted=1)
    assert (seen.looked, seen.kept) == ((1, 1, 0), (1, 0, 0))


@pytest.mark.parametrize("seconds", [(), (0.0, 1.0), (1.0, -1.0), (1.0, float("nan"))])
def test_costs_that_are_no_times_are_refused(seconds):
    with pytest.raises(InvalidInput, match=r"^seconds"):
        Adaptive(seconds)


def test_with_no_k_to_choose_from_it_decodes_plainly():
    assert Adaptive((1.0,))((0,), None) == 0
