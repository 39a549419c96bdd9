"""A replayable record of a run, as JSON lines.

The first line is a header, then one line per round, then an end line. A round's line holds, for
each drafted token, the two numbers that were compared, the coin and the verdict; the source of
each emitted token; and for each position looked at, the largest entries of p, q and the residual
with the *exact* mass of all the others, so that nothing is lost by the cut. Format name:
``draftproof-trace/1``; documented in docs/trace.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from draftproof.chance import Chance, Dice
from draftproof.contracts import Predictor, Source, Text
from draftproof.decode import Round
from draftproof.dist import Row, excess, keeps
from draftproof.errors import InvalidInput

FORMAT = "draftproof-trace/1"
TOP = 8


class Witness:
    """A `Chance` that passes everything on to `Dice` and remembers each coin by its node.

    Examples
    --------
    >>> witness = Witness(Dice(3))
    >>> kept = witness.after(5).at("coin", 0).accepts(0.5, 1.0)
    >>> witness.coins(5) == {0: Dice(3).after(5).at("coin", 0).uniform()}
    True
    """

    def __init__(
        self,
        dice: Dice,
        seen: dict[int, dict[int, float]] | None = None,
        start: int = 0,
        node: int | None = None,
    ) -> None:
        self._dice, self._start, self._node = dice, start, node
        self._seen = {} if seen is None else seen

    def coins(self, start: int) -> dict[int, float]:
        """Give the coin of each node that was tested in the round after `start` tokens."""
        return self._seen.get(start, {})

    def after(self, length: int) -> Witness:
        """Give the luck of a round, watched."""
        return Witness(self._dice.after(length), self._seen, length)

    def at(self, purpose: str, *index: int) -> Witness:
        """Give the luck of one purpose and node; the first coin of a node is remembered."""
        node = index[0] if purpose == "coin" and index else None
        return Witness(self._dice.at(purpose, *index), self._seen, self._start, node)

    def own(self, offset: int) -> Chance:
        """Give the target's own luck."""
        return self._dice.own(offset)

    def accepts(self, p: Any, q: Any = 1) -> bool:
        """Decide a coin, and remember it if it is a node's first."""
        if self._node is not None:
            self._seen.setdefault(self._start, {}).setdefault(self._node, self._dice.peek())
        return self._dice.accepts(p, q)

    def pick(self, weights: Row) -> int:
        """Pick, unwatched."""
        return self._dice.pick(weights)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dice, name)

    def race(self, weights: Row) -> int:
        """Race, unwatched."""
        return self._dice.race(weights)


class Glass:
    """A `Predictor` that passes rows on and keeps those of the last call, for the record."""

    def __init__(self, target: Predictor) -> None:
        self._target = target
        self.last: Any = ()

    def rows(self, text: Text, draft: Any) -> Any:
        """Give the target's rows, and remember them until the next call."""
        self.last = self._target.rows(text, draft)
        return self.last


def round_record(
    one: Round,
    rows: Any,
    coins: dict[int, float],
    spell: Callable[[int], str] = str,
    top: int = TOP,
) -> dict[str, Any]:
    """Give one round as a JSON-ready record.

    Parameters
    ----------
    one
        The round.
    rows
        The target's rows of that round; only the ones that were looked at are read.
    coins
        The coin of each tested node (`Witness.coins`).
    spell
        Turns a token id into text.
    top
        How many of the largest entries of each row are listed.
    """
    trials = {trial.node: trial for trial in one.verdict.trials}
    drafted = []
    for node, token in enumerate(one.draft.tokens):
        trial = trials.get(node)
        drafted.append(
            {
                "token": token,
                "text": spell(token),
                "parent": one.draft.parents[node],
                "p": float(trial.p) if trial else None,
                "q": float(trial.q) if trial else float(one.draft.rows[node][token]),
                "coin": coins.get(node),
                "verdict": ("kept" if trial.kept else "rejected") if trial else "untested",
            }
        )
    emitted = [
        {"token": token, "text": spell(token), "source": source.value}
        for token, source in zip(one.emitted, one.verdict.sources, strict=False)
    ]
    looked = [_position(one, rows, trial.node, spell, top) for trial in one.verdict.trials]
    if one.verdict.sources[-1] in (Source.BONUS, Source.TARGET):
        last = one.verdict.path[-1] + 1 if one.verdict.path else 0
        looked.append({"node": None, **_listing("p", rows[last], spell, top)})
    return {
        "type": "round",
        "round": one.index,
        "start": one.start,
        "k": one.k,
        "draft": drafted,
        "emitted": emitted,
        "rows": looked,
    }


