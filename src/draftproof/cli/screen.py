"""How text and figures look: colours, marks without colour, and the summary of a run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from draftproof.contracts import Source
from draftproof.session import Comparison, Piece, Session, Transcript

STYLES = {
    Source.DRAFT: "green underline",
    Source.RESIDUAL: "bold yellow",
    Source.BONUS: "bold cyan",
    Source.TARGET: "",
}
MARKS = {
    Source.DRAFT: ("[", "]"),
    Source.RESIDUAL: ("{", "}"),
    Source.BONUS: ("<", ">"),
    Source.TARGET: ("", ""),
}
MEANINGS = {
    Source.DRAFT: "kept draft",
    Source.RESIDUAL: "correction",
    Source.BONUS: "bonus",
    Source.TARGET: "target alone",
}

VERDICTS = {
    "faster": "faster in every pair of runs",
    "slower": "speculation is SLOWER in every pair of runs",
    "cannot tell": "but the pairs of runs disagree, so this machine cannot tell now",
    None: "nothing to compare",
}

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a model may write but a terminal must not obey; newline and tab stay."""


BAR_WIDTH = 24
"""Characters of a progress bar."""


class _Paper(Console):
    """A console that leaves a closed pipe to the program."""

    def on_broken_pipe(self) -> None:
        """Let the error that is being handled go on."""
        raise


def console_for(stream: IO[str]) -> Console:
    """Give a console that never rewrites what is printed on it."""
    return _Paper(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def harmless(text: str) -> str:
    """Make control characters visible, so that no text of a model steers a terminal.

    Examples
    --------
    >>> harmless("a" + chr(27) + "[2J")
    'a␛[2J'
    """
    return CONTROLS.sub(lambda match: _picture(ord(match[0])), text)


def _picture(code: int) -> str:
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


class Screen:
    """Prints pieces as they come: coloured, marked, or bare.

    On a terminal with colours the source of each piece is its colour and style. On one without
    (``NO_COLOR``, ``TERM=dumb``) it is a pair of marks. Anywhere else only the text is printed.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bare = not console.is_terminal
        self._marked = not self._bare and (console.no_color or console.color_system is None)
        self._open: Source | None = None

    def legend(self) -> Text | None:
        """Give the line that says how sources are told apart; None where they are not."""
        if self._bare:
            return None
        parts = [self._sample(source) for source in Source]
        return Text("  ").join(parts)

    def _sample(self, source: Source) -> Text:
        if self._marked:
            before, after = MARKS[source]
            return Text(f"{before}{MEANINGS[source]}{after}")
        return Text(MEANINGS[source], style=STYLES[source])

    def show(self, pieces: Iterable[Piece]) -> None:
        """Print some pieces at once."""
        for piece in pieces:
            if self._bare:
                self._write(Text(piece.text))
                continue
            if self._marked:
                self._turn(piece.source)
            style = "" if self._marked else STYLES[piece.source]
            self._write(Text(harmless(piece.text), style=style))
        self._console.file.flush()

    def close_round(self) -> None:
        """Close the marks of a round, so that the next one is seen to begin."""
        if self._marked:
            self._turn(None)

    def end(self) -> None:
        """End the text with a line break, where a person is looking."""
        self.close_round()
        self._console.file.write("\n")
        self._console.file.flush()

    def _turn(self, source: Source | None) -> None:
        if source is self._open:
            return
        closing = MARKS[self._open][1] if self._open else ""
        opening = MARKS[source][0] if source else ""
        self._open = source
        self._write(Text(closing + opening))

    def _write(self, text: Text) -> None:
        if self._bare:
            self._console.file.write(text.plain)
        else:
            self._console.print(text, end="")


class Progress:
    """One line on standard error that says what takes time; nothing where nobody looks.

    On a terminal the line is rewritten, with a bar where the number of steps is known; anywhere
    else each step is a line of its own.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = console_for(sys.stderr)
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._quiet = quiet
        self._shown = False
        self._done = self._total = 0

    def expect(self, steps: int) -> None:
        """Draw a bar over the next `steps` calls."""
        self._done, self._total = 0, steps

    def __call__(self, what: str) -> None:
        """Say what comes next."""
        if self._quiet:
            return
        if self._live:
            self._draw(f"{what} ...")
        else:
            sys.stderr.write(f"{what} ...\n")
        sys.stderr.flush()
        self._done += 1

    def _draw(self, words: str) -> None:
        self.clear()
        room = self._console.width - 1
        if self._total:
            done = min(self._done, self._total)
            bar = ProgressBar(total=self._total, completed=done, width=BAR_WIDTH)
            self._console.print(bar, end="")
            words = f" {done / self._total:4.0%} {words}"
            room -= BAR_WIDTH
        self._console.file.write(f"{words:.{max(room, 0)}}\r")
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r" + " " * (self._console.width - 1) + "\r")
            sys.stderr.flush()
        self._shown = False


def summary(session: Session, script: Transcript, asked: str) -> Table:
    """Give the figures of one run as two columns of words and numbers."""
    tally = script.tally
    table = _two_columns()
    table.add_row("models", _models(session))
    table.add_row("asked for", asked)
    table.add_row("tokens", _tokens(script))
    table.add_row("acceptance", _acceptance(script))
    if tally.accepted_per_position:
        shares = "  ".join(f"{share:.0%}" for share in tally.accepted_per_position)
        table.add_row("  per position", f"{shares}  (of the rounds that got there)")
    table.add_row("speed", _speed(script))
    table.add_row("time", _time(script))
    return table


def _two_columns() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, min_width=14, style="bold")
    table.add_column(overflow="fold")
    return table


