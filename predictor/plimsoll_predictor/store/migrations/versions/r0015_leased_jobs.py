"""Leased Jobs: which pods have which items, and what chunks of their tasks took."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, required, written_at

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the tables."""
    for table, name in (("leased_jobs", "job"), ("leased_tasks", "task")):
        op.create_table(table, key(name), *required(sa.Text, "document"), written_at())
