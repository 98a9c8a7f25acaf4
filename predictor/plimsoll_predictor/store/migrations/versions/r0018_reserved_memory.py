"""Totals count the request that an attempt ran with as allocated. They counted its limit."""

from __future__ import annotations

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Change no table: after any step, all totals are added up anew."""
