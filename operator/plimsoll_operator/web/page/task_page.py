"""Gathers one task's page, at a bounded cost, whatever the store's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.names.conditions import MAX_MESSAGE, cut, read_conditions
from plimsoll_operator.views.report.task_views import gather_task
from plimsoll_operator.web.page.rows import Live, TaskRow, row_of
from plimsoll_operator.web.page.runtime_section import RuntimeSection, gather_section
from plimsoll_operator.web.page.what_if_query import WhatIfQuery
from plimsoll_operator.web.report.page import Section, section_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import CampaignTally, Store

READ_ATTEMPTS: Final = 1_000
DRAWN_ATTEMPTS: Final = 400
MAX_CONDITIONS: Final = 20
MAX_SENTENCES: Final = 20
LISTED_CAMPAIGNS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """The content of one task's page.

    row: of all stored attempts; section: of the newest. about: sentences, as in
        `kubectl describe taskprofile`. conditions: of the task's profile, with cut texts.
    runtime: None while no run of it has succeeded. campaigns: the newest ones that ran it.
    """

    row: TaskRow
    about: tuple[str, ...]
    section: Section
    conditions: tuple[Mapping[str, str], ...]
    runtime: RuntimeSection | None = None
    campaigns: tuple[CampaignTally, ...] = ()


class NoSuchTask(LookupError):
    """No attempt of the task was observed."""


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """The task of the requested page, and the what-if conditions of its reader."""

    task: TaskId
    what_if: WhatIfQuery = field(default_factory=WhatIfQuery)


def gather_page(store: Store, live: Live, query: TaskQuery, now_s: float) -> TaskPage:
    """Read one task. now_s: Unix seconds.

    Raises:
        NoSuchTask: if the store does not know it.
        StoreError: if the store cannot be read now.
    """
    task = query.task
    summary = store.totals.of(task)
    if not summary.observations:
        raise NoSuchTask(f"no attempt of {cut(str(task), 200)} was observed")
    live_task = live.task(task)
    report = gather_task(store, summary, room=READ_ATTEMPTS, policy=live_task.policy)
    return TaskPage(
        row=row_of(summary, live_task),
        about=_sentences(live_task.status.get("about")),
        section=section_of(report, "task", DRAWN_ATTEMPTS),
        conditions=tuple(
            _condition(each)
            for each in read_conditions(live_task.status.get("conditions"))[:MAX_CONDITIONS]
        ),
        runtime=gather_section(store, task, query.what_if, now_s),
        campaigns=tuple(store.campaigns.newest(LISTED_CAMPAIGNS, task)),
    )


def _sentences(about: object) -> tuple[str, ...]:
    listed = about[:MAX_SENTENCES] if isinstance(about, list) else []
    return tuple(cut(each, MAX_MESSAGE) for each in listed if isinstance(each, str))


def _condition(written: Mapping[str, Any]) -> dict[str, str]:
    keys = ("type", "status", "reason", "message", "lastTransitionTime")
    return {key: cut(str(written.get(key) or ""), MAX_MESSAGE) for key in keys}
