"""Foreign verifiers are enumerated, whatever way they draw, and planted faults come to light."""

import math
import random
import time
from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.audit.enumerate import HiddenLuck, NeedsNumbers, enumerate_sampler
from draftproof.audit.explore import explore_symbols
from draftproof.audit.foreign import Fault
from draftproof.backends.table import Table
from draftproof.battery import WORLDS
from draftproof.contracts import Draft
from draftproof.errors import InvalidInput
from draftproof.rules import find_rule

P = [F(1, 2), F(3, 10), F(1, 5)]
Q = [F(1, 4), F(1, 2), F(1, 4)]


def rest(p, q):
    under = np.maximum(p - q, 0)
    return under / under.sum()


def by_choice(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.random() * q[token] < p[token]:
        return token
    return rng.choice(len(p), p=rest(p, q))


def by_uniform(p, q, rng):
    token = int(np.searchsorted(np.cumsum(q), rng.uniform(), side="right"))
    if rng.uniform(0, 2) < 2 * p[token] / q[token]:
        return token
    return int((np.cumsum(rest(p, q)) <= rng.random()).sum())


def by_arrays(p, q, rng):
    u = rng.random(3)
    token = int(np.argmax(u[0] < np.cumsum(q)))
    if u[1] < p[token] / q[token]:
        return token
    return int(np.argmax(u[2] < np.cumsum(rest(p, q))))


def by_counts(p, q, rng):
    token = int(np.argmax(rng.multinomial(1, q)))
    if rng.binomial(1, min(1, p[token] / q[token])):
        return token
    return int(np.argmax(rng.multinomial(1, rest(p, q), size=1)[0]))


def by_tickets(p, q, rng):
    """Integers: rows in twentieths, drawn as one of twenty tickets."""
    tickets = np.repeat(np.arange(3), [int(20 * weight) for weight in q])
    token = int(tickets[rng.integers(0, 20)])
    if rng.integers(1, 20, endpoint=True) <= 20 * p[token] / q[token]:
        return token
    return rng.choice(np.arange(3), p=rest(p, q))


def by_race(p, q, rng):
    token = int(np.argmax(q / rng.exponential(size=3)))
    if rng.random() < p[token] / q[token]:
        return token
    return int(np.argmax(rest(p, q) / rng.standard_exponential(3)))


def by_logarithms(p, q, rng):
    token = rng.choice(len(q), p=q)
    if np.log(np.array([rng.random()]))[0] < math.log(p[token] / q[token]):
        return token
    return rng.choice(len(p), p=rest(p, q))


def by_plain_floats(p, q, rng):
    token = rng.choice(len(q), p=q)
    if math.sqrt(rng.random()) < math.sqrt(p[token] / q[token]):
        return token
    return rng.choice(len(p), p=rest(p, q))


@pytest.mark.parametrize("fn", [by_choice, by_uniform, by_arrays, by_counts, by_tickets, by_race])
def test_every_way_to_draw_from_numpy_gives_an_exact_law(fn):
    found = enumerate_sampler(fn, P, Q)
    assert found.law == dict(enumerate(P))
    assert (found.exact, found.verdict) == (True, "exact")
    assert (found.method, found.arithmetic, found.tolerance) == ("symbols", "fractions", 0)


def test_uniforms_may_be_an_argument():
    def fn(p, q, u):
        token = int(np.searchsorted(np.cumsum(q), u[0], side="right"))
        if u[1] * q[token] < p[token]:
            return token
        return int(np.searchsorted(np.cumsum(rest(p, q)), u[2], side="right"))

    assert enumerate_sampler(fn, P, Q, uniforms=3).law == dict(enumerate(P))


def test_naive_resample_has_the_law_of_the_worked_pair():
    def naive(p, q, rng):
        token = rng.choice(len(q), p=q)
        return token if rng.random() * q[token] < p[token] else rng.choice(len(p), p=p)

    found = enumerate_sampler(naive, P, Q)
    assert [found.law[token] for token in range(3)] == [F(3, 8), F(3, 8), F(1, 4)]
    assert not found.agrees
    assert found.counterexample() == ("0 comes out with probability 3/8, not 1/2: 1/8 too little")


@pytest.mark.parametrize("fn", [by_logarithms, by_plain_floats])
def test_floats_are_never_called_exact(fn):
    found = enumerate_sampler(fn, P, Q)
    assert found.agrees
    assert not found.exact
    assert 0 < found.tolerance <= F(8, 2**50)
    assert "up to rounding" in found.verdict


def test_fractions_that_the_code_turns_into_floats_are_not_called_exact():
    def fn(p, q, rng):
        return by_choice(np.array(p, dtype=float), np.array(q, dtype=float), rng)

    found = enumerate_sampler(fn, P, Q)
    assert (found.agrees, found.exact, found.arithmetic) == (True, False, "floats")


def test_a_fault_far_below_what_sampling_sees_is_seen():
    tiny = F(1, 2**40)

    def fn(p, q, rng):
        return 0 if rng.random() < p[0] + tiny else rng.choice([1, 2], p=p[1:] / p[1:].sum())

    assert enumerate_sampler(fn, P, Q).gap == tiny
    assert not enumerate_sampler(fn, np.array(P, dtype=float), np.array(Q, dtype=float)).agrees


def test_bisection_says_so_and_states_its_assumption():
    found = enumerate_sampler(by_plain_floats, P, Q)
    assert found.method == "bisection"
    assert any(remark.startswith("assumed: ") for remark in found.remarks)
    assert any("cross-checked" in remark for remark in found.remarks)


def test_bisection_finds_the_law_of_a_wrong_sampler():
    def fn(p, q, rng):
        token = rng.choice(len(q), p=q)
        kept = math.sqrt(rng.random()) < math.sqrt(p[token] / q[token])
        return token if kept else rng.choice(len(p), p=p)

    found = enumerate_sampler(fn, P, Q)
    assert found.method == "bisection"
    assert abs(found.law[0] - F(3, 8)) < F(1, 2**49)
    assert not found.agrees


def test_code_that_breaks_the_assumption_of_bisection_is_not_believed():
    def comb(p, q, rng):
        return int(1000 * float(rng.random())) % 2

    with pytest.raises(NeedsNumbers, match="plain runs contradict"):
        enumerate_sampler(comb, P, Q)


def test_luck_that_was_not_handed_over_is_noticed():
    generator = random.Random(3)

    def hidden(p, q, rng):
        return int(generator.random() < 0.5)

    def remembers(p, q, rng, calls=[0]):  # noqa: B006
        calls[0] += 1
        return calls[0] % 3

    for fn in (hidden, remembers):
        with pytest.raises(HiddenLuck, match="same luck twice"):
            enumerate_sampler(fn, P, Q)


@pytest.mark.parametrize("seed", range(20))
def test_hidden_luck_in_a_rare_branch_is_not_taken_for_a_wrong_law(seed):
    generator = np.random.default_rng(seed)

    def fn(p, q, rng):
        token = rng.choice(len(q), p=q)
        if rng.random() * q[token] < p[token]:
            return token
        return generator.choice(3, p=[0, 0.5, 0.5])

    with pytest.raises(HiddenLuck):
        enumerate_sampler(fn, P, Q)


def test_hidden_luck_is_noticed_behind_plain_floats_too():
    generator = random.Random(3)

    def fn(p, q, rng):
        return int(math.sqrt(rng.random()) < generator.random())

    with pytest.raises(HiddenLuck):
        enumerate_sampler(fn, P, Q)


def test_one_uniform_used_twice_is_named_with_both_lines_and_has_the_law_of_p6():
    def reuse(p, q, rng):
        token = rng.choice(len(q), p=q)
        u = rng.random()
        if u * q[token] < p[token]:
            return token
        return int(np.searchsorted(np.cumsum(rest(p, q)), u, side="right"))

    p, q = [F(2, 5), F(2, 5), F(1, 5)], [F(1, 10), F(1, 10), F(4, 5)]
    found = enumerate_sampler(reuse, p, q)
    assert [found.law[token] for token in range(3)] == [F(3, 10), F(1, 2), F(1, 5)]
    assert any(remark.startswith("uniform 1 is used in reuse, line") for remark in found.remarks)
    assert not enumerate_sampler(by_uniform, p, q).remarks


def test_noise_that_runs_in_two_races_is_refused_not_called_independent():
    def fn(p, q, rng):
        noise = rng.exponential(size=3)
        token = int(np.argmax(q / noise))
        if rng.random() < p[token] / q[token]:
            return token
        return int(np.argmax(rest(p, q) / noise))

    with pytest.raises(NeedsNumbers):
        enumerate_sampler(fn, P, Q)


def test_inputs_changed_in_place_are_found():
    def fn(p, q, rng):
        token = by_choice(p, q, rng)
        q[0] = 0
        return token

    found = enumerate_sampler(fn, P, Q)
    assert found.exact
    assert not found.sound
    assert found.findings == ("it changes its input q in place",)


def test_a_shape_changed_in_place_is_found_too():
    def fn(p, q, rng):
        token = by_choice(p, q, rng)
        p.shape = (1, -1)
        return token

    assert enumerate_sampler(fn, P, Q).findings == ("it changes its input p in place",)


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        (None, "it returned nothing"),
        (1.0, "a float"),
        (True, "a bool"),
        (3, "outside the vocabulary of 3"),
        ("0", "a str"),
    ],
)
def test_what_is_no_token_is_an_outcome_with_a_probability(returned, what):
    def fn(p, q, rng):
        return returned if rng.random() < F(1, 4) else rng.choice(len(p), p=p)

    found = enumerate_sampler(fn, P, Q)
    [(fault, weight)] = [(o, w) for o, w in found.law.items() if isinstance(o, Fault)]
    assert what in fault.what
    assert weight == F(1, 4)
    assert not found.agrees


