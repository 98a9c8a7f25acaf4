"""What a task's floor is learned from: limits as written, and those under which runs ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns."""
    for column in optional(sa.BigInteger, "written_limit_bytes"):
        op.add_column("observations", column)
    for column in (
        *optional(sa.BigInteger, "allocation_bytes"),
        *optional(sa.Integer, "lowered"),
    ):
        op.add_column("lessons", column)
    for column in optional(sa.Integer, "as_written"):
        op.add_column("lifts", column)
