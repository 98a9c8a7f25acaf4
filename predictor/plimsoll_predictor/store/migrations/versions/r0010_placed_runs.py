"""What placing learns from: a run's neighbours, and how long it was forecast to take."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns."""
    for column in (*optional(sa.Text, "beside"), *optional(sa.Double, "forecast_s")):
        op.add_column("observations", column)