def test_an_exception_is_an_outcome_and_is_quoted():
    def fn(p, q, rng):
        if rng.random() < F(1, 3):
            raise KeyError("lost")
        return rng.choice(len(p), p=p)

    assert enumerate_sampler(fn, P, Q).counterexample() == (
        "with probability 1/3 it raised KeyError: \"'lost'\""
    )


def test_code_that_hangs_is_stopped():
    def fn(p, q, rng):
        if rng.random() < F(1, 8):
            time.sleep(60)
        return 0

    found = enumerate_sampler(fn, [1, 0], [1, 0], seconds=0.05)
    assert "did not return within" in str(found.counterexample())


def test_numpy_refusals_are_refusals_here_too():
    def not_normalised(p, q, rng):
        return rng.choice(len(p), p=p / 2)

    found = enumerate_sampler(not_normalised, P, Q)
    assert "Probabilities do not sum to 1" in str(found.counterexample())


def test_arguments_are_checked():
    for wrong in ({"signature": "tree"}, {"luck": "cupy"}, {"k": -1}, {"k": (1, 2)}):
        with pytest.raises(InvalidInput):
            enumerate_sampler(by_choice, P, Q, **wrong)


def test_comparisons_with_nan_are_false_both_ways():
    law = explore_symbols(lambda rng: (rng.random() < math.nan, rng.random() >= math.nan)).law
    assert law == {(False, False): 1}


