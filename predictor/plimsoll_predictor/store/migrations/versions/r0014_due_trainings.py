"""Trainings that are due, for workers in pods of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "due_trainings",
        key("work"),
        *required(sa.Text, "task", "why"),
        *optional(sa.Text, "policy"),
        *required(sa.Integer, "killed", "starts"),
        *required(sa.Double, "since_s"),
        *optional(sa.Text, "round"),
        *optional(sa.Integer, "shard", "place"),
        *optional(sa.Double, "began_s", "ended_s"),
        *optional(sa.Text, "failure", "result", "again"),
    )
    op.create_index("ix_due_trainings_round_shard", "due_trainings", ["round", "shard"])
    op.create_index("ix_due_trainings_task", "due_trainings", ["task"])
