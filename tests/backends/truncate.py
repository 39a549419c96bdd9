"""A copy of a model with its last layers cut off: a real draft model with a real p != q.

The copy is an ordinary model folder and opens through `open_backend`::

    python tests/backends/truncate.py TARGET_FOLDER NEW_FOLDER --layers 12
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import openvino

from draftproof.backends.weights import MODEL, NOTE

RESIDUAL = "model.layers.self_attn.add1.layer{}"
"""Name of the node that ends a layer, in the graphs openvino-genai makes from GGUF files."""


def truncate(source: Path, destination: Path, *, layers: int) -> Path:
    """Save a copy of the model in `source` that has only its first `layers` layers."""
    destination.mkdir(parents=True)
    graph = openvino.Core().read_model(str(source / MODEL))
    nodes = {node.get_friendly_name(): node for node in graph.get_ops()}
    count = sum(RESIDUAL.format(layer) in nodes for layer in range(len(nodes)))
    if not 1 <= layers < count:
        raise ValueError(f"layers is {layers}; this model has {count}, so keep 1 to {count - 1}.")
    last, kept = (nodes[RESIDUAL.format(layer - 1)] for layer in (count, layers))
    for reader in last.output(0).get_target_inputs():
        reader.replace_source_output(kept.output(0))
    _drop_caches(graph, layers)
    graph.validate_nodes_and_infer_types()
    openvino.save_model(graph, str(destination / MODEL), compress_to_fp16=False)
    for file in (*source.glob("openvino_*tokenizer.*"), source / NOTE):
        shutil.copy(file, destination)
    return destination


def _drop_caches(graph: Any, layers: int) -> None:
    """Remove the key and value caches of the layers that are gone."""
    for sink in graph.get_sinks():
        if _layer(sink.get_variable_id()) >= layers:
            graph.remove_sink(sink)
    for variable in graph.get_variables():
        if _layer(variable.get_info().variable_id) >= layers:
            graph.remove_variable(variable)


def _layer(variable: str) -> int:
    return int(variable.split(".")[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("destination", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    chosen = parser.parse_args()
    truncate(chosen.source, chosen.destination, layers=chosen.layers)
