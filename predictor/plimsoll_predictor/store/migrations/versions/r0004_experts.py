"""The experts' bids, lessons and states; they learn from the past that is stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required, serial, written_at

revision = "0004"
down_revision = "0003"

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
        key("attempt_uid"),
        *required(sa.Text, "task", "bids"),
        written_at(),
    )
    op.create_table(
        "lessons",
        serial("serial"),
        *required(sa.Text, "task", "kind"),
        *optional(sa.Text, "run", "attempt_uid"),
        *optional(sa.BigInteger, "need_bytes", "before_bytes"),
        *optional(sa.Double, "runtime_s"),
        *optional(sa.BigInteger, "request_bytes"),
        *optional(sa.Text, "image"),
        *required(sa.Text, "document"),
        sqlite_autoincrement=True,
    )
    op.create_table("standings", key("task"), *required(sa.Text, "state"))
    op.execute(PAST)
