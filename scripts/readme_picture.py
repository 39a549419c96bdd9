"""Draw docs/run.svg: the terminal of a real run on the default model, for the README.

The picture is what `draftproof run --compare` prints, exported by rich; nothing in it is typed in.
Run it again after the output changes: ``python scripts/readme_picture.py``.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from rich.text import Text

from draftproof.cli.demo import PROMPT
from draftproof.cli.run import conclude
from draftproof.cli.screen import STYLES, Screen, harmless
from draftproof.session import Options, Transcript, compare, open_session

OPTIONS = Options(max_tokens=72)
PICTURE = Path(__file__).parent.parent / "docs" / "run.svg"
WIDTH = 92


def main() -> None:
    """Run, record, export."""
    paper = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        legacy_windows=False,
        no_color=False,
    )
    session = open_session(OPTIONS)
    text = session.encode(PROMPT)
    paper.print(Text(f'$ draftproof run --max-tokens 72 --compare "{PROMPT}"'))
    script = Transcript()
    paper.print(Screen(paper).legend())
    paper.print()
    for _ in session.run(text, script):
        pass
    parts = [(harmless(piece.text), STYLES[piece.source]) for piece in script.pieces]
    paper.print(Text.assemble(*parts))
    conclude(session, script, compare(session, text), whole=True, console=paper)
    PICTURE.write_text(paper.export_svg(title="draftproof run"), encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
