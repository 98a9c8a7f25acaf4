"""Tables into files: CSV, gzipped CSV or Parquet, as the name's ending says."""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from plimsoll_predictor.core.record import Features
from plimsoll_predictor.tables.parquet_tables import write_parquet

Columns = Mapping[str, type]
"""Name -> int, float or str, in the order of the file."""
Cells = Mapping[str, object]
"""Column -> value; what is unknown is absent."""


def write_table(path: Path, columns: Columns, batches: Iterable[Sequence[Cells]]) -> None:
    """Write rows, a batch at a time; the file appears whole or not at all.

    Parquet if the name ends in .parquet, gzipped CSV if in .gz, else CSV.
    """
    with _beside(path) as unfinished:
        if path.suffix == ".parquet":
            write_parquet(unfinished, columns, batches)
        else:
            _write_csv(unfinished, columns, batches)


def feature_columns(prefix: str, many: Iterable[Features]) -> dict[str, type]:
    """A column for each feature: of numbers if it is one wherever it is known, else of text."""
    kinds: dict[str, type] = {}
    for features in many:
        for name, value in features.items():
            kind = str if isinstance(value, str) else float
            kinds[prefix + name] = kind if kinds.get(prefix + name, kind) is kind else str
    return dict(sorted(kinds.items()))


def _write_csv(path: Path, columns: Columns, batches: Iterable[Sequence[Cells]]) -> None:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns), restval="")
        writer.writeheader()
        for batch in batches:
            writer.writerows(batch)


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
