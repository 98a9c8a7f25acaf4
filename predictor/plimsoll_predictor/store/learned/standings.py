"""The experts' state, bids and lessons: what a controller restores after a restart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.store.attempts import lessons
from plimsoll_predictor.store.attempts.lessons import Lesson
from plimsoll_predictor.store.database.database import Records
from plimsoll_predictor.store.database.schema import bids as bid_table
from plimsoll_predictor.store.database.schema import standings as table
from plimsoll_predictor.store.database.upsert import upsert

LESSONS_AT_ONCE: Final = 500
BIDS_KEPT_S: Final = 30 * DAY_S
"""An attempt whose end was not seen for so long teaches nothing any more."""
_SHARED: Final = ""

State = Mapping[str, Any]
"""A saved state is read as it was saved, by whatever version."""


class StandingRecords(Records):
    """The part of the store that the experts use; errors as in ``Store``.

    A state that is no JSON object is left out.
    """

    def through(self) -> int:
        """Serial of the last lesson folded into the saved state; 0 if none was."""
        with self._database.read() as connection:
            return _through(connection)

    def pools(self, namespaces: Collection[str]) -> dict[str, dict[str, Any]]:
        """The pools of these namespaces, as they were saved last; without those unknown."""
        keys = {_pool_key(namespace): namespace for namespace in namespaces}
        saved = _states(self._database.rows(sa.select(table).where(table.c.task.in_(keys))))
        return {keys[key]: state for key, state in saved.items()}

    def standing(self, task: TaskId) -> dict[str, Any] | None:
        """One task's experts as they were saved last; None if none were."""
        return self.standings_of([str(task)]).get(str(task))

    def standings_of(self, tasks: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Several tasks' experts; without the tasks that have none."""
        return _states(self._database.rows(sa.select(table).where(table.c.task.in_(tasks))))

    def standings(self, after: str = _SHARED, *, limit: int = 50) -> dict[str, dict[str, Any]]:
        """The next tasks' experts after that name, in the order of names; empty at the end."""
        # What a namespace shares stands under a name that no task has.
        tasks = ~table.c.task.endswith(_pool_key(""))
        following = sa.select(table).where((table.c.task > after) & tasks)
        return _states(self._database.rows(following.order_by(table.c.task).limit(limit)))

    def save(
        self,
        through: int,
        changed: Mapping[str, State],
        pools: Mapping[str, State],
        follows: Collection[int],
    ) -> bool:
        """Keep a new state and forget the lessons folded into it, in one transaction.

        through: serial of the last lesson folded into it.
        changed: task -> ``Standing.to_dict()``. pools: namespace -> ``Pool.to_dict()``. Both hold
            what changed.
        follows: ``through`` of the states it may follow. False, and nothing is kept, if another
            controller has saved one since.
        """
        with self._database.write() as connection:
            if _through(connection) not in follows:
                return False
            shared = {_pool_key(namespace): pool for namespace, pool in pools.items()}
            states = {**changed, **shared, _SHARED: {"through": through}}
            rows = [{"task": task, "state": _json(state)} for task, state in states.items()]
            upsert(connection, table, rows)
            lessons.forget(connection, through)
        return True

    def lessons(self, after: int, *, limit: int = LESSONS_AT_ONCE) -> list[Lesson]:
        """The next lessons after that serial, in order."""
        with self._database.read() as connection:
            return lessons.read(connection, after, limit)

    def bids(self, attempt_uid: str) -> dict[str, float] | None:
        """The bids for an attempt whose lesson is not folded; None if there are none."""
        mine = sa.select(bid_table.c.bids).where(bid_table.c.attempt_uid == attempt_uid)
        bids = self._database.value(mine)
        return None if bids is None else lessons.read_bids(bids)


def _through(connection: sa.Connection) -> int:
    states = _states(connection.execute(sa.select(table).where(table.c.task == _SHARED)))
    return int(states.get(_SHARED, {}).get("through") or 0)


def _pool_key(namespace: str) -> str:
    """A task's name is never empty."""
    return f"{namespace}/"


def _states(rows: Iterable[sa.Row[Any]]) -> dict[str, dict[str, Any]]:
    states = {row.task: _readable(row.state) for row in rows}
    return {task: state for task, state in states.items() if state is not None}


def _json(document: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(document), option=orjson.OPT_SERIALIZE_NUMPY).decode()


def _readable(text: str) -> dict[str, Any] | None:
    try:
        document = orjson.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
