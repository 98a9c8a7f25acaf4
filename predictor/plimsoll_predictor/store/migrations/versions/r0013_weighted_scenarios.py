"""How many real runs a campaign's scenario stands for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column."""
    for column in optional(sa.Integer, "weight"):
        op.add_column("campaign_runs", column)
