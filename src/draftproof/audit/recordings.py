"""Recorded traces as files: read line by line, every field checked, every decision replayed.

Two formats, told apart by their first line. ``draftproof-trace/1`` is what ``draftproof run
--trace`` writes. ``draftproof-steps/1`` is for others to write, one speculative step per line::

    {"format": "draftproof-steps/1", "source": "my engine 1.2"}
    {"p": [0.5, 0.3, 0.2], "q": [0.25, 0.5, 0.25], "draft": 1, "coin": 0.7, "kept": false,
     "token": 0}

`p` and `token` are needed; `q` lets more suspects bet, and with `draft`, `coin` and `kept` the
decision itself is replayed. Nothing in a file is executed, and nothing in it is put right: a
field of the wrong kind is refused by its file and line.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.audit.foreign import shortened
from draftproof.dist import Row, check_row, excess, keeps
from draftproof.errors import InvalidInput
from draftproof.trace import FORMAT as TRACE_FORMAT
from draftproof.trace import read_json_line, read_trace, replay

FORMAT = "draftproof-steps/1"

ROUNDED = 1e-3
"""How far from 1 the listed part of a row and its rest may add up to."""


@dataclass(frozen=True, slots=True)
class Emission:
    """One token that came out, and the row it should follow.

    `q` is None where unknown. A row that is not `whole` lists the likeliest tokens, and holds all
    the others in its last cell.
    """

    p: Row
    q: Row | None
    token: int
    whole: bool = True


@dataclass(slots=True)
class Recording:
    """What a file holds: emissions in order, and decisions that contradict their numbers.

    `cut` is the first line that was not read, for want of time.
    """

    emissions: list[Emission] = field(default_factory=list)
    decisions: int = 0
    conflicts: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    cut: int | None = None


def read_recording(
    path: Path, *, deadline: float = math.inf, clock: Callable[[], float] = time.monotonic
) -> Recording:
    """Read a recorded trace of either format.

    Parameters
    ----------
    path
        The file.
    deadline
        Moment of `clock` after which no further step is read.

    Raises
    ------
    InvalidInput
        Names the file and the line that cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            first = stream.readline()
            header = _object(first, f"{path}, line 1")
            if header.get("format") == FORMAT:
                return _from_steps(stream, path, lambda: clock() > deadline)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8."
        ) from None
    if header.get("format") == TRACE_FORMAT:
        return _from_trace(path)
    raise InvalidInput(
        f"{path}, line 1 must be a header with the format {FORMAT!r} or {TRACE_FORMAT!r}; it is "
        f"{shortened(first.strip())}."
    )


def _object(line: str, where: str) -> dict[str, Any]:
    record = read_json_line(line, where)
    if not isinstance(record, dict):
        raise InvalidInput(f"{where} must be a JSON object; it is {shortened(record)}.")
    return record


# ---------------------------------------------------------------- fields


def _row(value: Any, where: str) -> Row:
    """Give a list of numbers as a row of floats, if it is a probability vector."""
    if not isinstance(value, list):
        raise InvalidInput(f"{where} is {shortened(value)}; it must be a list of probabilities.")
    return check_row(np.array([_number(one, where) for one in value]), name=where)


def _number(value: Any, where: str) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, int | float):
            return float(value)
    except OverflowError:
        pass
    raise InvalidInput(f"{where} has {shortened(value)}; it must be a number that a float holds.")


