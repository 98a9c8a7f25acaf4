"""Histories through standard input, for commands that read files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

from plimsoll_predictor.tables.cells import TableError

CHUNK_BYTES: Final = 1024 * 1024
MOST_SENT_BYTES: Final = 256 * 2**20
"""The controller's pod holds a sent file in its /tmp; the kubelet evicts a pod that fills it."""
MOST_HELD_BYTES: Final = 2 * MOST_SENT_BYTES
"""All such files: several people may import at once, and a training has files beside them."""
_SENT: Final = "plimsoll-sent-"


@contextmanager
def given_history(path: Path, size_bytes: int | None) -> Iterator[Path]:
    """The file to read: the named one or, for ``-``, a temporary copy of standard input.

    size_bytes: the length of standard input, in the controller's pod; None reads to its end, here.

    Raises:
        TableError: if less comes, as when a connection breaks: none of it is used. Also if the pod
            has no room for it.
        OSError: if there is no room for it.
    """
    if str(path) != "-":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=_SENT) as folder:
        taken = Path(folder) / "standard-input"
        # Open, and so locked, until it was read: a file that nobody has locked is removed.
        with taken.open("wb") as file:
            _lock(file)
            if size_bytes is not None:
                _reserve(file, size_bytes, Path(folder).parent)
            got_bytes = _copy(sys.stdin.buffer, file, size_bytes)
            file.flush()
            if size_bytes is not None and got_bytes < size_bytes:
                raise TableError(
                    f"only {got_bytes:,} of {size_bytes:,} bytes came by standard input;"
                    " nothing was kept, import it again"
                )
            yield taken


def too_large(size_bytes: int) -> str:
    """Say why a file is not sent to the controller's pod, and what to do."""
    return (
        f"{size_bytes / 2**20:,.0f} MiB are too many for the controller's pod, which has room for"
        f" {MOST_SENT_BYTES >> 20} MiB: gzip the file, split it, or name the store itself with"
        " --store"
    )


def _reserve(file: BinaryIO, size_bytes: int, folder: Path) -> None:
    """Claim the room before the bytes come, so that two imports at once do not both count on it.

    folder: of all such files' folders.
    """
    if size_bytes > MOST_SENT_BYTES:
        raise TableError(too_large(size_bytes))
    file.truncate(size_bytes)
    held_bytes = _held_bytes(folder)
    if held_bytes > MOST_HELD_BYTES:
        others = held_bytes - size_bytes
        raise TableError(
            f"others import {others >> 20:,} MiB now, and the controller's pod has no room for this"
            " file, too; nothing was kept, import it again in some minutes"
        )


def _held_bytes(folder: Path) -> int:
    """What imports hold; what an import left that was killed is removed, and does not count."""
    held_bytes = 0
    for path in folder.glob(f"{_SENT}*/*"):
        with suppress(FileNotFoundError), path.open("rb") as file:  # if it was not taken in since
            size_bytes = os.fstat(file.fileno()).st_size
            # An empty one may have been made just now, and not be locked yet.
            if size_bytes and _lock(file):
                shutil.rmtree(path.parent, ignore_errors=True)
            else:
                held_bytes += size_bytes
    return held_bytes


def _lock(file: IO[bytes]) -> bool:
    """Lock it until it is closed, or its process ends; False if another has, or on Windows."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


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
