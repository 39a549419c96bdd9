"""The default model: one text has one row, whatever happened before."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.backends.truncate import truncate

from draftproof.backends import open_backend, opening, paged, weights
from draftproof.backends import openvino as module
from draftproof.backends.conformance import check_backend
from draftproof.backends.openvino import OpenVinoBackend
from draftproof.contracts import ROOT, Draft
from draftproof.errors import BackendError, ContextFull, InvalidInput, UnreadableModel

pytestmark = pytest.mark.model

NONE = Draft.empty()
SEED = 20261130


def chain(tokens):
    return Draft.chain(tokens, (None,) * len(tokens))


def tree(tokens, parents):
    return Draft(tuple(tokens), tuple(parents), (None,) * len(tokens))


@pytest.fixture(scope="module")
def line(smollm2):
    """An ordinary text of some hundred tokens."""
    story = "The keeper of the lighthouse wrote every evening what the sea had brought. " * 24
    return smollm2.tokenizer.chat(story)


@pytest.fixture(scope="module")
def small(smollm2):
    """The same model with a context that is quickly full."""
    return OpenVinoBackend(
        smollm2.folder, smollm2.profile, name="small", engine=smollm2.engine, context_limit=96
    )


@pytest.fixture(scope="module")
def shorter(smollm2, tmp_path_factory):
    """The first three layers, as a model folder of its own."""
    folder = tmp_path_factory.mktemp("models") / "shorter"
    return truncate(smollm2.folder, folder, layers=3)


@pytest.fixture
def exact(smollm2):
    if smollm2.engine != "bit-exact":
        pytest.skip(f"this machine is not bit-exact: {opening.choose_profile(smollm2.folder)}")


def clean(backend, text):
    backend.forget()
    return backend.logits(text, NONE)[0]


def test_rows_are_float32_over_the_vocabulary(smollm2, line):
    rows = smollm2.logits(line[:20], chain(line[20:23]))
    assert len(rows) == 4
    assert all(row.shape == (smollm2.vocab_size,) and row.dtype == np.float32 for row in rows)


def test_the_model_is_the_model(smollm2):
    tokenizer = smollm2.tokenizer
    text = tokenizer.raw("The capital of France is")
    assert tokenizer.decode([int(smollm2.logits(text, NONE)[0].argmax())]) == " Paris"


def test_a_text_whose_end_the_tokenizer_would_drop_is_refused(smollm2):
    longest = smollm2.tokenizer.encode("word " * 5000)
    assert smollm2.tokenizer.decode(longest) == "word " * 5000
    with pytest.raises(ContextFull, match=r"45000 characters.*8192 tokens at most; shorten it"):
        smollm2.tokenizer.encode("word " * 9000)


def test_its_weights_are_those_of_its_file(smollm2):
    note = weights.read_note(smollm2.folder)
    assert (note["matrices_restored"], note["matrices_left_rounded"]) == (30 * 7, 0)


def test_the_conformance_suite_passes_with_the_promise_of_this_machine(smollm2):
    report = check_backend(smollm2, seed=SEED, at_limit=False)
    assert report.holds, str(report)
    assert report.tolerance == (0.0 if smollm2.engine == "bit-exact" else 1e-3)


def test_it_passes_at_the_context_limit(small):
    report = check_backend(small, seed=SEED, quick=True)
    assert report.holds, str(report)
    text = tuple(range(5, 5 + small.context_limit))
    assert len(small.logits(text[:-3], chain(text[-3:]))) == 4
    assert np.array_equal(small.logits(text, NONE)[0], clean(small, text))


@pytest.mark.full
def test_it_passes_at_the_real_context_limit(smollm2):
    report = check_backend(smollm2, seed=SEED)
    assert report.holds, str(report)


@pytest.mark.usefixtures("exact")
class TestBitForBit:
    @pytest.mark.parametrize("step", [1, 2, 3, 5, 8, 12, 64])
    @pytest.mark.parametrize("start", [30, 128, 250])
    def test_a_row_does_not_depend_on_how_the_text_was_split(self, smollm2, line, start, step):
        end = start + 24
        smollm2.forget()
        whole = smollm2.logits(line[:start], chain(line[start:end]))
        smollm2.forget()
        split = []
        for at in range(start, end + 1, step):
            split += smollm2.logits(line[:at], chain(line[at : min(at + step - 1, end)]))
        assert len(split) == len(whole)
        assert all(map(np.array_equal, split, whole))

    def test_a_single_unpadded_token_would_give_another_row(self, smollm2, line, monkeypatch):
        """The padding is needed: without it the suite refutes the back end."""
        whole = smollm2.logits(line[:40], chain(line[40:44]))
        smollm2.forget()
        smollm2.logits(line[:40], NONE)
        monkeypatch.setattr(paged, "NARROWEST", 1)
        monkeypatch.setattr(paged, "WIDEST", 0)
        alone = smollm2.logits(line[:41], NONE)[0]
        smollm2.forget()
        assert not np.array_equal(alone, whole[1])

    def test_a_rollback_off_by_one_would_give_another_row(self, smollm2, line, monkeypatch):
        right = clean(smollm2, line[:60])
        honest = module._Stream.rewind

        def off_by_one(stream, text, most):
            had = list(stream.tokens)
            honest(stream, text, most)
            if len(stream.tokens) < min(most, len(had)):
                stream.tokens.append(had[len(stream.tokens)])

        smollm2.logits(line[:50], chain([9, 9, 9]))
        monkeypatch.setattr(module._Stream, "rewind", off_by_one)
        wrong = smollm2.logits(line[:60], NONE)[0]
        smollm2.forget()
        assert not np.array_equal(wrong, right)

    def test_a_tree_gives_the_rows_of_its_paths(self, smollm2, line):
        text = line[:45]
        draft = tree([5, 7, 9, 5, 300, 11], [ROOT, ROOT, 0, 1, 2, 0])
        rows = smollm2.logits(text, draft)
        for node in range(ROOT, len(draft)):
            path = draft.prefix(node) if node != ROOT else ()
            assert np.array_equal(rows[node + 1], clean(smollm2, text + path))

    def test_a_wide_tree_that_needs_several_passes(self, smollm2, line):
        width = module.TOKENS_PER_PASS + 3
        rows = smollm2.logits(line[:33], tree(range(100, 100 + width), [ROOT] * width))
        for node in (0, width // 2, width - 1):
            assert np.array_equal(rows[node + 1], clean(smollm2, (*line[:33], 100 + node)))

    def test_alone_or_beside_others(self, smollm2, line):
        lengths = (1, 31, 32, 33, 64, 100, 200)
        questions = [(line[:n], chain(line[n : n + n % 4])) for n in lengths]
        together = smollm2.logits_batch(questions)
        for (text, draft), rows in zip(questions, together, strict=True):
            smollm2.forget()
            assert all(map(np.array_equal, smollm2.logits(text, draft), rows))

    def test_a_prompt_longer_than_one_pass(self, smollm2, line):
        text = (line * 2)[: 2 * module.TOKENS_PER_PASS + 1]
        whole = clean(smollm2, text)
        smollm2.logits(text[:300], NONE)
        assert np.array_equal(smollm2.logits(text, NONE)[0], whole)


class TestAfterAFailure:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, BackendError, MemoryError])
    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize("branching", [False, True])
    def test_the_next_answer_is_right(self, smollm2, line, monkeypatch, error, when, branching):
        right = clean(smollm2, line[:70])
        run = smollm2._model.run

        def fails(pieces):
            if when == "after":
                run(pieces)
            raise error

        smollm2.logits(line[:50], NONE)
        monkeypatch.setattr(smollm2._model, "run", fails)
        draft = tree([3, 4, 5], [ROOT, ROOT, 0]) if branching else chain([3, 4, 5])
        with pytest.raises(error):
            smollm2.logits(line[:60], draft)
        monkeypatch.undo()
        assert np.array_equal(smollm2.logits(line[:70], NONE)[0], right)

    def test_an_interrupt_while_the_cache_grows(self, smollm2, line, monkeypatch):
        right = [clean(smollm2, line[: 50 + n]) for n in range(3)]
        calls = []
        resize = paged._Cache.resize

        def fails(cache, blocks, kept):
            calls.append(blocks)
            if len(calls) == 5:
                raise KeyboardInterrupt
            resize(cache, blocks, kept)

        questions = [(line[: 50 + n % 3], NONE) for n in range(40)]
        monkeypatch.setattr(paged._Cache, "resize", fails)
        with pytest.raises(KeyboardInterrupt):
            smollm2.logits_batch(questions)
        monkeypatch.undo()
        for n, (row,) in enumerate(smollm2.logits_batch(questions)):
            assert np.array_equal(row, right[n % 3])
        smollm2.forget()

    def test_a_row_that_is_not_finite_is_named(self, smollm2, line, monkeypatch):
        run = smollm2._model.run

        def spoilt(pieces):
            answers = run(pieces)
            answers[-1][1, 7] = np.nan
            return answers

        monkeypatch.setattr(smollm2._model, "run", spoilt)
        with pytest.raises(BackendError, match="row 1 of 3, after 40 tokens of text"):
            smollm2.logits(line[:40], chain([3, 4]))

    def test_a_failure_of_the_library_is_wrapped(self, smollm2, line, monkeypatch):
        def fails(inputs):
            raise RuntimeError("out of blocks")

        class Request:
            infer = staticmethod(fails)

        right = clean(smollm2, line[:40])
        smollm2.logits(line[:30], NONE)
        monkeypatch.setattr(smollm2._model, "_request", Request())
        with pytest.raises(BackendError, match="openvino failed in a pass: out of blocks"):
            smollm2.logits(line[:40], NONE)
        monkeypatch.undo()
        assert np.array_equal(smollm2.logits(line[:40], NONE)[0], right)


class TestRefused:
    def test_an_empty_text(self, smollm2):
        with pytest.raises(InvalidInput, match="text is empty"):
            smollm2.logits((), NONE)

    @pytest.mark.parametrize("bad", [-1, 49_152])
    def test_an_id_outside_the_vocabulary(self, smollm2, bad):
        with pytest.raises(InvalidInput, match=f"text holds token id {bad}; smollm2 knows"):
            smollm2.logits((1, bad), NONE)
        with pytest.raises(InvalidInput, match=f"draft holds token id {bad}"):
            smollm2.logits((1,), chain([bad]))

    def test_a_text_that_does_not_fit(self, small):
        with pytest.raises(ContextFull, match="the text has 95 tokens and the draft 2"):
            small.logits((1,) * 95, chain([1, 1]))


class TestWriting:
    PROMPTS = ("Hi", "Name a colour.", "What is two and two?", "Say something.", "Why?")

    def write(self, backend, prompts, **changed):
        settings = {"temperature": 0.8, "max_tokens": 12, "seed": 3, "batch": 3} | changed
        return dict(backend.sample_texts(prompts, **settings))

    def test_every_prompt_gets_a_text_that_ends_in_time(self, smollm2):
        prompts = [smollm2.tokenizer.chat(prompt) for prompt in self.PROMPTS]
        texts = self.write(smollm2, prompts)
        assert sorted(texts) == list(range(len(prompts)))
        ends = smollm2.tokenizer.ends
        for text in texts.values():
            assert len(text) == 12 or text[-1] in ends
            assert not set(text[:-1]) & ends

    @pytest.mark.usefixtures("exact")
    def test_a_text_depends_on_the_seed_and_not_on_the_company(self, smollm2):
        prompts = [smollm2.tokenizer.chat(prompt) for prompt in self.PROMPTS]
        texts = self.write(smollm2, prompts)
        assert self.write(smollm2, prompts, batch=1) == texts
        assert self.write(smollm2, prompts, seed=4) != texts

    def test_greedy_and_empty_batches_are_refused(self, smollm2):
        with pytest.raises(InvalidInput, match="temperature is 0"):
            self.write(smollm2, [(1,)], temperature=0)
        with pytest.raises(InvalidInput, match="batch is 0"):
            self.write(smollm2, [(1,)], batch=0)


class TestOtherModels:
    def test_a_truncated_copy_opens_and_is_another_model(self, smollm2, shorter, line):
        draft = open_backend(shorter)
        assert draft.tokenizer.pieces == smollm2.tokenizer.pieces
        assert (draft.name, draft.context_limit) == ("shorter", smollm2.context_limit)
        ours, theirs = (backend.logits(line[:9], NONE)[0] for backend in (draft, smollm2))
        assert np.abs(ours - theirs).max() > 1

    def test_the_check_is_made_once_for_a_model_and_a_machine(self, shorter, monkeypatch, tmp_path):
        monkeypatch.setenv("DRAFTPROOF_CACHE", str(tmp_path))
        asked = []
        monkeypatch.setattr(opening, "check_backend", lambda *a, **k: asked.append(a) or REPORT)
        first = opening.choose_profile(shorter)
        assert opening.choose_profile(shorter) == first
        assert len(asked) == len([p for p in paged.PROFILES if p.needs != "BF16"]) or first.gap == 0
        before = len(asked)
        other = paged.machine() | {"processor": "another"}
        monkeypatch.setattr(opening, "machine", lambda: other)
        opening.choose_profile(shorter)
        assert len(asked) == 2 * before
        records = [json.loads(p.read_text()) for p in (tmp_path / "checks").glob("*.json")]
        assert {record["machine"]["processor"] for record in records} >= {"another"}
        assert all(record["engine"] == "bit-exact" for record in records)

    def test_a_graph_that_is_no_decoder_is_refused(self, shorter, tmp_path):
        for suffix in (".xml", ".bin"):
            tokenizer = (shorter / "openvino_detokenizer.xml").with_suffix(suffix)
            (tmp_path / weights.MODEL).with_suffix(suffix).write_bytes(tokenizer.read_bytes())
        (tmp_path / "openvino_tokenizer.xml").write_bytes(b"")
        with pytest.raises(UnreadableModel, match="cannot be run on a paged cache"):
            open_backend(tmp_path)

    def test_a_folder_without_a_tokenizer_says_so(self, shorter, tmp_path):
        with pytest.raises(UnreadableModel, match="holds no tokenizer"):
            module.Tokenizer(tmp_path)


class REPORT:
    """A conformance report without any difference."""

    holds, logit_gap, total_variation = True, 0.0, 0.0
