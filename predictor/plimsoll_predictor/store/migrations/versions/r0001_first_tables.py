"""First tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "decisions",
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("allocation_bytes", sa.BigInteger()),
        sa.Column("request_bytes", sa.BigInteger()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("attempt_uid", name="pk_decisions"),
    )
    op.create_index("ix_decisions_task_at_s", "decisions", ["task", "at_s"])
    op.create_table(
        "imports",
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("task", name="pk_imports"),
    )
    op.create_index("ix_imports_serial", "imports", ["serial"])
    op.create_table(
        "lifts",
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("allocation_bytes", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("after_bytes", sa.BigInteger(), nullable=False),
        sa.Column("put_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("task", "run", name="pk_lifts"),
    )
    op.create_index("ix_lifts_put_s", "lifts", ["put_s"])
    op.create_table(
        "observations",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ordered_s", sa.Double(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("features", sa.Text(), nullable=False),
        sa.Column("request_bytes", sa.BigInteger()),
        sa.Column("allocation_bytes", sa.BigInteger()),
        sa.Column("peak_bytes", sa.BigInteger()),
        sa.Column("peak_source", sa.Text()),
        sa.Column("kernel_peak_bytes", sa.BigInteger()),
        sa.Column("working_set_peak_bytes", sa.BigInteger()),
        sa.Column("anon_peak_bytes", sa.BigInteger()),
        sa.Column("cpu_s", sa.Double()),
        sa.Column("submitted_s", sa.Double()),
        sa.Column("started_s", sa.Double()),
        sa.Column("finished_s", sa.Double()),
        sa.Column("node", sa.Text()),
        sa.Column("node_type", sa.Text()),
        sa.Column("image", sa.Text()),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("model_version", sa.Text()),
        sa.Column("node_memory_bytes", sa.BigInteger()),
        sa.Column("node_cpu", sa.Double()),
        sa.Column("neighbours", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_observations"),
        sa.UniqueConstraint("attempt_uid", name="uq_observations_attempt_uid"),
    )
    op.create_index(
        "ix_observations_task_ordered_s_id", "observations", ["task", "ordered_s", "id"]
    )
    op.create_index("ix_observations_task_run", "observations", ["task", "run"])
    op.create_table(
        "peaks",
        sa.Column("pod_uid", sa.Text(), nullable=False),
        sa.Column("container_id", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("put_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("pod_uid", "container_id", name="pk_peaks"),
    )
    op.create_index("ix_peaks_put_s", "peaks", ["put_s"])
    op.create_table(
        "retries",
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("pod", sa.Text(), nullable=False),
        sa.Column("new_pod", sa.Text(), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("planned_s", sa.Double(), nullable=False),
        sa.Column("result", sa.Text()),
        sa.Column("closed_s", sa.Double()),
        sa.PrimaryKeyConstraint("attempt_uid", name="pk_retries"),
    )
    op.create_index("ix_retries_closed_s", "retries", ["closed_s"])
    op.create_table(
        "trainings",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("observations", sa.Integer()),
        sa.Column("runs", sa.Integer()),
        sa.Column("oom_kills", sa.Integer()),
        sa.Column("failure", sa.Text()),
        sa.Column("champion", sa.Text()),
        sa.Column("version", sa.Text()),
        sa.Column("report", sa.Text()),
        sa.Column("model", sa.Text()),
        sa.Column("damage", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_trainings"),
    )
    op.create_index("ix_trainings_task_id", "trainings", ["task", "id"])
