"""What each task's observations add up to, and which code may use the schema.

Both are filled by whoever takes this step.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables, and the index by which the models that serve are found."""
    op.create_table(
        "totals",
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("observations", sa.BigInteger(), nullable=False),
        sa.Column("runs_known", sa.BigInteger(), nullable=False),
        sa.Column("oom_kills", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("max_need_bytes", sa.BigInteger()),
        sa.Column("requested_gb_h", sa.Double(), nullable=False),
        sa.Column("allocated_gb_h", sa.Double(), nullable=False),
        sa.Column("peak_gb_h", sa.Double(), nullable=False),
        sa.Column("last_finished_s", sa.Double()),
        sa.Column("used_runs", sa.BigInteger(), nullable=False),
        sa.Column("used_runtime_s", sa.Double(), nullable=False),
        sa.Column("request_bytes_sum", sa.Double(), nullable=False),
        sa.Column("request_bytes_count", sa.BigInteger(), nullable=False),
        sa.Column("used_bytes_sum", sa.Double(), nullable=False),
        sa.Column("request_cores_sum", sa.Double(), nullable=False),
        sa.Column("request_cores_count", sa.BigInteger(), nullable=False),
        sa.Column("used_cores_sum", sa.Double(), nullable=False),
        sa.Column("used_cores_count", sa.BigInteger(), nullable=False),
        sa.Column("most_bytes", sa.BigInteger()),
        sa.Column("most_cores", sa.Double()),
        sa.Column("cpu", sa.Text()),
        sa.PrimaryKeyConstraint("task", name="pk_totals"),
    )
    op.create_table(
        "compatibility",
        sa.Column("oldest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("oldest", name="pk_compatibility"),
    )
    succeeded = sa.text("failure IS NULL")
    op.create_index(
        "ix_trainings_serving",
        "trainings",
        ["task", "id"],
        sqlite_where=succeeded,
        postgresql_where=succeeded,
    )
