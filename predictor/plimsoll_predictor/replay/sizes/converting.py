"""Converts files of past runs from the formats people have to the schema of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.replay.sizes.nextflow import (
    ABSENT,
    NotARun,
    identity,
    is_nextflow,
    missing_columns,
    nextflow_row,
)
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.traces import MOST_ROWS, TraceError, stored_trace, trace_name
from plimsoll_predictor.tables.cells import BadRow, Table, TableError
from plimsoll_predictor.tables.history import read_history
from plimsoll_predictor.tables.table_reading import LeftOut, leave_out, named, open_any

_HINT: Final = (
    "give a Nextflow trace (nextflow run -with-trace), or what `plimsoll export` has written"
)
_REPEATED: Final = "repeats an earlier run: resumed runs list what they found in the cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertRequest:
    """A request to convert files of past runs.

    run: the name of the workflow's run; None for each file's own name. zone, namespace: for dates
    and exported rows that name none.
    """

    run: str | None = None
    zone: tzinfo = UTC
    namespace: str | None = None


@dataclass(slots=True)
class Converted:
    """Runs from one or more files.

    left_out: reason -> the lines that it excluded. kinds: a file's name -> its format. identities:
    of the runs in Nextflow traces.
    """

    rows: list[TraceRow] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    identities: set[tuple[str, str]] = field(default_factory=set)


def convert(paths: Sequence[Path], request: ConvertRequest) -> Converted:
    """The runs of all files.

    Raises:
        TraceError: if a file cannot be read or has no known format, or no run is left.
    """
    converted = Converted()
    for path in paths:
        try:
            with path.open("rb") as file:
                _convert(path, file, request, converted)
        except TableError as error:
            raise TraceError(str(error)) from error
        except OSError as error:
            raise TraceError(f"{path} cannot be read: {error.strerror or error}") from error
    if not converted.rows:
        reasons = "; ".join(f"{out.count} lines: {why}" for why, out in converted.left_out.items())
        raise TraceError(f"there is no run to convert ({reasons or 'the files are empty'})")
    return converted


def _convert(path: Path, file: BinaryIO, request: ConvertRequest, converted: Converted) -> None:
    table = open_any(file, str(path), _HINT)
    if is_nextflow(table.columns):
        lacks = missing_columns(table.columns)
        if lacks:
            raise TraceError(
                f"{path} lacks the column {lacks}; add it to trace.fields in nextflow.config"
            )
        converted.kinds[path.name] = "Nextflow trace"
        _nextflow(table, request.run or trace_name(path), request.zone, converted)
    elif "task" in table.columns and {"outcome", "finished_s", "finished"} & set(table.columns):
        file.seek(0)
        converted.kinds[path.name] = "Kubernetes history"
        _history(file, request, converted)
    else:
        raise TraceError(
            f"{path} is of no known format, its columns are {', '.join(table.columns)[:200]};"
            f" {_HINT}"
        )


def _nextflow(table: Table, run: str, zone: tzinfo, converted: Converted) -> None:
    places = list(enumerate(table.columns))
    for row in table.rows:
        if isinstance(row, BadRow):
            leave_out(converted.left_out, row.reason, row.line)
            continue
        cells = {
            name: cell for name, cell in named(row, places).cells.items() if cell not in ABSENT
        }
        own = identity(cells)
        try:
            trace_row = nextflow_row(cells, row.line, run, zone)
            if own in converted.identities:
                raise NotARun(_REPEATED)
        except NotARun as error:
            leave_out(converted.left_out, str(error), row.line)
            continue
        if own is not None:
            converted.identities.add(own)
        _add(trace_row, converted)


def _history(file: BinaryIO, request: ConvertRequest, converted: Converted) -> None:
    trace = stored_trace("history", _observations(file, request, converted))
    for reason, out in trace.left_out.items():
        # A stored trace has few reasons; each gets a place, however many places bad cells take.
        left_out = converted.left_out.setdefault(reason, LeftOut())
        for line in out.lines:
            left_out.add(line)
        left_out.count += out.count - len(out.lines)
    for row in trace.rows:
        _add(row, converted)


def _observations(
    file: BinaryIO, request: ConvertRequest, converted: Converted
) -> Iterator[Observation]:
    for count, row in enumerate(read_history(file, namespace=request.namespace)):
        if isinstance(row, BadRow):
            leave_out(converted.left_out, row.reason, row.line)
        elif count > MOST_ROWS:
            raise TraceError(f"the file has more than {MOST_ROWS:,} attempts; cut it")
        else:
            yield row


def _add(row: TraceRow, converted: Converted) -> None:
    if len(converted.rows) >= MOST_ROWS:
        raise TraceError(
            f"there are more than {MOST_ROWS:,} runs (line {row.line} was reached), and a replay"
            " holds them all in memory; convert fewer files"
        )
    converted.rows.append(row)
