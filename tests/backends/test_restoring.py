"""Weights after the conversion are those of the file, not those that the reader rounded."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from draftproof.backends.gguf import Tensor
from draftproof.backends.restoring import GROUP, Groups, refine, restore, unpack

ROUNDED = 0.4
"""Steps of error that rounding every zero point leaves somewhere in the matrices of these tests."""

WITHIN = 1 / 16
"""Steps of error allowed: with 17 stretches to choose from, one meets the ends at least so well."""


def random_groups(seed, rows=24, groups=18):
    """Groups as a quantiser makes them: the range holds zero, the step is its fifteenth."""
    dice = np.random.default_rng(seed)
    low, high = -dice.exponential(0.1, (rows, groups)), dice.exponential(0.1, (rows, groups))
    steps = ((high - low) / 15).astype(np.float16).astype(np.float32)
    least = low.astype(np.float16).astype(np.float32)
    return Groups(dice.integers(0, 16, (rows, groups, GROUP), dtype=np.uint8), steps, least)


def weights(groups):
    return groups.levels * groups.steps[..., None] + groups.least[..., None]


def fine_weights(fine):
    return fine.scale.astype(np.float32)[..., None] * (
        fine.levels.astype(np.float32) - fine.zeros.astype(np.float32)[..., None]
    )


def q4_1(groups):
    """The bytes of a Q4_1 tensor."""
    head = np.stack([groups.steps, groups.least], axis=-1).astype(np.float16).view(np.uint8)
    low, high = groups.levels[..., : GROUP // 2], groups.levels[..., GROUP // 2 :]
    return np.concatenate([head, low | high << 4], axis=-1).tobytes()


def gguf(path, tensors):
    """Write a GGUF file of Q4_1 tensors, with nothing else in it that matters."""
    infos, data = b"", b""
    for name, groups in tensors.items():
        rows, count, _ = groups.levels.shape
        label = struct.pack("<Q", len(name)) + name.encode()
        infos += label + struct.pack("<IQQIQ", 2, count * GROUP, rows, 3, len(data))
        data += q4_1(groups)
        data += bytes(-len(data) % 32)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 0) + infos
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def as_read(groups):
    """A graph with one matrix as openvino-genai's reader builds it: zero points of four bits."""
    openvino = pytest.importorskip("openvino", reason="openvino is not installed")
    from openvino import opset13 as ops

    def four_bits(values):
        packed = values.reshape(-1, 2)
        tensor = openvino.Tensor(openvino.Type.u4, openvino.Shape(values.shape))
        tensor.data.view(np.uint8).reshape(-1)[:] = packed[:, 0] | packed[:, 1] << 4
        return ops.convert(openvino.op.Constant(tensor, shared_memory=False), "f16")

    zeros = np.clip(np.rint(-groups.least / groups.steps), 0, 15).astype(np.uint8)
    moved = ops.subtract(four_bits(groups.levels), four_bits(zeros[..., None]))
    scaled = ops.multiply(moved, ops.constant(groups.steps.astype(np.float16)[..., None]))
    rows, count, _ = groups.levels.shape
    matrix = ops.convert(ops.reshape(scaled, [rows, count * GROUP], special_zero=False), "f32")
    given = ops.parameter([-1, count * GROUP], np.float32)
    product = ops.matmul(given, matrix, transpose_a=False, transpose_b=True)
    return openvino.Model([product], [given], "one matrix")


def multiplied(graph, columns):
    """The matrix that a graph multiplies with, exactly: the product with the unit vectors."""
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    compiled = openvino.Core().compile_model(graph, "CPU", settings)
    return compiled(np.eye(columns, dtype=np.float32))[0].T


