"""Databases as older Plimsolls left them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from plimsoll_predictor.store.database.database import Database


def make_store_of(revision: str, url: str) -> None:
    """Make the tables of that revision in an empty database."""
    config = Config()
    config.set_main_option("script_location", "plimsoll_predictor.store:migrations")
    with writing_to(url) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def insert(url: str, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put rows in as they are, each with its own columns."""
    with writing_to(url) as connection:
        for row in rows:
            names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)


@contextmanager
def writing_to(url: str) -> Iterator[sa.Connection]:
    """One transaction, on tables of any version."""
    database = Database.connect(url, 5.0)
    with database.write_schema() as connection:
        yield connection
    database.close()
