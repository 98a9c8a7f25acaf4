"""Profiling campaigns, and the attempts at their scenarios."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "campaigns",
        key("uid"),
        *required(sa.Text, "namespace", "name", "task"),
        *required(sa.BigInteger, "reference_bytes"),
        *required(sa.Integer, "duplicates"),
        *required(sa.Double, "began_s"),
        *optional(sa.Double, "ended_s"),
        *optional(sa.Text, "ending"),
    )
    op.create_index("ix_campaigns_ended_s", "campaigns", ["ended_s"])
    op.create_index("ix_campaigns_namespace_name", "campaigns", ["namespace", "name"])
    op.create_table(
        "campaign_runs",
        key("campaign"),
        sa.Column("scenario", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        *required(sa.Text, "state", "features"),
        *required(sa.BigInteger, "memory_bytes"),
        *required(sa.Integer, "lifts"),
        *optional(sa.Double, "created_s", "ended_s"),
        *optional(sa.Text, "attempt_uid"),
        *optional(sa.BigInteger, "peak_bytes"),
        *optional(sa.Double, "runtime_s"),
        *required(sa.Text, "note"),
    )
