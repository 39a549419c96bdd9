"""`--vocabulary` and `--earlier`: draft models over other tokens, and texts to copy from."""

from dataclasses import replace

import numpy as np
import pytest

from draftproof.chance import Dice
from draftproof.contracts import Draft
from draftproof.errors import VocabularyMismatch
from draftproof.proposers import Setting
from draftproof.rules import find_rule
from draftproof.session import Options, open_session
from draftproof.session.foreign import foreign_proposer
from draftproof.session.models import Opened
from draftproof.warp import Warp

PLAIN = ("run", "abc abc", "--max-tokens", 40, "--temperature", "0")


class ShiftedBackend:
    """A toy with token 0 for the pair "ab", which it never writes, and every byte one later."""

    name, vocab_size, context_limit = "shifted", 258, 200

    def __init__(self, toy):
        self.toy = toy

    def logits(self, text, draft):
        places = range(-1, len(draft))
        return [self._row((*text, *draft.prefix(at))) for at in places]

    def _row(self, text):
        bytes_only = tuple(token - 1 for token in text if token)
        row = self.toy.logits(bytes_only, Draft.empty())[0]
        return np.concatenate([np.full(1, -40.0, dtype=np.float32), row])


class Shifted:
    """A model over these tokens."""

    engine = "bit-exact"

    def __init__(self, toy):
        self.toy, self.backend = toy, ShiftedBackend(toy.backend)
        self.pieces = (b"ab", *toy.pieces)
        self.eos = frozenset(token + 1 for token in toy.eos)

    def encode(self, prompt, *, chat):
        return tuple(token + 1 for token in self.toy.encode(prompt, chat=chat))


class Foreign(Shifted):
    """A model that has no piece in common with the toy."""

    def __init__(self, toy):
        super().__init__(toy)
        self.pieces = tuple(f"word {at}".encode() for at in range(258))


@pytest.fixture
def second(toy, monkeypatch, tmp_path):
    """Let a path open another model than the target; call it with the kind of model."""
    target = toy()

    def plant(kind):
        monkeypatch.setattr(
            "draftproof.session.running.open_model",
            lambda name: kind(target) if name == str(tmp_path) else target,
        )
        return str(tmp_path)

    return plant


@pytest.mark.parametrize("way", ["intersection", "text"])
@pytest.mark.parametrize("rule", ["token-wise", "block", "exact-match"])
def test_a_draft_over_other_tokens_changes_nothing_in_the_text(answer, second, way, rule):
    args = (*PLAIN, "--draft", second(Shifted), "--vocabulary", way, "--rule", rule)
    code, told = answer(*args)
    _, plain = answer(*PLAIN, "-k", 0)
    assert code == 0
    assert told["text"] == plain["text"]
    assert told["accepted"] > 20
    assert told["vocabulary"] == way


def test_a_rule_for_several_drafts_takes_the_law_of_the_intersection(answer, second):
    code, told = answer(
        *PLAIN[:-2], "--draft", second(Shifted), "--vocabulary", "intersection", "--rule", "rrs"
    )
    assert code == 0
    assert told["accepted"] > 0


def test_what_is_said_of_the_targets_ids_is_not_said_of_the_drafts(answer, second):
    """A byte's id in the draft is that of the next byte in the target, where it is biased away."""
    args = (*PLAIN, "--draft", second(Shifted), "--vocabulary", "intersection")
    _, free = answer(*args)
    written = free["tokens"]
    unwritten = max(written, key=written.count) + 1
    assert unwritten not in written
    _, biased = answer(*args, "--logit-bias", f"{unwritten}:-inf", "--min-tokens", 5)
    assert biased["text"] == free["text"]
    assert biased["accepted"] == free["accepted"] > 20


def test_where_the_target_must_not_end_yet_says_nothing_about_the_draft(toy):
    target, greedy = toy(), Warp(temperature=0)
    text = target.encode("abc abc", chat=False)

    def drafted(warp):
        setting = Setting(vocab_size=target.backend.vocab_size, warp=warp)
        rule, second = find_rule("token-wise"), Shifted(target)
        proposer = foreign_proposer(rule, target, second, setting, 1, by_text=False)
        return proposer.propose(Dice(0), text, 8).tokens

    free = drafted(greedy)
    next_id = free[0] + 1
    assert drafted(replace(greedy, min_tokens=20, eos=(next_id,))) == free


