"""Four-bit weights as their GGUF file states them, which openvino-genai's reader rounds.

In the types Q4_1 and Q4_K a weight is ``step * level + least``: a level of four bits, and a step
and a least value for each group of 32. The reader builds ``step * (level - zero)`` instead, with
a zero point that is a four-bit integer too, so every group is moved as a whole by up to half a
step. That is enough to change which token is the likeliest: ``benchmarks/fidelity.py`` prints how
far the rows move. So after the conversion such groups are written again, in eight bits, as

    step / r * (r * level - zero),    r in 1..17,

with the r that meets both ends of the group's range best, and runs on the library's eight-bit
kernels.

Run as a program, with a GGUF file as its argument, this module makes the conversion::

    python -m draftproof.backends.restoring MODEL.gguf
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from draftproof.backends.gguf import Tensor, read_header

Bytes: TypeAlias = npt.NDArray[np.uint8]
Reals: TypeAlias = npt.NDArray[np.float32]

GROUP = 32
"""Weights that share a step and a least value."""

HIGHEST = 15
"""The highest level of four bits."""

_FINEST = 17
"""255 // 15: by how much levels can be stretched to fill eight bits."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Quantised weights: ``steps * levels + least``.

    Parameters
    ----------
    levels
        ``[rows, groups, 32]``, 0 to 15.
    steps, least
        ``[rows, groups]``.
    """

    levels: Bytes
    steps: Reals
    least: Reals


@dataclass(frozen=True, slots=True)
class Fine:
    """The same weights in eight bits: ``scale * (levels - zeros)``.

    Parameters
    ----------
    levels
        ``[rows, groups, 32]``, 0 to 255.
    zeros, scale
        ``[rows, groups]``.
    error
        ``[rows, groups]``, the largest error of a weight, in steps of its group; infinite where
        eight bits cannot hold the group.
    """

    levels: Bytes
    zeros: Bytes
    scale: npt.NDArray[np.float16]
    error: Reals


def unpack(tensor: Tensor, data: Bytes) -> Groups:
    """Take a Q4_1 or Q4_K tensor apart; `data` holds the file from the tensor's first byte.

    Layouts: a Q4_1 block is a half-precision step, a half-precision least value and 16 bytes,
    whose low halves are the levels 0..15 of the group and whose high halves are 16..31. A Q4_K
    block holds eight groups: two half-precision units, eight six-bit steps and eight six-bit
    offsets packed into 12 bytes, and 128 bytes, each run of 32 with one group in its low halves
    and the next in its high halves.
    """
    columns, rows = tensor.shape
    blocks, size = (columns // 256, 144) if tensor.kind == "Q4_K" else (columns // GROUP, 20)
    raw = data[: rows * blocks * size].reshape(rows, blocks, size)
    units = np.ascontiguousarray(raw[..., :4]).view(np.float16).astype(np.float32)
    if tensor.kind == "Q4_1":
        return Groups(_halves(raw[..., 4:]), units[..., 0], units[..., 1])
    steps, offsets = _six_bits(raw[..., 4:16])
    levels = _halves(raw[..., 16:].reshape(rows, blocks * 4, GROUP))
    return Groups(
        levels.reshape(rows, blocks * 8, GROUP),
        (units[..., :1] * steps).reshape(rows, -1),
        (-units[..., 1:] * offsets).reshape(rows, -1),
    )


def _halves(packed: Bytes) -> Bytes:
    """Give the low halves of the last axis, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _six_bits(packed: Bytes) -> tuple[Bytes, Bytes]:
    """Give the eight steps and eight offsets that Q4_K packs into 12 bytes."""
    first, second, rest = packed[..., 0:4], packed[..., 4:8], packed[..., 8:12]
    steps = [first & 63, (rest & 15) | (first >> 6 << 4)]
    offsets = [second & 63, (rest >> 4) | (second >> 6 << 4)]
    return np.concatenate(steps, axis=-1), np.concatenate(offsets, axis=-1)


def refine(groups: Groups) -> Fine:
    """Write four-bit groups in eight bits, each stretched so that its zero point is nearly whole.

    Where zero lies below the group's range the levels are moved up instead of the zero point.

    Examples
    --------
    >>> third = Groups(np.array([[[0, 15]]], np.uint8), np.array([[0.5]]), np.array([[-0.5 / 3]]))
    >>> fine = refine(third)
    >>> fine.scale.item() * (fine.levels.astype(float) - fine.zeros.item())
    array([[[-0.16662598,  7.33154297]]])
    """
    # A group of equal weights has the step 0; any step describes it, so take their size.
    flat = np.where(groups.least == 0, 1, np.abs(groups.least))
    steps = np.where(groups.steps == 0, flat, groups.steps).astype(np.float32)
    ends = groups.least, groups.least + HIGHEST * groups.steps
    error = np.full(steps.shape, np.inf, np.float32)
    stretch, zeros = np.ones(steps.shape, np.int64), np.zeros(steps.shape, np.int64)
    for factor in range(_FINEST, 0, -1):
        zero = np.rint(-groups.least / steps * factor)
        scale = (steps / factor).astype(np.float16).astype(np.float32)
        top = np.where(groups.steps == 0, 0, HIGHEST * factor)
        off = np.maximum(np.abs(-scale * zero - ends[0]), np.abs(scale * (top - zero) - ends[1]))
        fits = (zero <= 255) & (HIGHEST * factor - np.minimum(zero, 0) <= 255)
        better = fits & (off / np.abs(steps) < error)
        error = np.where(better, off / np.abs(steps), error)
        stretch, zeros = np.where(better, factor, stretch), np.where(better, zero, zeros)
    levels = groups.levels * stretch[..., None] - np.minimum(zeros, 0)[..., None]
    return Fine(
        levels.astype(np.uint8),
        np.maximum(zeros, 0).astype(np.uint8),
        (steps / stretch).astype(np.float16),
        error,
    )


