"""What the experts bid, are to learn and have become; they learn from the past that is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PAST = """
INSERT INTO lessons
    (task, kind, run, attempt_uid, need_bytes, runtime_s, request_bytes, image, document)
SELECT task, 'ended', run, attempt_uid, peak_bytes,
    CASE WHEN finished_s >= started_s THEN finished_s - started_s END,
    request_bytes, image, features
FROM (
    SELECT one_a_run.*,
        row_number() OVER (PARTITION BY task ORDER BY ordered_s DESC, id DESC) AS age
    FROM (
        SELECT observations.*, row_number() OVER (
            PARTITION BY task, run ORDER BY peak_bytes DESC, id DESC
        ) AS place
        FROM observations WHERE outcome = 'succeeded' AND peak_bytes > 0
    ) AS one_a_run
    WHERE place = 1
) AS newest
WHERE age <= 200
ORDER BY ordered_s, id
"""
"""A task's newest runs, oldest first: enough for its experts, and soon learned at the start."""


def upgrade() -> None:
    """Make the tables, and a lesson of each past run."""
    op.create_table(
        "bids",
        sa.Column("attempt_uid", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("bids", sa.Text(), nullable=False),
        sa.Column("put_s", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("attempt_uid", name="pk_bids"),
    )
    op.create_index("ix_bids_put_s", "bids", ["put_s"])
    op.create_table(
        "lessons",
        sa.Column("serial", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run", sa.Text()),
        sa.Column("attempt_uid", sa.Text()),
        sa.Column("need_bytes", sa.BigInteger()),
        sa.Column("before_bytes", sa.BigInteger()),
        sa.Column("runtime_s", sa.Double()),
        sa.Column("request_bytes", sa.BigInteger()),
        sa.Column("image", sa.Text()),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("serial", name="pk_lessons"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "standings",
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("task", name="pk_standings"),
    )
    op.execute(PAST)
