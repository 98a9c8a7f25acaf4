"""Tells which runs of an imported past come too late to teach what is learned in order.

Experts and forecasts take the runs that they learn last for the latest. If an old level of needs or
runtimes came after enough newer runs, it would look like a change of the task, and what is newer
would be forgotten. Models and sums count these runs all the same: they are made of the stored
observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.experts.drift import APART, BEFORE, LATEST_AFTER_A_CHANGE
from plimsoll_predictor.store.database.schema import observations, totals

Placed = tuple[Observation, float]
"""An attempt about to be written, and its place in the order of learning."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """The uids of attempts that teach the experts nothing, and of those that teach no runtime."""

    needs: frozenset[str] = frozenset()
    runtimes: frozenset[str] = frozenset()


def outdated(connection: sa.Connection, past: Sequence[Placed]) -> Outdated:
    """Those of the attempts that come too late, beside the newer ones that are stored.

    Cost: an index leads to each task's newest rows.
    """
    if not past:
        return Outdated()
    return Outdated(
        needs=_late(connection, _NEWEST_NEEDS, past, _needed_less),
        runtimes=_late(connection, _NEWEST_RUNTIMES, past, _ran_otherwise),
    )


def _late(
    connection: sa.Connection,
    newest: sa.Select[Any],
    past: Sequence[Placed],
    differs: Callable[[Observation, sa.Row[Any]], bool],
) -> frozenset[str]:
    """Those with so many newer runs; fewer suffice if an attempt differs clearly from all of them.

    newest: what is known of each task's newest runs; see ``_newest``.
    """
    names = {str(each.task) for each, _ in past}
    known = {row.task: row for row in connection.execute(newest, {"of_tasks": list(names)})}
    return frozenset(
        each.attempt_uid
        for each, ordered_s in past
        if (row := known.get(str(each.task))) is not None
        and (
            _is_before(ordered_s, row.many_since_s)
            or (_is_before(ordered_s, row.some_since_s) and differs(each, row))
        )
    )


def _is_before(ordered_s: float, since_s: float | None) -> bool:
    return since_s is not None and ordered_s < since_s


def _needed_less(each: Observation, newest: sa.Row[Any]) -> bool:
    """Whether all of the newest needed clearly more: an old need that was larger is no risk."""
    return each.need is not None and each.need.size_bytes * APART < newest.least


def _ran_otherwise(each: Observation, newest: sa.Row[Any]) -> bool:
    """Whether all of the newest ran clearly longer, or all clearly shorter."""
    runtime_s = each.runtime_s
    if runtime_s is None:
        return False
    return bool(runtime_s * APART < newest.least or runtime_s > newest.most * APART)


def _newest(known: sa.ColumnElement[bool], value: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """The times since which so many runs are known, null if there are fewer, and their extremes.

    known: of which rows the value is known.
    """
    newest_first = (
        sa.select(_COLUMN.ordered_s)
        .where((_COLUMN.task == totals.c.task) & known)
        .order_by(_COLUMN.ordered_s.desc(), _COLUMN.id.desc())
        .correlate(totals)
    )
    latest = newest_first.with_only_columns(value.label("value")).limit(BEFORE).subquery()

    def since_s(runs: int) -> sa.ScalarSelect[Any]:
        return newest_first.offset(runs - 1).limit(1).scalar_subquery()

    return sa.select(
        totals.c.task,
        since_s(BEFORE).label("many_since_s"),
        since_s(LATEST_AFTER_A_CHANGE).label("some_since_s"),
        sa.select(sa.func.min(latest.c.value)).scalar_subquery().label("least"),
        sa.select(sa.func.max(latest.c.value)).scalar_subquery().label("most"),
    ).where(totals.c.task.in_(sa.bindparam("of_tasks", expanding=True)))


_COLUMN: Final = observations.c
_SUCCEEDED: Final = _COLUMN.outcome == Outcome.SUCCEEDED.value
_RUNTIME_S: Final = _COLUMN.finished_s - _COLUMN.started_s
_NEWEST_NEEDS: Final = _newest(_SUCCEEDED & (_COLUMN.peak_bytes > 0), _COLUMN.peak_bytes)
_NEWEST_RUNTIMES: Final = _newest(_SUCCEEDED & (_RUNTIME_S >= 0), _RUNTIME_S)
