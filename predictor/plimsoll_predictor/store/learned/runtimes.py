"""The forecaster's state and its log of sightings, and past runtimes as people see them.

The state comes in parts, so that a save writes what changed and a reader reads what it asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store.attempts import sightings
from plimsoll_predictor.store.attempts.sightings import Sighting
from plimsoll_predictor.store.database.schema import forecaster as table
from plimsoll_predictor.store.database.schema import kept_forecasts as kept_table
from plimsoll_predictor.store.database.schema import observations as observation_table
from plimsoll_predictor.store.database.upsert import upsert
from plimsoll_predictor.store.learned import feature_experts
from plimsoll_predictor.store.learned.past_runtimes import PastRuntimeRecords

log: Final = logging.getLogger(__name__)

SIGHTINGS_AT_ONCE: Final = 1_000
PAST_PER_TASK: Final = 2_000
"""The most runs per task that a new state learns from; more would change little in it."""
_KEYS_AT_ONCE: Final = 500
_SHARED: Final = "shared"
_THROUGH: Final = "through"
TASK: Final = "task/"
OWNER: Final = "owner/"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenForecast:
    """The forecast of an open run: one that was submitted and has not ended.

    submitted_s: Unix seconds. started_s: None while it waits.
    announced_s: when people were told that it runs long; None if they were not.
    forecast: ``Forecast.to_dict()``. state: what the forecaster needs to score it.
    """

    attempt_uid: str
    task: TaskId
    submitted_s: float
    started_s: float | None
    announced_s: float | None
    forecast: Mapping[str, Any]
    state: bytes


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """How a run did against its forecast.

    share: of the forecast below its runtime. forecast_s: the forecast's median. Each is None if
    the forecast knew too few runs of the task.
    """

    share: float | None
    forecast_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsavedRuntimes:
    """The changes to save.

    through: serial of the last sighting folded into the whole state.
    tasks, owners: name -> state; None for a forgotten one. shared: None if unchanged.
    forecasts: of open runs, those that changed. ended: uids of runs that are open no longer.
    scores: of runs that finished, by their attempts' uids.
    expert: the feature expert that serves from here on; None if it stays.
    """

    through: int
    tasks: Mapping[str, bytes | None] = field(default_factory=dict)
    owners: Mapping[str, bytes | None] = field(default_factory=dict)
    shared: bytes | None = None
    forecasts: Sequence[OpenForecast] = ()
    ended: Collection[str] = ()
    scores: Mapping[str, ForecastScore] = field(default_factory=dict)
    expert: bytes | None = None


class RuntimeRecords(PastRuntimeRecords):
    """The part of the store that forecasts are made from; errors as in ``Store``."""

    def through(self) -> int:
        """Serial of the last sighting folded into the saved state; 0 if none was."""
        with self._database.read() as connection:
            return _through(connection)

    def shared_state(self) -> bytes | None:
        """The state that all tasks share; None before the first save."""
        return self._states([_SHARED]).get(_SHARED)

    def task_states(self, tasks: Collection[str]) -> dict[str, bytes]:
        """Tasks' states as saved last, by name; without tasks that have none."""
        return self._named(TASK, tasks)

    def owner_states(self, owners: Collection[str]) -> dict[str, bytes]:
        """Owners' states as saved last, by name; without owners that have none."""
        return self._named(OWNER, owners)

    def open_forecasts(self) -> list[OpenForecast]:
        """The forecasts of all open runs, in the order of their submission."""
        in_order = sa.select(kept_table).order_by(kept_table.c.put_s, kept_table.c.attempt_uid)
        forecasts = map(_open_forecast, self._database.rows(in_order))
        return [forecast for forecast in forecasts if forecast is not None]

    def open_forecast(self, attempt_uid: str) -> OpenForecast | None:
        """The forecast of one open run; None for any other run."""
        mine = sa.select(kept_table).where(kept_table.c.attempt_uid == attempt_uid)
        row = self._database.row(mine)
        return None if row is None else _open_forecast(row)

    def sightings(self, after: int, *, limit: int = SIGHTINGS_AT_ONCE) -> list[Sighting]:
        """The next sightings after that serial, in order."""
        with self._database.read() as connection:
            return sightings.read(connection, after, limit)

    def save(self, unsaved: UnsavedRuntimes, follows: Collection[int]) -> bool:
        """Keep a new state and forget the sightings folded into it, in one transaction.

        follows: ``through`` of the states it may follow. False, and nothing is kept, if another
            controller has saved one since.
        """
        with self._database.write() as connection:
            if _through(connection) not in follows:
                return False
            _put(connection, unsaved)
            sightings.forget(connection, unsaved.through)
        return True

    def begin_anew(self) -> None:
        """Forget the whole state, and repeat the sightings of each task's newest runs.

        For a state that this version cannot read: all that it knew is in the observations. A pass
        over all of them may take longer than a write usually may.
        """
        with self._database.write_long() as connection:
            kept = (table.c.key == _THROUGH) | table.c.key.startswith(feature_experts.PREFIX)
            connection.execute(table.delete().where(~kept))
            connection.execute(kept_table.delete())
            sightings.repeat_newest(connection, PAST_PER_TASK)

    def forecaster_for(self, *tasks: TaskId) -> Forecaster:
        """A forecaster that knows these tasks, their owners and what all share, as saved last.

        The tasks' open runs count in their forecasts. It may lag behind by the seconds between two
        saves. A part that cannot be read is left out, as one that is not known.
        """
        forecaster = Forecaster()
        state = forecaster.state
        names = list(dict.fromkeys(map(str, tasks)))
        parts: dict[str, Callable[[bytes], None]] = {_SHARED: state.restore_shared}
        for owner in dict.fromkeys(task.namespace for task in tasks):
            parts[OWNER + owner] = partial(state.restore_owner, owner)
        for name in names:
            parts[TASK + name] = partial(state.restore_task, name)
        with self._database.read() as connection:
            states = _states(connection, [*parts, feature_experts.SERVING])
            started_s = _started_s(connection, names)
        forecaster.expert = feature_experts.read_expert(states.get(feature_experts.SERVING))
        for key, restore in parts.items():
            if key in states:
                restore_part(key, states[key], restore)
        for name, each in started_s.items():
            state.count_open_runs(name, each)
        return forecaster

    def _named(self, prefix: str, names: Collection[str]) -> dict[str, bytes]:
        states = self._states([f"{prefix}{name}" for name in names])
        return {key.removeprefix(prefix): state for key, state in states.items()}

    def _states(self, keys: Sequence[str]) -> dict[str, bytes]:
        with self._database.read() as connection:
            return _states(connection, keys)


