"""How busy a run's node was when it started, as the node's agent read it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from plimsoll_predictor.store.database.columns import optional

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the columns."""
    for column in optional(sa.Double, "node_use_cpu_share", "node_use_memory_share"):
        op.add_column("observations", column)
