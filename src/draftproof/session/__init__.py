"""A model, a draft, a rule and the settings of one run, opened together; nothing here prints.

`open_session` reads options and opens what they name; a `Session` then turns prompts into
rounds and text. The command line, the demonstration and the lesson's live page all stand on it.
"""

from __future__ import annotations

from draftproof.session.comparison import Comparison, Gap, compare
from draftproof.session.models import Model, open_model
from draftproof.session.running import Options, Session, Step, Transcript, open_session
from draftproof.session.typist import Piece, Typist

__all__ = [
    "Comparison",
    "Gap",
    "Model",
    "Options",
    "Piece",
    "Session",
    "Step",
    "Transcript",
    "Typist",
    "compare",
    "open_model",
    "open_session",
]
