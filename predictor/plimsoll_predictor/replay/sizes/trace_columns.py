"""The columns of a trace, and how one row of text becomes a past run and back.

================  ======  ==========================================================================
column            needed  what it holds
================  ======  ==========================================================================
task              yes     what recurs: a process, a step, a job's name
submit_ms         yes     when the run was asked for, Unix milliseconds
start_ms          yes     when it started
complete_ms       yes     when it ended
peak_rss_bytes    yes     memory it needed, in bytes; a row without is left out
runtime_s         no      seconds it held its memory; else from start_ms to complete_ms
run               no      which execution of the workflow it belongs to
sample            no      what it works on: a sample, a partition, a date
cpus              no      CPU cores asked for
preset_bytes      no      memory asked for
input_bytes       no      size of its input, known before it starts
feature.<name>    no      anything else known before it starts: a number or a category
================  ======  ==========================================================================

Any other column is ignored: what a run read, where it ran and how it ended is not known before it
starts, so no policy may see it.
"""

from __future__ import annotations

import math
from sys import intern
from typing import Final

from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.tables.cells import (
    FEATURE,
    MOST_BYTES,
    CellError,
    Cells,
    features_of,
    number,
    refused,
    text_of,
)
from plimsoll_predictor.tables.table_reading import Form

FORM: Final = Form(
    needed=(("task",), ("submit_ms",), ("start_ms",), ("complete_ms",), ("peak_rss_bytes",)),
    others=("run", "sample", "runtime_s", "cpus", "preset_bytes", "input_bytes"),
    features=True,
    see="see docs/replay.md, or bring it into the schema with `plimsoll traces convert`",
)

COLUMNS: Final[dict[str, type]] = {
    "run": str,
    "task": str,
    "sample": str,
    "submit_ms": int,
    "start_ms": int,
    "complete_ms": int,
    "runtime_s": float,
    "cpus": float,
    "preset_bytes": int,
    "input_bytes": int,
    "peak_rss_bytes": int,
}
"""Column -> what it holds, in the order of a file that is written."""
_LATEST_MS: Final = 4_102_444_800_000.0
"""The year 2100: a later time was written in microseconds."""
_EARLIEST_MS: Final = 10_000_000_000.0
"""April 1970: an earlier time that is not near 0 was written in seconds."""
_MOST_S: Final = 10**9


def trace_row(cells: Cells, line: int) -> TraceRow:
    """One row of text as a past run, its times as they stand.

    Raises:
        CellError: if a needed cell is missing, or one holds an invalid value.
    """
    peak = _positive(cells, "peak_rss_bytes")
    if peak is None or peak == 0:
        raise CellError("no positive peak_rss_bytes")
    start_s, complete_s = _time_s(cells, "start_ms"), _time_s(cells, "complete_ms")
    if complete_s < start_s:
        raise CellError("complete_ms is before start_ms")
    sample = text_of(cells, "sample")
    # Tasks, runs and samples recur: a million rows share a few thousand texts.
    return TraceRow(
        line=line,
        run=intern(text_of(cells, "run") or ""),
        task=intern(_needed(cells, "task")),
        item=None if sample is None else intern(sample),
        submit_s=_time_s(cells, "submit_ms"),
        start_s=start_s,
        complete_s=complete_s,
        runtime_s=_runtime_s(cells, complete_s - start_s),
        cpus=_positive(cells, "cpus"),
        preset_bytes=_bytes(cells, "preset_bytes") or None,
        input_bytes=_bytes(cells, "input_bytes"),
        peak_bytes=_bytes(cells, "peak_rss_bytes") or 1,
        features=features_of(cells),
    )


def row_cells(row: TraceRow) -> dict[str, object]:
    """A past run as a row's cells; unknown values are absent."""
    cells: dict[str, object | None] = {
        "run": row.run,
        "task": row.task,
        "sample": row.item,
        "submit_ms": round(row.submit_s * 1000),
        "start_ms": round(row.start_s * 1000),
        "complete_ms": round(row.complete_s * 1000),
        "runtime_s": row.runtime_s,
        "cpus": row.cpus,
        "preset_bytes": row.preset_bytes,
        "input_bytes": row.input_bytes,
        "peak_rss_bytes": row.peak_bytes,
        **{f"{FEATURE}{name}": value for name, value in row.features.items()},
    }
    return {name: value for name, value in cells.items() if value is not None}


def _runtime_s(cells: Cells, otherwise_s: float) -> float:
    runtime_s = _positive(cells, "runtime_s")
    if runtime_s is None:
        return otherwise_s
    if runtime_s > _MOST_S:
        raise CellError("runtime_s is more than 30 years")
    return runtime_s


def _time_s(cells: Cells, name: str) -> float:
    time_ms = _positive(cells, name)
    if time_ms is None:
        raise CellError(f"{name} is empty")
    if time_ms > _LATEST_MS:
        raise CellError(f"{name} is after 2100; write Unix milliseconds")
    if 10**9 <= time_ms < _EARLIEST_MS:
        raise CellError(f"{name} looks like seconds; write Unix milliseconds")
    return time_ms / 1000


def _positive(cells: Cells, name: str) -> float | None:
    value = number(cells, name)
    if value is not None and value < 0:
        raise refused(cells, name, "is negative")
    return value


def _bytes(cells: Cells, name: str) -> int | None:
    size = _positive(cells, name)
    if size is not None and size > MOST_BYTES:
        raise refused(cells, name, "is more than any machine has")
    return None if size is None else math.ceil(size)


def _needed(cells: Cells, name: str) -> str:
    text = text_of(cells, name)
    if text is None:
        raise CellError(f"{name} is empty")
    return text
