"""The load beside which attempts ran, the sightings of their times, and their forecasts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required, serial, written_at

revision = "0007"
down_revision = "0006"

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
    for column in (
        *optional(sa.BigInteger, "request_memory_ran_bytes"),
        *optional(sa.Double, "limit_cores", "requested_s", "node_memory_share", "node_cpu_share"),
        *optional(sa.Double, "cluster_memory_share", "cluster_cpu_share"),
        *optional(sa.Integer, "waiting_pods"),
        *optional(sa.Double, "submitted_memory_share", "submitted_cpu_share"),
        *optional(sa.Integer, "submitted_waiting_pods"),
        *optional(sa.Double, "forecast_share"),
    ):
        op.add_column("observations", column)
    op.create_table(
        "sightings",
        serial("serial"),
        *required(sa.Text, "task", "kind", "attempt_uid"),
        *required(sa.Double, "at_s"),
        *optional(sa.Double, "runtime_s"),
        sqlite_autoincrement=True,
    )
    op.create_table("forecaster", key("key"), *required(sa.LargeBinary, "state"))
    op.create_table(
        "kept_forecasts",
        key("attempt_uid"),
        *required(sa.Text, "task"),
        written_at(),
        *optional(sa.Double, "started_s", "told_s"),
        *required(sa.Text, "forecast"),
        *required(sa.LargeBinary, "state"),
    )
    op.create_table(
        "shape_catalogues",
        key("normalisation"),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        *required(sa.Double, "made_s"),
        *required(sa.Text, "document"),
    )
    op.execute(PAST)
