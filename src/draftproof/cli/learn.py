"""`draftproof learn`: the interactive lessons, and the same tests in the terminal."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click

from draftproof.cli import DOES_NOT_HOLD, DONE
from draftproof.cli.reading import FilePath, Read, read_count
from draftproof.errors import InvalidInput, MissingExtra
from draftproof.lesson import export as reports
from draftproof.lesson.check import CheckResult
from draftproof.lesson.check import check as grade
from draftproof.lesson.progress import ProgressStore, default_folder
from draftproof.lesson.shelf import find

LAB = ("jinja2", "markupsafe", "starlette", "uvicorn")
"""What the extra of that name brings."""


class Learn(click.Command):
    """A command whose first word may be a lesson or `check`.

    A click group cannot take an optional argument as well, so `check` is looked for before the
    arguments are read.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Hand over to `check` when it is the first word."""
        if args[:1] == ["check"]:
            return check.make_context(f"{info_name} check", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the context was made for."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command()
@click.argument("lesson")
@click.argument("file", type=FilePath())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.  [default: off]")
def check(lesson: str, file: Path, *, as_json: bool) -> int:
    """Run the tests of LESSON (a number or an id) on your own FILE.

    It runs in this Python, with this NumPy: the same tests as in the page. Exit code 0 when
    every test passes, 1 otherwise.

    Example: draftproof learn check 3 rejection_correction.py
    """
    result = grade(lesson, file)
    click.echo(json.dumps(result.to_json()) if as_json else _report(result))
    return DONE if result.passed else DOES_NOT_HOLD


def _report(result: CheckResult) -> str:
    """Give the verdict, one line per test, and what the first failure was about."""
    tests = result.tests
    passed = sum(test["status"] == "pass" for test in tests)
    lines = [f"{'✓' if test['status'] == 'pass' else '✗'} {test['name']}" for test in tests]
    failed = next((test for test in tests if test["status"] != "pass"), None)
    if failed:
        lines += ["", f"{failed['name']}: {failed['message']}"]
        lines += [f"  {failed['call']}"] if failed["call"] else []
        lines += [f"  -> {failed['got']}"] if failed["got"] else []
    if result.message:
        lines += ["", result.message]
    if result.stdout and not result.passed:
        lines += ["", "Your program printed:", result.stdout.rstrip()]
    return "\n".join([*lines, "", f"{passed} of {len(tests)} tests passed."])


@click.command(
    cls=Learn,
    epilog="""\b
    Examples:
      draftproof learn                    the chapter, in your browser
      draftproof learn 3                  straight to lesson 3
      draftproof learn --export mine.md   your answers and code, without a server
      draftproof learn check 3 mine.py    the tests of lesson 3, in the terminal""",
)
@click.argument("lesson", required=False)
@click.option(
    "--port",
    type=Read("N", partial(read_count, most=65535)),
    help="Port to listen on; 0 lets the system choose.  [default: 8765, or the next free of 20]",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.  [default: off]")
@click.option(
    "--export",
    type=FilePath(dir_okay=False),
    help="Write your progress to a new FILE (.md or .json) and stop.  [default: none]",
)
@click.option(
    "--data-dir",
    type=FilePath(file_okay=False),
    help="Folder that holds your progress.  [default: your user data folder]",
)
def learn(
    lesson: str | None,
    port: int | None,
    *,
    no_browser: bool,
    export: Path | None,
    data_dir: Path | None,
) -> None:
    """Open the interactive lessons, or straight LESSON (a number or an id).

    The pages are served on this machine's loopback address only, need no network, and work
    without the language model.
    """
    store = ProgressStore(data_dir or default_folder())
    path = "/" if lesson is None else f"/lesson/{find(lesson).n}"
    if export is not None:
        if data_dir is not None and not data_dir.is_dir():
            raise InvalidInput(f"--data-dir {data_dir}: there is no such folder to export from.")
        _write_report(store, export)
        return
    if data_dir is not None:
        _check_folder(data_dir)
    _serve(store, port, path, browser=not no_browser)


def _check_folder(folder: Path) -> None:
    """Refuse a folder in which nothing could be kept, before an hour's work goes into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InvalidInput(
            f"--data-dir {folder}: nothing can be written there ({error.strerror}); name a folder "
            f"of yours."
        ) from None


def _write_report(store: ProgressStore, file: Path) -> None:
    text = reports.document(store.load(), reports.format_of(file))
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InvalidInput(f"--export {file}: exists already; name a new file.") from None
    except OSError as error:
        raise InvalidInput(f"--export {file}: cannot be written ({error.strerror}).") from None
    click.echo(f"Progress written to {file}.")


def _serve(store: ProgressStore, port: int | None, path: str, *, browser: bool) -> None:
    try:
        from draftproof.lesson import server
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in LAB:
            raise
        raise MissingExtra(
            "the lessons need the extra 'lab'; type: pip install 'draftproof[lab]'"
        ) from missing
    server.run(store, port, path, click.echo, browser=browser)
