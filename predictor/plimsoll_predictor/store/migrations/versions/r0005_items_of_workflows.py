"""The run of a workflow that an attempt belonged to, and the item that it worked on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns, and the index of the attempts with an item, in the order of learning."""
    op.add_column("observations", sa.Column("workflow_run", sa.Text()))
    op.add_column("observations", sa.Column("item", sa.Text()))
    with_item = sa.text("item IS NOT NULL")
    op.create_index(
        "ix_observations_items",
        "observations",
        ["ordered_s", "id"],
        sqlite_where=with_item,
        postgresql_where=with_item,
    )
