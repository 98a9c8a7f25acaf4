"""One page of the index: which tasks, in which order, and what they add up to. Pure.

Cost: one pass over the tasks and one sort of those that match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_operator.web.page.query import Query
from plimsoll_operator.web.page.rows import TaskRow

ROWS_PER_PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What tasks add up to. would_save_gb_h, would_kill: None where none of them says."""

    tasks: int
    runs: int
    oom_kills: int
    requested_gb_h: float
    allocated_gb_h: float
    needed_gb_h: float
    would_save_gb_h: float | None
    would_kill: int | None
    recommending: int
    recommended_gb_h: float
    """What those asked for that say what they would have saved."""

    @property
    def saved_gb_h(self) -> float:
        """Asked for less allocated; negative if more was spent."""
        return self.requested_gb_h - self.allocated_gb_h


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of the index. query: its page is one that there is. known: tasks in all."""

    query: Query
    rows: tuple[TaskRow, ...]
    totals: Totals
    pages: int
    known: int

    @property
    def first(self) -> int:
        """The first row's place among those that match, from 1."""
        return (self.query.page - 1) * ROWS_PER_PAGE + 1

    @property
    def would(self) -> bool:
        """Whether any of what matches says what sizing would have done."""
        return self.totals.recommending > 0


def list_tasks(rows: Sequence[TaskRow], query: Query) -> Listing:
    """The page that is asked for, or the last one there is. rows: in the order of their names."""
    found = [row for row in rows if _matches(row, query)]
    pages = max(1, -(-len(found) // ROWS_PER_PAGE))
    shown = query.at(min(query.page, pages))
    start = (shown.page - 1) * ROWS_PER_PAGE
    return Listing(
        query=shown,
        rows=tuple(_in_order(found, query)[start : start + ROWS_PER_PAGE]),
        totals=totals_of(found),
        pages=pages,
        known=len(rows),
    )


def totals_of(rows: Sequence[TaskRow]) -> Totals:
    """What tasks add up to."""
    would = [row for row in rows if row.would_save_gb_h is not None]
    kills = [row.would_kill for row in rows if row.would_kill is not None]
    return Totals(
        tasks=len(rows),
        runs=sum(row.runs for row in rows),
        oom_kills=sum(row.oom_kills for row in rows),
        requested_gb_h=sum(row.requested_gb_h for row in rows),
        allocated_gb_h=sum(row.allocated_gb_h for row in rows),
        needed_gb_h=sum(row.needed_gb_h for row in rows),
        would_save_gb_h=sum(row.would_save_gb_h or 0.0 for row in would) if would else None,
        would_kill=sum(kills) if kills else None,
        recommending=sum(row.mode == "recommend" for row in rows),
        recommended_gb_h=sum(row.requested_gb_h for row in would),
    )


def _matches(row: TaskRow, query: Query) -> bool:
    if (query.mode and row.mode != query.mode) or (query.phase and row.phase != query.phase):
        return False
    name = row.name.casefold()
    return all(word in name for word in query.words)


def _in_order(rows: list[TaskRow], query: Query) -> list[TaskRow]:
    key = COLUMNS[query.sort].key
    known = [row for row in rows if key(row) is not None]
    # Stable: of equals, their names decide, whichever way one sorts.
    ordered = sorted(known, key=lambda row: key(row) or 0, reverse=query.descending)
    return ordered + [row for row in rows if key(row) is None]
