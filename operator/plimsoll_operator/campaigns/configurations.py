"""Reads the configurations that DAG runs are triggered with: CSV, JSON or YAML, a row each."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath
from typing import Any, Final

import yaml

from plimsoll_predictor.campaigns.scenarios import MOST_SCENARIOS, NAMED_PROBLEMS
from plimsoll_predictor.core.units import counted

MOST_FILE_BYTES: Final = 8 << 20
MOST_ROWS: Final = MOST_SCENARIOS
MOST_CONF_CHARS: Final = 32_768
"""Characters of one configuration as JSON. Airflow keeps it in a row of its database."""
MOST_VALUES: Final = 2_000
"""Values of one configuration, with inner ones. YAML's aliases make many values of a few."""
MOST_DEPTH: Final = 20
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,17})?")
_NOT_STORED: Final = re.compile(r"[\x00\ud800-\udfff]")
_SEPARATORS: Final = re.compile(r"[\s,]*")

_Rows = list[tuple[int, object]]


class BadConfigurations(ValueError):
    """A file that gives no configurations; the message says where, what, and what to write."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of one run. line: of the file, from 1.

    text: as JSON, the same for equal configurations whatever the order of their names.
    """

    line: int
    conf: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Configurations:
    """Each configuration once. duplicates: rows left out because an earlier one is equal."""

    rows: tuple[Configuration, ...]
    duplicates: int


@dataclass(frozen=True, slots=True)
class _BadRow:
    """A bad row, named with the others when all are read."""

    words: str


def read_configurations(content: bytes, file_name: str) -> Configurations:
    """Return the configurations of a file; the ending of its name gives the format.

    Raises:
        BadConfigurations: if it cannot be read, or any row is bad; three rows are named.
    """
    rows = _reader_of(file_name)(_text(content, file_name), file_name)
    if not rows:
        raise BadConfigurations(f"{file_name} has no configuration; write at least one row")
    if len(rows) > MOST_ROWS:
        raise BadConfigurations(
            f"{file_name} has {counted(len(rows), 'configuration')}, and {MOST_ROWS:,} are taken"
            " at most; write several files"
        )
    problems: list[str] = []
    kept: dict[str, Configuration] = {}
    for line, row in rows:
        try:
            found = _configuration(line, row)
        except BadConfigurations as error:
            problems.append(f"line {line} {error}")
        else:
            kept.setdefault(found.text, found)
    if problems:
        more = len(problems) - NAMED_PROBLEMS
        words = "; ".join(problems[:NAMED_PROBLEMS]) + (f"; and {more:,} more" if more > 0 else "")
        raise BadConfigurations(f"{file_name}: {words}")
    return Configurations(tuple(kept.values()), len(rows) - len(kept))


def _reader_of(file_name: str) -> Callable[[str, str], _Rows]:
    readers = {".csv": _of_csv, ".json": _of_json, ".yaml": _of_yaml, ".yml": _of_yaml}
    reader = readers.get(PurePath(file_name).suffix.lower())
    if reader is None:
        raise BadConfigurations(
            f"{file_name} ends in none of {', '.join(readers)}, which say how to read it; rename it"
        )
    return reader


