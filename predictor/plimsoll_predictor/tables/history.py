"""History files: ``plimsoll import`` reads them and ``plimsoll export`` writes them.

They are CSV or Parquet, with the columns of history_columns.py. A file is read as a stream: only
one row is in memory, and the uid of each row, by which a repeated one is noticed. What is written
is read back into the same observations, as far as the format goes.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from plimsoll_predictor.core.record import COLUMNS as RECORD_COLUMNS
from plimsoll_predictor.core.record import Observation, Unit
from plimsoll_predictor.tables.cells import (
    FEATURE,
    MOST_COLUMNS,
    BadRow,
    CellError,
    TableError,
    is_feature,
)
from plimsoll_predictor.tables.history_columns import ALIASES, COLUMNS, observation
from plimsoll_predictor.tables.table_reading import check_columns, named, open_any
from plimsoll_predictor.tables.table_writing import feature_columns, stream_table, write_table

_NAMES_FIRST: Final = (
    "the first line must name the columns, for instance namespace,task,finished_s,peak_bytes"
)
_WRITTEN_AS: Final = {
    Unit.BYTES: int,
    Unit.PODS: int,
    Unit.EXIT_CODE: int,
    Unit.TEXT: str,
    Unit.CAUSE: str,
}
"""Any other unit is written as a float."""
_IDENTITY: Final[dict[str, type]] = {
    "namespace": str,
    "task": str,
    "run": str,
    "attempt": int,
    "attempt_uid": str,
    "outcome": str,
}
OWN_COLUMNS: Final[Mapping[str, type]] = MappingProxyType(
    _IDENTITY
    | {each.name: _WRITTEN_AS.get(each.unit, float) for each in RECORD_COLUMNS if each.exported}
)
"""The columns of a written file, without the features."""

Batches = Callable[[], Iterable[Sequence[Observation]]]
"""Each call begins anew, because the columns are found before the rows are written."""


@dataclass(slots=True)
class Written:
    """The number of rows written. left_out: why attempts do not fit the format -> how many."""

    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def read_history(
    file: Path | BinaryIO,
    *,
    namespace: str | None = None,
    where: str | None = None,
    now_s: float | None = None,
) -> Iterator[Observation | BadRow]:
    """Past attempts, in the order of the file.

    file: its path, or the file itself, opened for bytes and able to seek.
    namespace: for rows that name none. where: the file's name in errors, if it is another one.
    now_s: Unix seconds; rows of a later time are bad. None takes them.
    A row that repeats an earlier one is a BadRow. Reading a file again gives the same uids, so
    importing it twice doubles nothing.

    Raises:
        TableError: before the first row, if the file cannot be opened, is not text, or its header
            lacks or misspells a column.
    """
    if not isinstance(file, Path):
        yield from _rows(file, where or str(getattr(file, "name", "the file")), namespace, now_s)
        return
    try:
        opened = file.open("rb")
    except OSError as error:
        raise TableError(f"{where or file} cannot be read: {error.strerror or error}") from error
    with opened:
        yield from _rows(opened, where or str(file), namespace, now_s)


def write_history(path: Path, batches: Batches) -> Written:
    """Write observations; Parquet if the name ends in .parquet, gzipped CSV if in .gz, else CSV.

    What cannot be read back is left out and counted: a success without a peak, say.

    Raises:
        TableError: if the attempts have more features than a file has columns, or pyarrow is
            missing.
        OSError: if the file cannot be written.
    """
    columns, written = _columns_of(batches, str(path)), Written()
    write_table(path, columns, _rows_of(batches, columns, written))
    return written


def stream_history(file: BinaryIO, ending: str, batches: Batches, where: str) -> Written:
    """Write observations as they come to an open file, which need not seek; nothing is held.

    ending: .gz gzips the CSV. where: the file's name in errors. As ``write_history`` otherwise, but
    after an OSError, or an error of ``batches``, the file has a part of the rows.
    """
    columns, written = _columns_of(batches, where), Written()
    stream_table(file, ending, columns, _rows_of(batches, columns, written))
    return written


def _columns_of(batches: Batches, where: str) -> dict[str, type]:
    features = (each.features for batch in batches() for each in batch)
    columns = {**OWN_COLUMNS, **feature_columns(FEATURE, features)}
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"{where}: the tasks have {len(columns) - len(OWN_COLUMNS)} features between them, and"
            f" a file has at most {MOST_COLUMNS} columns; export them apart"
        )
    return columns


def _rows_of(
    batches: Batches, columns: Mapping[str, type], written: Written
) -> Iterator[list[dict[str, object]]]:
    return (list(_readable(batch, columns, written)) for batch in batches())


def _rows(
    file: BinaryIO, where: str, namespace: str | None, now_s: float | None
) -> Iterator[Observation | BadRow]:
    table = open_any(file, where, _NAMES_FIRST)
    columns = [ALIASES.get(name, name) for name in table.columns]
    check_columns(columns, _missing(columns, namespace), where, _NAMES_FIRST)
    for name in columns:
        _check_name(name, where)
    places = list(enumerate(columns))
    line_of: dict[str, int] = {}
    for row in table.rows:
        if isinstance(row, BadRow):
            yield row
            continue
        try:
            attempt = observation(named(row, places).cells, namespace, now_s)
        except CellError as error:
            yield row.refused(error.shown)
            continue
        first_line = line_of.setdefault(attempt.attempt_uid, row.line)
        if first_line == row.line:
            yield attempt
        else:
            again = f"the same attempt as in line {first_line}; each counts once"
            yield row.refused(again)


def _missing(names: Sequence[str], namespace: str | None) -> list[str]:
    ended = "finished_s" in names or {"started_s", "runtime_s"} <= set(names)
    has = {
        "task": "task" in names,
        "namespace": "namespace" in names or namespace is not None,
        "finished_s": ended,
    }
    return [name for name, there in has.items() if not there]


def _check_name(name: str, where: str) -> None:
    if name in COLUMNS or is_feature(name):
        return
    if not name:
        raise TableError(f"{where} has a column without a name; name it, or leave it out")
    near = difflib.get_close_matches(name, COLUMNS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"a feature is written {FEATURE}{name[:40]}"
    raise TableError(f"{where} has an unknown column {name[:40]!r}; {hint}")


def _readable(
    batch: Sequence[Observation], columns: Mapping[str, type], written: Written
) -> Iterator[dict[str, object]]:
    for each in batch:
        row = _row(each)
        if not row.keys() <= columns.keys():
            # A controller observes on while its store is read, and the header is written already.
            written.left_out["it has a feature that came while the file was written"] += 1
            continue
        try:
            observation({name: str(value) for name, value in row.items()}, None)
        except CellError as error:
            written.left_out[str(error)] += 1
            continue
        written.rows += 1
        yield row


def _row(each: Observation) -> dict[str, object]:
    identity = {
        "namespace": each.task.namespace,
        "task": each.task.name,
        "outcome": each.outcome.value,
    }
    plain = {name: getattr(each, name) for name in OWN_COLUMNS if name not in identity}
    features = {f"{FEATURE}{name}": value for name, value in each.features.items()}
    cells: dict[str, object] = {**identity, **plain, **features}
    return {name: value for name, value in cells.items() if value not in (None, "")}
