"""The rows of any table of past runs, and their cells of text as values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Final

from plimsoll_predictor.core.record import FeatureValue

FEATURE: Final = "feature."
"""Begins the name of a feature's column."""
MOST_BYTES: Final = 10**18
MOST_COLUMNS: Final = 500
_MOST_TEXT_CHARS: Final = 1024
_SHOWN_CHARS: Final = 40

Cells = Mapping[str, str]
"""Column -> stripped text, empty cells left out."""


class TableError(ValueError):
    """The file as a whole cannot be read; nothing was taken from it."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out.

    line: its first line in the file, the header being line 1. ends: the file is damaged there, and
    what follows is not read.
    """

    line: int
    reason: str
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it stands in the file: as many cells as the header names columns.

    line: its first line in the file, the header being line 1. lines: how many it takes.
    """

    line: int
    cells: Sequence[str]
    lines: int = 1

    def refused(self, reason: str) -> BadRow:
        """The same row, left out."""
        if self.lines == 1:
            return BadRow(self.line, reason)
        last = self.line + self.lines - 1
        # A quote that nobody closes makes one row of all that follows.
        took = f"it takes {self.lines:,} lines, from line {self.line} to {last}"
        return BadRow(self.line, f"{reason}; {took}; is a quote left open?")


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose header has been read.

    columns: stripped, in the order of the file.
    rows: once, in the order of the file; rows without any text are passed over.
    """

    columns: Sequence[str]
    rows: Iterator[Row | BadRow]


class CellError(ValueError):
    """A row cannot be used: a cell is missing, or holds what it cannot.

    The words name the column and not the value, so that rows can be counted by their words.
    shown: the words with the value.
    """

    def __init__(self, words: str, shown: str | None = None) -> None:
        super().__init__(words)
        self.shown = shown or words


def refused(cells: Cells, name: str, why: str) -> CellError:
    """The error of a column's cell."""
    return CellError(f"{name} {why}", f"{name} {short(cells[name])} {why}")


def short(text: str) -> str:
    """A value as an error shows it."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 3]}...")


def number(cells: Cells, name: str) -> float | None:
    """A finite number; None if the cell is empty."""
    text = cells.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        raise refused(cells, name, "is not a number") from None
    return _finite(cells, name, value)


def text_of(cells: Cells, name: str) -> str | None:
    """A text of bounded length; None if the cell is empty."""
    text = cells.get(name)
    if text is not None and len(text) > _MOST_TEXT_CHARS:
        raise CellError(
            f"{name} has more than {_MOST_TEXT_CHARS} characters",
            f"{name} has {len(text)} characters; at most {_MOST_TEXT_CHARS} are kept",
        )
    return text


def features_of(cells: Cells) -> dict[str, FeatureValue]:
    """The row's features: numbers where they are ones, else text."""
    # Names and categories recur: a million rows share a few thousand texts.
    return {
        intern(column.removeprefix(FEATURE)): _feature(cells, column)
        for column in cells
        if column.startswith(FEATURE)
    }


def is_feature(column: str) -> bool:
    """Whether a column is a feature's."""
    return column.startswith(FEATURE) and column != FEATURE


def _feature(cells: Cells, column: str) -> FeatureValue:
    text = text_of(cells, column) or ""
    # Python also reads "1_000" and other scripts' digits as numbers; live pods' are texts.
    if not text.isascii() or "_" in text:
        return intern(text)
    try:
        value = float(text)
    except ValueError:
        return intern(text)
    return _finite(cells, column, value)


def _finite(cells: Cells, name: str, value: float) -> float:
    if not math.isfinite(value):
        raise refused(cells, name, "is not a finite number; leave unknown cells empty")
    return value
