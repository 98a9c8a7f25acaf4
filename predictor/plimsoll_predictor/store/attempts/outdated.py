"""Tells which runs of an imported past come too late to teach the experts.

Experts take the runs that they learn last for the latest. If an old level of needs came after
enough newer runs, it would look like a change of the task, and the newer needs would be forgotten.
Models and sums count these runs all the same: they are made of the stored observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.experts.drift import APART, BEFORE, LATEST_AFTER_A_CHANGE
from plimsoll_predictor.store.database.schema import observations, totals


def outdated(
    connection: sa.Connection, past: Sequence[tuple[Observation, float]]
) -> frozenset[str]:
    """The uids of attempts whose needs teach nothing, beside the newer ones that are stored.

    past: attempts about to be written, each with its place in the order of learning.
    Cost: an index leads to each task's newest rows.
    """
    names = {str(each.task) for each, _ in past}
    rows = connection.execute(_NEWEST, {"of_tasks": list(names)})
    newest = {row.task: row for row in rows}
    return frozenset(
        each.attempt_uid
        for each, ordered_s in past
        if (row := newest.get(str(each.task))) is not None and _is_outdated(each, ordered_s, row)
    )


def _is_outdated(each: Observation, ordered_s: float, newest: sa.Row[Any]) -> bool:
    """Whether so many newer runs are known; fewer suffice if all of them needed clearly more."""
    if newest.many_since_s is not None and ordered_s < newest.many_since_s:
        return True
    some = newest.some_since_s is not None and ordered_s < newest.some_since_s
    return some and (each.peak_bytes or 0) * APART < newest.least_bytes


def _since_s(runs: int) -> sa.ScalarSelect[Any]:
    """The time since which there are so many measured runs; null if there are fewer."""
    return _NEWEST_FIRST.offset(runs - 1).limit(1).scalar_subquery()


_COLUMN: Final = observations.c
_NEWEST_FIRST: Final = (
    sa.select(_COLUMN.ordered_s)
    .where(
        (_COLUMN.task == totals.c.task)
        & (_COLUMN.outcome == Outcome.SUCCEEDED.value)
        & (_COLUMN.peak_bytes > 0)
    )
    .order_by(_COLUMN.ordered_s.desc(), _COLUMN.id.desc())
    .correlate(totals)
)
_LATEST: Final = (
    _NEWEST_FIRST.with_only_columns(_COLUMN.peak_bytes.label("need_bytes")).limit(BEFORE).subquery()
)
_NEWEST: Final[sa.Select[Any]] = sa.select(
    totals.c.task,
    _since_s(BEFORE).label("many_since_s"),
    _since_s(LATEST_AFTER_A_CHANGE).label("some_since_s"),
    sa.select(sa.func.min(_LATEST.c.need_bytes)).scalar_subquery().label("least_bytes"),
).where(totals.c.task.in_(sa.bindparam("of_tasks", expanding=True)))
