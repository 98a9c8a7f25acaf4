"""First tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required, serial, written_at

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "decisions",
        key("attempt_uid"),
        *required(sa.Text, "task"),
        *required(sa.Double, "at_s"),
        *required(sa.Text, "words"),
        *optional(sa.BigInteger, "allocation_bytes", "request_bytes"),
        *required(sa.Text, "reason"),
        sa.Index(None, "task", "at_s"),
    )
    op.create_table(
        "imports",
        key("task"),
        sa.Column("serial", sa.BigInteger, nullable=False, index=True),
    )
    op.create_table(
        "lifts",
        key("task"),
        key("run"),
        *required(sa.BigInteger, "allocation_bytes"),
        *required(sa.Integer, "attempt"),
        *required(sa.BigInteger, "after_bytes"),
        written_at(),
    )
    op.create_table(
        "observations",
        serial("id"),
        sa.Column("attempt_uid", sa.Text, nullable=False, unique=True),
        *required(sa.Text, "task", "run"),
        *required(sa.Integer, "attempt"),
        *required(sa.Double, "ordered_s"),
        *required(sa.Text, "outcome", "features"),
        *optional(sa.BigInteger, "request_bytes", "allocation_bytes", "peak_bytes"),
        *optional(sa.Text, "peak_source"),
        *optional(sa.BigInteger, "kernel_peak_bytes", "working_set_peak_bytes", "anon_peak_bytes"),
        *optional(sa.Double, "cpu_s", "submitted_s", "started_s", "finished_s"),
        *optional(sa.Text, "node", "node_type", "image"),
        *optional(sa.Integer, "exit_code"),
        *optional(sa.Text, "model_version"),
        *optional(sa.BigInteger, "node_memory_bytes"),
        *optional(sa.Double, "node_cpu"),
        *required(sa.Text, "neighbours"),
        sa.Index(None, "task", "ordered_s", "id"),
        sa.Index(None, "task", "run"),
    )
    op.create_table(
        "peaks",
        key("pod_uid"),
        key("container_id"),
        *required(sa.Text, "report"),
        written_at(),
    )
    op.create_table(
        "retries",
        key("attempt_uid"),
        *required(sa.Text, "namespace", "pod", "new_pod", "manifest"),
        *required(sa.Double, "planned_s"),
        *optional(sa.Text, "result"),
        sa.Column("closed_s", sa.Double, index=True),
    )
    op.create_table(
        "trainings",
        serial("id"),
        *required(sa.Text, "task"),
        *required(sa.Double, "at_s"),
        *optional(sa.Integer, "observations", "runs", "oom_kills"),
        *optional(sa.Text, "failure", "champion", "version", "report", "model", "damage"),
        sa.Index(None, "task", "id"),
    )
