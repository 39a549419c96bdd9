"""From the flags of `run` to its options and its opened models, or to a refusal by flag."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from draftproof.cli.reading import by_flag, read_texts
from draftproof.errors import InvalidInput, UnreadableModel
from draftproof.proposers.branching import MOST_NODES, tree_nodes
from draftproof.rules import find_rule
from draftproof.session import Options, Session, open_session
from draftproof.session.drafting import BRANCHING_DEPTH
from draftproof.warp import Warp

WARPED = (
    "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty",
    "frequency_penalty",
)  # fmt: skip
"""The flags that are fields of `Warp`, by the same name."""


def read_options(flags: dict[str, Any]) -> Options:
    """Put the flags of `run` together; what contradicts itself is refused."""
    _check_lengths(flags["min_tokens"], flags["max_tokens"])
    check_drafts(flags["rule"], flags["drafts"], flags["k"])
    return Options(
        target=flags["target"],
        draft=flags["draft"],
        rule=flags["rule"],
        k=flags["k"],
        drafts=flags["drafts"],
        max_tokens=flags["max_tokens"],
        stop=flags["stop"],
        seed=flags["seed"],
        chat=not flags["raw"],
        earlier=read_texts(flags["earlier"], "--earlier"),
        vocabulary=flags["vocabulary"],
        min_tokens=flags["min_tokens"],
        warp=_read_warp(flags),
    )


def _check_lengths(least: int, most: int) -> None:
    if least > most:
        raise InvalidInput(
            f"--min-tokens is {least} and --max-tokens is {most}; lower the one or raise the other."
        )


def check_drafts(name: str, drafts: int | None, k: int | str) -> None:
    """Refuse more drafts than one round can hold with this rule and k."""
    shape = find_rule(name).shape
    if drafts is None or shape == "chain" or not isinstance(k, int):
        return
    depth = BRANCHING_DEPTH if shape == "tree" else 1
    nodes = tree_nodes((drafts,) * depth, k)
    if nodes <= MOST_NODES:
        return
    fits = [n for n in range(1, MOST_NODES + 1) if tree_nodes((n,) * depth, k) <= MOST_NODES]
    way = f"give {fits[-1]} or fewer" if fits else "lower -k"
    raise InvalidInput(
        f"--drafts is {drafts}, which with -k {k} drafts {nodes} tokens in a round, and at most "
        f"{MOST_NODES} fit; {way}."
    )


def _read_warp(flags: dict[str, Any]) -> Warp:
    named = {name: flags[name] for name in WARPED}
    return read_warp(**named, logit_bias=_read_biases(flags["logit_bias"]))


def read_warp(**fields: Any) -> Warp:
    """Give the warp, which refuses what it cannot do by the name of the field."""
    with by_flag(WARPED):
        return Warp(**fields)


def _read_biases(pairs: Sequence[tuple[int, float]]) -> dict[int, float]:
    biases: dict[int, float] = {}
    for token, added in pairs:
        if token in biases:
            raise InvalidInput(
                f"--logit-bias gives token {token} both {biases[token]:g} and {added:g}; give it "
                f"one."
            )
        biases[token] = added
    return biases


def opened(options: Options) -> Session:
    """Open the models; a model that cannot be read is refused with its flag and the way out."""
    try:
        return open_session(options)
    except UnreadableModel as error:
        words = str(error)
        blamed = [
            (len(path), flag)
            for flag, path in (("--draft", options.draft), ("--target", options.target))
            if words.startswith(str(Path(path).expanduser()))
        ]
        if not blamed:
            raise
        raise UnreadableModel(
            f"{max(blamed)[1]}: {words.rstrip('.')}; name a GGUF file, or a folder with an "
            f"OpenVINO model and its tokenizer."
        ) from error