def restore(graph: Any, path: Path) -> tuple[int, int]:
    """Replace a graph's rounded four-bit weights by those of the GGUF file it was read from.

    The reader drops the tensors' names and reorders some rows, so a row is recognised by its
    levels and steps.

    Returns
    -------
    How many weight matrices were replaced, and how many with rounded zero points were left as
    they are, because the file has no such rows or eight bits cannot hold them.
    """
    rows = {key: row for tensor in _stored(path) for key, row in _keyed(tensor)}
    done = left = 0
    for matrix in _rounded(graph):
        keys = [key for key, _ in _keyed(matrix.groups)]
        if not all(key in rows for key in keys):
            left += 1
            continue
        least = np.stack([rows[key] for key in keys])
        fine = refine(Groups(matrix.groups.levels, matrix.groups.steps, least))
        if np.isinf(fine.error).any():
            left += 1
            continue
        matrix.replace(fine)
        done += 1
    graph.validate_nodes_and_infer_types()
    return done, left


def _stored(path: Path) -> Iterator[Groups]:
    """Give the tensors of a GGUF file whose zero points the reader rounds."""
    header = read_header(path)
    data = np.memmap(path, np.uint8, "r")
    for tensor in header.tensors.values():
        if tensor.kind in ("Q4_1", "Q4_K") and len(tensor.shape) == 2:
            yield unpack(tensor, data[header.data + tensor.start :])


def _keyed(groups: Groups) -> Iterator[tuple[bytes, Reals]]:
    """Give what a row is recognised by, and its least values."""
    steps = groups.steps.astype(np.float16)
    for level, step, least in zip(groups.levels, steps, groups.least, strict=True):
        yield level.tobytes() + step.tobytes(), least


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The nodes that unpack one weight matrix in the graph, and what they hold."""

    subtract: Any
    multiply: Any
    groups: Groups

    def replace(self, fine: Fine) -> None:
        from openvino import opset13 as ops

        for port, values in ((0, fine.levels), (1, fine.zeros[..., None])):
            node = ops.convert(ops.constant(values), "f16")
            self.subtract.input(port).replace_source_output(node.output(0))
        scale = ops.constant(fine.scale[..., None])
        self.multiply.input(1).replace_source_output(scale.output(0))


def _rounded(graph: Any) -> Iterator[_Matrix]:
    """Find the matrices stored as four-bit levels with four-bit zero points."""
    for node in graph.get_ops():
        if node.get_type_name() != "Subtract":
            continue
        levels, zeros = (_converted(node.input_value(port).get_node()) for port in (0, 1))
        if levels is None or zeros is None:
            continue
        (reader,) = node.output(0).get_target_inputs()
        multiply = reader.get_node()
        steps = multiply.input_value(1).get_node().get_data()[..., 0].astype(np.float32)
        least = -steps * _four_bits(zeros)[..., 0]
        yield _Matrix(node, multiply, Groups(_four_bits(levels), steps, least))


def _converted(node: Any) -> Any:
    """Give the constant of four-bit integers that a node converts, or None."""
    if node.get_type_name() != "Convert":
        return None
    constant = node.input_value(0).get_node()
    kind = constant.get_output_element_type(0).get_type_name()
    return constant if constant.get_type_name() == "Constant" and kind == "u4" else None


def _four_bits(constant: Any) -> Bytes:
    """Give the values of a four-bit constant, one to a byte."""
    packed = constant.get_data().view(np.uint8).reshape(-1)
    values = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1)
    shape = tuple(constant.shape)
    return values[: int(np.prod(shape))].reshape(shape)


def read(path: Path) -> Path:
    """Convert a GGUF file to an OpenVINO model beside it as the library does, rounding included."""
    import openvino_genai

    openvino_genai.LLMPipeline(str(path), "CPU", enable_save_ov_model=True)
    return path.with_name("openvino_model.xml")


def convert(path: Path) -> None:
    """Convert a GGUF file to an OpenVINO model beside it, with its weights restored.

    Must have the folder to itself; prints how many matrices were restored and how many left.
    """
    import openvino

    model = read(path)
    graph = openvino.Core().read_model(str(model))
    done, left = restore(graph, path)
    whole = path.with_name("restored.xml")
    openvino.save_model(graph, str(whole), compress_to_fp16=False)
    del graph  # it reads the old file as long as it lives
    for end in (".bin", ".xml"):
        os.replace(whole.with_suffix(end), model.with_suffix(end))
    sys.stdout.write(f"{done} {left}\n")


if __name__ == "__main__":
    convert(Path(sys.argv[1]))