def _token(value: Any, size: float, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        most = "" if size == math.inf else f" to {size - 1}"
        raise InvalidInput(
            f"{where} is {shortened(value)}; it must be a token id from 0{most or ' on'}."
        )
    return value


def _coin(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InvalidInput(
            f"{where} is {shortened(value)}; a coin is a uniform number in [0, 1): write that "
            f"number, or leave the field out where no coin was thrown."
        )
    return float(value)


def _kept(value: Any, where: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(
            f"{where} is {shortened(value)}; write true or false, without quotation marks."
        )
    return value


# ---------------------------------------------------------------- steps of others


def _from_steps(stream: Iterator[str], path: Path, over: Callable[[], bool]) -> Recording:
    recording = Recording()
    for number, line in enumerate(stream, start=2):
        if over():
            recording.cut = number
            break
        if line.strip():
            where = f"{path}, line {number}"
            _take_step(recording, _object(line, where), where)
    return recording


def _take_step(recording: Recording, record: dict[str, Any], where: str) -> None:
    missing = [name for name in ("p", "token") if name not in record]
    if missing:
        raise InvalidInput(f"{where} has no {missing[0]!r}; every step needs p and token.")
    p = _row(record["p"], f"{where}: p")
    q = _row(record["q"], f"{where}: q") if record.get("q") is not None else None
    if q is not None and len(q) != len(p):
        raise InvalidInput(
            f"{where}: p has {len(p)} entries and q has {len(q)}; they must be over the same "
            f"tokens."
        )
    token = _token(record["token"], len(p), f"{where}: token")
    coin = _coin(record.get("coin"), f"{where}: coin")
    kept = _kept(record.get("kept"), f"{where}: kept")
    draft = record.get("draft")
    if draft is not None:
        draft = _token(draft, len(p), f"{where}: draft")
    recording.emissions.append(Emission(p, q, token))
    if q is not None and draft is not None and kept is not None:
        recording.decisions += 1
        conflict = _conflict(p, q, token, draft, coin, kept=kept)
        if conflict:
            recording.conflicts.append(f"{where}: {conflict}")


def _conflict(
    p: Row, q: Row, token: int, draft: int, coin: float | None, *, kept: bool
) -> str | None:
    """Say what contradicts the rule in one step; None where nothing does."""
    if not q[draft] > 0:
        return f"token {draft} was drafted, to which q gives nothing"
    if coin is not None and keeps(coin, p[draft], q[draft]) != kept:
        said = "kept" if kept else "rejected"
        return f"coin {coin} with p = {p[draft]:g} and q = {q[draft]:g}: token {draft} was {said}"
    if kept and token != draft:
        return f"token {draft} was kept and {token} came out"
    if not kept and excess(p, q).any() and not excess(p, q)[token] > 0:
        return f"after a rejection {token} came out, to which the residual gives nothing"
    return None


# ---------------------------------------------------------------- traces of ours


def _from_trace(path: Path) -> Recording:
    records = read_trace(path)
    rounds = []
    for number, record in enumerate(records, start=1):
        if record["type"] == "round":
            _check_round(record, f"{path}, line {number}")
            rounds.append(record)
    recording = Recording()
    recording.conflicts = replay(records)
    recording.decisions = sum(
        drafted["coin"] is not None for record in rounds for drafted in record["draft"]
    )
    emissions = [list(_emissions(record)) for record in rounds]
    if all(
        len(found) == len(record["emitted"])
        for found, record in zip(emissions, rounds, strict=True)
    ):
        recording.emissions = [one for found in emissions for one in found]
    else:
        recording.remarks.append(
            "the trace does not hold the target's row of every emitted token, and leaving tokens "
            "out because of what came out would bias the evidence: only the coins were replayed"
        )
    return recording


def _check_round(record: dict[str, Any], where: str) -> None:
    """Refuse a round whose fields are not those of docs/trace.md."""
    _needs(record, ("round", "draft", "emitted", "rows"), where)
    for at, drafted in enumerate(_objects(record, "draft", where)):
        _check_drafted(drafted, at, f"{where}: draft {at}")
    for at, emitted in enumerate(_objects(record, "emitted", where)):
        place = f"{where}: emitted {at}"
        _needs(emitted, ("token", "source"), place)
        _token(emitted["token"], math.inf, f"{place}: token")
    for at, row in enumerate(_objects(record, "rows", where)):
        _check_listed(row, len(record["draft"]), f"{where}: row {at}")


def _check_drafted(drafted: dict[str, Any], at: int, where: str) -> None:
    _needs(drafted, ("token", "parent", "p", "q", "coin", "verdict"), where)
    _token(drafted["token"], math.inf, f"{where}: token")
    parent, verdict = drafted["parent"], drafted["verdict"]
    if isinstance(parent, bool) or not isinstance(parent, int) or not -1 <= parent < at:
        raise InvalidInput(
            f"{where}: parent is {shortened(parent)}; it must be -1, or the place of a token "
            f"drafted before it."
        )
    if verdict not in ("kept", "rejected", "untested"):
        raise InvalidInput(
            f"{where}: verdict is {shortened(verdict)}; it must be kept, rejected or untested."
        )
    if _coin(drafted["coin"], f"{where}: coin") is not None and verdict != "untested":
        for name in ("p", "q"):
            _weight(drafted[name], f"{where}: {name}")


def _weight(value: Any, where: str) -> float:
    number = _number(value, where)
    if not 0 <= number < math.inf:
        raise InvalidInput(f"{where} is {shortened(value)}; it must be finite and not negative.")
    return number


def _check_listed(row: dict[str, Any], drafted: int, where: str) -> None:
    """Refuse a row whose listed part and rest are not probabilities that add up to 1."""
    _needs(row, ("node", "p_top", "p_rest"), where)
    if row["node"] is not None:
        _token(row["node"], drafted, f"{where}: node")
    top = row["p_top"]
    if not isinstance(top, list) or any(not isinstance(e, list) or len(e) != 3 for e in top):
        raise InvalidInput(f"{where}: p_top must be a list of [token, text, probability].")
    tokens = [_token(entry[0], math.inf, f"{where}: p_top") for entry in top]
    if len({*tokens}) < len(tokens):
        raise InvalidInput(f"{where}: p_top lists a token twice.")
    total = math.fsum(_weight(one, f"{where}: p_top") for one in (e[2] for e in top))
    total += _weight(row["p_rest"], f"{where}: p_rest")
    if abs(total - 1) > ROUNDED:
        raise InvalidInput(f"{where}: p_top and p_rest add up to {total:g}; they must add up to 1.")


def _needs(record: dict[str, Any], names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in record]
    if missing:
        raise InvalidInput(f"{where} has no {missing[0]!r}; docs/trace.md says what must be there.")


def _objects(record: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    value = record[name]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidInput(f"{where}: {name} is {shortened(value)}; it must be a list of objects.")
    return value


def _emissions(record: dict[str, Any]) -> Iterator[Emission]:
    """Give the emitted tokens of a round with the target's row, as far as rows were written."""
    at = -1
    for emitted in record["emitted"]:
        drafted = record["draft"]
        children = [n for n, one in enumerate(drafted) if one["parent"] == at]
        looked: list[int | None] = [*children] or [None]
        rows = [row for row in record["rows"] if row["node"] in looked]
        if not rows:
            return
        yield _listed(rows[0], emitted["token"])
        kept = [n for n in children if drafted[n]["token"] == emitted["token"]]
        if not kept or emitted["source"] in ("residual", "bonus"):
            return
        at = kept[0]


def _listed(row: dict[str, Any], token: int) -> Emission:
    """Give a row by its listed tokens and one cell for all the others."""
    tokens = [entry[0] for entry in row["p_top"]]
    weights = np.array([*(float(entry[2]) for entry in row["p_top"]), float(row["p_rest"])])
    place = tokens.index(token) if token in tokens else len(tokens)
    return Emission(weights / weights.sum(), None, place, whole=False)
