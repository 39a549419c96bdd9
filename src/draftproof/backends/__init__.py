"""Back ends: language models behind one method, loaded when they are asked for.

`open_backend` is the door: a written table of names, each with the dotted path of its opener,
so importing this package loads no model library.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from draftproof.errors import InvalidInput

if TYPE_CHECKING:
    from draftproof.backends.openvino import OpenVinoBackend

BACKENDS = {
    "smollm2": "draftproof.backends.opening:open_default",
}
"""Names that `open_backend` knows, and who opens them."""

OPEN_PATH = "draftproof.backends.opening:open_path"


def open_backend(target: str | Path = "smollm2") -> OpenVinoBackend:
    """Open a model by name, or from a GGUF file or a folder with an OpenVINO model.

    Parameters
    ----------
    target
        A name from ``BACKENDS``, or a path. A name wins over a path spelt the same; write
        ``./smollm2`` for the path.

    Raises
    ------
    MissingExtra
        If openvino-genai or the default model's weights are missing; says what to type.
    UnreadableModel
        If the file cannot be read; names the tensor type or architecture refused.
    InvalidInput
        If `target` is neither a known name nor an existing path.
    """
    if isinstance(target, str) and target in BACKENDS:
        return _load(BACKENDS[target])()
    path = Path(target).expanduser()
    if not path.exists():
        raise InvalidInput(
            f"target {str(target)!r} is neither a known model ({', '.join(BACKENDS)}) nor an "
            f"existing path; give a GGUF file or a folder with an OpenVINO model."
        )
    return _load(OPEN_PATH)(path)


def _load(dotted: str) -> Callable[..., OpenVinoBackend]:
    module, _, name = dotted.partition(":")
    return cast("Callable[..., OpenVinoBackend]", getattr(import_module(module), name))
