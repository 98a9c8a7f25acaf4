"""A trace from a file: CSV (plain or gzip) or Parquet, in any order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.trace_columns import FORM, trace_row
from plimsoll_predictor.tables.cells import CellError
from plimsoll_predictor.tables.table_reading import LeftOut, NamedRow, leave_out, read_rows
from plimsoll_predictor.tables.tables import BadRow, TableError

MOST_ROWS: Final = 1_000_000
"""A replay needs its rows in order of time, so all are in memory: a million take about 1 GB."""
_REPEATED: Final = "repeats an earlier row"


class TraceError(ValueError):
    """A trace cannot be replayed at all; the sentence says why and what to do."""


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
    gathered = _Gathering()
    try:
        for row in read_rows(path, FORM, progress):
            gathered.take(row, str(path))
    except TableError as error:
        raise TraceError(str(error)) from error
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
    gathered = _Gathering(left_out)
    for row in rows:
        gathered.keep(row)
    return gathered.trace(name)


class _Gathering:
    def __init__(self, left_out: Mapping[str, LeftOut] | None = None) -> None:
        self._rows: list[TraceRow] = []
        self._left_out = dict(left_out or {})
        self._seen: set[bytes] = set()
        self._shifted = 0
        self._unasked = 0

    def take(self, row: NamedRow | BadRow, where: str) -> None:
        if isinstance(row, BadRow):
            leave_out(self._left_out, row.reason, row.line)
            return
        try:
            self._check_new(row)
            self.keep(trace_row(row.cells, row.line))
        except CellError as error:
            leave_out(self._left_out, str(error), row.line)
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

    def _check_new(self, row: NamedRow) -> None:
        # A digest of each row instead of its text: rows are many and long.
        digest = blake2b("\x00".join(row.text).encode(), digest_size=12).digest()
        if digest in self._seen:
            raise CellError(_REPEATED)
        self._seen.add(digest)
