"""Tables in text files: comma, semicolon or tab; quoted or not; plain or gzip; any size.

A table is read as a stream: only one row is in memory.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from plimsoll_predictor.tables.cells import MOST_COLUMNS, BadRow, Row, Table, TableError

if TYPE_CHECKING:
    from _csv import Reader

_GZIP: Final = b"\x1f\x8b"
_MOST_LINE_CHARS: Final = 2**20
_DELIMITERS: Final = ",;\t"
_CUT: Final = "-\n"
_TORN: Final = (EOFError, OSError, zlib.error)
"""The errors of reading a damaged gzip file."""


def is_gzip(file: BinaryIO) -> bool:
    """Whether a file, able to seek, is gzipped; it stands at its start afterwards."""
    magic = file.read(len(_GZIP))
    file.seek(0)
    return magic == _GZIP


def open_table(file: BinaryIO, where: str, hint: str) -> Table:
    """Read a table's header, and its rows as they are asked for.

    file: able to seek; its caller closes it, after the last row was read.
    where, hint: for the words of an error: the file's name; what a header looks like.
    """
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if is_gzip(file) else file
    # Bytes that are not UTF-8 become lone surrogates, which are reported row by row.
    buffered = io.BufferedReader(_Unclosed(plain))
    text = io.TextIOWrapper(buffered, "utf-8-sig", errors="surrogateescape", newline="")
    lines = _Lines(text)
    first = _first_line(lines, where, hint)
    # The delimiter is the one that the first line has most often, or else the comma.
    delimiter = max(_DELIMITERS, key=first.count)
    text_lines = chain([first], lines)
    # Nobody quotes between tabs: a quote there is a part of a script or a name.
    cells = csv.reader(
        text_lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
    )
    columns = _header(cells, where)
    return Table(columns, _rows(cells, lines, len(columns)))


class _Unclosed(io.RawIOBase):
    """A file that stays open after its text is read: its caller closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        read = self._file.read(len(view))
        view[: len(read)] = read
        return len(read)


@dataclass(slots=True)
class _Lines:
    """Lines of text. One longer than any row may be is left out: a dash stands for it.

    cut: whether that happened to the last line.
    """

    text: io.TextIOBase
    cut: bool = False

    def __iter__(self) -> Iterator[str]:
        while line := self.text.readline(_MOST_LINE_CHARS):
            if len(line) == _MOST_LINE_CHARS and not line.endswith("\n"):
                self.cut = True
                while (rest := self.text.readline(_MOST_LINE_CHARS)) and not rest.endswith("\n"):
                    pass
                # Half a line could open a quote that swallows what follows.
                line = _CUT
            yield line


def _rows(cells: Reader, lines: _Lines, width: int) -> Iterator[Row | BadRow]:
    while True:
        before = cells.line_num
        try:
            row = next(cells)
        except StopIteration:
            return
        except csv.Error as error:
            yield Row(before + 1, (), cells.line_num - before).refused(str(error))
            continue
        except _TORN as error:
            reason = f"the file is damaged from here on: {error}"
            yield BadRow(cells.line_num + 1, reason, ends=True)
            return
        if any(cell.strip() for cell in row):
            found = Row(before + 1, row, cells.line_num - before)
            fault = _fault(row, lines, width)
            yield found.refused(fault) if fault else found


def _fault(row: list[str], lines: _Lines, width: int) -> str | None:
    if lines.cut:
        lines.cut = False
        return f"the line is longer than {_MOST_LINE_CHARS} characters"
    if len(row) != width:
        return f"{len(row)} cells where the header names {width} columns"
    if any("\0" in cell or not _is_text(cell) for cell in row):
        return "not UTF-8 text"
    return None


def _first_line(lines: _Lines, where: str, hint: str) -> str:
    try:
        first = next(iter(lines), "")
    except _TORN as error:
        raise TableError(f"{where} is a damaged gzip file: {error}") from error
    if not first.strip():
        raise TableError(f"{where} is empty; {hint}")
    if "\0" in first or not _is_text(first):
        raise TableError(f"{where} is not a text file in UTF-8; save it as CSV in UTF-8")
    return first


def _header(cells: Iterator[list[str]], where: str) -> list[str]:
    try:
        names = [name.strip() for name in next(cells)]
    except (csv.Error, *_TORN) as error:
        raise TableError(f"{where}: its first line cannot be read: {error}") from error
    if len(names) > MOST_COLUMNS:
        raise TableError(f"{where} has {len(names)} columns; at most {MOST_COLUMNS} are read")
    return names


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
