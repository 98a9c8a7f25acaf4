"""Alembic's entry: runs the steps in the transaction that the caller holds."""

from __future__ import annotations

from alembic import context

from plimsoll_predictor.store.database.schema import metadata
from plimsoll_predictor.store.migrations import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # The caller's transaction holds the write lock and makes all steps one.
    transactional_ddl=False,
)
context.run_migrations()
