"""The errors of a store, as sentences that say what is wrong, where, and what to do."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy import exc


class StoreError(Exception):
    """The store cannot do its work now. Nothing was kept of the call; trying again is safe."""


class BadRecordError(ValueError):
    """One record cannot be stored, whatever the store's state; trying again will not help."""


ONLY_READS: Final = (
    "may only be read: it is a standby, or was made read-only; give the address of the primary"
)
_LOCKED: Final = "is locked by another process; end what holds it, or wait"
_FULL: Final = (
    "has no room: the disk is full; free some space, nothing that was acknowledged is lost"
)
_BY_CODE: Final = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_NOTADB: "is not a Plimsoll database; give another file, or move this one away",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a backup, or move it away to start anew",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its folder exists and may be written",
    sqlite3.SQLITE_READONLY: (
        "may not be written; give this user write permission on the file and its folder"
    ),
    sqlite3.SQLITE_IOERR: "had an input/output error; check the disk and the space left on it",
}
_BY_SQLSTATE: Final = {
    "53100": _FULL,
    "55P03": _LOCKED,
    "25006": ONLY_READS,
    "25P03": "took us for gone, for saying nothing in the middle of a transaction",
    "28": "refuses this user; check the name and the password",
    "3D": "has no such database; make it, and give Plimsoll's user its rights",
    "42501": "refuses this user a right; grant all on Plimsoll's tables",
    "42P01": "has lost a table; restore a backup",
    "42703": "has lost a column; restore a backup",
    "57": "stops, starts, or gave up a statement; check the database server",
    "58": "had an input/output error; check the database server's disk",
    "XX": "is damaged; restore a backup",
    "08": "is not there at the moment; check the database server",
}
"""By SQLSTATE, else by its class: the first two characters."""
_TOO_LARGE: Final = "54"
"""The class of what is beyond any server's limits, such as a text too long for an index."""


def store_error(error: exc.SQLAlchemyError, where: str) -> Exception:
    """The error that the caller gets for an error of the database.

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
        return BadRecordError(f"store {where} refuses the record: {in_one_line(original)}")
    code = getattr(original, "sqlite_errorcode", None)
    if isinstance(code, int):
        words = _BY_CODE.get(code & 0xFF)
    else:
        words = _BY_SQLSTATE.get(sqlstate) or _BY_SQLSTATE.get(sqlstate[:2])
    if words:
        return StoreError(f"store {where} {words} ({in_one_line(original)})")
    if isinstance(error, exc.OperationalError) or error.connection_invalidated:
        return StoreError(
            f"store {where} does not answer as it should: {in_one_line(original)}; check it"
        )
    return error


def in_one_line(original: BaseException | None) -> str:
    """An error in one line: PostgreSQL's have several, and are shown in conditions and logs."""
    return " ".join(str(original).split())[:500]
