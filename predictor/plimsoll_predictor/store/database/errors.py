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
_LOCKED: Final = _BY_CODE[sqlite3.SQLITE_BUSY]
_FULL: Final = _BY_CODE[sqlite3.SQLITE_FULL]
_AWAY: Final = (StoreError, "is not there at the moment; check the database server")
_BY_SQLSTATE: Final[dict[str, tuple[type[StoreError], str]]] = {
    "53100": _FULL,
    "55P03": _LOCKED,
    "25006": (
        StoreError,
        "may only be read: it is a standby, or was made read-only; give the address of the primary",
    ),
    "25P03": (StoreError, "took us for gone, for saying nothing in the middle of a transaction"),
    "28": (StoreError, "refuses this user; check the name and the password"),
    "3D": (StoreError, "has no such database; make it, and give Plimsoll's user its rights"),
    "42501": (StoreError, "refuses this user a right; grant all on Plimsoll's tables"),
    "42P01": (StoreDamagedError, "has lost a table; restore a backup"),
    "42703": (StoreDamagedError, "has lost a column; restore a backup"),
    "57": (StoreError, "stops, starts, or gave up a statement; check the database server"),
    "58": (StoreError, "had an input/output error; check the database server's disk"),
    "XX": (StoreDamagedError, "is damaged; restore a backup"),
    "08": _AWAY,
}
"""By SQLSTATE, else by its class: the first two characters."""
_TOO_LARGE: Final = "54"
"""The class of what is beyond any server's limits, such as a text too long for an index."""


def store_error(error: exc.SQLAlchemyError, where: str) -> Exception:
    """What an error of the database means to the caller.

    where: the store's address without its password.
    Returns a StoreError if the store itself is in trouble, a BadRecordError if the data is, and the
    error itself if it is neither, which is a defect of ours.
    """
    if isinstance(error, exc.TimeoutError):
        return StoreError(f"store {where} is busy: all connections are in use; try again")
    if not isinstance(error, exc.DBAPIError):
        return error
    original = error.orig
    sqlstate = str(getattr(original, "sqlstate", None) or "")
    if isinstance(error, exc.IntegrityError | exc.DataError) or sqlstate.startswith(_TOO_LARGE):
        return BadRecordError(f"store {where} refuses the record: {_line(original)}")
    kind, words = _meaning(original, sqlstate)
    if kind is not None:
        return kind(f"store {where} {words} ({_line(original)})")
    if isinstance(error, exc.OperationalError) or error.connection_invalidated:
        return StoreError(
            f"store {where} does not answer as it should: {_line(original)}; check it"
        )
    return error


def _meaning(original: BaseException | None, sqlstate: str) -> tuple[type[StoreError] | None, str]:
    code = getattr(original, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _BY_CODE.get(code & 0xFF, (None, ""))
    return _BY_SQLSTATE.get(sqlstate) or _BY_SQLSTATE.get(sqlstate[:2]) or (None, "")


def _line(original: BaseException | None) -> str:
    """The error in one line: PostgreSQL's have several, and are shown in conditions and logs."""
    return " ".join(str(original).split())[:500]
