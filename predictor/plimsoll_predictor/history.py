"""Past runs from a CSV file: what ``plimsoll import`` reads. Columns: see history_columns.py.

Comma or semicolon, quoted or not, with or without a byte order mark, plain or gzip. Read as a
stream: what is kept in memory is one row, and each row's uid to tell repetitions.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, cast

from plimsoll_predictor.history_columns import ALIASES, COLUMNS, FEATURE, CellError, observation
from plimsoll_predictor.record import Observation

_GZIP: Final = b"\x1f\x8b"
_MOST_LINE_CHARS: Final = 2**20
_MOST_COLUMNS: Final = 500
_NAMES_FIRST: Final = (
    "the first line must name the columns, for instance task,finished_s,peak_bytes"
)
_CUT: Final = "-\n"
_TORN: Final = (EOFError, OSError, zlib.error)
"""What reading a damaged gzip file raises."""


class HistoryError(ValueError):
    """The file as a whole cannot be read; nothing was taken from it."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out. line: its last line in the file, the header being line 1."""

    line: int
    reason: str


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
    zipped = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if zipped else file
    # What is not UTF-8 is told row by row, as lone surrogates.
    text = io.TextIOWrapper(plain, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        lines = _Lines(text)
        first = _first_line(lines, where)
        delimiter = ";" if first.count(";") > first.count(",") else ","
        cells = csv.reader(chain([first], lines), delimiter=delimiter)
        columns = _columns(_header(cells, where), where, namespace)
        yield from _Reading(cells, lines, columns, namespace).rows()
    finally:
        # The file is the caller's to close.
        text.detach()


@dataclass(slots=True)
class _Lines:
    """Lines of text. One longer than any row may be is left out: a dash stands for it.

    cut: whether that happened to the last line.
    """

    text: io.TextIOBase
    cut: bool = field(default=False)

    def __iter__(self) -> Iterator[str]:
        while line := self.text.readline(_MOST_LINE_CHARS):
            if len(line) == _MOST_LINE_CHARS and not line.endswith("\n"):
                self.cut = True
                self._skip_line()
                # Half a line could open a quote that swallows what follows.
                line = _CUT
            yield line

    def _skip_line(self) -> None:
        while rest := self.text.readline(_MOST_LINE_CHARS):
            if rest.endswith("\n"):
                return


@dataclass(slots=True)
class _Reading:
    """The rows after the header."""

    cells: Iterator[list[str]]
    lines: _Lines
    columns: Sequence[str]
    namespace: str | None
    line_of: dict[str, int] = field(default_factory=dict)
    """uid -> the line that had it."""

    def rows(self) -> Iterator[Observation | BadRow]:
        while True:
            try:
                row = next(self.cells)
            except StopIteration:
                return
            except csv.Error as error:
                yield BadRow(self._line(), f"{error}; is a quote left open?")
                continue
            except _TORN as error:
                yield BadRow(self._line() + 1, f"the file is damaged from here on: {error}")
                return
            if any(cell.strip() for cell in row):
                yield self._read(row)

    def _read(self, row: list[str]) -> Observation | BadRow:
        try:
            self._check(row)
            found = observation(self._named(row), self.namespace)
            self._check_new(found.attempt_uid)
        except CellError as error:
            return BadRow(self._line(), str(error))
        return found

    def _check(self, row: list[str]) -> None:
        if self.lines.cut:
            self.lines.cut = False
            raise CellError(f"the line is longer than {_MOST_LINE_CHARS} characters")
        if len(row) != len(self.columns):
            raise CellError(f"{len(row)} cells where the header names {len(self.columns)} columns")
        if any("\0" in cell or not _is_text(cell) for cell in row):
            raise CellError("not UTF-8 text")

    def _check_new(self, uid: str) -> None:
        if uid in self.line_of:
            raise CellError(f"the same attempt as in line {self.line_of[uid]}; each counts once")
        self.line_of[uid] = self._line()

    def _named(self, row: list[str]) -> dict[str, str]:
        stripped = ((column, cell.strip()) for column, cell in zip(self.columns, row, strict=True))
        return {column: cell for column, cell in stripped if cell}

    def _line(self) -> int:
        return int(getattr(self.cells, "line_num", 0))


def _first_line(lines: _Lines, where: str) -> str:
    try:
        first = next(iter(lines), "")
    except _TORN as error:
        raise HistoryError(f"{where} is a damaged gzip file: {error}") from error
    if not first.strip():
        raise HistoryError(f"{where} is empty; {_NAMES_FIRST}")
    if "\0" in first or not _is_text(first):
        raise HistoryError(f"{where} is not a text file in UTF-8; save it as CSV in UTF-8")
    return first


def _header(cells: Iterator[list[str]], where: str) -> list[str]:
    try:
        names = [name.strip() for name in next(cells)]
    except (csv.Error, *_TORN) as error:
        raise HistoryError(f"{where}: its first line cannot be read: {error}") from error
    return [ALIASES.get(name, name) for name in names]


def _columns(names: list[str], where: str, namespace: str | None) -> list[str]:
    if len(names) > _MOST_COLUMNS:
        raise HistoryError(f"{where} has {len(names)} columns; at most {_MOST_COLUMNS} are read")
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


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
