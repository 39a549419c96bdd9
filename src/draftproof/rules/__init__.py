"""The verification rules by name."""

from __future__ import annotations

from draftproof.contracts import Guarantee, Rule
from draftproof.errors import InexactRule, InvalidInput
from draftproof.rules.chain import TOKEN_WISE

RULES: dict[str, Rule] = {rule.name: rule for rule in (TOKEN_WISE,)}


def find_rule(name: str) -> Rule:
    """Give the rule of that name.

    Raises
    ------
    InvalidInput
        Lists the names that exist.

    Examples
    --------
    >>> find_rule("token-wise").guarantee.value
    'exact'
    """
    if name not in RULES:
        raise InvalidInput(f"rule {name!r} is not known; choose one of {', '.join(RULES)}.")
    return RULES[name]


def admit(rule: Rule, *, allow_lossy: bool = False) -> Rule:
    """Give the rule back, unless it is lossy and nobody asked for that.

    Raises
    ------
    InexactRule
        If the rule is lossy and `allow_lossy` is not set.
    """
    if rule.guarantee is Guarantee.LOSSY and not allow_lossy:
        raise InexactRule(
            f"rule {rule.name!r} changes the distribution; ask for it with allow_lossy=True if "
            f"that is what you want."
        )
    return rule