def _models(session: Session) -> str:
    guarantee, engine = session.rule.guarantee.value, session.target.engine
    way = session.options.vocabulary
    foreign = "" if way == "same" else f" (by {way})"
    return (
        f"{session.target.backend.name} drafted by {session.options.draft}{foreign}; rule "
        f"{session.rule.name} ({guarantee}); engine {engine}"
    )


def _tokens(script: Transcript) -> str:
    tally = script.tally
    ending = {"stop": "at a stop", "length": "at the length limit", None: "unfinished"}
    each = f", {tally.tokens_per_round:.2f} per round" if tally.tokens_per_round else ""
    return f"{tally.emitted} in {tally.rounds} rounds{each}; ended {ending[script.ends]}"


def _acceptance(script: Transcript) -> str:
    tally = script.tally
    if tally.acceptance_rate is None:
        return "nothing was drafted"
    tested = f"{tally.acceptance_per_test:.1%}" if tally.acceptance_per_test is not None else "-"
    return (
        f"{tally.accepted} of {tally.drafted} drafted tokens kept ({tally.acceptance_rate:.1%}); "
        f"{tested} of those tested"
    )


def _speed(script: Transcript) -> str:
    if script.tokens_per_second is None:
        return "no token was decoded"
    return (
        f"{script.tokens_per_second:.1f} tokens/s decoding, "
        f"{script.tokens_per_second_with_prefill:.1f} with prefill"
    )


def _time(script: Transcript) -> str:
    tally = script.tally
    parts = (
        ("prefill", script.prefill),
        ("draft", tally.draft_seconds),
        ("target", tally.target_seconds),
        ("everything else", tally.other_seconds),
    )
    words = [f"{name} {seconds:.3f} s" for name, seconds in parts]
    if script.seconds:
        words[-1] += f" ({tally.other_seconds / script.seconds:.1%} of decoding)"
    return ", ".join(words)


def comparison_table(found: Comparison) -> Table:
    """Give what the comparison with plain decoding found."""
    table = _two_columns()
    table.add_row("against plain", _against(found))
    table.add_row("same text", _same_text(found))
    gap = found.gap
    exactly = " (bit for bit the same)" if gap.positions and gap.max == 0 else ""
    table.add_row(
        "numeric gap",
        f"rows of one pass against one by one, total variation over {gap.positions} positions: "
        f"median {gap.median:.2g}, p95 {gap.p95:.2g}, max {gap.max:.2g}{exactly}",
    )
    return table


def _against(found: Comparison) -> str:
    if found.speedup is None:
        return "nothing was decoded, so there is nothing to compare"
    ratios = " ".join(f"{ratio:.2f}" for ratio in found.ratios)
    return (
        f"{found.speculative.tokens_per_second:.1f} tokens/s speculative, "
        f"{found.plain.tokens_per_second:.1f} plain (medians); {found.speedup:.2f}x, "
        f"{VERDICTS[found.verdict]} (median of the alternating pairs {ratios})"
    )


def _same_text(found: Comparison) -> str:
    parting = found.parting
    if parting is None:
        return "yes, token for token"
    where = (
        f"first difference at token {parting.position}, where the target's best is ahead by "
        f"{parting.margin:.2g}"
    )
    if found.must_agree:
        return f"NO, and it must be the same here; {where}"
    return f"no, and it need not be: both follow the target's law, with different luck; {where}"
