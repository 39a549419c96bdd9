"""Rules on the default model: one text for one seed, and acceptance as the rows predict it."""

from fractions import Fraction
from math import prod, sqrt

import numpy as np
import pytest

from draftproof.chance import Dice
from draftproof.contracts import Guarantee
from draftproof.decode import Limits, NoDraft, generate, rounds
from draftproof.proposers import Setting, proposer_named
from draftproof.rules import RULES, find_rule
from draftproof.session.drafting import named_proposer
from draftproof.warp import Warp, Warped

pytestmark = pytest.mark.model

WARP = Warp(temperature=0.8)
PROMPTS = (
    "The three most important things to remember when you cook pasta are",
    "A short story about a lighthouse keeper and a lost dog:",
    "def fibonacci(n):",
)
MORE_PROMPTS = (
    "The weather in the mountains changes quickly because",
    "Dear Sir or Madam, I am writing to",
    "The capital of France is",
    "To sort a list of numbers in Python, you can",
    "Once upon a time there was a king who",
    "The difference between a virus and a bacterium is",
    "Here is a list of ten fruits: apple, banana,",
    "In 1969, two astronauts",
    "My favourite recipe for bread starts with",
    "Question: Why is the sky blue? Answer:",
    "The train left the station at noon and",
    "Water boils at a lower temperature when",
    "The first rule of good writing is",
    "SELECT name, age FROM users WHERE",
    "The old clock on the wall had stopped, and",
    "Photosynthesis is the process by which",
    "If you want to learn to play the piano,",
)
LEVEL_SIGMAS = 4.9
"""Two-sided normal error of one in a million."""


@pytest.fixture(scope="module")
def target(smollm2):
    return Warped(smollm2, WARP)


def encode(smollm2, prompt):
    return tuple(smollm2.tokenizer.encode(prompt))


def setting(smollm2):
    return Setting(vocab_size=smollm2.vocab_size, warp=WARP)


def texts_agree(smollm2, target, prompt, name, drafts, ks, tokens):
    """Whether the rule gives plain decoding's text for every draft and k."""
    if smollm2.engine != "bit-exact":
        pytest.skip("rows on this machine depend on how a text is split into passes")
    rule, text, limits = find_rule(name), encode(smollm2, prompt), Limits(max_tokens=tokens)
    plain = generate(Dice(5), target, NoDraft(), rule, text, limits=limits).tokens
    for draft in drafts:
        proposer = named_proposer(rule, draft, setting(smollm2), 2, smollm2.context_limit)
        for k in ks:
            found = generate(Dice(5), target, proposer, rule, text, k=k, limits=limits)
            assert found.tokens == plain, (prompt, name, draft, k)


@pytest.mark.parametrize("name", ["gumbel", "exact-match"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_one_seed_gives_plain_decodings_text(smollm2, target, name, prompt):
    texts_agree(smollm2, target, prompt, name, ["ngram", "prompt-lookup"], [1, 4, 8], tokens=16)


def test_a_tree_gives_plain_decodings_text_too(smollm2, target):
    texts_agree(smollm2, target, PROMPTS[0], "tree-target-only", ["ngram"], [1, 3], tokens=24)


@pytest.mark.full
@pytest.mark.parametrize("name", ["gumbel", "exact-match"])
@pytest.mark.parametrize("prompt", [*PROMPTS, *MORE_PROMPTS])
def test_one_seed_gives_plain_decodings_text_for_every_k(smollm2, target, name, prompt):
    ks = range(1, 9)
    texts_agree(smollm2, target, prompt, name, ["ngram", "prompt-lookup"], ks, tokens=64)


EXACT = [rule.name for rule in RULES.values() if rule.guarantee is Guarantee.EXACT]
FEW = ("block", "rrs-without-replacement", "tree-target-only", "traversal", "multi-path-block")
"""One rule for each shape of draft; the others belong to the larger matrix."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in FEW else pytest.param(name, marks=pytest.mark.full)
        for name in EXACT
        if name != "optimal-transport"
    ],
)
def test_every_exact_rule_gives_the_greedy_text_at_temperature_zero(smollm2, name):
    """The target at temperature 0, drafts at 0.8, so that trees branch and drafts are rejected."""
    if smollm2.engine != "bit-exact":
        pytest.skip("rows on this machine depend on how a text is split into passes")
    target, rule = Warped(smollm2, Warp(temperature=0)), find_rule(name)
    proposer = named_proposer(rule, "ngram", setting(smollm2), 2, smollm2.context_limit)
    text, limits = encode(smollm2, PROMPTS[0]), Limits(max_tokens=24)
    plain = generate(Dice(1), target, NoDraft(), find_rule("greedy"), text, limits=limits)
    found = generate(Dice(1), target, proposer, rule, text, k=3, limits=limits)
    assert found.tokens == plain.tokens
    assert 0 < found.tally.accepted < found.tally.drafted


# ---------------------------------------------------------------- acceptance


class Recorder:
    """A predictor that keeps the rows it gave last."""

    def __init__(self, target):
        self.target, self.last = target, ()

    def rows(self, text, draft):
        self.last = self.target.rows(text, draft)
        return self.last


def predicted(draft, rows):
    """Expected accepted tokens of each rule, given the drafted path, from the rows alone.

    For block it is the sum of the clipped running ratios, whose mean over drafts it shares.
    """
    p = [Fraction(float(rows[node][token])) for node, token in enumerate(draft.tokens)]
    q = [Fraction(float(draft.rows[node][token])) for node, token in enumerate(draft.tokens)]
    ratios = [min(Fraction(1), a / b) for a, b in zip(p, q, strict=True)]
    weight, weights = Fraction(1), []
    for a, b in zip(p, q, strict=True):
        weight = min(Fraction(1), weight * a / b)
        weights.append(weight)
    lengths = range(1, len(p) + 1)
    return {
        "exact-match": sum(prod(p[:n]) for n in lengths),
        "token-wise": sum(prod(ratios[:n]) for n in lengths),
        "block": sum(weights),
    }


@pytest.mark.parametrize("name", ["exact-match", "token-wise", "block"])
def test_accepted_per_round_is_what_the_rows_predict(smollm2, target, name):
    """Accepted minus predicted has mean 0 in every round: a martingale, judged by its spread."""
    seen = Recorder(target)
    surplus, chances = [], []
    for prompt in PROMPTS:
        proposer = proposer_named("ngram", setting(smollm2))
        text = encode(smollm2, prompt)
        for one in rounds(
            Dice(11), seen, proposer, find_rule(name), text, k=4, limits=Limits(max_tokens=64)
        ):
            expected = predicted(one.draft, seen.last)
            chances.append(expected)
            surplus.append(float(one.verdict.accepted - expected[name]))
    spread = float(np.std(surplus, ddof=1)) / sqrt(len(surplus))
    assert len(surplus) >= 60
    assert abs(float(np.mean(surplus))) <= LEVEL_SIGMAS * spread
    for expected in chances:
        order = [expected[rule] for rule in ("exact-match", "token-wise", "block")]
        assert order == sorted(order)
    assert sum(e["block"] for e in chances) > sum(e["token-wise"] for e in chances)
