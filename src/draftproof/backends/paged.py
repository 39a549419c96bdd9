"""One model on a paged cache: the pass itself, and nothing about texts or drafts.

The graph that openvino-genai saves hides its cache. Here it is rewritten once more so that the
cache is explicit: blocks of 32 token slots that belong to us. A pass takes several token
sequences, each with the number of tokens it already has in its blocks; rolling back is passing
a smaller number. Two changes make a row independent of its company:

* no sequence ever feeds a single token, for which the library has other kernels: it gets a
  second, ignored one (whose slot the next pass overwrites);
* the projection to the vocabulary sees only the rows that are wanted, never fewer than two.

A pass of another size than the one before costs the library as much again as the pass itself, and
often more, since it plans its memory anew. So a small pass of one sequence is filled up, with
ignored tokens, to the size of the largest of the last few (`Width`): decoding that drafts now two
tokens and now eight keeps one size. Rows are the same bits either way;
``benchmarks/backend_passes.py`` prints both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.errors import BackendError, UnreadableModel

BLOCK = 32
"""Token slots in one cache block of the CPU plugin."""

NARROWEST = 2
"""A single token takes other kernels, so every sequence of a pass feeds at least two."""

WIDEST = 16
"""Passes of more tokens are never filled up, nor is a pass ever filled up beyond this."""

_FIRST_BLOCKS = 64
_ALIGNMENT = 64

Rows: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings under which the library runs, and the processor ability they need."""

    name: str
    settings: dict[str, str]
    needs: str = "FP32"


PROFILES = (
    Profile("bf16", {"KV_CACHE_PRECISION": "bf16"}, needs="BF16"),
    Profile("f32, f16 cache", {"KV_CACHE_PRECISION": "f16", "INFERENCE_PRECISION_HINT": "f32"}),
    Profile("f32", {"KV_CACHE_PRECISION": "f32", "INFERENCE_PRECISION_HINT": "f32"}),
    Profile(
        "f32, unquantised activations",
        {
            "KV_CACHE_PRECISION": "f32",
            "INFERENCE_PRECISION_HINT": "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
        },
    ),
)
"""From the fastest to the slowest, as ``benchmarks/backend_passes.py --profiles`` prints."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of one sequence to feed in a pass.

    Parameters
    ----------
    tokens
        The new tokens, at least one.
    past
        How many tokens the sequence's blocks hold already.
    blocks
        The sequence's block ids, enough for `room` tokens.
    wanted
        Offsets into `tokens` after which a logit row is wanted.
    """

    tokens: Sequence[int]
    past: int
    blocks: Sequence[int]
    wanted: Sequence[int] = ()

    @staticmethod
    def room(past: int, count: int) -> int:
        """Give how many token slots a pass of `count` tokens after `past` may touch."""
        return past + max(WIDEST, count)


class Width:
    """How many tokens a small pass is filled up to: the most that one of the last few fed.

    Examples
    --------
    >>> width = Width(memory=2)
    >>> [width.of(count) for count in (2, 9, 3, 2, 2)]
    [2, 9, 9, 3, 2]
    >>> width.of(200), width.of(2)
    (200, 2)
    """

    def __init__(self, memory: int = 8) -> None:
        self._recent: deque[int] = deque(maxlen=memory)

    def of(self, count: int) -> int:
        """Note a pass of `count` tokens, and give the size to fill it up to."""
        if count > WIDEST:
            return count
        self._recent.append(count)
        return max(self._recent)


