"""Lists one page of the index: its tasks in their order, and their sums. Pure.

Cost: one pass over the tasks and one sort of those that match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.views.report.records import Figures
from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_operator.web.page.query import Query
from plimsoll_operator.web.page.rows import TaskRow

ROWS_PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums of tasks. would_save_gb_h, would_kill: None if no task has a value.

    asking: how many ask for too little.
    would_asked_gb_h: requested by the runs of ``would_save_gb_h``; None if it is not known of all.
    """

    tasks: int
    figures: Figures
    would_save_gb_h: float | None
    would_kill: int | None
    recommending: int
    asking: int
    would_asked_gb_h: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of the index. query: its page exists. known_tasks: how many there are in all."""

    query: Query
    rows: tuple[TaskRow, ...]
    totals: Totals
    pages: int
    known_tasks: int

    @property
    def first(self) -> int:
        """The first row's place among those that match, from 1."""
        return (self.query.page - 1) * ROWS_PER_PAGE + 1

    @property
    def would(self) -> bool:
        """Whether any task that matches only gets recommendations."""
        return self.totals.recommending > 0

    @property
    def asks(self) -> bool:
        """Whether any task that matches asks for too little."""
        return self.totals.asking > 0


def list_tasks(rows: Sequence[TaskRow], query: Query) -> Listing:
    """The requested page, or the last one that exists. rows: in the order of their names."""
    matching = [row for row in rows if _matches(row, query)]
    pages = max(1, -(-len(matching) // ROWS_PER_PAGE))
    shown = query.at(min(query.page, pages))
    start = (shown.page - 1) * ROWS_PER_PAGE
    return Listing(
        query=shown,
        rows=tuple(_in_order(matching, query)[start : start + ROWS_PER_PAGE]),
        totals=totals_of(matching),
        pages=pages,
        known_tasks=len(rows),
    )


def totals_of(rows: Sequence[TaskRow]) -> Totals:
    """The sums of tasks."""
    summaries = [row.summary for row in rows]
    would = [row for row in rows if row.would_save_gb_h is not None]
    asked = [row.would_asked_gb_h for row in would if row.would_asked_gb_h is not None]
    kills = [row.would_kill for row in rows if row.would_kill is not None]
    return Totals(
        tasks=len(rows),
        figures=Figures(
            runs=sum(each.runs_known for each in summaries),
            oom_kills=sum(each.oom_kills for each in summaries),
            requested_gb_h=sum(each.requested_gb_h for each in summaries),
            allocated_gb_h=sum(each.allocated_gb_h for each in summaries),
            peak_gb_h=sum(each.peak_gb_h for each in summaries),
        ),
        would_save_gb_h=sum(row.would_save_gb_h or 0.0 for row in would) if would else None,
        would_kill=sum(kills) if kills else None,
        recommending=sum(row.mode == "recommend" for row in rows),
        asking=sum(row.asks is not None for row in rows),
        would_asked_gb_h=sum(asked) if asked and len(asked) == len(would) else None,
    )


def _matches(row: TaskRow, query: Query) -> bool:
    if (query.mode and row.mode != query.mode) or (query.phase and row.phase != query.phase):
        return False
    name = row.name.casefold()
    return all(word in name for word in query.words)


def _in_order(rows: list[TaskRow], query: Query) -> list[TaskRow]:
    key = COLUMNS[query.sort].key
    sortable = [row for row in rows if key(row) is not None]
    # The sort is stable: rows of equal keys stay in the order of their names.
    ordered = sorted(sortable, key=lambda row: key(row) or 0, reverse=query.descending)
    return ordered + [row for row in rows if key(row) is None]
