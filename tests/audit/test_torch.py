"""PyTorch's luck is met where it is drawn, and the law of unchanged PyTorch code comes out."""

import subprocess
import sys
from fractions import Fraction as F

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: pip install draftproof[torch]"
)

from draftproof.audit import witness  # noqa: E402
from draftproof.audit.enumerate import HiddenLuck, NeedsNumbers, enumerate_sampler  # noqa: E402
from draftproof.audit.explore import explore_symbols  # noqa: E402
from draftproof.audit.torch_luck import intercepted  # noqa: E402

P = [F(1, 2), F(3, 10), F(1, 5)]
Q = [F(1, 4), F(1, 2), F(1, 4)]
SINGLE = F(1, 2**21)
NAIVE = [F(3, 8), F(3, 8), F(1, 4)]


def rest(p, q):
    under = (p - q).clamp(min=0)
    return under / under.sum()


def by_multinomial(p, q, generator, again=rest):
    token = torch.multinomial(q, 1, generator=generator)
    if torch.rand(1, generator=generator) < p[token] / q[token]:
        return token
    return torch.multinomial(again(p, q), 1)


def by_rand_like(p, q, _, again=rest):
    token = q.multinomial(1)
    if torch.rand_like(p[token]) * q[token] < p[token]:
        return token
    return again(p, q)[None].multinomial(1).squeeze(-1)


def by_uniform_(p, q, generator, again=rest):
    edges = q.cumsum(0)
    token = int((torch.empty(1, dtype=p.dtype).uniform_() < edges).int().argmax())
    u = torch.empty_like(p)
    u.uniform_(0, 2, generator=generator)
    if u[token] < 2 * (p / q)[token]:
        return token
    return int((torch.rand(3, dtype=p.dtype)[:1] < again(p, q).cumsum(0)).int().argmax())


def by_bernoulli(p, q, _, again=rest):
    token = torch.multinomial(q, 1)
    if torch.bernoulli((p / q).clamp(max=1))[token] > 0:
        return token
    return torch.multinomial(again(p, q), 1, replacement=True)


def by_race(p, q, generator, again=rest):
    token = q.div(torch.empty_like(q).exponential_(generator=generator)).argmax(dim=-1)
    if torch.rand_like(p[token]).item() <= p[token] / q[token]:
        return token
    noise = torch.empty_like(p)
    noise.exponential_()
    return (again(p, q) / noise).argmax()


def by_randint(p, q, _, again=rest):
    tickets = torch.repeat_interleave(torch.arange(3), (20 * q).round().long())
    token = tickets[torch.randint(0, 20, (1,))]
    if torch.log(torch.rand(1, dtype=p.dtype)) < (p / q)[token].log():
        return token
    return torch.distributions.Categorical(again(p, q)).sample()


WAYS = [by_multinomial, by_rand_like, by_uniform_, by_bernoulli, by_race, by_randint]


pytestmark = pytest.mark.usefixtures("few_plain_runs")


@pytest.mark.parametrize("fn", WAYS)
def test_every_way_to_draw_has_the_law_of_the_target(fn):
    found = enumerate_sampler(fn, P, Q, luck="torch")
    assert found.agrees
    assert found.method == "symbols"
    assert (found.exact, found.arithmetic) == (False, "floats")


@pytest.mark.parametrize("fn", WAYS)
def test_every_way_to_draw_is_refuted_when_it_draws_again_from_p(fn):
    def naive(p, q, generator):
        return fn(p, q, generator, again=lambda p, q: p)

    found = enumerate_sampler(naive, P, Q, luck="torch")
    assert not found.agrees
    assert all(abs(found.law[token] - NAIVE[token]) < SINGLE for token in range(3))


def block(target_rows, draft_rows, tokens, generator):
    k = len(tokens)
    at = torch.arange(k)
    ratio = target_rows[at, tokens] / draft_rows[at, tokens]
    kept = torch.rand(k, generator=generator, dtype=ratio.dtype) < ratio
    accepted = int((~kept).cumsum(0).lt(1).sum())
    row = target_rows[k] if accepted == k else rest(target_rows[accepted], draft_rows[accepted])
    return accepted, torch.multinomial(row, 1)


def test_a_vectorised_block_agrees_and_its_mutant_does_not():
    def one_coin(target_rows, draft_rows, tokens, generator):
        k = len(tokens)
        at = torch.arange(k)
        kept = torch.rand(1) < target_rows[at, tokens] / draft_rows[at, tokens]
        accepted = int((~kept).cumsum(0).lt(1).sum())
        row = target_rows[k] if accepted == k else rest(target_rows[accepted], draft_rows[accepted])
        return accepted, torch.multinomial(row, 1)

    assert enumerate_sampler(block, P, Q, signature="block", luck="torch").agrees
    assert not enumerate_sampler(one_coin, P, Q, signature="block", luck="torch").agrees


