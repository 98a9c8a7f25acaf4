"""Histories through standard input and output, for commands that read and write files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_predictor.tables.cells import TableError

CHUNK_BYTES: Final = 1024 * 1024
ENDINGS: Final = (".csv", ".gz", ".parquet")


@contextmanager
def given_history(path: Path, size_bytes: int | None) -> Iterator[Path]:
    """The file to read: the named one or, for ``-``, a temporary copy of standard input.

    size_bytes: the length of standard input; None reads to its end.

    Raises:
        TableError: if less comes, as when a connection breaks: none of it is used.
        OSError: if there is no room for it.
    """
    if str(path) != "-":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        taken = Path(folder) / "standard-input"
        with taken.open("wb") as file:
            got_bytes = _copy(sys.stdin.buffer, file, size_bytes)
        if size_bytes is not None and got_bytes < size_bytes:
            raise TableError(
                f"only {got_bytes:,} of {size_bytes:,} bytes came by standard input;"
                " nothing was kept, import it again"
            )
        yield taken


def printed_history(ending: str, write: Callable[[Path], int]) -> int:
    """Write a temporary file, then print it; the exit status of the writing.

    ending: of the file's name, which gives the format.
    """
    ending = ending if ending in ENDINGS else ".csv"
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        file = Path(folder) / f"history{ending}"
        status = write(file)
        if status == 0:
            with file.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer, CHUNK_BYTES)
            sys.stdout.flush()
        return status


def _copy(source: BinaryIO, file: BinaryIO, size_bytes: int | None) -> int:
    got_bytes = 0
    while size_bytes is None or got_bytes < size_bytes:
        wanted = CHUNK_BYTES if size_bytes is None else min(CHUNK_BYTES, size_bytes - got_bytes)
        # os.read returns the bytes that are there; it does not wait for a chunk.
        chunk = os.read(source.fileno(), wanted)
        if not chunk:
            break
        file.write(chunk)
        got_bytes += len(chunk)
    return got_bytes
