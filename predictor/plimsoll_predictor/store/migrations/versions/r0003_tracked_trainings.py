"""The trainings that a tracking server has; earlier ones are logged, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column, and the index that finds what is not logged."""
    op.add_column("trainings", sa.Column("tracked", sa.Text()))
    op.create_index("ix_trainings_tracked_id", "trainings", ["tracked", "id"])