def test_a_draft_without_a_common_piece_is_refused_when_it_is_opened(second):
    options = Options(draft=second(Foreign), vocabulary="intersection")
    with pytest.raises(VocabularyMismatch, match="no piece of text in common"):
        open_session(options)


@pytest.mark.parametrize(
    ("model", "flags", "words"),
    [
        (Shifted, (), "or set --vocabulary intersection or text."),
        (Foreign, ("--vocabulary", "intersection"), "no piece of text in common"),
        (Shifted, ("--vocabulary", "text", "--rule", "rrs"), "--vocabulary intersection"),
        (Shifted, ("--vocabulary", "words"), "'words' is not one of"),
    ],
)
def test_what_two_vocabularies_cannot_do_is_refused_in_one_sentence(
    cli, second, model, flags, words
):
    done = cli(*PLAIN, "--draft", second(model), *flags)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.splitlines()[-1].count(". ") == 0
    assert "Traceback" not in done.stderr


def test_people_see_how_a_draft_over_other_tokens_was_used(cli, second):
    done = cli(*PLAIN, "--draft", second(Shifted), "--vocabulary", "text")
    assert "(by text); rule token-wise" in " ".join(done.stderr.split())


@pytest.mark.model
@pytest.mark.parametrize("way", ["intersection", "text"])
def test_the_default_model_drafting_for_itself_by_text_is_never_wrong(
    smollm2, answer, monkeypatch, way
):
    """Its prompts in the chat form, with their special tokens, survive the way there and back."""
    opened = Opened(smollm2)
    monkeypatch.setattr("draftproof.session.running.open_model", lambda name: opened)
    code, told = answer(
        "run", "Name three rivers.", "--draft", smollm2.folder, "--vocabulary", way,
        "--temperature", 0, "--max-tokens", 10, "-k", 3,
    )  # fmt: skip
    assert code == 0
    assert told["accepted"] > 0
    if told["engine"] == "bit-exact":
        assert told["acceptance_per_test"] == 1.0


def test_a_named_draft_has_the_targets_vocabulary(cli, toy):
    done = cli(*PLAIN, "--vocabulary", "text")
    assert done.exit_code == 2
    assert "draft 'ngram' is no model" in done.stderr


# ---------------------------------------------------------------- earlier texts


def test_a_text_written_before_is_copied_from(answer, toy, tmp_path):
    _, plain = answer(*PLAIN, "-k", 0)
    file = tmp_path / "earlier.txt"
    file.write_text(f"abc abc\nA: {plain['text']}")
    _, without = answer(*PLAIN, "--draft", "suffix")
    _, told = answer(*PLAIN, "--draft", "suffix", "--earlier", file)
    assert told["text"] == plain["text"]
    assert told["accepted"] > without["accepted"]
    assert told["rounds"] < without["rounds"]


def test_a_plan_measures_the_suffix_draft_with_earlier_texts(answer, toy, tmp_path):
    prompts, file = tmp_path / "prompts.txt", tmp_path / "earlier.txt"
    prompts.write_text("abc abc\n")
    _, plain = answer(*PLAIN, "-k", 0)
    file.write_text(f"abc abc\nA: {plain['text']}")
    args = ("plan", "--measure", "--time-limit", "20s", "--max-k", 2, "--temperature", "0",
            "--prompts", prompts, "--draft", "suffix")  # fmt: skip
    _, without = answer(*args)
    _, told = answer(*args, "--earlier", file)
    assert told["expected_tokens"] > without["expected_tokens"] or told["best_k"] == 0
    deeper, shallow = (one["table"][2]["expected_tokens"] for one in (told, without))
    assert deeper > shallow


@pytest.mark.parametrize(
    ("content", "flags", "words"),
    [
        (b"text", ("--draft", "ngram"), "earlier texts are for the draft 'suffix'"),
        (None, ("--draft", "suffix"), "cannot be read"),
        (b"", ("--draft", "suffix"), "is empty"),
        (b"\xff\xfe", ("--draft", "suffix"), "not UTF-8"),
    ],
)
def test_earlier_texts_that_cannot_be_used_are_refused(cli, toy, tmp_path, content, flags, words):
    file = tmp_path / "earlier.txt"
    if content is not None:
        file.write_bytes(content)
    done = cli(*PLAIN, *flags, "--earlier", file)
    assert done.exit_code == 2
    assert words in done.stderr.splitlines()[-1]