@dataclass(slots=True)
class _Cache:
    """The memory of one key or value cache: ``[blocks, heads, slots, size]``."""

    name: str
    kind: Any
    shape: tuple[int, int, int]
    array: npt.NDArray[np.uint8] = field(init=False)

    def resize(self, blocks: int, kept: int) -> None:
        """Make room for `blocks`, keeping the content of the first `kept`.

        Untouched pages of zeroed memory cost nothing, and a slot never written holds zeros.
        """
        width = int(np.prod(self.shape)) * int(self.kind.size)
        raw = np.zeros(blocks * width + _ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT
        array = raw[start : start + blocks * width].reshape(blocks, width)
        if kept:
            array[:kept] = self.array[:kept]
        self.array = array

    def tensor(self) -> Any:
        import openvino

        return openvino.Tensor(self.array, [len(self.array), *self.shape], self.kind)


def machine() -> dict[str, str]:
    """Name what a numerical result may depend on here: processor, its abilities, library."""
    import openvino

    core = openvino.Core()
    abilities = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return {
        "processor": str(core.get_property("CPU", "FULL_DEVICE_NAME")).strip(),
        "abilities": " ".join([*abilities, *_flags()]),
        "threads": str(core.get_property("CPU", "RANGE_FOR_STREAMS")[1]),
        "openvino": str(openvino.__version__),
    }


def _flags() -> list[str]:
    """Give the vector extensions the system reports, where it reports any."""
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return sorted(f for f in flags.split() if f.startswith(("avx", "amx", "fma", "asimd", "sve")))


def load_graph(path: Path) -> Any:
    """Read a stateful model, make its cache explicit and its vocabulary projection selective.

    Raises
    ------
    UnreadableModel
        If it is not a decoder that the library's own paged transformation understands.
    """
    import openvino
    from openvino import opset13 as ops
    from openvino._offline_transformations import paged_attention_transformation

    try:
        graph = openvino.Core().read_model(str(path))
        paged_attention_transformation(graph)
        project = graph.output("logits").get_node().input_value(0).get_node()
        wanted = ops.parameter([-1], np.int32, name="wanted")
        wanted.output(0).set_names({"wanted"})
        hidden = ops.gather(project.input_value(0), wanted, ops.constant(np.int32(0)))
        project.input(0).replace_source_output(hidden.output(0))
        graph.add_parameters([wanted])
        graph.validate_nodes_and_infer_types()
    except RuntimeError as error:
        raise UnreadableModel(f"{path} cannot be run on a paged cache: {error}") from error
    return graph


class PagedModel:
    """A compiled model and its cache blocks.

    Parameters
    ----------
    path
        The model's ``.xml`` file.
    profile
        The settings to compile it with.
    """

    def __init__(self, path: Path, profile: Profile) -> None:
        import openvino

        graph = load_graph(path)
        try:
            compiled = openvino.Core().compile_model(graph, "CPU", profile.settings)
        except RuntimeError as error:
            raise BackendError(
                f"openvino cannot compile {path} with profile {profile.name!r}: {error}"
            ) from error
        del graph
        self.profile = profile
        self.vocab_size = int(compiled.output(0).get_partial_shape()[-1].get_length())
        self._request = compiled.create_infer_request()
        self._caches = [_cache(port) for port in compiled.inputs if _is_cache(port)]
        self._width = Width()
        self.reset()

    def reset(self) -> None:
        """Start over with an empty cache, whatever state an interrupted call left."""
        self._free: list[int] = []
        self._blocks = 0
        self._grow(_FIRST_BLOCKS)

    def take(self, count: int) -> list[int]:
        """Hand out `count` free blocks."""
        if count > len(self._free):
            self._grow(max(self._blocks + count, self._blocks * 3 // 2))
        return [self._free.pop() for _ in range(count)]

    def give_back(self, blocks: Iterable[int]) -> None:
        """Take blocks back; their content may be overwritten from now on."""
        self._free.extend(blocks)

    def copy_block(self, source: int, destination: int) -> None:
        """Copy the content of one block, in every layer."""
        for cache in self._caches:
            cache.array[destination] = cache.array[source]

    def run(self, pieces: Sequence[Piece]) -> list[Rows]:
        """Feed the pieces in one pass; give each one's wanted logit rows.

        Raises
        ------
        BackendError
            If the library fails; the cache then holds nothing new that counts.
        """
        sizes = [max(NARROWEST, len(piece.tokens)) for piece in pieces]
        if len(sizes) == 1:
            sizes = [self._width.of(sizes[0])]
        inputs, wanted = _inputs(pieces, sizes)
        try:
            self._request.infer(inputs)
        except RuntimeError as error:
            raise BackendError(f"openvino failed in a pass: {error}") from error
        out = self._request.get_output_tensor(0).data.reshape(-1, self.vocab_size)
        bounds = np.cumsum([len(piece.wanted) for piece in pieces])
        return np.split(out[:wanted].copy(), bounds[:-1])

    def _grow(self, blocks: int) -> None:
        for cache in self._caches:
            cache.resize(blocks, kept=self._blocks)
            self._request.set_tensor(cache.name, cache.tensor())
        self._free.extend(range(blocks - 1, self._blocks - 1, -1))
        self._blocks = blocks


def _is_cache(port: Any) -> bool:
    return str(port.get_any_name()).startswith(("key_cache.", "value_cache."))


def _cache(port: Any) -> _Cache:
    shape = port.get_partial_shape()
    sizes = (shape[1].get_length(), shape[2].get_length(), shape[3].get_length())
    if sizes[1] != BLOCK:
        raise UnreadableModel(
            f"{port.get_any_name()} has blocks of {sizes[1]} slots; {BLOCK} are expected."
        )
    return _Cache(port.get_any_name(), port.get_element_type(), sizes)


def _inputs(pieces: Sequence[Piece], sizes: Sequence[int]) -> tuple[dict[str, Any], int]:
    """Lay the pieces side by side, each filled up to its size; also count the wanted rows."""
    ends = [piece.past + size for piece, size in zip(pieces, sizes, strict=True)]
    used = [piece.blocks[: -(-end // BLOCK)] for piece, end in zip(pieces, ends, strict=True)]
    begins = np.cumsum([0, *sizes]).astype(np.int32)
    ids = np.zeros(begins[-1], np.int64)
    wanted: list[int] = []
    for begin, piece in zip(begins.tolist(), pieces, strict=False):
        ids[begin : begin + len(piece.tokens)] = piece.tokens
        wanted += [begin + offset for offset in piece.wanted]
    rows = sizes[0] if len(sizes) == 1 and sizes[0] <= WIDEST else 2
    spans = [np.arange(piece.past, end) for piece, end in zip(pieces, ends, strict=True)]
    inputs = {
        "input_ids": ids,
        "position_ids": np.concatenate(spans).astype(np.int64),
        "past_lens": np.array([piece.past for piece in pieces], np.int32),
        "subsequence_begins": begins,
        "block_indices": np.concatenate([np.asarray(blocks, np.int32) for blocks in used]),
        "block_indices_begins": np.cumsum([0, *map(len, used)]).astype(np.int32),
        "max_context_len": np.array(max(ends), np.int32),
        "wanted": np.array(wanted + [0] * max(0, rows - len(wanted)), np.int32),
    }
    return inputs, len(wanted)
