"""Speculative decoding of the default model at temperature 0 gives plain decoding's text."""

import pytest

from draftproof.chance import Dice
from draftproof.decode import Limits, NoDraft, generate
from draftproof.proposers import Setting
from draftproof.rules import find_rule
from draftproof.session.drafting import named_proposer
from draftproof.warp import Warp, Warped

pytestmark = pytest.mark.model

GREEDY = Warp(temperature=0)
TOKENS = 64
DRAFTS = ("ngram", "prompt-lookup")
PROMPTS = (
    "What are the benefits of reading books?",
    "Write a short poem about a river.",
    "Explain to a child how a bicycle stays upright.",
    "Write a Python function that reverses a list.",
    "Repeat this sentence three times: The quick brown fox jumps over the lazy dog.",
    "Name ten animals that live in the sea.",
)
MORE_PROMPTS = (
    "Why do leaves change their colour in autumn?",
    "Give me a recipe for pancakes.",
    "Translate into French: Good morning, how are you?",
    "What is the difference between a lake and a sea?",
    "Write an email that asks for a day off.",
    "Summarise the story of Romeo and Juliet.",
    "List the planets of the solar system.",
    "How does a vaccine work?",
    "Write a dialogue between a cat and a dog.",
    "What is 17 times 23? Show each step.",
    "Describe the taste of an apple.",
    "Give five tips for sleeping better.",
    "Write a SQL query that counts orders by month.",
    "Who wrote Don Quixote, and when?",
)


class Late:
    """The usual mistake: every row after a drafted token is that of the token before."""

    def __init__(self, target):
        self.target = target

    def rows(self, text, draft):
        rows = self.target.rows(text, draft)
        return [rows[max(place - 1, 0)] for place in range(len(draft) + 1)]


def decoded(smollm2, target, prompt, draft, k):
    """The tokens after a prompt; plain decoding where `k` is 0."""
    setting = Setting(vocab_size=smollm2.vocab_size, warp=GREEDY)
    rule = find_rule("token-wise")
    proposer = named_proposer(rule, draft, setting, 1, smollm2.context_limit) if k else NoDraft()
    text = tuple(smollm2.tokenizer.chat(prompt))
    limits = Limits(max_tokens=TOKENS, stop=smollm2.tokenizer.ends)
    return generate(Dice(3), target, proposer, rule, text, k=k, limits=limits)


def every_text_is_plain(smollm2, prompt, ks):
    if smollm2.engine != "bit-exact":
        pytest.skip("rows on this machine depend on how a text is split into passes")
    target = Warped(smollm2, GREEDY)
    plain = decoded(smollm2, target, prompt, DRAFTS[0], 0).tokens
    assert plain
    for draft in DRAFTS:
        for k in ks:
            assert decoded(smollm2, target, prompt, draft, k).tokens == plain, (draft, k)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_text_is_plain_decodings(smollm2, prompt):
    every_text_is_plain(smollm2, prompt, (1, 4, 8))


@pytest.mark.full
@pytest.mark.parametrize("prompt", [*PROMPTS, *MORE_PROMPTS])
def test_the_text_is_plain_decodings_for_every_k(smollm2, prompt):
    every_text_is_plain(smollm2, prompt, range(1, 9))


def test_drafts_are_kept_and_rejected_on_the_way(smollm2):
    """Otherwise the equality above would say nothing about keeping or correcting."""
    for draft in DRAFTS:
        tally = decoded(smollm2, Warped(smollm2, GREEDY), PROMPTS[4], draft, 4).tally
        assert 0 < tally.accepted < tally.drafted


def test_rows_off_by_one_would_give_another_text(smollm2):
    target = Warped(smollm2, GREEDY)
    plain = decoded(smollm2, target, PROMPTS[0], "ngram", 0).tokens
    assert decoded(smollm2, Late(target), PROMPTS[0], "ngram", 4).tokens != plain
