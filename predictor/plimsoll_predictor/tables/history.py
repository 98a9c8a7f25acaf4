"""Past runs from a file: what ``plimsoll import`` reads. Columns: see history_columns.py.

CSV (see tables.py) or Parquet. Read as a stream: what is kept in memory is one row, and each row's
uid to tell repetitions.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.tables.cells import FEATURE, CellError, is_feature
from plimsoll_predictor.tables.history_columns import ALIASES, COLUMNS, observation
from plimsoll_predictor.tables.table_reading import check_columns, named, open_any
from plimsoll_predictor.tables.tables import BadRow, Row, TableError

__all__ = ["BadRow", "HistoryError", "read_history"]

_NAMES_FIRST: Final = (
    "the first line must name the columns, for instance task,finished_s,peak_bytes"
)


class HistoryError(ValueError):
    """The file as a whole cannot be read; nothing was taken from it."""


def read_history(
    file: Path | BinaryIO, *, namespace: str | None = None
) -> Iterator[Observation | BadRow]:
    """Past attempts, in the order of the file.

    file: its path, or the file itself, opened for bytes and able to seek.
    namespace: of rows that name none.
    A row that repeats an earlier one is a BadRow. Reading a file again gives the same uids, so
    importing it twice doubles nothing.

    Raises:
        HistoryError: before the first row, if the file cannot be opened, is not text, or its header
            lacks or misspells a column.
    """
    if not isinstance(file, Path):
        yield from _rows(file, str(getattr(file, "name", "the file")), namespace)
        return
    try:
        opened = file.open("rb")
    except OSError as error:
        raise HistoryError(f"{file} cannot be read: {error.strerror or error}") from error
    with opened:
        yield from _rows(opened, str(file), namespace)


def _rows(file: BinaryIO, where: str, namespace: str | None) -> Iterator[Observation | BadRow]:
    try:
        table = open_any(file, where, _NAMES_FIRST)
        columns = [ALIASES.get(name, name) for name in table.columns]
        check_columns(columns, _missing(columns, namespace), where, _NAMES_FIRST)
    except TableError as error:
        raise HistoryError(str(error)) from error
    for name in columns:
        _check_name(name, where)
    reading = _Reading(list(enumerate(columns)), namespace)
    for row in table.rows:
        yield row if isinstance(row, BadRow) else reading.read(row)


@dataclass(slots=True)
class _Reading:
    """The rows after the header."""

    places: Sequence[tuple[int, str]]
    namespace: str | None
    line_of: dict[str, int] = field(default_factory=dict)
    """uid -> the line that had it."""

    def read(self, row: Row) -> Observation | BadRow:
        try:
            found = observation(named(row, self.places).cells, self.namespace)
            self._check_new(found.attempt_uid, row.line)
        except CellError as error:
            return BadRow(row.line, error.shown)
        return found

    def _check_new(self, uid: str, line: int) -> None:
        if uid in self.line_of:
            raise CellError(f"the same attempt as in line {self.line_of[uid]}; each counts once")
        self.line_of[uid] = line


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
        raise HistoryError(f"{where} has a column without a name; name it, or leave it out")
    near = difflib.get_close_matches(name, COLUMNS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"a feature is written {FEATURE}{name[:40]}"
    raise HistoryError(f"{where} has an unknown column {name[:40]!r}; {hint}")
