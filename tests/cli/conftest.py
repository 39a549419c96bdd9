"""A toy language model over bytes, so that the command line is tested in milliseconds."""

from __future__ import annotations

import codecs
import json
from zlib import crc32

import numpy as np
import pytest
from click.testing import CliRunner

from draftproof.cli import main
from draftproof.contracts import Lazily
from draftproof.errors import ContextFull

EOS = 256
ALPHABET = np.frombuffer(b"abcdefgh \xc3", dtype=np.uint8)


class ToyBackend:
    """Bytes follow bytes: an e acute is two of them, so characters are split over tokens."""

    name, vocab_size, context_limit = "toy", 257, 200

    def __init__(self, eos_after=None, noise=0.0, on_pass=lambda count: None):
        self.eos_after, self.noise, self.on_pass = eos_after, noise, on_pass
        self.passes = 0

    def logits(self, text, draft):
        if len(text) + len(draft) > self.context_limit:
            raise ContextFull(f"the text has {len(text)} tokens; shorten it.")
        self.passes += 1
        self.on_pass(self.passes)
        wide = len(draft) > 0
        return Lazily(len(draft) + 1, lambda at: self._row(text + draft.prefix(at - 1), wide))

    def _row(self, text, wide):
        row = np.full(self.vocab_size, -40.0, dtype=np.float32)
        if text[-1] == 0xC3:
            row[0xA9] = 0.0
        else:
            code = crc32(bytes(token % 256 for token in text[-2:]))
            for place in range(4):
                row[ALPHABET[(code >> 5 * place) % len(ALPHABET)]] = -place
        if self.eos_after is not None and len(text) >= self.eos_after:
            row[EOS] = 40.0
        return row + np.float32(self.noise * wide * (len(text) % 3)) * (np.arange(257) % 2)


class ToySpeller:
    def __init__(self):
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token):
        return "" if token == EOS else self._decoder.decode(bytes([token]))

    def flush(self):
        return self._decoder.decode(b"", final=True)


class ToyModel:
    engine, eos = "bit-exact", frozenset({EOS})
    pieces = (*(bytes([at]) for at in range(256)), b"<end>")

    def __init__(self, **settings):
        self.backend = ToyBackend(**settings)

    def encode(self, prompt, *, chat):
        return tuple((f"Q: {prompt}\nA: " if chat else prompt).encode())

    def spell(self, token):
        return self.pieces[token].decode("utf-8", "replace")

    def speller(self):
        return ToySpeller()


def decoded(tokens):
    return bytes(token for token in tokens if token != EOS).decode("utf-8", "replace")


@pytest.fixture
def toy(monkeypatch):
    """Let every model name open a toy model; call it with settings to plant a wrong one."""

    def plant(**settings):
        model = ToyModel(**settings)
        monkeypatch.setattr("draftproof.session.running.open_model", lambda name: model)
        return model

    plant.decoded = decoded
    plant()
    return plant


@pytest.fixture
def cli():
    """Run a command line in this process."""

    def invoke(*args, **extra):
        return CliRunner().invoke(main, [str(arg) for arg in args], **extra)

    return invoke


@pytest.fixture
def answer(cli):
    """Run a command line with --json and give its exit code and its object."""

    def invoke(*args, **extra):
        done = cli(*args, "--json", **extra)
        assert done.stdout.count("\n") == 1, done.output
        return done.exit_code, json.loads(done.stdout)

    return invoke
