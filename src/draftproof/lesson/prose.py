r"""The prose of lessons as HTML: Markdown, with formulas that were turned into MathML beforehand.

>>> text = Prose({"$p_i$": "<math>...</math>"})
>>> text.inline("The *target* is $p_i$ here.")
Markup('The <em>target</em> is <math>...</math> here.')

Punctuation is held to the formula before it, so that no line begins with a comma.

>>> text.inline("Here $p_i$, there.")
Markup('Here <span class="held"><math>...</math>,</span> there.')

A formula that was not built is shown as it was typed, so a page can always be read.

>>> text.inline(r"$\sqrt{2}$")
Markup('<code class="tex">\\sqrt{2}</code>')
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markupsafe import Markup, escape

FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$\n]+)\$")
"""A formula, displayed or inline; the build of the pages looks for the same."""

CLOSING = re.compile(r"[,.;:!?)]*")
"""What must not begin a line; a browser may break between a formula and any text."""


class Prose:
    """Turns lesson text into HTML; `formulas` gives the MathML of each formula."""

    def __init__(self, formulas: Mapping[str, str]) -> None:
        self._formulas = formulas
        self._markdown = MarkdownIt("commonmark", {"html": False})
        self._markdown.inline.ruler.before("escape", "formula", self._formula)

    def block(self, text: str) -> Markup:
        """Give paragraphs and lists."""
        return Markup(self._markdown.render(text))

    def inline(self, text: str) -> Markup:
        """Give one line, without a paragraph around it."""
        return Markup(self._markdown.renderInline(text))

    def _formula(self, state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's
        found = FORMULA.match(state.src, state.pos)
        if not found:
            return False
        closing = CLOSING.match(state.src, found.end()) if found[2] else None
        after = closing[0] if closing else ""
        if not silent:
            token = state.push("html_inline", "", 0)
            shown = self._formulas.get(found[0]) or _as_typed(found)
            token.content = f'<span class="held">{shown}{after}</span>' if after else shown
        state.pos = found.end() + len(after)
        return True


def _as_typed(found: re.Match[str]) -> str:
    kind = "tex display" if found[1] else "tex"
    return f'<code class="{kind}">{escape((found[1] or found[2]).strip())}</code>'
