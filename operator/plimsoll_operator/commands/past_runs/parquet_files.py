"""Histories on the way to and from the controller, whose image has no pyarrow.

There they are CSV, gzipped if they are large: its pod has little room.
"""

from __future__ import annotations

import csv
import gzip
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from plimsoll_operator.commands.past_runs.history_files import (
    CHUNK_BYTES,
    MOST_SENT_BYTES,
    too_large,
)
from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.web.report.writing import check_writable
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.tables.cells import BadRow, Row, TableError
from plimsoll_predictor.tables.history import read_history, write_history
from plimsoll_predictor.tables.parquet_tables import is_parquet, pyarrow_for, read_parquet
from plimsoll_predictor.tables.text_tables import is_gzip

Read = TypeVar("Read", Row, Observation)
PARQUET: Final = ".parquet"
_AT_ONCE: Final = 1000
_PACKING: Final = 6
"""gzip's own choice; 9 takes several times as long for a percent less."""


@contextmanager
def sendable(path: Path, shown: str) -> Iterator[Path]:
    """The file itself, or a temporary copy as gzipped CSV with the same lines.

    It is copied if it is Parquet, or too large as it is. shown: the file's name for people.

    Raises:
        TableError: if it is damaged, pyarrow is missing, or even the copy is too large.
    """
    with path.open("rb") as file, tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        copy = Path(folder) / "history.csv.gz"
        if is_parquet(file):
            _pack_parquet(file, copy, shown)
        elif path.stat().st_size > MOST_SENT_BYTES and not is_gzip(file):
            with gzip.open(copy, "wb", compresslevel=_PACKING) as packed:
                shutil.copyfileobj(file, packed, CHUNK_BYTES)
        sent = copy if copy.exists() else path
        size_bytes = sent.stat().st_size
        if size_bytes > MOST_SENT_BYTES:
            even = "even gzipped, " if sent is copy else ""
            raise TableError(f"{shown}: {even}{too_large(size_bytes)}")
        yield sent


def _pack_parquet(file: BinaryIO, copy: Path, shown: str) -> None:
    table = read_parquet(file, shown)
    with gzip.open(copy, "wt", encoding="utf-8", newline="", compresslevel=_PACKING) as packed:
        writer = csv.writer(packed)
        writer.writerow(table.columns)
        writer.writerows(_good(row, shown).cells for row in table.rows)


def fetched_history(path: Path, words: Sequence[str], installation: Installation) -> int:
    """Have the controller write a history, which comes back into a file; the exit status.

    words: the command there. The pod sees no file name, so the ending that gives the format is
    added.
    """
    from plimsoll_operator.commands.reaching.in_controller import Errand, run_in_controller

    if path.suffix != PARQUET:
        words = [*words, "--stdout-ending", path.suffix]
        return run_in_controller(Errand(words=words, installation=installation, out=path))
    try:
        pyarrow_for(path)
        check_writable(path)
        # Whatever fails, no CSV is left under a name that says Parquet.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".plimsoll-") as folder:
            csv_file = Path(folder) / "history.csv.gz"
            errand = Errand(
                words=[*words, "--stdout-ending", csv_file.suffix],
                installation=installation, out=csv_file, tells=False,
            )  # fmt: skip
            status = run_in_controller(errand)
            if status == 0:
                _make_parquet(csv_file, path)
                complain(f"{path}: written")
    except TableError as error:
        complain(f"plimsoll {words[0]}: {error}")
        return 1
    except OSError as error:
        complain(f"plimsoll {words[0]}: {error.filename or path}: {error.strerror}")
        return 1
    return status


def _make_parquet(csv_file: Path, path: Path) -> None:
    """Write a CSV history anew as Parquet.

    Raises:
        TableError: if it holds what no history has.
        OSError: if there is no room.
    """

    def batches() -> Iterator[list[Observation]]:
        with csv_file.open("rb") as file:
            rows = read_history(file, where=str(path))
            while batch := [_good(each, str(path)) for each in islice(rows, _AT_ONCE)]:
                yield batch

    write_history(path, batches)


def _good(row: Read | BadRow, shown: str) -> Read:
    if isinstance(row, BadRow):
        raise TableError(f"{shown}, line {row.line}: {row.reason}")
    return row
