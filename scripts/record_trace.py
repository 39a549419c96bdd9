"""Record the decoding that ships with the lesson: the default model on a fixed prompt.

    python scripts/record_trace.py

The same version of the model and of the engine writes the same file again.
"""

from __future__ import annotations

import json
from pathlib import Path

from draftproof.lesson.live import default_model

FILE = Path("src/draftproof/lesson/traces/rejection-correction.json")
ORDER = {
    "prompt": "Red is a colour. Green is a colour. Blue is a colour. Yellow is a",
    "k": 3,
    "temperature": 0.8,
    "seed": 2,
    "max_tokens": 24,
    "proposer": "ngram",
}


def main() -> None:
    """Decode, and write one record per line."""
    records = list(default_model().run(ORDER))
    FILE.parent.mkdir(exist_ok=True)
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{FILE}: {records[-1]['text']!r}")
    sources = [token["source"] for one in records[1:-1] for token in one["emitted"]]
    print({source: sources.count(source) for source in sorted(set(sources))})


if __name__ == "__main__":
    main()