# Blocks


def chain(target_rows, draft_rows, tokens, rng):
    for at, token in enumerate(tokens):
        if not rng.random() * draft_rows[at][token] < target_rows[at][token]:
            return at, rng.choice(len(P), p=rest(target_rows[at], draft_rows[at]))
    return len(tokens), rng.choice(len(target_rows[-1]), p=target_rows[-1])


def general(target_rows, draft_rows, tokens, rng):
    for at, token in enumerate(tokens):
        if not rng.random() * draft_rows[at][token] < target_rows[at][token]:
            left = rest(target_rows[at], draft_rows[at])
            return at, rng.choice(len(left), p=left)
    return len(tokens), rng.choice(len(target_rows[-1]), p=target_rows[-1])


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_correct_block_is_exact_in_every_world(world):
    found = enumerate_sampler(general, world.target, world.draft, signature="block")
    assert found.exact
    assert found.sound
    assert found.remarks == ()


@pytest.mark.parametrize("k", [0, 1, 3])
def test_a_correct_block_is_exact_for_every_length(k):
    found = enumerate_sampler(general, P, Q, signature="block", k=k)
    assert found.exact
    assert all(len(text) == k + 1 for text in found.law)


def test_a_block_that_takes_the_bonus_from_the_wrong_row_is_refuted():
    def early(target_rows, draft_rows, tokens, rng):
        return general(np.array([*target_rows[:-1], target_rows[-2]]), draft_rows, tokens, rng)

    world = WORLDS[1]
    assert not enumerate_sampler(early, world.target, world.draft, signature="block").agrees
    constant = enumerate_sampler(early, P, Q, signature="block")
    assert constant.exact  # rows that never change cannot tell: the worlds must


