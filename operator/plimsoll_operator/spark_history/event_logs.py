"""Opens event logs as Spark writes them, and reads them line by line in bounded memory.

A log is a file, or a folder ``eventlog_v2_...`` of files ``events_1_...``, ``events_2_...``. A
compacted file (``.compact``) replaces those before it. The first bytes of a file, not its name,
show how it is compressed. https://spark.apache.org/docs/latest/monitoring.html has the forms.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from plimsoll_predictor.core.units import MIB

MOST_LINE_BYTES: Final = 16 * MIB
"""A longer line is left out: the lines that are needed fit, and only a query plan may not."""
STANDARD_INPUT: Final = "-"

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UNREAD: Final = {
    b"LZ4Block": "lz4 in Spark's own frames",
    b"\x82SNAPPY": "snappy",
    b"ZV": "lzf",
    b"PK": "zip: unpack it",
}
_MOST_MAGIC: Final = max(map(len, _UNREAD))
_ROLLED: Final = re.compile(r"events_([0-9]{1,9})_.*")
_COMPACT: Final = ".compact"
_TORN: Final = (EOFError, OSError, zlib.error)


class LogError(ValueError):
    """A log that cannot be read; the message says what to do."""


class EventLog:
    """The lines of one application's log, to be read once.

    torn: set after the last line: why the rest of a file could not be read; None if all was read.
    compacted: set by the first line: whether Spark replaced the first files by a part of them.
    """

    def __init__(self, named: Path) -> None:
        self.named = named
        self.torn: str | None = None
        self.compacted = False

    def lines(self) -> Iterator[bytes | None]:
        """Each line; None for one longer than MOST_LINE_BYTES.

        Raises:
            LogError: if there is no such log, or its form is not supported.
        """
        files = _files(self.named)
        self.compacted = any(path.name.endswith(_COMPACT) for path in files)
        for path in files:
            try:
                with _opened(path) as file:
                    yield from self._lines_of(file)
            except OSError as error:
                raise LogError(f"{path} cannot be read: {error.strerror or error}") from error

    def _lines_of(self, file: BinaryIO) -> Iterator[bytes | None]:
        try:
            stream = _unpacked(file, self.named)
            while line := stream.readline(MOST_LINE_BYTES):
                if len(line) < MOST_LINE_BYTES or line.endswith(b"\n"):
                    yield line
                    continue
                while (line := stream.readline(MOST_LINE_BYTES)) and not line.endswith(b"\n"):
                    pass
                yield None
        except _TORN as error:
            self.torn = str(error)[:200]


def _files(named: Path) -> Sequence[Path]:
    """The files of a log, in the order in which they were written."""
    if not named.is_dir():
        return [named]
    rolled = sorted(
        (int(found[1]), path)
        for path in named.iterdir()
        if (found := _ROLLED.fullmatch(path.name)) is not None
    )
    if not rolled:
        raise LogError(
            f"{named} has no files events_1_..., so it is no rolling log;"
            " name the logs in it one by one"
        )
    compacted = [number for number, path in rolled if path.name.endswith(_COMPACT)]
    first = compacted[-1] if compacted else 0
    # The original of a compacted file may still be there, beside the compacted one.
    return [
        path
        for number, path in rolled
        if number > first or (number == first and path.name.endswith(_COMPACT))
    ]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with path.open("rb", buffering=MIB) as file:
        yield file


def _unpacked(file: BinaryIO, named: Path) -> BinaryIO:
    """The file as it was before it was compressed."""
    magic = cast(io.BufferedReader, file).peek(_MOST_MAGIC)
    for beginning, form in _UNREAD.items():
        if magic.startswith(beginning):
            raise LogError(
                f"{named} is compressed ({form}), which is not read; write logs with"
                " spark.eventLog.compression.codec=zstd, or none with"
                " spark.eventLog.compress=false"
            )
    if magic.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if magic.startswith(_ZSTD):
        return _zstd(file, named)
    return file


def _zstd(file: BinaryIO, named: Path) -> BinaryIO:
    try:
        import pyarrow
    except ImportError as error:
        raise LogError(
            f"{named} is compressed with zstd, which needs pyarrow, and that is not installed:"
            " pip install '.[parquet]' in Plimsoll's checkout, or zstd -dc LOG | plimsoll spark -"
        ) from error
    unpacked = pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return cast(BinaryIO, io.BufferedReader(unpacked))
