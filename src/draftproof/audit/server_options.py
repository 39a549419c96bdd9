"""What an audit of a server may use, and the prompts it begins with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from draftproof.audit.client import Patience
from draftproof.audit.sequential import Budget
from draftproof.errors import InvalidInput

PROMPTS = (
    "Colours in the order they were drawn: red, blue, green, red, blue, red, green, blue, red,",
    "yes no yes yes no yes no no yes no yes yes no",
    "The cat sat on the mat. The dog sat on the rug. The cat sat on the rug. The dog sat on",
    "1, 2, 3, 1, 2, 3, 2, 1, 3, 1, 2, 3, 1,",
    "Alice said hello to Bob. Bob said hello to Carol. Carol said hello to Alice. Alice said",
    "left right left left right up down left right up down left",
    "apple: fruit\ncarrot: vegetable\npear: fruit\nonion: vegetable\nplum:",
    "for i in range(10):\n    print(i)\nfor j in range(20):\n    print(j)\nfor k in range(",
)
"""Prompts that repeat themselves, so that a draft copied from the text is often right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    r"""What an audit of a server may use.

    Parameters
    ----------
    budget
        Error level, size to exclude, most judged tokens, seconds, seed.
    model, api_key
        Sent with every request.
    prompts
        A file with one prompt per line (``\n`` stands for a new line); built-in ones otherwise.
    concurrency
        Most requests at a time.
    control
        Address of a twin server that does not draft.
    reference
        A local model, by name or path, whose rows are the target's.
    metrics_url
        Where the server counts its drafts; by default its ``/metrics``.
    resume
        File that keeps every answer, and from which an interrupted audit goes on.
    patience
        Time-outs and retries.
    """

    budget: Budget = field(default_factory=Budget)
    model: str | None = None
    api_key: str | None = None
    prompts: Path | None = None
    concurrency: int = 4
    control: str | None = None
    reference: str | None = None
    metrics_url: str | None = None
    resume: Path | None = None
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        if isinstance(self.concurrency, bool) or self.concurrency < 1:
            raise InvalidInput(f"concurrency is {self.concurrency!r}; it must be 1 or more.")


def read_prompts(path: Path | None) -> tuple[str, ...]:
    """Give the prompts of a file, or the built-in ones."""
    if path is None:
        return PROMPTS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"prompts {path}: cannot be read as text ({error}).") from None
    found = tuple(line.replace("\\n", "\n") for line in lines if line.strip())
    if not found:
        raise InvalidInput(f"prompts {path}: holds no prompt; write one per line.")
    return found
