"""The command line: parsing and printing only, one small module per verb.

A verb's module is imported when the verb is used, so `draftproof --help` loads click and nothing
else. Whatever a user can get wrong ends in one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from draftproof import __version__
from draftproof.errors import DraftproofError

DONE, DOES_NOT_HOLD, REFUSED, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 130
BROKEN_PIPE = 141
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What the system says of an output that takes no more."""

VERBS = {
    "run": ("draftproof.cli.run:run", "Decode a prompt on a real model, with speculation."),
    "prove": ("draftproof.cli.prove:prove", "Is this verification rule exact?"),
    "audit": ("draftproof.cli.audit:audit", "Does somebody else's sampler follow the target?"),
    "plan": ("draftproof.cli.plan:plan", "Does speculation pay, and with which k?"),
    "bench": ("draftproof.cli.bench:bench", "How fast is it here, against the peers installed?"),
    "learn": ("draftproof.cli.learn:learn", "Open the interactive lessons."),
    "demo": ("draftproof.cli.demo:demo", "See all of it once: a real run, a table, a proof."),
    "setup": ("draftproof.cli.setup:setup", "Fetch and prepare the default model."),
}


class Verbs(click.Group):
    """The program: finds a verb by name, imports it, and turns refusals into one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the verbs in the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb and give its command."""
        if cmd_name not in VERBS:
            return None
        module, name = VERBS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, summary) for verb, (_, summary) in VERBS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a reader who has gone away is no error of ours."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence()
            return BROKEN_PIPE
        return code

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command line and exit with its code."""
        extra["standalone_mode"] = False
        extra["prog_name"] = "draftproof"
        _ready_streams()
        sys.exit(_exit_code(lambda: super(Verbs, self).main(args, **extra)))


def _ready_streams() -> None:
    """Let every text be written: a closed stream is nowhere, a strange character is escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and not _is_utf8(stream.encoding):
            stream.reconfigure(errors="backslashreplace")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _silence() -> None:
    """Send what is still to be written to standard output nowhere, so that the end is quiet."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_code(command: Callable[[], Any]) -> int:
    try:
        code = command()
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _say("interrupted.", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return DONE
    except click.UsageError as error:
        return _say(_usage_sentence(error), REFUSED)
    except click.ClickException as error:
        return _say(error.format_message(), REFUSED)
    except DraftproofError as error:
        return _say(str(error), REFUSED)
    except OSError as error:
        _silence()
        return _say(_system_sentence(error), REFUSED)
    return code if isinstance(code, int) else DONE


def _say(sentence: str, code: int) -> int:
    with suppress(OSError):
        click.echo(f"draftproof: {sentence}", err=True)
    return code


def _system_sentence(error: OSError) -> str:
    """Say what the system refused, and where."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: cannot be used ({reason}); check the path and its rights."
    if error.errno in UNWRITABLE:
        return f"the output cannot be written ({reason}); free some space, or write it elsewhere."
    return f"the system refused what this needs ({reason}); see to that and try again."


def _usage_sentence(error: click.UsageError) -> str:
    sentence = " ".join(error.format_message().split()).rstrip(".")
    verb = error.ctx.command_path if error.ctx is not None else "draftproof"
    return f"{sentence}; '{verb} --help' lists what there is."


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
    Examples:
      draftproof setup
      draftproof run "Why is the sky blue?"
      draftproof prove --rule token-wise --target-row 1/2,3/10,1/5 --draft-row 1/4,1/2,1/4
      draftproof plan --acceptance 0.8 --t-target 10ms --t-verify 12ms --t-draft 1ms

    Exit codes: 0 done, or it holds; 1 it does not hold; 2 bad input; 3 inconclusive;
    130 interrupted.""",
)
@click.version_option(__version__, prog_name="draftproof")
def main() -> None:
    """Speculative decoding you can check: run it, prove it, plan it, learn it."""