def test_single_precision_widens_the_tolerance_and_double_does_not():
    double = enumerate_sampler(block, P, Q, signature="block", luck="torch")
    single = enumerate_sampler(by_multinomial, P, Q, luck="torch")
    assert double.rounding == F(1, 2**50)
    assert single.rounding == SINGLE


def test_plain_numbers_fall_back_to_bisection():
    def fn(p, q, _):
        token = int(torch.multinomial(q, 1))
        if float(torch.rand(1, dtype=torch.float64)) < float(p[token] / q[token]):
            return token
        return torch.multinomial(rest(p, q), 1)

    found = enumerate_sampler(fn, P, Q, luck="torch")
    assert (found.method, found.agrees) == ("bisection", True)


@pytest.mark.full  # 20,000 plain runs of PyTorch
def test_a_coin_of_eight_bits_accepts_what_has_probability_one_in_a_thousand_four_times_as_often(
    monkeypatch,
):
    """Probe P11: a bfloat16 coin lies on a grid of 1/256, and <= accepts at 0."""
    monkeypatch.setattr(witness, "ASSUMED", 10_000)

    def coarse(p, q, _):
        token = int(torch.multinomial(q, 1))
        u = torch.rand(1, dtype=torch.bfloat16)
        return token if float(u) <= float(p[token] / q[token]) else 0

    found = enumerate_sampler(coarse, [F(999, 1000), F(1, 1000)], [0, 1], luck="torch")
    assert found.method == "bisection"
    assert abs(found.law[1] - F(1, 256)) < F(1, 2**40)


def test_the_draw_of_pytorch_refuses_what_pytorch_refuses():
    def empty(p, q, _):
        return torch.multinomial(p - p, 1)

    found = enumerate_sampler(empty, P, Q, luck="torch")
    assert "it raised RuntimeError" in str(found.counterexample())


@pytest.mark.parametrize(
    "draw",
    [
        lambda q: int(torch.randn(1) > 0),
        lambda q: int(torch.randperm(3)[0]),
        lambda q: int(torch.multinomial(q, 2)[0]),
        lambda q: int((q / torch.empty(2, 3).exponential_()[0]).argmax() + torch.randn(1)),
    ],
)
def test_what_cannot_be_followed_is_refused(draw):
    with pytest.raises(NeedsNumbers):
        enumerate_sampler(lambda p, q, _: draw(q), P, Q, luck="torch")


def test_noise_drawn_into_a_view_is_not_lost():
    def fn(p, q, _):
        noise = torch.ones(2, 3, dtype=q.dtype)
        noise[0].exponential_()
        return (q / noise[0]).argmax()

    with pytest.raises(NeedsNumbers):
        enumerate_sampler(fn, P, Q, luck="torch")


def test_luck_from_elsewhere_is_noticed():
    def fn(p, q, _):
        return int(np.random.default_rng().integers(3))

    with pytest.raises(HiddenLuck):
        enumerate_sampler(fn, P, Q, luck="torch")


def test_tensors_changed_in_place_are_found():
    def fn(p, q, _):
        token = by_multinomial(p, q, None)
        p.clamp_(min=0).div_(2)
        return token

    assert enumerate_sampler(fn, P, Q, luck="torch").findings == (
        "it changes its input p in place",
    )


def test_uniforms_may_be_an_argument():
    def fn(p, q, u):
        token = int((u[0] < q.cumsum(0)).int().argmax())
        if u[1] * q[token] < p[token]:
            return token
        return int((u[2] < rest(p, q).cumsum(0)).int().argmax())

    assert enumerate_sampler(fn, P, Q, luck="torch", uniforms=3).agrees


def test_pytorch_is_itself_again_afterwards():
    explore_symbols(lambda luck: _coin(luck))
    torch.manual_seed(1)
    first = torch.rand(2)
    torch.manual_seed(1)
    assert torch.equal(first, torch.rand(2))
    assert type(first) is torch.Tensor


def _coin(luck):
    with intercepted(luck):
        return bool(torch.rand(1) < 0.5)


def test_pytorch_is_imported_only_when_asked_for():
    code = (
        "import sys; from draftproof.audit.enumerate import enumerate_sampler as e;"
        "e(lambda p, q, rng: rng.choice(2, p=p), [.5, .5], [.5, .5]); print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
