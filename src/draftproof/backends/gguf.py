"""The header of a GGUF file: what the model is, before any library tries to load it.

Only the header is read, not the tensors, but it tells where they lie. Format: magic, version,
two counts, then typed key/value pairs, then one record (name, shape, type, offset) for each
tensor; little endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from draftproof.errors import UnreadableModel

READABLE_ARCHITECTURES = frozenset({"llama", "qwen2", "qwen3"})
"""Architectures that openvino-genai builds from a GGUF file."""

READABLE_TYPES = frozenset({"F32", "F16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"})
"""Tensor types that openvino-genai unpacks."""

TENSOR_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
    10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS",
    17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S",
    23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M",
    30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip

_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}  # fmt: skip
_LONGEST = 1 << 26
_ALIGNMENT = 32
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies in the file.

    Parameters
    ----------
    kind
        The name of its type, such as ``Q4_1``.
    shape
        Its sizes, the fastest-changing one first, as the format has them.
    start
        Bytes before it, counted from the start of the tensor data.
    """

    kind: str
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file says about itself.

    Parameters
    ----------
    values
        The key/value pairs, such as ``general.architecture``.
    tensors
        For each tensor name, what is known of it.
    data
        Where the tensor data begins, in bytes from the start of the file.
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]
    data: int

    @property
    def architecture(self) -> str:
        """The architecture's name, or ``"unknown"``."""
        return str(self.values.get("general.architecture", "unknown"))

    @property
    def context_length(self) -> int | None:
        """Tokens the model was trained for, where the file says so."""
        length = self.values.get(f"{self.architecture}.context_length")
        return int(length) if length else None


class _Reader:
    """Little-endian values from a file, refusing to run past its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def take(self, size: int) -> bytes:
        data = self._file.read(size) if size <= _LONGEST else b""
        if len(data) != size:
            raise ValueError("the header ends too early or names an impossible length")
        return data

    def position(self) -> int:
        return self._file.tell()

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < _DEEPEST:
            inner, size = self.number("I"), self.number("Q")
            return self._many(inner, size, depth + 1)
        if kind not in _NUMBERS:
            raise ValueError(f"value type {kind} is not one of GGUF's")
        return self.number(_NUMBERS[kind])

    def _many(self, kind: int, size: int, depth: int) -> list[Any]:
        if kind in _NUMBERS:
            code = f"<{size}{_NUMBERS[kind]}"
            width = struct.calcsize("<" + _NUMBERS[kind])
            return list(struct.unpack(code, self.take(size * width)))
        return [self.value(kind, depth) for _ in range(size)]


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file.

    Raises
    ------
    UnreadableModel
        If the file cannot be opened, is not GGUF, or its header is cut off.
    """
    try:
        with path.open("rb") as file:
            return _read(_Reader(file))
    except (OSError, ValueError, struct.error, MemoryError) as error:
        raise UnreadableModel(f"{path} cannot be read as a GGUF model: {error}.") from error


def _read(reader: _Reader) -> Header:
    if (magic := reader.take(4)) != b"GGUF":
        raise ValueError(f"it starts with {magic!r}, not with b'GGUF'")
    if (version := reader.number("I")) not in (2, 3):
        raise ValueError(f"GGUF version {version} is neither 2 nor 3")
    tensors, pairs = reader.number("Q"), reader.number("Q")
    values = dict(_records(pairs, lambda: (reader.text(), reader.value(reader.number("I")))))
    known = dict(_records(tensors, lambda: _tensor(reader)))
    alignment = values.get("general.alignment", _ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"its alignment is {alignment!r}, not a number of bytes")
    return Header(values, known, -(-reader.position() // alignment) * alignment)


def _records(count: int, read: Callable[[], tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [read() for _ in range(count)]


def _tensor(reader: _Reader) -> tuple[str, Tensor]:
    name, dimensions = reader.text(), reader.number("I")
    shape = struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions))
    kind = reader.number("I")
    return name, Tensor(TENSOR_TYPES.get(kind, f"number {kind}"), shape, reader.number("Q"))


def check_readable(path: Path) -> Header:
    """Read the header and refuse what the OpenVINO back end is known not to load.

    Raises
    ------
    UnreadableModel
        Names the architecture, or the tensor type and one tensor that has it.
    """
    header = read_header(path)
    if header.architecture not in READABLE_ARCHITECTURES:
        raise UnreadableModel(
            f"{path} holds a model of architecture {header.architecture!r}; the openvino back "
            f"end reads {', '.join(sorted(READABLE_ARCHITECTURES))} from GGUF files."
        )
    for name, tensor in header.tensors.items():
        if tensor.kind not in READABLE_TYPES:
            raise UnreadableModel(
                f"{path} stores {name!r} as {tensor.kind}; the openvino back end reads tensors of "
                f"type {', '.join(sorted(READABLE_TYPES))}, so use a file quantised to one of them."
            )
    return header
