"""Proposers: what guesses the next tokens, and the names they go by.

Every proposer drafts for `propose`, which never lets more than k tokens through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from draftproof.contracts import Proposer, Text
from draftproof.errors import InvalidInput
from draftproof.proposers.lookup import PromptLookup
from draftproof.proposers.model import DraftModel, check_same_vocabulary, propose
from draftproof.proposers.ngram import Grams, NGram
from draftproof.proposers.suffix import Suffix
from draftproof.warp import Warp

__all__ = [
    "NAMED",
    "DraftModel",
    "Grams",
    "NGram",
    "Named",
    "PromptLookup",
    "Setting",
    "Suffix",
    "check_same_vocabulary",
    "propose",
    "proposer_named",
]

SHIPPED_VOCAB_SIZE = 49_152
"""Vocabulary of the model whose n-grams are shipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a proposer may know of the run it drafts for; `earlier` texts are for ``suffix``."""

    vocab_size: int
    warp: Warp
    eos: tuple[int, ...] = ()
    prompt: int = 0
    earlier: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A proposer that needs no second model: what it does, and how to make one."""

    about: str
    make: Callable[[Setting], Proposer]


def _prompt_lookup(setting: Setting) -> Proposer:
    return PromptLookup(setting.vocab_size, eos=setting.eos)


def _ngram(setting: Setting) -> Proposer:
    learnt = Grams.shipped() if setting.vocab_size == SHIPPED_VOCAB_SIZE else None
    return NGram(
        setting.vocab_size, learnt, warp=setting.warp, prompt=setting.prompt, eos=setting.eos
    )


def _suffix(setting: Setting) -> Proposer:
    return Suffix(setting.vocab_size, earlier=setting.earlier, eos=setting.eos)


NAMED: Mapping[str, Named] = MappingProxyType(
    {
        "prompt-lookup": Named(
            "copies what followed the same words earlier in the text", _prompt_lookup
        ),
        "ngram": Named(
            "n-gram model of the target's own writing (default target) and of the text so far",
            _ngram,
        ),
        "suffix": Named(
            "copies what followed the longest suffix of the text that occurred in it before",
            _suffix,
        ),
    }
)
"""Every proposer that goes by a name; any other draft is a path to a model."""


def proposer_named(name: str, setting: Setting) -> Proposer:
    """Make the proposer of this name.

    Examples
    --------
    >>> proposer_named("prompt-lookup", Setting(vocab_size=8, warp=Warp())).name
    'prompt-lookup'
    """
    if name not in NAMED:
        raise InvalidInput(
            f"there is no draft named {name!r}; choose {', '.join(map(repr, NAMED))}, or give the "
            f"path of a model."
        )
    return NAMED[name].make(setting)
