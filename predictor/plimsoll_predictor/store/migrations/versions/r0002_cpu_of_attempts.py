"""The CPU that attempts asked for and used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; they stay empty for earlier attempts."""
    for column in optional(sa.Double, "peak_cores", "request_cores", "allocated_cores"):
        op.add_column("observations", column)
