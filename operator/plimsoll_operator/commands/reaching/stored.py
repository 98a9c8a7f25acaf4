"""The store, for commands that only look at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from plimsoll_predictor.store import Store, StoreError


@contextmanager
def existing_store(url: str) -> Iterator[Store]:
    """A store that exists: a command that only reads must not leave an empty one behind.

    Raises:
        StoreError: if there is none, or it cannot be opened.
    """
    file = sqlite_file(url)
    if file is not None and not file.exists():
        raise StoreError(f"there is no store {file}; is the --store right?")
    store = Store.open(url)
    try:
        yield store
    finally:
        store.close()


def sqlite_file(url: str) -> Path | None:
    """The file that a store's URL names; None if it names none, or cannot be read.

    >>> sqlite_file("sqlite:////var/lib/plimsoll.db"), sqlite_file("postgresql://db/plimsoll")
    (PosixPath('/var/lib/plimsoll.db'), None)
    """
    url = url.strip()
    try:
        address = sa.make_url(url if "://" in url else f"sqlite:///{url}")
    except exc.ArgumentError:
        return None
    is_file = address.get_backend_name() == "sqlite" and address.database not in (None, ":memory:")
    return Path(str(address.database)) if is_file else None
