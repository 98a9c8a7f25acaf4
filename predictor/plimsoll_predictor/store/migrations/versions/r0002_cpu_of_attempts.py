"""What attempts asked for and used of the CPU."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COLUMNS = ("peak_cores", "request_cores", "allocated_cores")


def upgrade() -> None:
    """Add the columns; of earlier attempts nobody kept it."""
    for name in COLUMNS:
        op.add_column("observations", sa.Column(name, sa.Double()))
