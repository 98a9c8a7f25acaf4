"""One task's page: gathered at a bounded cost, however much the store holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.names.conditions import MAX_MESSAGE, cut, read_conditions
from plimsoll_operator.views.task_views import gather_task
from plimsoll_operator.web.page.rows import Live, TaskRow, row_of
from plimsoll_operator.web.page.runtime_section import RuntimeSection, gather_section
from plimsoll_operator.web.page.what_if_query import WhatIfQuery
from plimsoll_operator.web.report.page import Section, section_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store

READ_ATTEMPTS: Final = 1_000
DRAWN_ATTEMPTS: Final = 400
MAX_CONDITIONS: Final = 20
MAX_SENTENCES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidCondition:
    """One condition of the task's profile, as the API server has it."""

    type: str
    status: str
    reason: str
    message: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """All that one task's page shows.

    row: over all that is kept; section: of the newest attempts. about: sentences, as in
        `kubectl describe taskprofile`. runtime: None while no run of it has succeeded.
    """

    row: TaskRow
    about: tuple[str, ...]
    section: Section
    conditions: tuple[SaidCondition, ...]
    runtime: RuntimeSection | None = None


class NoSuchTask(LookupError):
    """No attempt of the task was observed."""


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which task's page is asked for, and what its reader wants to imagine."""

    task: TaskId
    what_if: WhatIfQuery = field(default_factory=WhatIfQuery)


def gather_page(store: Store, live: Live, query: TaskQuery, now_s: float) -> TaskPage:
    """Read one task. now_s: Unix seconds.

    Raises:
        NoSuchTask: if the store knows nothing of it.
        StoreError: if the store cannot be read now.
    """
    task = query.task
    summary = store.totals.of(task)
    if not summary.observations:
        raise NoSuchTask(f"no attempt of {cut(str(task), 200)} was observed")
    known = live.task(task)
    report = gather_task(store, summary, room=READ_ATTEMPTS)
    return TaskPage(
        row=row_of(summary, known),
        about=_sentences(known.status.get("about")),
        section=section_of(report, "task", DRAWN_ATTEMPTS),
        conditions=tuple(
            _condition(each)
            for each in read_conditions(known.status.get("conditions"))[:MAX_CONDITIONS]
        ),
        runtime=gather_section(store, task, query.what_if, now_s),
    )


def _sentences(found: object) -> tuple[str, ...]:
    listed = found[:MAX_SENTENCES] if isinstance(found, list) else []
    return tuple(cut(each, MAX_MESSAGE) for each in listed if isinstance(each, str))


def _condition(found: Mapping[str, Any]) -> SaidCondition:
    def said(key: str) -> str:
        return cut(str(found.get(key) or ""), MAX_MESSAGE)

    return SaidCondition(
        type=said("type"),
        status=said("status"),
        reason=said("reason"),
        message=said("message"),
        since=said("lastTransitionTime").replace("T", " ").rstrip("Z"),
    )
