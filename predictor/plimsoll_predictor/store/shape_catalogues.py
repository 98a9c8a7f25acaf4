"""Shapes that were learned over all tasks, the newest few versions."""

from __future__ import annotations

from typing import Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.store.schema import shape_catalogues as table
from plimsoll_predictor.store.upsert import upsert

KEPT_VERSIONS: Final = 5


def newest(connection: sa.Connection, normalisation: str) -> str | None:
    """The newest version's document, as JSON text; None if there is none."""
    found = (
        sa.select(table.c.document)
        .where(table.c.normalisation == normalisation)
        .order_by(table.c.version.desc())
        .limit(1)
    )
    document: str | None = connection.execute(found).scalar()
    return document


def made_s(connection: sa.Connection) -> float | None:
    """When the newest version of any was made; None if there is none."""
    found: float | None = connection.execute(sa.select(sa.func.max(table.c.made_s))).scalar()
    return found


def put(connection: sa.Connection, catalogue: ShapeCatalogue, made_s: float) -> None:
    """Keep a version, and forget those that are beyond the newest few."""
    row = {
        "normalisation": catalogue.normalisation.value,
        "version": catalogue.version,
        "made_s": made_s,
        "document": orjson.dumps(catalogue.to_dict()).decode(),
    }
    upsert(connection, table, [row])
    old = (table.c.normalisation == catalogue.normalisation.value) & (
        table.c.version <= catalogue.version - KEPT_VERSIONS
    )
    connection.execute(table.delete().where(old))
