"""Writes a file completely or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_writable(out: Path) -> None:
    """Refuse a file that could not be written, before a long computation.

    Raises:
        OSError: naming the file.
    """
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", str(out))
    if not out.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {out.parent}", str(out))
    with _naming(out), tempfile.TemporaryFile(dir=out.parent):
        pass


def write_whole(out: Path, page: str) -> None:
    """Write to a new file beside it first, so that a full disk or a kill leaves the old file.

    Raises:
        OSError: naming the file.
    """
    with _naming(out):
        _write_beside(out, page)


@contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Errors name the file that people know, not the hidden one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from error


def _write_beside(out: Path, page: str) -> None:
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        # mkstemp makes the file private, but the page is for sharing.
        os.chmod(name, 0o644)
        os.replace(name, out)
    except BaseException:
        os.unlink(name)
        raise
