"""The columns of a history file, and how one row becomes an observation.

docs/history.md says what each column holds, and which are needed.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final

from plimsoll_predictor.core.bounded_text import (
    MOST_BYTES_OF,
    MOST_LABEL_BYTES,
    MOST_RUN_BYTES,
    bounded,
    bounded_or_none,
)
from plimsoll_predictor.core.cpu import MOST_CORES
from plimsoll_predictor.core.record import COLUMNS as RECORD_COLUMNS
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource, Unit
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S, HOUR_S, KIB, MIB
from plimsoll_predictor.tables.cells import (
    MOST_BYTES,
    CellError,
    Cells,
    features_of,
    number,
    refused,
    short,
    text_of,
)

ALIASES: Final = {"finished": "finished_s", "started": "started_s", "submitted": "submitted_s"}
_READ: Final = tuple(each for each in RECORD_COLUMNS if each.exported)
_TIMES: Final = tuple(each.name for each in _READ if each.unit is Unit.TIME)
COLUMNS: Final = frozenset(
    {"namespace", "task", "run", "attempt", "attempt_uid", "outcome", "runtime_s"}
    | {each.name for each in _READ}
)

_MOST_SHARE: Final = 1_000
"""The largest share: with low requests, nodes hold more than they have, but never so much."""
_MOST_PODS: Final = 10_000_000
_DATE_WITHOUT_DASHES: Final = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
"""Read as Unix seconds, it would be a day in 1970."""
_EARLIEST_S: Final = 946_684_800.0
"""The year 2000: zero stands for unknown in many exports."""
_LATEST_S: Final = 4_102_444_800.0
"""The year 2100: a later time was written in milliseconds."""
_AHEAD_S: Final = HOUR_S
"""Clocks differ by less: a time further ahead was written in another zone."""
_LONGEST_S: Final = 366 * DAY_S
_LEAST_BYTES: Final = 64 * KIB
"""No container is so small: a lower figure was written in another unit."""
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_NAME_CHARS: Final = 253
_IDENTITY: Final = ("run", "attempt", "attempt_uid", *_TIMES, "runtime_s")


def observation(cells: Cells, namespace: str | None, now_s: float | None = None) -> Observation:
    """One row as an observation.

    cells: column -> stripped text; empty cells are absent.
    namespace: for rows that name none.
    now_s: Unix seconds, from which on times are refused, with an hour for clocks; None takes all.

    Raises:
        CellError: if a needed cell is missing, or one holds what it cannot.
    """
    task = _task(cells, namespace)
    values = _times(cells, math.inf if now_s is None else now_s + _AHEAD_S)
    values |= {
        each.name: _READERS[each.unit](cells, each.name)
        for each in _READ
        if each.unit is not Unit.TIME
    }
    outcome = _outcome(cells, values["cause"], values["exit_code"])
    _check_teaches(outcome, cells, values)
    _check_cpu(cells, values)
    uid = _uid(cells, task)
    return Observation(
        attempt_uid=uid,
        task=task,
        run=bounded(text_of(cells, "run") or uid, MOST_RUN_BYTES),
        attempt=_whole(cells, "attempt", 1, 10_000) or 1,
        features=features_of(cells),
        outcome=outcome,
        peak_source=PeakSource.IMPORTED,
        **values,
    )


def _task(cells: Cells, namespace: str | None) -> TaskId:
    where = cells.get("namespace", namespace)
    if where is None:
        raise CellError("namespace is empty; fill it, or name one for the whole file")
    name = cells.get("task")
    if name is None:
        raise CellError("task is empty")
    for column, text in (("namespace", where), ("task", name)):
        if len(text) > _NAME_CHARS or not _NAME.fullmatch(text):
            raise CellError(
                f"{column} {short(text)} is no Kubernetes name; use letters, digits, '-', '_', '.'"
            )
    return TaskId(where, name)


def _outcome(cells: Cells, cause: Cause | None, exit_code: int | None) -> Outcome:
    text = cells.get("outcome")
    if text is None:
        if cause is not None:
            return cause.outcome
        return Outcome.FAILED if exit_code else Outcome.SUCCEEDED
    try:
        outcome = Outcome(text)
    except ValueError:
        outcomes = ", ".join(Outcome)
        raise CellError(f"outcome {short(text)} is none of {outcomes}") from None
    if cause is not None and cause.outcome is not outcome:
        why = f"cause {cause.value} is of outcome {cause.outcome.value}, and the row says {outcome}"
        raise CellError("cause is of another outcome", why)
    return outcome


def _check_teaches(outcome: Outcome, cells: Cells, values: Mapping[str, Any]) -> None:
    untimed = values["started_s"] is None
    if outcome is Outcome.SUCCEEDED and values["peak_bytes"] is None and untimed:
        raise CellError(
            "peak_bytes is empty; an attempt that succeeded teaches nothing without it and without"
            " its runtime"
        )
    # Zero stands for unknown in many exports, and a need of zero would be learned.
    if outcome is Outcome.SUCCEEDED and values["peak_bytes"] == 0:
        raise CellError("peak_bytes is 0; leave unknown cells empty")
    if outcome is Outcome.OOM_KILLED and values["allocation_bytes"] == 0:
        raise CellError("allocation_bytes is 0; it must say what was too small for an OOM kill")
    if outcome is Outcome.OOM_KILLED and values["allocation_bytes"] is None:
        raise CellError("allocation_bytes is empty; it says what was too small for an OOM kill")
    taught = {Outcome.SUCCEEDED: "peak_bytes", Outcome.OOM_KILLED: "allocation_bytes"}
    if (name := taught.get(outcome)) is not None:
        _check_unit(cells, name, values[name])


def _check_unit(cells: Cells, name: str, size_bytes: int | None) -> None:
    if size_bytes is None or size_bytes >= _LEAST_BYTES:
        return
    why = f"{name} is less than any program uses; write plain bytes"
    shown = f"{name} {short(cells[name])} is less than any program uses; write plain bytes"
    if number(cells, name) == size_bytes:
        # The unit is unknown: Slurm and GNU time show KiB, Kubernetes Mi. Parts are of neither.
        shown += f": {size_bytes} KiB are {size_bytes * KIB}, {size_bytes} MiB {size_bytes * MIB}"
    raise CellError(why, shown)


def _check_cpu(cells: Cells, values: Mapping[str, Any]) -> None:
    started_s, finished_s, cpu_s = (values[name] for name in ("started_s", "finished_s", "cpu_s"))
    if cpu_s is None or started_s is None:
        return
    # In less than a second, times may be rounded to the same one.
    if cpu_s > MOST_CORES * max(finished_s - started_s, 1.0):
        why = f"is more than {MOST_CORES:,} cores over its runtime; write seconds"
        raise refused(cells, "cpu_s", why)


def _times(cells: Cells, latest_s: float) -> dict[str, Any]:
    times = {name: _time(cells, name) for name in _TIMES}
    runtime_s = _seconds(cells, "runtime_s")
    started_s, finished_s = times["started_s"], times["finished_s"]
    if runtime_s is not None and finished_s is None and started_s is not None:
        times["finished_s"] = started_s + runtime_s
    elif runtime_s is not None and started_s is None and finished_s is not None:
        times["started_s"] = finished_s - runtime_s
    if times["finished_s"] is None:
        raise CellError("finished_s is empty; give it, or started_s and runtime_s")
    _check_order(times)
    _check_spans(times, latest_s)
    return times


def _check_spans(times: Mapping[str, float | None], latest_s: float) -> None:
    started_s, finished_s = times["started_s"], times["finished_s"] or 0.0
    if finished_s - (finished_s if started_s is None else started_s) > _LONGEST_S:
        raise CellError("its runtime is more than a year; check started_s, finished_s, runtime_s")
    for name, time_s in times.items():
        if time_s is not None and time_s > latest_s:
            zoned = "2026-01-05T08:00:00+09:00"
            raise CellError(f"{name} is in the future; is its time zone missing? write {zoned}")


def _check_order(times: Mapping[str, float | None]) -> None:
    given = [(name, time_s) for name in _TIMES if (time_s := times[name]) is not None]
    for (earlier, first_s), (later, then_s) in pairwise(given):
        if then_s < first_s:
            raise CellError(
                f"{later} is {first_s - then_s:.0f} s before {earlier}; check the columns"
            )


def _time(cells: Cells, name: str) -> float | None:
    text = cells.get(name)
    if text is None:
        return None
    try:
        time_s = float(text)
    except ValueError:
        time_s = _iso(name, text)
    if not math.isfinite(time_s) or time_s < 0:
        raise CellError(f"{name} {short(text)} is no point in time")
    if _DATE_WITHOUT_DASHES.fullmatch(text):
        dashed = f"{text[:4]}-{text[4:6]}-{text[6:]}"
        words = "is a date without dashes; write"
        raise CellError(f"{name} {words} them", f"{name} {short(text)} {words} {dashed}")
    if time_s < _EARLIEST_S:
        raise refused(cells, name, "is before 2000; leave unknown cells empty")
    if time_s > _LATEST_S:
        raise CellError(f"{name} {short(text)} is after 2100; write seconds, not milliseconds")
    return time_s


def _iso(name: str, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CellError(
            f"{name} {short(text)} is neither Unix seconds nor ISO 8601 (2025-11-20T14:05:00Z)"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _bytes(cells: Cells, name: str) -> int | None:
    text = cells.get(name, "")
    if text[-1:].isalpha() and text[:1].isdigit():
        raise refused(cells, name, "has a unit; write plain bytes: 512Mi is 536870912")
    size = number(cells, name)
    if size is None:
        return None
    if size < 0:
        raise refused(cells, name, "is negative; leave unknown cells empty")
    if size > MOST_BYTES:
        raise refused(cells, name, "is more than any machine has")
    # A whole number keeps digits beyond a double's; anything else went through one already.
    return int(text) if text.isdecimal() else round(size)


def _within(cells: Cells, name: str, most: float, why: str) -> float | None:
    value = number(cells, name)
    if value is not None and not 0 <= value <= most:
        raise refused(cells, name, why)
    return value


_seconds: Final = partial(_within, most=_LATEST_S, why="is no number of seconds")
_cores: Final = partial(_within, most=MOST_CORES, why=f"is no number of cores, 0 to {MOST_CORES}")
_share: Final = partial(_within, most=_MOST_SHARE, why="is no share; 1 is all there is")


def _text(cells: Cells, name: str) -> str | None:
    return bounded_or_none(text_of(cells, name), MOST_BYTES_OF.get(name, MOST_LABEL_BYTES))


def _whole(cells: Cells, name: str, least: int, most: int) -> int | None:
    value = number(cells, name)
    if value is None:
        return None
    if value != int(value) or not least <= value <= most:
        raise refused(cells, name, f"is no whole number from {least} to {most}")
    return int(value)


def _cause(cells: Cells, name: str) -> Cause | None:
    text = cells.get(name)
    try:
        return None if text is None else Cause(text)
    except ValueError:
        raise CellError(f"{name} {short(text or '')} is none of {', '.join(Cause)}") from None


_READERS: Final[Mapping[Unit, Callable[[Cells, str], Any]]] = {
    Unit.BYTES: _bytes,
    Unit.CORES: _cores,
    Unit.SHARE: _share,
    Unit.SECONDS: _seconds,
    Unit.PODS: partial(_whole, least=0, most=_MOST_PODS),
    Unit.EXIT_CODE: partial(_whole, least=-255, most=255),
    Unit.TEXT: _text,
    Unit.CAUSE: _cause,
}


def _uid(cells: Cells, task: TaskId) -> str:
    """The row's own UID, else one made of run and times, else of all its cells."""
    given = text_of(cells, "attempt_uid")
    if given is not None:
        return given
    names = [name for name in _IDENTITY if name in cells]
    own = {name: cells[name] for name in names} if "run" in names else dict(cells)
    identity = [
        str(task),
        *(f"{name}={own[name]}" for name in sorted(own) if name != "namespace"),
    ]
    return "import-" + hashlib.sha256("\x00".join(identity).encode()).hexdigest()[:32]
