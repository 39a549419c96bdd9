"""The verification rules by name."""

from __future__ import annotations

from draftproof.contracts import Rule
from draftproof.errors import InvalidInput
from draftproof.rules.blocks import BLOCK_RULES
from draftproof.rules.branching import TREE_RULES
from draftproof.rules.chain import CHAIN_RULES
from draftproof.rules.lossy import LOSSY_RULES
from draftproof.rules.selection import SIBLING_RULES

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (*CHAIN_RULES, *SIBLING_RULES, *TREE_RULES, *BLOCK_RULES, *LOSSY_RULES)
}


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
    if not isinstance(name, str) or name not in RULES:
        raise InvalidInput(f"rule {name!r} is not known; choose one of {', '.join(RULES)}.")
    return RULES[name]
