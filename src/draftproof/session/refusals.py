"""What is refused before a model is opened: options that no model could follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from draftproof.contracts import Rule
from draftproof.errors import InvalidInput, UnsupportedDraft
from draftproof.proposers import NAMED
from draftproof.session.foreign import ONE_GUESS

if TYPE_CHECKING:
    from draftproof.session.running import Options


def check_options(options: Options, rule: Rule) -> None:
    """Refuse, before a model is opened, what no model could do."""
    if options.drafts is not None and options.drafts > 1 and rule.shape == "chain":
        raise UnsupportedDraft(
            f"rule {rule.name!r} judges one draft at a time and drafts is {options.drafts}; leave "
            f"--drafts out, or choose a rule for several drafts."
        )
    if rule.one_hot and not options.warp.greedy:
        raise InvalidInput(
            f"rule {rule.name!r} is for temperature 0 and the temperature is "
            f"{options.warp.temperature:g}; set --temperature 0, or use the rule 'token-wise'."
        )
    if options.draft not in NAMED and not Path(options.draft).exists():
        raise InvalidInput(
            f"draft {options.draft!r} is neither {', '.join(map(repr, NAMED))} nor the path of a "
            f"model; choose one of these, or check the path."
        )
    if options.earlier and options.draft != "suffix":
        raise InvalidInput(
            f"earlier texts are for the draft 'suffix' and draft is {options.draft!r}; set --draft "
            f"suffix, or leave --earlier out."
        )
    if options.vocabulary != "same":
        _check_vocabulary(options, rule)
    if options.k == "auto" and rule.shape != "chain":
        raise UnsupportedDraft(
            f"k is 'auto' and rule {rule.name!r} takes several drafts for a position; give a "
            f"number, or choose a rule that judges a chain."
        )
    if "" in options.stop:
        raise InvalidInput("stop is ''; a stop string needs at least one character.")


def _check_vocabulary(options: Options, rule: Rule) -> None:
    if options.draft in NAMED:
        raise InvalidInput(
            f"vocabulary is {options.vocabulary!r} and draft {options.draft!r} is no model; leave "
            f"--vocabulary out, or give the path of a model as --draft."
        )
    if options.vocabulary == "text" and rule.name not in ONE_GUESS:
        raise UnsupportedDraft(
            f"rule {rule.name!r} does not judge guesses without a law, and that is what vocabulary "
            f"'text' drafts; choose {', '.join(map(repr, ONE_GUESS))}, or --vocabulary "
            f"intersection."
        )
