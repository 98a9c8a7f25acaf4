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

from plimsoll_predictor.history_columns import ALIASES, COLUMNS, FEATURE, CellError, observation
from plimsoll_predictor.parquet_tables import is_parquet, read_parquet
from plimsoll_predictor.record import Observation
from plimsoll_predictor.tables import BadRow, Row, TableError, open_table

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
        table = (
            read_parquet(file, where) if is_parquet(file) else open_table(file, where, _NAMES_FIRST)
        )
    except TableError as error:
        raise HistoryError(str(error)) from error
    columns = _columns([ALIASES.get(name, name) for name in table.columns], where, namespace)
    reading = _Reading(columns, namespace)
    for row in table.rows:
        yield row if isinstance(row, BadRow) else reading.read(row)


@dataclass(slots=True)
class _Reading:
    """The rows after the header."""

    columns: Sequence[str]
    namespace: str | None
    line_of: dict[str, int] = field(default_factory=dict)
    """uid -> the line that had it."""

    def read(self, row: Row) -> Observation | BadRow:
        try:
            found = observation(self._named(row.cells), self.namespace)
            self._check_new(found.attempt_uid, row.line)
        except CellError as error:
            return BadRow(row.line, str(error))
        return found

    def _check_new(self, uid: str, line: int) -> None:
        if uid in self.line_of:
            raise CellError(f"the same attempt as in line {self.line_of[uid]}; each counts once")
        self.line_of[uid] = line

    def _named(self, row: Sequence[str]) -> dict[str, str]:
        stripped = ((column, cell.strip()) for column, cell in zip(self.columns, row, strict=True))
        return {column: cell for column, cell in stripped if cell}


def _columns(names: list[str], where: str, namespace: str | None) -> list[str]:
    missing = [
        "task" if "task" not in names else "",
        "namespace" if "namespace" not in names and namespace is None else "",
        "finished_s" if "finished_s" not in names and not _told_otherwise(names) else "",
    ]
    if any(missing):
        lacks = ", ".join(filter(None, missing))
        raise HistoryError(f"{where} lacks the column {lacks}; {_NAMES_FIRST}")
    for name in names:
        _check_name(name, where)
        if names.count(name) > 1:
            raise HistoryError(f"{where} names the column {name!r} twice; leave one out")
    return names


def _told_otherwise(names: list[str]) -> bool:
    return "started_s" in names and "runtime_s" in names


def _check_name(name: str, where: str) -> None:
    if name in COLUMNS or (name.startswith(FEATURE) and name != FEATURE):
        return
    if not name:
        raise HistoryError(f"{where} has a column without a name; name it, or leave it out")
    near = difflib.get_close_matches(name, COLUMNS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"a feature is written {FEATURE}{name[:40]}"
    raise HistoryError(f"{where} has an unknown column {name[:40]!r}; {hint}")