def _states(connection: sa.Connection, keys: Sequence[str]) -> dict[str, bytes]:
    states: dict[str, bytes] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = table.c.key.in_(keys[start : start + _KEYS_AT_ONCE])
        rows = connection.execute(sa.select(table).where(some))
        states |= {row.key: bytes(row.state) for row in rows}
    return states


def _started_s(connection: sa.Connection, tasks: Sequence[str]) -> dict[str, list[float | None]]:
    """When each open run of these tasks started; without tasks that have none.

    A pass over the open runs of all tasks, which are bounded, for each few hundred of these.
    """
    started_s: dict[str, list[float | None]] = {}
    for start in range(0, len(tasks), _KEYS_AT_ONCE):
        some = kept_table.c.task.in_(tasks[start : start + _KEYS_AT_ONCE])
        rows = connection.execute(sa.select(kept_table.c.task, kept_table.c.started_s).where(some))
        for row in rows:
            started_s.setdefault(row.task, []).append(row.started_s)
    return started_s


def restore_part(key: str, state: bytes, restore: Callable[[bytes], None]) -> bool:
    """Give a saved part to a forecaster; one that cannot be read is left out, and logged."""
    try:
        restore(state)
    except ValueError as error:
        log.error("the forecaster's %s cannot be read, and starts anew: %s", key, error)
        return False
    return True


def _put(connection: sa.Connection, unsaved: UnsavedRuntimes) -> None:
    states: dict[str, bytes | None] = {_THROUGH: str(unsaved.through).encode()}
    states |= {f"{TASK}{name}": state for name, state in unsaved.tasks.items()}
    states |= {f"{OWNER}{name}": state for name, state in unsaved.owners.items()}
    if unsaved.shared is not None:
        states[_SHARED] = unsaved.shared
    if unsaved.expert is not None:
        states[feature_experts.SERVING] = unsaved.expert
    there = [{"key": key, "state": state} for key, state in states.items() if state is not None]
    upsert(connection, table, there)
    _delete(connection, table.c.key, [key for key, state in states.items() if state is None])
    upsert(connection, kept_table, [_forecast_row(each) for each in unsaved.forecasts])
    _delete(connection, kept_table.c.attempt_uid, list(unsaved.ended))
    if unsaved.scores:
        scores = [
            {"uid": uid, "share": score.share, "median_s": score.forecast_s}
            for uid, score in unsaved.scores.items()
        ]
        connection.execute(_SCORE, scores)


_SCORE: Final = (
    sa.update(observation_table)
    .where(observation_table.c.attempt_uid == sa.bindparam("uid"))
    .values(
        forecast_share=sa.bindparam("share", type_=sa.Double),
        # Not forecast_s: an update may not bind a column's own name.
        forecast_s=sa.bindparam("median_s", type_=sa.Double),
    )
)


def _delete(connection: sa.Connection, column: sa.Column[Any], keys: Sequence[str]) -> None:
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = column.in_(keys[start : start + _KEYS_AT_ONCE])
        connection.execute(column.table.delete().where(some))


def _through(connection: sa.Connection) -> int:
    serial = connection.execute(sa.select(table.c.state).where(table.c.key == _THROUGH)).scalar()
    return int(bytes(serial)) if serial is not None else 0


def _forecast_row(open_forecast: OpenForecast) -> dict[str, Any]:
    return {
        "attempt_uid": open_forecast.attempt_uid,
        "task": str(open_forecast.task),
        "put_s": open_forecast.submitted_s,
        "started_s": open_forecast.started_s,
        "told_s": open_forecast.announced_s,
        "forecast": orjson.dumps(dict(open_forecast.forecast)).decode(),
        "state": open_forecast.state,
    }


def _open_forecast(row: sa.Row[Any]) -> OpenForecast | None:
    try:
        forecast = orjson.loads(row.forecast)
    except ValueError as error:
        log.error("the forecast of %s cannot be read, and is left out: %s", row.attempt_uid, error)
        return None
    return OpenForecast(
        attempt_uid=row.attempt_uid,
        task=TaskId.parse(row.task),
        submitted_s=row.put_s,
        started_s=row.started_s,
        announced_s=row.told_s,
        forecast=forecast,
        state=bytes(row.state),
    )
