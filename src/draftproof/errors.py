"""Every exception draftproof raises, as one tree.

::

    DraftproofError
      InvalidInput (ValueError)      an argument breaks a stated rule
        NotADistribution             a vector offered as probabilities is not one
        UnsupportedDraft             this rule cannot judge a draft of this shape
        ContextFull                  the text does not fit the model's context
        VocabularyMismatch           draft and target do not share one vocabulary
      InexactRule                    a lossy rule was used without asking for it by name
      LuckReused                     one keyed draw was asked for twice in one round
      MissingExtra (ImportError)     a library or the weights are missing; says what to type
      BackendError                   the model library failed; the original error is the cause
        UnreadableModel              the model file cannot be read; says what was refused
      ServerError                    a server under audit failed; carries the request

A message names the argument, shows the value, states the rule and gives the way out, in one
sentence where one is enough.
"""

from __future__ import annotations


class DraftproofError(Exception):
    """Anything draftproof refuses to do."""


class InvalidInput(DraftproofError, ValueError):
    """An argument breaks a stated rule."""


class NotADistribution(InvalidInput):
    """A vector was offered as probabilities and is not one."""


class UnsupportedDraft(InvalidInput):
    """A rule was given a draft whose shape it cannot judge."""


class ContextFull(InvalidInput):
    """The text, or the text with its draft, does not fit the model's context."""


class VocabularyMismatch(InvalidInput):
    """The draft model and the target do not share one vocabulary."""


class InexactRule(DraftproofError):
    """A rule that changes the output law was used without being asked for by name."""


class LuckReused(DraftproofError):
    """The same keyed draw was consumed twice, so two choices would not be independent."""


class MissingExtra(DraftproofError, ImportError):
    """A library or the model weights are not installed; the message says what to type."""


class BackendError(DraftproofError):
    """The model library failed; the original exception is the cause."""


class UnreadableModel(BackendError):
    """A model file cannot be read; the message names the tensor type or architecture refused."""


class ServerError(DraftproofError):
    """A server under audit failed; the message carries the request."""
