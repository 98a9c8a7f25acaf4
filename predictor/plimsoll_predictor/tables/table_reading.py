"""One reader for tables of past runs: CSV, plain or gzip, or Parquet; rows as named cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_predictor.core.units import plural
from plimsoll_predictor.tables.cells import BadRow, Cells, Row, Table, TableError, is_feature
from plimsoll_predictor.tables.parquet_tables import is_parquet, read_parquet, unix_ms
from plimsoll_predictor.tables.text_tables import open_table

PROGRESS_EVERY: Final = 5000
_SHOWN_LINES: Final = 5
_MOST_REASONS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The columns of one kind of file; other columns are not read.

    needed: one of each. others: what it may have besides. features: whether it has features.
    see: what to do if a column is missing.
    """

    needed: tuple[tuple[str, ...], ...]
    others: tuple[str, ...]
    see: str
    features: bool = False

    @property
    def names(self) -> frozenset[str]:
        """All columns but the features."""
        return frozenset((*(name for names in self.needed for name in names), *self.others))

    def wanted(self, column: str) -> bool:
        """Whether a column is read."""
        return column in self.names or (self.features and is_feature(column))

    def missing(self, columns: Sequence[str]) -> list[str]:
        """The columns that are needed and missing."""
        return [" or ".join(names) for names in self.needed if not set(names) & set(columns)]


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row of a table. text: all its cells as they stand in the file."""

    line: int
    cells: Cells
    text: Sequence[str]


@dataclass(slots=True)
class LeftOut:
    """Rows that were left out for one reason. lines: the first few, the header being line 1."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one more."""
        self.count += 1
        if len(self.lines) < _SHOWN_LINES:
            self.lines.append(line)

    def words(self, reason: str) -> str:
        """A sentence with how many were left out, why, and which came first."""
        lines = ", ".join(map(str, self.lines)) + (", ..." if self.count > len(self.lines) else "")
        return f"{self.count:,} left out: {reason} ({plural(self.count, 'line')} {lines})"


def leave_out(left_out: dict[str, LeftOut], reason: str, line: int) -> None:
    """Count a row by the reason it is left out for; the reasons are bounded."""
    if reason not in left_out and len(left_out) >= _MOST_REASONS:
        reason = "other reasons"
    left_out.setdefault(reason, LeftOut()).add(line)


def read_rows(
    path: Path, form: Form, progress: Callable[[int], None] | None = None
) -> Iterator[NamedRow | BadRow]:
    """The rows of a file, in its order; in Parquet, times become Unix milliseconds.

    progress: told how many bytes of the file have been read, every so often.

    Raises:
        TableError: if the file cannot be read, or lacks a column.
    """
    hint = ", ".join(" or ".join(names) for names in form.needed)
    try:
        with path.open("rb") as file:
            first = f"the first line must name the columns: {hint}"
            table = open_any(file, str(path), first, form.wanted, unix_ms)
            check_columns(table.columns, form.missing(table.columns), str(path), form.see)
            places = [each for each in enumerate(table.columns) if form.wanted(each[1])]
            for count, row in enumerate(table.rows, start=1):
                yield row if isinstance(row, BadRow) else named(row, places)
                if progress is not None and count % PROGRESS_EVERY == 0:
                    progress(file.tell())
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}") from error


def open_any(
    file: BinaryIO,
    where: str,
    hint: str,
    wanted: Callable[[str], bool] = lambda _: True,
    time_words: Callable[[datetime], str] = datetime.isoformat,
) -> Table:
    """A table of either format, as ``read_parquet`` and ``open_table`` give it.

    Raises:
        TableError: if the file cannot be read.
    """
    if is_parquet(file):
        return read_parquet(file, where, wanted, time_words)
    return open_table(file, where, hint)


def check_columns(columns: Sequence[str], missing: Sequence[str], where: str, see: str) -> None:
    """Refuse a header that lacks a column, or names one twice, with a TableError."""
    if missing:
        lacked = f"{plural(len(missing), 'column')} {', '.join(missing)}"
        raise TableError(f"{where}, line 1: lacks the {lacked}; {see}")
    twice = sorted({name for name in columns if columns.count(name) > 1 and name})
    if twice:
        raise TableError(
            f"{where}, line 1: names the column {twice[0][:40]!r} twice; leave one out"
        )


def named(row: Row, places: Sequence[tuple[int, str]]) -> NamedRow:
    """A row's cells by the names of their columns. places: of the columns that are read."""
    cells = ((name, row.cells[place].strip()) for place, name in places)
    return NamedRow(row.line, {name: text for name, text in cells if text}, row.cells)
