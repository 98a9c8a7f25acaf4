"""Notes of commits: they tell if a commit went through whose answer was lost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import key, required

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "last_writes",
        key("connection_id"),
        *required(sa.Text, "number"),
        *required(sa.Double, "put_s"),
    )
