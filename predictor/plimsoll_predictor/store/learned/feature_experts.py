"""The forecasts' expert that knows features: as it was fitted last, and as it serves.

The trainer keeps what it fitted; the controller takes it up in the transaction that saves its
forecaster's state, so that a restart folds the same sightings with the same expert.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.documents import Finite, from_document, to_document
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.runtimes.features.explanation import FeatureExplanation
from plimsoll_predictor.runtimes.features.feature_expert import FeatureExpert
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import forecaster as table
from plimsoll_predictor.store.database.upsert import upsert

log: Final = logging.getLogger(__name__)

PREFIX: Final = "features/"
SERVING: Final = f"{PREFIX}serving"
_FITTED: Final = f"{PREFIX}fitted"
_LAST_TRY: Final = f"{PREFIX}last-try"
_EXPLANATION: Final = f"{PREFIX}explanation"
_MOST_WHY: Final = 300


@dataclass(frozen=True, slots=True)
class LastTry:
    """How the last fit ended. known: attempts to learn from, then.

    failure: None if it went well, or if too few of them succeeded.
    """

    at_s: Finite
    known: int
    failure: str | None = None


class FeatureRecords(Records):
    """The part of the store that holds the feature expert; errors as in ``Store``."""

    def fitted(self) -> bytes | None:
        """The expert that was fitted last; None before the first."""
        return self._value(_FITTED)

    def serving(self) -> FeatureExpert | None:
        """The expert that the saved forecasts use; None if there is none that can be read."""
        return read_expert(self._value(SERVING))

    def explanation(self) -> FeatureExplanation | None:
        """What moves forecasts; None if none is stored that can be read."""
        document = self._value(_EXPLANATION)
        try:
            return (
                None if document is None else FeatureExplanation.from_dict(orjson.loads(document))
            )
        except ValueError as error:
            log.error("the explanation of features cannot be read, and is left out: %s", error)
            return None

    def last_try(self) -> LastTry | None:
        """How the last fit ended; None before the first."""
        document = self._value(_LAST_TRY)
        try:
            if document is None:
                return None
            return from_document(LastTry, orjson.loads(document), "a fit of features")
        except ValueError as error:
            log.error("how features were fitted cannot be read, and is left out: %s", error)
            return None

    def keep(self, expert: FeatureExpert, explanation: FeatureExplanation, known: int) -> None:
        """Keep an expert, in place of the one fitted before. known: attempts to learn from."""
        self._put(
            {
                _FITTED: expert.to_bytes(),
                _EXPLANATION: orjson.dumps(explanation.to_dict()),
                _LAST_TRY: _written(LastTry(expert.made_s, known)),
            }
        )

    def record_failure(self, at_s: float, known: int, why: str) -> None:
        """Note that a fit failed; what was fitted before stays."""
        self._put({_LAST_TRY: _written(LastTry(at_s, known, why[:_MOST_WHY]))})

    def record_too_few(self, at_s: float, known: int) -> None:
        """Note that too few runs succeeded yet to fit to; what was fitted before stays."""
        self._put({_LAST_TRY: _written(LastTry(at_s, known))})

    def _put(self, states: dict[str, bytes]) -> None:
        with self._database.write() as connection:
            rows = [{"key": key, "state": state} for key, state in states.items()]
            upsert(connection, table, rows)

    def _value(self, key: str) -> bytes | None:
        state: Any = self._database.value(sa.select(table.c.state).where(table.c.key == key))
        return None if state is None else bytes(state)


@lru_cache(maxsize=2)
def read_expert(written: bytes | None) -> FeatureExpert | None:
    """An expert from its bytes; one that cannot be read is left out, and logged."""
    if written is None:
        return None
    try:
        return FeatureExpert.from_bytes(written)
    except ModelError as error:
        log.error("the expert that knows features cannot be read, and is left out: %s", error)
        return None


def _written(last: LastTry) -> bytes:
    return orjson.dumps(to_document(last))
