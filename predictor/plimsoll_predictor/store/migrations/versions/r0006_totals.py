"""The sums of each task's observations, and the code that may use the schema.

The code that takes this step fills both.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, optional, required

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables, and the index that finds the models that serve."""
    op.create_table(
        "totals",
        key("task"),
        *required(sa.BigInteger, "observations", "runs_known", "oom_kills", "failed"),
        *optional(sa.BigInteger, "max_need_bytes"),
        *required(sa.Double, "requested_gb_h", "allocated_gb_h", "peak_gb_h"),
        *optional(sa.Double, "last_finished_s"),
        *required(sa.BigInteger, "used_runs"),
        *required(sa.Double, "used_runtime_s", "request_bytes_sum"),
        *required(sa.BigInteger, "request_bytes_count"),
        *required(sa.Double, "used_bytes_sum", "request_cores_sum"),
        *required(sa.BigInteger, "request_cores_count"),
        *required(sa.Double, "used_cores_sum"),
        *required(sa.BigInteger, "used_cores_count"),
        *optional(sa.BigInteger, "most_bytes"),
        *optional(sa.Double, "most_cores"),
        *optional(sa.Text, "cpu"),
    )
    op.create_table("compatibility", key("oldest"))
    succeeded = sa.text("failure IS NULL")
    op.create_index(
        "ix_trainings_serving",
        "trainings",
        ["task", "id"],
        sqlite_where=succeeded,
        postgresql_where=succeeded,
    )