class TestRefining:
    def test_every_weight_is_met_within_a_sixteenth_of_a_step(self):
        groups = random_groups(1)
        fine = refine(groups)
        off = np.abs(fine_weights(fine) - weights(groups)) / groups.steps[..., None]
        assert off.max() <= WITHIN
        assert (off.max(-1) <= fine.error + 1e-5).all()

    def test_rounding_the_zero_points_would_not(self):
        groups = random_groups(1)
        zeros = np.rint(-groups.least / groups.steps)
        rounded = groups.steps[..., None] * (groups.levels - zeros[..., None])
        off = np.abs(rounded - weights(groups)) / groups.steps[..., None]
        assert off.max() > ROUNDED

    @pytest.mark.parametrize(
        ("step", "least"),
        [(0.0, 0.0), (0.0, 0.25), (0.0, -0.25), (0.5, 0.75), (0.5, -9.75), (0.25, 0.0)],
        ids=["zeros", "equal", "equal below", "all above zero", "all below zero", "from zero"],
    )
    def test_ranges_without_zero_and_flat_groups(self, step, least):
        levels = np.arange(GROUP, dtype=np.uint8).reshape(1, 1, GROUP) % 16 * (step > 0)
        groups = Groups(levels, np.full((1, 1), step, "f"), np.full((1, 1), least, "f"))
        off = np.abs(fine_weights(refine(groups)) - weights(groups)).max()
        assert off <= WITHIN * (step or abs(least))

    def test_a_group_too_far_from_zero_says_so(self):
        groups = Groups(np.zeros((1, 1, GROUP), np.uint8), *np.array([[[1e-3]], [[-1.0]]], "f"))
        assert np.isinf(refine(groups).error).all()


class TestUnpacking:
    def test_q4_1(self):
        groups = random_groups(2)
        data = np.frombuffer(q4_1(groups), np.uint8)
        found = unpack(Tensor("Q4_1", (18 * GROUP, 24), 0), data)
        assert np.array_equal(weights(found), weights(groups))

    def test_q4_k_agrees_with_the_formats_own_reader(self):
        quants = pytest.importorskip("gguf.quants", reason="gguf is not installed (extra `bench`)")
        import gguf

        data = np.random.default_rng(3).integers(0, 256, (5, 2 * 144), dtype=np.uint8)
        units = np.random.default_rng(4).uniform(0.001, 0.1, (5, 2, 2)).astype(np.float16)
        data.reshape(5, 2, 144)[..., :4] = units.view(np.uint8).reshape(5, 2, 4)
        found = unpack(Tensor("Q4_K", (512, 5), 0), data.reshape(-1))
        wanted = quants.dequantize(data, gguf.GGMLQuantizationType.Q4_K)
        assert np.allclose(weights(found).reshape(5, 512), wanted, rtol=1e-6, atol=1e-6)


class TestRestoring:
    def test_the_graph_multiplies_with_the_files_weights(self, tmp_path):
        groups, other = random_groups(5), random_groups(6)
        path = gguf(tmp_path / "m.gguf", {"other": other, "wanted": groups})
        graph = as_read(groups)
        wanted, step = weights(groups).reshape(24, -1), groups.steps.repeat(GROUP, axis=1)
        before = np.abs(multiplied(graph, 18 * GROUP) - wanted) / step
        assert before.max() > ROUNDED
        assert restore(graph, path) == (1, 0)
        after = np.abs(multiplied(graph, 18 * GROUP) - wanted) / step
        assert after.max() <= WITHIN

    def test_rows_in_another_order_are_recognised(self, tmp_path):
        groups = random_groups(7)
        order = np.random.default_rng(8).permutation(24)
        turned = Groups(groups.levels[order], groups.steps[order], groups.least[order])
        graph = as_read(turned)
        assert restore(graph, gguf(tmp_path / "m.gguf", {"w": groups})) == (1, 0)
        off = np.abs(multiplied(graph, 18 * GROUP) - weights(turned).reshape(24, -1))
        assert (off <= WITHIN * turned.steps.repeat(GROUP, axis=1)).all()

    def test_a_matrix_of_another_file_is_left_and_counted(self, tmp_path):
        graph = as_read(random_groups(9))
        before = multiplied(graph, 18 * GROUP)
        assert restore(graph, gguf(tmp_path / "m.gguf", {"w": random_groups(10)})) == (0, 1)
        assert np.array_equal(multiplied(graph, 18 * GROUP), before)
