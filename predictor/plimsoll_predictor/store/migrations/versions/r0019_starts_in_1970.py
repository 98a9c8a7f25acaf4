"""Attempts that never started have no start: it was 1970, and sums counted all years since."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Remove these starts. All totals are added up anew afterwards, as after any step."""
    op.execute("UPDATE observations SET started_s = NULL WHERE started_s <= 0")
