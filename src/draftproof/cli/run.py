"""`draftproof run`: decode a prompt on a real model, with speculation."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import click
from rich.console import Console

from draftproof.cli import DOES_NOT_HOLD, DONE, INTERRUPTED
from draftproof.cli.reading import (
    FLOAT,
    MODEL,
    FilePath,
    Read,
    count,
    read_bias,
    read_k,
    read_prompt,
)
from draftproof.cli.run_options import opened, read_options
from draftproof.cli.run_report import report
from draftproof.cli.screen import Progress, Screen, comparison_table, console_for, summary
from draftproof.errors import InvalidInput
from draftproof.session import (
    Comparison,
    Options,
    Session,
    Transcript,
    compare,
)
from draftproof.session.costing import REPEATS
from draftproof.trace import TraceWriter

DEFAULTS = Options()


earlier_option = click.option(
    "--earlier",
    type=FilePath(dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Text the draft suffix may copy from too; may be repeated.  [default: none]",
)


@click.command(
    epilog="""\b
    Examples:
      draftproof run "Why is the sky blue?"
      draftproof run --temperature 0 --compare "Name three rivers."
      cat letter.txt | draftproof run --draft prompt-lookup --json -""",
)
@click.argument("prompt")
@click.option(
    "--target",
    type=MODEL,
    default=DEFAULTS.target,
    show_default=True,
    help="Model to decode with: smollm2, or the path of a GGUF file.",
)
@click.option(
    "--draft",
    type=MODEL,
    default=DEFAULTS.draft,
    show_default=True,
    help="What drafts: ngram, prompt-lookup, suffix, or the path of a model over the same tokens.",
)
@click.option(
    "--rule",
    metavar="NAME",
    default=DEFAULTS.rule,
    show_default=True,
    help="Verification rule; a lossy one is used only because it is named here.",
)
@click.option(
    "-k",
    "k",
    type=Read("N|auto", read_k),
    metavar="N|auto",
    default=str(DEFAULTS.k),
    show_default=True,
    help="Tokens to draft per round; 0 decodes plainly, auto chooses round by round.",
)
@click.option(
    "--drafts",
    type=count(1),
    help="Drafts per position, for rules that take several.  [default: 2 for these, else 1]",
)
@click.option(
    "--max-tokens",
    type=count(0),
    default=str(DEFAULTS.max_tokens),
    show_default=True,
    help="Most tokens to emit.",
)
@click.option(
    "--temperature",
    type=FLOAT,
    default=str(DEFAULTS.warp.temperature),
    show_default=True,
    help="0 is greedy; must not be negative.",
)
@click.option("--top-k", type=count(1), help="Keep the N likeliest tokens.  [default: all]")
@click.option(
    "--top-p",
    type=FLOAT,
    default="1",
    show_default=True,
    help="Keep the likeliest tokens that hold this share of the probability.",
)
@click.option(
    "--min-p",
    type=FLOAT,
    default="0",
    show_default=True,
    help="Keep tokens with this share of the largest probability.",
)
@click.option(
    "--repetition-penalty",
    type=FLOAT,
    default="1",
    show_default=True,
    help="Divide the logits of tokens already seen; 1 is none.",
)
@click.option(
    "--presence-penalty",
    type=FLOAT,
    default="0",
    show_default=True,
    help="Subtract this from tokens already generated.",
)
@click.option(
    "--frequency-penalty",
    type=FLOAT,
    default="0",
    show_default=True,
    help="Subtract this for each time a token was generated.",
)
@click.option(
    "--logit-bias",
    type=Read("ID:X", read_bias),
    multiple=True,
    help="Add X to the logit of token ID; -inf forbids it; may be repeated.  [default: none]",
)
@click.option(
    "--min-tokens",
    type=count(0),
    default="0",
    show_default=True,
    help="Do not end the text before this many tokens.",
)
@click.option(
    "--stop",
    metavar="TEXT",
    multiple=True,
    help="End the text before TEXT; may be repeated.  [default: none]",
)
@click.option(
    "--seed",
    type=count(0),
    default=str(DEFAULTS.seed),
    show_default=True,
    help="One seed, one text.",
)
@earlier_option
@click.option(
    "--vocabulary",
    type=click.Choice(["same", "intersection", "text"]),
    default=DEFAULTS.vocabulary,
    show_default=True,
    help="For a draft model over other tokens than the target's: refuse it, use its law on the "
    "tokens both have, or use the text it writes.",
)
@click.option(
    "--raw", is_flag=True, help="Feed PROMPT as it is, without the chat template.  [default: off]"
)
@click.option(
    "--compare",
    "comparing",
    is_flag=True,
    help="Decode plainly too, in turn, and "
    "measure the engine's numeric gap; exit 1 if a text that must be equal is not.  "
    "[default: off]",
)
@click.option(
    "--trace",
    type=FilePath(dir_okay=False),
    metavar="FILE",
    help="Write a replayable record, JSON lines; an existing FILE is refused.  [default: none]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def run(prompt: str, comparing: bool, trace: Path | None, as_json: bool, **flags: Any) -> int:
    """Decode PROMPT with speculation and show which tokens were drafted and kept.

    PROMPT may be '-' for standard input. The text goes to standard output, everything else to
    standard error.
    """
    options = read_options(flags)
    words = read_prompt(prompt)
    progress = Progress()
    progress("opening the models")
    session = opened(options)
    text = session.encode(words)
    progress.expect(REPEATS)
    session.schedule(text, lambda: progress("measuring what a round costs here, once"))
    progress.clear()
    script, whole = Transcript(), True
    screen = None if as_json else Screen(console_for(sys.stdout))
    with _record(trace) as writer:
        whole = decode(session, text, script, screen, writer)
    found = compared(session, text, progress) if comparing and whole else None
    cut = not whole or (comparing and found is None)
    if as_json:
        told = report(session, script, found, comparing=comparing, interrupted=cut)
        click.echo(json.dumps(told))
    else:
        conclude(session, script, found, whole=not cut)
    if cut:
        return INTERRUPTED
    return DONE if found is None or found.holds else DOES_NOT_HOLD


def compared(session: Session, text: tuple[int, ...], progress: Progress) -> Comparison | None:
    """Compare with plain decoding; None when Ctrl-C ended it, so that the run is still told."""
    try:
        return compare(session, text, tick=progress)
    except KeyboardInterrupt:
        return None
    finally:
        progress.clear()


@contextmanager
def _record(file: Path | None) -> Iterator[TraceWriter | None]:
    """Open a trace that does not exist yet; every record is on disk when its round is over."""
    if file is None:
        yield None
        return
    try:
        stream: TextIO = file.open("x", encoding="utf-8")
    except FileExistsError:
        raise InvalidInput(f"--trace {file}: exists already; name a new file.") from None
    except OSError as error:
        raise InvalidInput(f"--trace {file}: cannot be written ({error.strerror}).") from None
    with stream:
        yield TraceWriter(stream)


def decode(
    session: Session,
    text: tuple[int, ...],
    script: Transcript,
    screen: Screen | None,
    writer: TraceWriter | None = None,
) -> bool:
    """Decode and show; False when Ctrl-C ended it. A round that has begun is finished first."""
    if screen is not None and (legend := screen.legend()) is not None:
        console_for(sys.stderr).print(legend)
    shown = 0
    with _brake() as (pulled, release):
        for _ in session.run(text, script, trace=writer):
            release()
            if screen is not None:
                screen.show(script.pieces[shown:])
                screen.close_round()
            shown = len(script.pieces)
            if pulled():
                break
    if screen is not None:
        screen.show(script.pieces[shown:])
        screen.end()
    if not pulled() and script.ends is None:  # no round was asked for
        script.ends = "length"
    return not pulled()


@contextmanager
def _brake() -> Iterator[tuple[Callable[[], bool], Callable[[], None]]]:
    """Let Ctrl-C wait for the end of a round, once rounds have begun; a second one does not."""
    asked: list[int] = []
    decoding: list[bool] = []

    def pull(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if not decoding or len(asked) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, pull)
    try:
        yield lambda: bool(asked), lambda: decoding.append(True)
    except KeyboardInterrupt:
        if not asked:
            raise
    finally:
        signal.signal(signal.SIGINT, before)


def conclude(
    session: Session,
    script: Transcript,
    found: Comparison | None,
    *,
    whole: bool,
    console: Console | None = None,
) -> None:
    """Print the figures of a run, and of the comparison if there was one."""
    console = console or console_for(sys.stderr)
    console.print()
    if not whole:
        what = "decoded" if script.ends is None else "known"
        console.print(f"interrupted; this is what was {what} until then.", style="bold")
    options = session.options
    asked = (
        f"k = {options.k}, temperature {options.warp.temperature:g}, seed {options.seed}, "
        f"at most {options.max_tokens} tokens"
    )
    console.print(summary(session, script, asked), soft_wrap=False)
    if found is not None:
        console.print(comparison_table(found), soft_wrap=False)
