"""Speed here, of plain and speculative decoding and of the peers that are installed.

One run, interleaved: every contestant decodes the same prompt before any decodes the next one, in
an order that changes, so that a machine that slows down favours nobody. Each peer lives in a
process of its own and waits while another works.
"""

from __future__ import annotations

from draftproof.bench.running import Row, run_bench
from draftproof.bench.tasks import TASKS, Task

__all__ = ["TASKS", "Row", "Task", "run_bench"]
