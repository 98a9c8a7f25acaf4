"""Marks of tasks that people forgot, apart from those of imports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column."""
    op.add_column("imports", sa.Column("forgotten", sa.Integer))
