"""Among what attempts ran, what is seen of their times, and what is forecast of them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {
    "request_memory_ran_bytes": sa.BigInteger(),
    "limit_cores": sa.Double(),
    "requested_s": sa.Double(),
    "node_memory_share": sa.Double(),
    "node_cpu_share": sa.Double(),
    "cluster_memory_share": sa.Double(),
    "cluster_cpu_share": sa.Double(),
    "waiting_pods": sa.Integer(),
    "submitted_memory_share": sa.Double(),
    "submitted_cpu_share": sa.Double(),
    "submitted_waiting_pods": sa.Integer(),
    "forecast_share": sa.Double(),
}
PAST = """
INSERT INTO sightings (task, kind, attempt_uid, at_s, runtime_s)
SELECT task, 'finished', attempt_uid, finished_s, finished_s - started_s
FROM (
    SELECT observations.*,
        row_number() OVER (PARTITION BY task ORDER BY ordered_s DESC, id DESC) AS age
    FROM observations
    WHERE outcome = 'succeeded' AND finished_s >= started_s
) AS newest
WHERE age <= 2000
ORDER BY ordered_s, id
"""
"""A task's newest runs, oldest first; they are folded while the controller serves already."""


def upgrade() -> None:
    """Add the columns, make the tables, and a sighting of each past run's end."""
    for name, kind in COLUMNS.items():
        op.add_column("observations", sa.Column(name, kind))
    op.create_table(
        "sightings",
        sa.Column("serial", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("at_s", sa.Double(), nullable=False),
        sa.Column("runtime_s", sa.Double()),
        sa.PrimaryKeyConstraint("serial", name="pk_sightings"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "forecaster",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_forecaster"),
    )
    op.create_table(
        "kept_forecasts",
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("put_s", sa.Double(), nullable=False),
        sa.Column("started_s", sa.Double()),
        sa.Column("told_s", sa.Double()),
        sa.Column("forecast", sa.Text(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("attempt_uid", name="pk_kept_forecasts"),
    )
    op.create_index("ix_kept_forecasts_put_s", "kept_forecasts", ["put_s"])
    op.create_table(
        "shape_catalogues",
        sa.Column("normalisation", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("made_s", sa.Double(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("normalisation", "version", name="pk_shape_catalogues"),
    )
    op.execute(PAST)