def _text(content: bytes, where: str) -> str:
    if len(content) > MOST_FILE_BYTES:
        raise BadConfigurations(
            f"{where} has more than {MOST_FILE_BYTES >> 20} MiB; write several files"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadConfigurations(f"{where} is not UTF-8: {error.reason}; save it as UTF-8") from None


def _of_csv(text: str, where: str) -> _Rows:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    rows: _Rows = []
    try:
        names = [name.strip() for name in next(reader, [])]
        _check_header(names, where)
        for cells in reader:
            if cells:
                rows.append((reader.line_num, _cells_by_name(names, cells)))
    except csv.Error as error:
        raise BadConfigurations(f"{where}: line {reader.line_num} is no CSV: {error}") from error
    return rows


def _check_header(names: Sequence[str], where: str) -> None:
    if not all(names):
        raise BadConfigurations(f"{where}: the first line must name every column")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadConfigurations(f"{where}: the first line names {twice[0][:60]!r} twice")


def _cells_by_name(names: Sequence[str], cells: Sequence[str]) -> object:
    if len(cells) > len(names):
        return _BadRow(f"has {counted(len(cells), 'cell')}, and the first line has {len(names):,}")
    given = {
        name: _value_of(cell.strip())
        for name, cell in zip(names, cells, strict=False)
        if cell.strip()
    }
    return given or _BadRow("has no value; write one, or delete the line")


def _value_of(cell: str) -> object:
    """A cell's number or truth value, as a DAG's params expect it; its text otherwise."""
    if _NUMBER.fullmatch(cell):
        return json.loads(cell)
    return {"true": True, "false": False}.get(cell, cell)


def _of_json(text: str, where: str) -> _Rows:
    try:
        items = json.loads(text, parse_constant=_no_number)
        if not isinstance(items, list):
            raise BadConfigurations(f"{where} is no list of objects; write [{{...}}, {{...}}]")
        return list(zip(_lines_of_items(text, len(items)), items, strict=True))
    except BadConfigurations:
        raise
    except (ValueError, RecursionError) as error:
        raise BadConfigurations(f"{where} is no JSON: {str(error)[:200]}") from error


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _lines_of_items(text: str, count: int) -> list[int]:
    """The lines on which the items of a list begin. text: JSON that was already read."""
    decoder, line, last = json.JSONDecoder(), 1, 0
    at = text.index("[") + 1
    lines = []
    for _ in range(count):
        begins = _SEPARATORS.match(text, at)
        at = begins.end() if begins else at
        line, last = line + text.count("\n", last, at), at
        lines.append(line)
        at = decoder.raw_decode(text, at)[1]
    return lines


def _of_yaml(text: str, where: str) -> _Rows:
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.SequenceNode):
            raise BadConfigurations(f"{where} is no list of mappings; begin each with a dash")
        lines = [each.start_mark.line + 1 for each in node.value]
        return list(zip(lines, loader.construct_document(node), strict=True))
    except BadConfigurations:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())[:200]
        raise BadConfigurations(f"{where} is no YAML: {words}") from error


def _configuration(line: int, row: object) -> Configuration:
    if isinstance(row, _BadRow):
        raise BadConfigurations(row.words)
    if not isinstance(row, dict):
        raise BadConfigurations("is no mapping of names to values")
    conf = _Plain().of(row)
    text = json.dumps(conf, sort_keys=True, separators=(",", ":"))
    if len(text) > MOST_CONF_CHARS:
        raise BadConfigurations(f"has more than {MOST_CONF_CHARS:,} characters as JSON")
    return Configuration(line, conf, text)


class _Plain:
    """Copies a value in types that JSON has. One for each configuration: it counts values."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def of(self, value: object, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MOST_DEPTH:
            raise BadConfigurations(
                f"has more than {MOST_VALUES:,} values, or more than {MOST_DEPTH} inside each other"
            )
        if isinstance(value, dict):
            return {_name(name): self.of(each, depth + 1) for name, each in value.items()}
        if isinstance(value, list):
            return [self.of(each, depth + 1) for each in value]
        return _scalar(value)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise BadConfigurations(f"has the name {str(name)[:60]!r}, which is no text; quote it")
    return _text_of(name)


def _text_of(text: str) -> str:
    if _NOT_STORED.search(text):
        raise BadConfigurations("has a character that no database keeps: NUL, or half a surrogate")
    return text


def _scalar(value: object) -> Any:
    if isinstance(value, str):
        return _text_of(value)
    if isinstance(value, date):
        return value.isoformat()  # YAML reads 2026-01-05 as a date, and JSON has none
    if isinstance(value, float) and not math.isfinite(value):
        raise BadConfigurations(f"has {value}, which is no number of JSON")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise BadConfigurations(f"has a value of the kind {type(value).__name__}; write it as a text")
