"""Shapes that were learned over all tasks, and the explanation of their forecasts."""

from __future__ import annotations

import logging
from typing import Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.explanation import Explanation
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import forecaster as state_table
from plimsoll_predictor.store.database.schema import shape_catalogues as table
from plimsoll_predictor.store.database.upsert import upsert

log: Final = logging.getLogger(__name__)
KEPT_VERSIONS: Final = 5
_EXPLANATION: Final = "explanation"


class ShapeRecords(Records):
    """The part of the store that holds shapes; errors as in ``Store``."""

    def catalogue(
        self, normalisation: Normalisation = Normalisation.RATIO
    ) -> ShapeCatalogue | None:
        """The newest shapes that were learned; None if there are none that can be read."""
        newest = (
            sa.select(table.c.document)
            .where(table.c.normalisation == normalisation.value)
            .order_by(table.c.version.desc())
            .limit(1)
        )
        document = self._database.value(newest)
        try:
            return None if document is None else ShapeCatalogue.from_dict(orjson.loads(document))
        except ValueError as error:
            log.error("the shapes cannot be read, and are left out: %s", error)
            return None

    def save_catalogue(self, catalogue: ShapeCatalogue, made_s: float) -> None:
        """Keep a version, and forget those that are beyond the newest few."""
        row = {
            "normalisation": catalogue.normalisation.value,
            "version": catalogue.version,
            "made_s": made_s,
            "document": orjson.dumps(catalogue.to_dict()).decode(),
        }
        old = (table.c.normalisation == catalogue.normalisation.value) & (
            table.c.version <= catalogue.version - KEPT_VERSIONS
        )
        with self._database.write() as connection:
            upsert(connection, table, [row])
            connection.execute(table.delete().where(old))

    def made_s(self) -> float | None:
        """The time when shapes were learned last, Unix seconds; None if they never were."""
        made_s: float | None = self._database.value(sa.select(sa.func.max(table.c.made_s)))
        return made_s

    def explanation(self) -> Explanation | None:
        """The explanation of forecast shapes; None if none is stored that can be read."""
        stored = sa.select(state_table.c.state).where(state_table.c.key == _EXPLANATION)
        document = self._database.value(stored)
        try:
            return None if document is None else Explanation.from_dict(orjson.loads(document))
        except ValueError as error:
            log.error("the explanation of shapes cannot be read, and is left out: %s", error)
            return None

    def save_explanation(self, explanation: Explanation) -> None:
        """Keep an explanation, in place of the one before."""
        row = {"key": _EXPLANATION, "state": orjson.dumps(explanation.to_dict())}
        with self._database.write() as connection:
            upsert(connection, state_table, [row])