def test_only_the_joint_law_sees_a_second_residual_drawn_from_p():
    def late(target_rows, draft_rows, tokens, rng):
        accepted, token = general(target_rows, draft_rows, tokens, rng)
        wrong = 0 < accepted < len(tokens)
        return accepted, rng.choice(3, p=target_rows[accepted]) if wrong else token

    found = enumerate_sampler(late, P, Q, signature="block")
    assert not found.agrees
    first = {x: sum(w for text, w in found.law.items() if text[0] == x) for x in range(3)}
    assert first == dict(enumerate(P))


def test_tokens_accepted_after_a_rejection_are_refuted():
    def counts(target_rows, draft_rows, tokens, rng):
        kept = [
            rng.random() * draft_rows[at][x] < target_rows[at][x] for at, x in enumerate(tokens)
        ]
        at = sum(kept)
        if at == len(tokens):
            return at, rng.choice(3, p=target_rows[at])
        return at, rng.choice(3, p=rest(target_rows[at], draft_rows[at]))

    assert not enumerate_sampler(counts, P, Q, signature="block").agrees


def test_a_bonus_row_that_decides_what_is_kept_is_found():
    def looks_ahead(target_rows, draft_rows, tokens, rng):
        eager = target_rows[-1][0] > F(2, 5)
        if eager:
            return general(target_rows, draft_rows, tokens, rng)
        return 0, rng.choice(3, p=target_rows[0])

    found = enumerate_sampler(looks_ahead, P, Q, signature="block")
    assert found.exact
    assert found.findings == ("the bonus row, after the last drafted token, changes what is kept",)


class Lucky:
    """draftproof's own rules as foreign code: a `Chance` over a NumPy Generator."""

    def __init__(self, rng):
        self.rng = rng

    def at(self, *_):
        return self

    after = own = at

    def accepts(self, p, q=1):
        return p > 0 and self.rng.random() * q < p

    def pick(self, weights):
        return self.rng.choice(len(weights), p=weights / weights.sum())


def foreign(name):
    def fn(target_rows, draft_rows, tokens, rng):
        draft = Draft.chain([int(token) for token in tokens], list(draft_rows))
        verdict = find_rule(name).verify(Lucky(rng), draft, list(target_rows))
        return verdict.accepted, verdict.emitted[-1]

    return fn


def test_a_block_rule_is_exact_and_said_to_read_ahead_while_a_token_rule_does_not():
    world = WORLDS[1]
    block = enumerate_sampler(foreign("block"), world.target, world.draft, signature="block")
    token = enumerate_sampler(foreign("token-wise"), world.target, world.draft, signature="block")
    assert block.exact
    assert block.sound
    assert any("judges the block as a whole" in remark for remark in block.remarks)
    assert token.exact
    assert token.remarks == ()


