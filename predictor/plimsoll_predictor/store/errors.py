"""What can be wrong with a store, as sentences that say what, where and what to do."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy import exc


class StoreError(Exception):
    """The store cannot do its work now. Nothing was kept of the call; trying again is safe."""


class StoreLockedError(StoreError):
    """Another process holds the database longer than the busy timeout."""


class StoreFullError(StoreError):
    """The disk has no room."""


class StoreDamagedError(StoreError):
    """The file is not a database, or is a damaged one."""


class StoreForeignError(StoreError):
    """The database belongs to something else, or to a newer Plimsoll."""


class BadRecordError(ValueError):
    """One record cannot be stored, whatever the store's state; trying again will not help."""


_BY_CODE: Final[dict[int, tuple[type[StoreError], str]]] = {
    sqlite3.SQLITE_BUSY: (
        StoreLockedError,
        "is locked by another process; end what holds it, or wait",
    ),
    sqlite3.SQLITE_LOCKED: (
        StoreLockedError,
        "is locked by another process; end what holds it, or wait",
    ),
    sqlite3.SQLITE_FULL: (
        StoreFullError,
        "has no room: the disk is full; free some space, nothing that was acknowledged is lost",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreDamagedError,
        "is not a Plimsoll database; give another file, or move this one away",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreDamagedError,
        "is damaged; restore a backup, or move it away to start anew",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        "cannot be opened; check that its folder exists and may be written",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreError,
        "may not be written; give this user write permission on the file and its folder",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreError,
        "had an input/output error; check the disk and the space left on it",
    ),
}
_DISK_FULL_SQLSTATE: Final = "53100"


def store_error(error: exc.SQLAlchemyError, where: str) -> Exception:
    """What an error of the database means to the caller.

    where: the store's address without its password.
    Returns a StoreError if the store itself is in trouble, a BadRecordError if the data is, and the
    error itself if it is neither, which is a defect of ours.
    """
    if not isinstance(error, exc.DBAPIError):
        return error
    original = error.orig
    if isinstance(error, exc.IntegrityError | exc.DataError):
        return BadRecordError(f"store {where} refuses the record: {original}")
    kind, words = _meaning(original)
    if kind is not None:
        return kind(f"store {where} {words} ({original})")
    if isinstance(error, exc.OperationalError) or error.connection_invalidated:
        return StoreError(f"store {where} does not answer as it should: {original}; check it")
    return error


def _meaning(original: BaseException | None) -> tuple[type[StoreError] | None, str]:
    code = getattr(original, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _BY_CODE.get(code & 0xFF, (None, ""))
    if getattr(original, "sqlstate", None) == _DISK_FULL_SQLSTATE:
        return _BY_CODE[sqlite3.SQLITE_FULL]
    return None, ""
