"""A trace from a file: CSV (plain or gzip) or Parquet, in any order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_predictor.parquet_tables import is_parquet, read_parquet, unix_ms
from plimsoll_predictor.replay.rows import TraceRow
from plimsoll_predictor.replay.trace_columns import (
    FEATURE,
    NEEDED,
    OPTIONAL,
    BadCell,
    trace_row,
)
from plimsoll_predictor.tables import BadRow, Row, Table, TableError, open_table

MOST_ROWS: Final = 1_000_000
"""A replay needs its rows in order of time, so all are in memory: a million take about 1 GB."""
SHOWN_LINES: Final = 5
PROGRESS_EVERY: Final = 5000
_HINT: Final = "the first line must name the columns: " + ", ".join(NEEDED)
_COLUMNS: Final = frozenset((*NEEDED, *OPTIONAL))
_REPEATED: Final = "repeats an earlier row"
_MOST_REASONS: Final = 50


class TraceError(ValueError):
    """A trace cannot be replayed at all; the sentence says why and what to do."""


@dataclass(slots=True)
class LeftOut:
    """Rows that were left out for one reason. lines: the first few, the header being line 1."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one more."""
        self.count += 1
        if len(self.lines) < SHOWN_LINES:
            self.lines.append(line)

    def words(self, reason: str) -> str:
        """How many were left out, why, and which came first."""
        lines = ", ".join(map(str, self.lines)) + (", ..." if self.count > len(self.lines) else "")
        return f"{self.count:,} left out: {reason} (line{'s' if self.count > 1 else ''} {lines})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Past runs, ready to be replayed.

    left_out: reason -> the rows it kept out.
    shifted: rows that started before they were submitted; start and completion were moved by the
        gap, as clocks of two machines differ.
    unasked: rows that ask for nothing; UNASKED_BYTES stands for their request.
    """

    name: str
    rows: Sequence[TraceRow]
    left_out: Mapping[str, LeftOut]
    shifted: int
    unasked: int


def read_trace(path: Path, progress: Callable[[int], None] | None = None) -> Trace:
    """The trace in a file.

    progress: told how many bytes of the file have been read, every so often.

    Raises:
        TraceError: if it cannot be read, lacks a column, has more than MOST_ROWS rows, or none.
    """
    try:
        with path.open("rb") as file:
            table = _table(file, str(path))
            _check_columns(table.columns, str(path))
            gathered = _Gathering(table.columns)
            for count, row in enumerate(table.rows, start=1):
                gathered.take(row, str(path))
                if progress is not None and count % PROGRESS_EVERY == 0:
                    progress(file.tell())
    except TableError as error:
        raise TraceError(str(error)) from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}") from error
    return gathered.trace(trace_name(path))


def trace_name(path: Path) -> str:
    """A trace's name: its file's, without the endings that tell its format."""
    name = path.name
    for ending in (".gz", ".csv", ".tsv", ".txt", ".parquet"):
        name = name.removesuffix(ending)
    return name or path.name


def trace_of(
    name: str, rows: Sequence[TraceRow], left_out: Mapping[str, LeftOut] | None = None
) -> Trace:
    """A trace of rows that come from elsewhere, their times put right.

    Raises TraceError if there is none.
    """
    gathered = _Gathering((), left_out)
    for row in rows:
        gathered.keep(row)
    return gathered.trace(name)


def _table(file: BinaryIO, where: str) -> Table:
    if is_parquet(file):
        return read_parquet(file, where, _wanted, unix_ms)
    return open_table(file, where, _HINT)


def _wanted(column: str) -> bool:
    return column in _COLUMNS or (column.startswith(FEATURE) and column != FEATURE)


def _check_columns(columns: Sequence[str], where: str) -> None:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise TraceError(
            f"{where} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)};"
            " see docs/replay.md, or bring it into the schema with `plimsoll traces convert`"
        )
    twice = sorted({name for name in columns if columns.count(name) > 1 and name})
    if twice:
        raise TraceError(f"{where} names the column {twice[0][:40]!r} twice; leave one out")


class _Gathering:
    def __init__(
        self, columns: Sequence[str], left_out: Mapping[str, LeftOut] | None = None
    ) -> None:
        self._places = [(place, name) for place, name in enumerate(columns) if _wanted(name)]
        self._rows: list[TraceRow] = []
        self._left_out = dict(left_out or {})
        self._seen: set[bytes] = set()
        self._shifted = 0
        self._unasked = 0

    def take(self, row: Row | BadRow, where: str) -> None:
        if isinstance(row, BadRow):
            self._leave_out(row.reason, row.line)
            return
        try:
            self._check_new(row)
            self.keep(trace_row(self._named(row), row.line))
        except BadCell as error:
            self._leave_out(str(error), row.line)
        if len(self._rows) > MOST_ROWS:
            raise TraceError(
                f"{where} has more than {MOST_ROWS:,} runs, and a replay holds them all in memory;"
                f" cut it, for instance by run (line {row.line} was reached)"
            )

    def keep(self, row: TraceRow) -> None:
        gap_s = row.submit_s - row.start_s
        if gap_s > 0:
            self._shifted += 1
            row = replace(row, start_s=row.submit_s, complete_s=row.complete_s + gap_s)
        self._unasked += row.preset_bytes is None
        self._rows.append(row)

    def trace(self, name: str) -> Trace:
        if not self._rows:
            told = "; ".join(f"{out.count} rows: {why}" for why, out in self._left_out.items())
            raise TraceError(f"{name} has no run to replay" + (f" ({told})" if told else ""))
        return Trace(
            name=name,
            rows=self._rows,
            left_out=self._left_out,
            shifted=self._shifted,
            unasked=self._unasked,
        )

    def _check_new(self, row: Row) -> None:
        # A digest of each row instead of its text: rows are many and long.
        digest = blake2b("\x00".join(row.cells).encode(), digest_size=12).digest()
        if digest in self._seen:
            raise BadCell(_REPEATED)
        self._seen.add(digest)

    def _named(self, row: Row) -> dict[str, str]:
        cells = ((name, row.cells[place].strip()) for place, name in self._places)
        return {name: text for name, text in cells if text}

    def _leave_out(self, reason: str, line: int) -> None:
        if reason not in self._left_out and len(self._left_out) >= _MOST_REASONS:
            reason = "other reasons"
        self._left_out.setdefault(reason, LeftOut()).add(line)