def test_a_whole_round_is_enumerated_with_its_models_inside():
    world = WORLDS[1]

    def play(context):
        def fn(rng):
            tokens, rows = [], []
            for _ in range(2):
                rows.append(world.draft.row(tuple(tokens)))
                tokens.append(rng.choice(4, p=rows[-1]))
            texts = [context(tuple(tokens[:at])) for at in range(3)]
            target_rows = [world.target.row(text) for text in texts]
            accepted, token = general(target_rows, rows, tokens, rng)
            return [*tokens[:accepted], token]

        return fn

    right = enumerate_sampler(play(lambda text: text), world.target, world.draft, signature="round")
    stale = enumerate_sampler(play(lambda _: ()), world.target, world.draft, signature="round")
    assert right.exact
    assert not stale.agrees


# Batches


def batch_of(one):
    def fn(target_rows, draft_rows, tokens, rng):
        requests = zip(target_rows, draft_rows, tokens, strict=True)
        return [one(*request, rng) for request in requests]

    return fn


def test_a_batch_of_unequal_drafts_is_exact():
    found = enumerate_sampler(batch_of(general), P, Q, signature="batch", k=(1, 2, 0))
    assert found.exact
    assert found.sound
    assert {request for request, _ in found.law} == {0, 1, 2}


def test_a_request_cut_to_its_shortest_neighbour_keeps_its_law_but_is_found():
    def cut(target_rows, draft_rows, tokens, rng):
        k = min(map(len, tokens))
        requests = zip(target_rows, draft_rows, tokens, strict=True)
        return [general(t[: k + 1], d[:k], x[:k], rng) for t, d, x in requests]

    found = enumerate_sampler(cut, P, Q, signature="batch")
    assert found.exact
    assert not found.sound
    assert "request 1 of the batch comes out otherwise alone" in found.findings[0]


def test_rows_of_the_neighbour_are_refuted():
    def mixed(target_rows, draft_rows, tokens, rng):
        first = target_rows[0]
        rows = [np.array([*t[:-1], first[-1]]) for t in target_rows]
        return batch_of(general)(rows, draft_rows, tokens, rng)

    found = enumerate_sampler(mixed, P, Q, signature="batch")
    assert not found.agrees
    assert "for request 1 of the batch" in str(found.counterexample())


def test_luck_shared_between_requests_is_found_though_each_law_is_right():
    def shared(target_rows, draft_rows, tokens, rng):
        coins = rng.random(2)

        class Again:
            def __init__(self):
                self.turn = 0

            def random(self):
                self.turn += 1
                return coins[self.turn - 1]

            def choice(self, *args, **kwargs):
                return rng.choice(*args, **kwargs)

        requests = zip(target_rows, draft_rows, tokens, strict=True)
        return [general(*request, Again()) for request in requests]

    found = enumerate_sampler(shared, P, Q, signature="batch")
    assert found.exact
    assert any("share luck" in finding for finding in found.findings)


def test_a_slot_that_is_served_differently_is_found():
    def favours_the_first(target_rows, draft_rows, tokens, rng):
        results = batch_of(general)(target_rows, draft_rows, tokens, rng)
        results[0] = (0, rng.choice(3, p=target_rows[0][0]))
        return results

    found = enumerate_sampler(favours_the_first, P, Q, signature="batch", k=(1, 1))
    assert found.exact
    assert any("in another slot" in finding for finding in found.findings)


def test_a_batch_that_cannot_be_read_is_a_fault_of_each_request():
    found = enumerate_sampler(lambda *_: [(0, 0)], P, Q, signature="batch", k=(1, 1))
    assert "it returned 1 results for 2 requests" in str(found.counterexample())


def test_tables_and_rows_may_be_mixed():
    found = enumerate_sampler(chain, Table(P), Q, signature="block", k=1)
    assert found.exact
