"""Why an attempt did not succeed; unknown for attempts that ended before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column, and that of the lesson that it teaches."""
    for table in ("observations", "lessons"):
        for column in optional(sa.Text, "cause"):
            op.add_column(table, column)
