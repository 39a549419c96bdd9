"""The decoding loop: budgets, ends, errors in the middle, and counts done by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from draftproof.backends.table import Table
from draftproof.chance import Dice
from draftproof.contracts import Draft, Guarantee, Source, Trial, Verdict
from draftproof.decode import Limits, NoDraft, Round, Seconds, Tally, generate, rounds
from draftproof.errors import BackendError, ContextFull, InexactRule, InvalidInput, NotADistribution
from draftproof.proposers import DraftModel
from draftproof.rules.chain import TOKEN_WISE

HALF = np.array([0.5, 0.5])


def one_hot(token, size=4):
    return np.eye(size)[token]


CYCLE = Table(lambda text: one_hot(len(text) % 4))
"""Token n of a text is n modulo 4, surely: after the empty text 0 1 2 3 0 1 2 3 ..."""

ASTRAY = Table(lambda text: one_hot(len(text) % 4 if len(text) % 3 else 3))
"""The same, except that every third token is guessed to be 3."""


def cycle(start, count):
    return tuple(n % 4 for n in range(start, start + count))


def sizes(**how):
    """Emitted tokens per round of a decoder whose drafts are always right."""
    text = how.pop("text", ())
    done = rounds(Dice(0), CYCLE, DraftModel(CYCLE), TOKEN_WISE, text, **how)
    return [len(one.emitted) for one in done]


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(1, [1]), (2, [2]), (3, [3]), (4, [4]), (5, [4, 1]), (9, [4, 4, 1])],
)
def test_budgets_are_met_exactly_and_rounds_are_as_long_as_they_can_be(budget, expected):
    assert sizes(k=3, limits=Limits(max_tokens=budget)) == expected


@pytest.mark.parametrize("budget", range(1, 7))
@pytest.mark.parametrize("seed", range(5))
def test_a_text_of_uncertain_rounds_never_passes_its_budget(budget, seed):
    target, draft = Table([0.5, 0.5]), DraftModel(Table([0.2, 0.8]))
    done = list(
        rounds(Dice(seed), target, draft, TOKEN_WISE, (), k=3, limits=Limits(max_tokens=budget))
    )
    assert sum(len(one.emitted) for one in done) == budget
    assert [one.ends for one in done] == [None] * (len(done) - 1) + ["length"]
    assert all(len(one.draft) <= 3 for one in done)


def test_no_tokens_asked_for_none_given_and_nobody_disturbed():
    class Untouchable:
        def rows(self, text, draft):
            raise AssertionError

    done = generate(Dice(0), Untouchable(), NoDraft(), TOKEN_WISE, (), limits=Limits(max_tokens=0))
    assert done.tokens == ()
    assert done.ends == "length"
    assert done.tally.rounds == 0
    assert done.tally.acceptance_rate is done.tally.tokens_per_round is None
    assert done.tally.acceptance_per_test is None


def test_k_0_asks_no_proposer_and_gives_one_token_a_round():
    class Untouchable:
        name = "untouchable"

        def propose(self, chance, text, k):
            raise AssertionError

    done = list(
        rounds(Dice(0), CYCLE, Untouchable(), TOKEN_WISE, (), k=0, limits=Limits(max_tokens=3))
    )
    assert [one.emitted for one in done] == [(0,), (1,), (2,)]
    assert [one.verdict.sources for one in done] == [(Source.TARGET,)] * 3


def test_an_empty_prompt_and_a_long_one():
    for text in ((), cycle(0, 7)):
        done = generate(
            Dice(0), CYCLE, DraftModel(CYCLE), TOKEN_WISE, text, limits=Limits(max_tokens=6)
        )
        assert done.tokens == cycle(len(text), 6)


# ---------------------------------------------------------------- the context


@pytest.mark.parametrize(
    ("prompt", "expected"), [(10, [1]), (9, [2]), (7, [4]), (6, [4, 1]), (0, [4, 4, 3])]
)
def test_a_text_ends_one_token_beyond_the_context(prompt, expected):
    limits = Limits(max_tokens=100, context_limit=10)
    assert sizes(text=cycle(0, prompt), k=3, limits=limits) == expected


@pytest.mark.parametrize("k", range(6))
def test_the_model_is_never_asked_for_more_than_its_context(k):
    asked = []

    class Watching:
        def rows(self, text, draft):
            asked.append(len(text) + len(draft))
            return CYCLE.rows(text, draft)

    limits = Limits(max_tokens=100, context_limit=10)
    generate(Dice(0), Watching(), DraftModel(CYCLE), TOKEN_WISE, (0, 1), k=k, limits=limits)
    assert max(asked) == 10


def test_a_prompt_over_the_context_is_refused_at_once_with_both_numbers():
    with pytest.raises(ContextFull, match=r"prompt has 11 tokens and the model holds 10.*by 1"):
        rounds(Dice(0), CYCLE, NoDraft(), TOKEN_WISE, cycle(0, 11), limits=Limits(context_limit=10))


@pytest.mark.parametrize("field", ["max_tokens", "context_limit"])
@pytest.mark.parametrize("value", [-1, 2.5, True, "8"])
def test_limits_that_are_no_counts_are_refused(field, value):
    with pytest.raises(InvalidInput, match=f"{field} is {value!r}"):
        Limits(**{field: value})


@pytest.mark.parametrize("k", [-1, 2.5, True, "4", None])
def test_a_k_that_is_no_count_is_refused_as_a_number_and_from_a_schedule(k):
    with pytest.raises(InvalidInput, match=r"k is .*integer of 0 or more"):
        rounds(Dice(0), CYCLE, NoDraft(), TOKEN_WISE, (), k=k)
    with pytest.raises(InvalidInput, match=r"k is .*integer of 0 or more"):
        next(rounds(Dice(0), CYCLE, NoDraft(), TOKEN_WISE, (), k=lambda text, last: k))


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("stop", "expected"),
    [(0, [(0,)]), (1, [(0, 1)]), (2, [(0, 1, 2)]), (3, [(0, 1, 2, 3)]), (9, [cycle(0, 4)] * 2)],
)
def test_a_stop_id_anywhere_in_a_block_ends_the_text_and_is_emitted(stop, expected):
    limits = Limits(max_tokens=8, stop=frozenset({stop}))
    done = list(rounds(Dice(0), CYCLE, DraftModel(CYCLE), TOKEN_WISE, (), k=3, limits=limits))
    assert [one.emitted for one in done] == expected
    assert done[-1].ends == ("length" if stop == 9 else "stop")


def test_drafted_tokens_behind_a_stop_id_are_not_counted_as_accepted():
    limits = Limits(max_tokens=8, stop=frozenset({1}))
    (only,) = rounds(Dice(0), CYCLE, DraftModel(CYCLE), TOKEN_WISE, (), k=3, limits=limits)
    assert only.verdict.accepted == 3
    assert only.accepted == 2


def test_the_last_token_of_the_budget_may_be_the_stop_id():
    limits = Limits(max_tokens=4, stop=frozenset({3}))
    assert generate(Dice(0), CYCLE, NoDraft(), TOKEN_WISE, (), limits=limits).ends == "stop"


# ---------------------------------------------------------------- errors in the middle


class Failing:
    """A predictor that works for some calls and then raises."""

    def __init__(self, calls, error):
        self.calls, self.error = calls, error

    def rows(self, text, draft):
        if self.calls == 0:
            raise self.error
        self.calls -= 1
        return CYCLE.rows(text, draft)


@pytest.mark.parametrize("error", [BackendError("row 2 holds NaN"), KeyboardInterrupt()])
@pytest.mark.parametrize("calls", [0, 2])
def test_what_was_yielded_before_an_error_stays(error, calls):
    done = rounds(Dice(0), Failing(calls, error), DraftModel(CYCLE), TOKEN_WISE, (), k=3)
    seen = [token for _ in range(calls) for token in next(done).emitted]
    with pytest.raises(type(error)):
        next(done)
    assert tuple(seen) == cycle(0, 4 * calls)
    assert list(done) == [], "a decoder that failed has ended"


def test_a_row_of_nan_is_never_drawn_from():
    class Spoilt:
        def rows(self, text, draft):
            return [np.full(4, np.nan)] * (len(draft) + 1)

    for proposer, k in ((NoDraft(), 0), (DraftModel(CYCLE), 3)):
        with pytest.raises(NotADistribution, match="nan"):
            next(rounds(Dice(0), Spoilt(), proposer, TOKEN_WISE, (), k=k))


def test_decoding_can_be_left_and_taken_up_again_with_the_same_luck():
    target, draft = Table([0.5, 0.3, 0.2]), DraftModel(Table([0.2, 0.3, 0.5]))
    whole = generate(Dice(4), target, draft, TOKEN_WISE, (), k=2, limits=Limits(max_tokens=9))
    text = ()
    for one in itertools.islice(rounds(Dice(4), target, draft, TOKEN_WISE, (), k=2), 2):
        text += one.emitted
    left = Limits(max_tokens=9 - len(text))
    rest = generate(Dice(4), target, draft, TOKEN_WISE, text, k=2, limits=left)
    assert text + rest.tokens == whole.tokens


def test_one_seed_one_text():
    target, draft = Table([0.5, 0.3, 0.2]), DraftModel(Table([0.2, 0.3, 0.5]))
    texts = [generate(Dice(seed), target, draft, TOKEN_WISE, ()).tokens for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


# ---------------------------------------------------------------- lossy rules, schedules, clocks


def test_a_lossy_rule_has_to_be_asked_for():
    lossy = replace(TOKEN_WISE, name="lenient", guarantee=Guarantee.LOSSY)
    with pytest.raises(InexactRule, match=r"rule 'lenient' changes.*allow_lossy=True"):
        rounds(Dice(0), CYCLE, NoDraft(), lossy, ())
    with pytest.raises(InexactRule):
        generate(Dice(0), CYCLE, NoDraft(), lossy, ())
    asked = generate(
        Dice(0), CYCLE, NoDraft(), lossy, (), limits=Limits(max_tokens=2), allow_lossy=True
    )
    assert asked.tokens == (0, 1)


def test_a_schedule_sees_the_text_and_the_round_before():
    seen = []

    def schedule(text, last):
        seen.append((text, last))
        return len(seen)

    done = list(
        rounds(
            Dice(0), CYCLE, DraftModel(CYCLE), TOKEN_WISE, (3,), k=schedule,
            limits=Limits(max_tokens=9),
        )
    )  # fmt: skip
    assert [one.k for one in done] == [1, 2, 3]
    assert [one.start for one in done] == [1, 3, 6]
    assert [one.index for one in done] == [0, 1, 2]
    assert [last for _, last in seen] == [None, *done[:2]]
    assert [len(text) for text, _ in seen] == [1, 3, 6]


def test_a_round_carries_the_seconds_of_its_parts():
    ticks = itertools.accumulate([0.0, 1.0, 2.0, 4.0] + [0.0] * 8)
    one = next(rounds(Dice(0), CYCLE, NoDraft(), TOKEN_WISE, (), clock=lambda: next(ticks)))
    assert one.seconds == Seconds(draft=1.0, target=2.0, other=4.0)


# ---------------------------------------------------------------- counts by hand


def a_round(size, trials, path, emitted, cut=None):
    """A round of `size` drafted tokens: trials as yes or no, path length, tokens given out."""
    draft = Draft.chain(range(size), [HALF] * size)
    looks = tuple(Trial(node, node, 0.5, 0.5, kept) for node, kept in enumerate(trials))
    verdict = Verdict(tuple(range(emitted)), (Source.DRAFT,) * emitted, tuple(range(path)), looks)
    out = verdict.emitted[:cut]
    return Round(0, 0, size, draft, verdict, out, None, Seconds(1.0, 2.0, 3.0))


HAND = [
    a_round(3, [True, True, False], 2, 3),
    a_round(3, [True, True, True], 3, 4),
    a_round(3, [False], 0, 1),
    a_round(0, [], 0, 1),
    a_round(3, [True, True, True], 3, 4, cut=1),
]
"""Kept 2 of 3, 3 of 3, 0 (one look), no draft, and 3 of which only the first was let out."""


def test_counts_by_hand():
    tally = Tally()
    for one in HAND:
        tally.add(one)
    assert (tally.rounds, tally.drafted, tally.tested) == (5, 12, 3 + 3 + 1 + 0 + 1)
    assert (tally.accepted, tally.emitted) == (2 + 3 + 0 + 0 + 1, 3 + 4 + 1 + 1 + 1)
    assert tally.acceptance_rate == 6 / 12
    assert tally.acceptance_per_test == 6 / 8
    assert tally.tokens_per_round == 10 / 5
    assert (tally.looked, tally.kept) == ([4, 2, 2], [3, 2, 1])
    assert tally.accepted_per_position == [3 / 4, 2 / 2, 1 / 2]
    assert (tally.draft_seconds, tally.target_seconds, tally.other_seconds) == (5, 10, 15)


def test_counts_of_a_real_run_whose_guesses_are_known():
    done = generate(
        Dice(0), CYCLE, DraftModel(ASTRAY), TOKEN_WISE, (), k=2, limits=Limits(max_tokens=12)
    )
    assert done.tokens == cycle(0, 12)
    tally = done.tally
    # The guess after nothing is 3 and wrong. Those after 1 and 2 tokens are right, the bonus
    # jumps over the bad guess after 3, and so on; two tokens from the end only one is drafted.
    assert (tally.rounds, tally.emitted, tally.drafted) == (5, 1 + 3 + 3 + 3 + 2, 2 + 2 + 2 + 2 + 1)
    assert (tally.accepted, tally.tested) == (0 + 2 + 2 + 2 + 1, 1 + 2 + 2 + 2 + 1)
    assert tally.accepted_per_position == [4 / 5, 3 / 3]


def test_a_constant_acceptance_is_estimated_per_test_not_per_draft():
    target, draft = Table([0.5, 0.3, 0.2]), DraftModel(Table([0.25, 0.5, 0.25]))
    tally = Tally()
    for seed in range(60):
        for one in rounds(
            Dice(seed), target, draft, TOKEN_WISE, (), k=4, limits=Limits(max_tokens=60)
        ):
            tally.add(one)
    deviation = (0.75 * 0.25 / tally.tested) ** 0.5
    assert abs(tally.acceptance_per_test - 0.75) < 5 * deviation, "5 sigma: 6e-7"
    assert tally.acceptance_rate < 0.75 - 5 * deviation
    for rate, looks in zip(tally.accepted_per_position, tally.looked, strict=True):
        assert abs(rate - 0.75) < 5.5 * (0.75 * 0.25 / looks) ** 0.5
