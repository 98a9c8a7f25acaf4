"""Tables into files: CSV, gzipped CSV or Parquet, as the name's ending says."""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from plimsoll_predictor.core.record import Features
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.parquet_tables import write_parquet

_ENDINGS: Final = (".csv", ".gz", ".parquet")

Columns = Mapping[str, type]
"""Name -> int, float or str, in the order of the file."""
Cells = Mapping[str, object]
"""Column -> value; what is unknown is absent."""


def write_table(path: Path, columns: Columns, batches: Iterable[Sequence[Cells]]) -> None:
    """Write rows, a batch at a time; the file appears whole or not at all.

    Parquet if the name ends in .parquet, gzipped CSV if in .gz, CSV if in .csv.

    Raises TableError for any other name.
    """
    check_ending(path)
    with _beside(path) as unfinished:
        if path.suffix == ".parquet":
            write_parquet(unfinished, columns, batches)
        else:
            with unfinished.open("wb") as file:
                stream_table(file, path.suffix, columns, batches)


def check_ending(path: Path) -> None:
    """Raise TableError for a name that would promise another form than the file has."""
    if path.suffix not in _ENDINGS:
        raise TableError(f"{path} names no form that can be written: .csv, .csv.gz or .parquet")


def stream_table(
    file: BinaryIO, ending: str, columns: Columns, batches: Iterable[Sequence[Cells]]
) -> None:
    """Write rows to an open file that need not seek: gzipped CSV if ending is .gz, else CSV."""
    with _as_text(file, ending) as text:
        writer = csv.DictWriter(text, list(columns), restval="")
        writer.writeheader()
        for batch in batches:
            writer.writerows(batch)


def feature_columns(prefix: str, many: Iterable[Features]) -> dict[str, type]:
    """A column for each feature: of numbers if it is one wherever it is known, else of text."""
    kinds: dict[str, type] = {}
    for features in many:
        for name, value in features.items():
            kind = str if isinstance(value, str) else float
            kinds[prefix + name] = kind if kinds.get(prefix + name, kind) is kind else str
    return dict(sorted(kinds.items()))


@contextmanager
def _as_text(file: BinaryIO, ending: str) -> Iterator[TextIO]:
    """The file as text; it stays open for whoever opened it."""
    packed = gzip.GzipFile(fileobj=file, mode="wb") if ending == ".gz" else None
    text = TextIOWrapper(packed or file, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()
        if packed is not None:
            packed.close()


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file of the same ending, put in the place of path when all went well."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".plimsoll-", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        # mkstemp makes it private; what is written is for sharing.
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