def _position(
    one: Round, rows: Any, node: int, spell: Callable[[int], str], top: int
) -> dict[str, Any]:
    p, q = rows[one.draft.parents[node] + 1], one.draft.rows[node]
    under = excess(p, q)
    mass = under.sum()
    return {
        "node": node,
        "overlap": float(np.minimum(p, q).sum()),
        **_listing("p", p, spell, top),
        **_listing("q", q, spell, top),
        **_listing("residual", under / mass if mass > 0 else p, spell, top),
    }


def _listing(name: str, row: Row, spell: Callable[[int], str], top: int) -> dict[str, Any]:
    values = row.astype(np.float64)
    few = min(top, values.size)
    largest = np.argpartition(-values, few - 1)[:few]
    order = largest[np.argsort(-values[largest], kind="stable")]
    listed = [[int(at), spell(int(at)), float(values[at])] for at in order if values[at] > 0]
    rest = float(values.sum() - values[order].sum())
    return {f"{name}_top": listed, f"{name}_rest": max(rest, 0.0)}


class TraceWriter:
    """Writes records to a file line by line, so that an interruption loses nothing written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, record: dict[str, Any]) -> None:
        """Append one record and flush it."""
        self._stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._stream.flush()


def read_json_line(line: str, where: str) -> Any:
    """Read one line of JSON.

    Raises
    ------
    InvalidInput
        Says what is wrong with the line at `where`.
    """
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{where} is not JSON ({error.msg}).") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{where} has a number too long, or brackets too deep.") from None


def read_trace(path: Path) -> list[dict[str, Any]]:
    """Read a trace back; its lines are data and nothing in them is executed.

    Raises
    ------
    InvalidInput
        Names the line that is not a record of this format, or says why the file cannot be read.
    """
    records: list[dict[str, Any]] = []
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}).") from None
    for number, line in enumerate(lines, start=1):
        record = read_json_line(line, f"{path}, line {number}")
        if not isinstance(record, dict) or "type" not in record:
            raise InvalidInput(f"{path}, line {number} is not a trace record: it has no type.")
        records.append(record)
    if not records or records[0].get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a {FORMAT} file; its first line must be the header.")
    return records


def replay(records: Iterable[dict[str, Any]]) -> list[str]:
    """Check every verdict of a trace against its own numbers; give one sentence per conflict.

    Examples
    --------
    >>> token = {"token": 1, "p": 0.2, "q": 0.5, "coin": 0.9, "verdict": "kept"}
    >>> replay([{"type": "round", "round": 0, "draft": [token]}])
    ['round 0, draft token 0: coin 0.9 times q 0.5 is not below p 0.2, yet it was kept.']
    """
    conflicts = []
    for record in (record for record in records if record["type"] == "round"):
        for node, drafted in enumerate(record["draft"]):
            if drafted["verdict"] == "untested" or drafted["coin"] is None:
                continue
            kept = keeps(drafted["coin"], drafted["p"], drafted["q"])
            if kept != (drafted["verdict"] == "kept"):
                relation = "below" if kept else "not below"
                conflicts.append(
                    f"round {record['round']}, draft token {node}: coin {drafted['coin']} times q "
                    f"{drafted['q']} is {relation} p {drafted['p']}, yet it was "
                    f"{drafted['verdict']}."
                )
    return conflicts
