"""Whether somebody else's sampler is exact, and if not, which bug it has.

``audit(fn)`` proves or refutes a foreign function by enumerating its luck, gathers evidence at a
stated error level where that cannot be done, and names the bug. The names below are loaded when
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftproof.audit.auditing import Audit, audit, prepare
    from draftproof.audit.catalogue import ACQUITTED, STEP_SUSPECTS, find_suspect
    from draftproof.audit.diagnosis import Diagnosis, diagnose, telling_input
    from draftproof.audit.enumerate import enumerate_sampler
    from draftproof.audit.findings import Report
    from draftproof.audit.loop_world import LoopWorld
    from draftproof.audit.loops import audit_loop, prepare_loops
    from draftproof.audit.sequential import Budget

_HOME = {
    "draftproof.audit.auditing": ("Audit", "audit", "prepare"),
    "draftproof.audit.catalogue": ("ACQUITTED", "STEP_SUSPECTS", "find_suspect"),
    "draftproof.audit.diagnosis": ("Diagnosis", "diagnose", "telling_input"),
    "draftproof.audit.enumerate": ("enumerate_sampler",),
    "draftproof.audit.findings": ("Report",),
    "draftproof.audit.loop_world": ("LoopWorld",),
    "draftproof.audit.loops": ("audit_loop", "prepare_loops"),
    "draftproof.audit.sequential": ("Budget",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ACQUITTED",
    "STEP_SUSPECTS",
    "Audit",
    "Budget",
    "Diagnosis",
    "LoopWorld",
    "Report",
    "audit",
    "audit_loop",
    "diagnose",
    "enumerate_sampler",
    "find_suspect",
    "prepare",
    "prepare_loops",
    "telling_input",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'draftproof.audit' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
