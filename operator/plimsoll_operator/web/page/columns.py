"""The columns of the index: their titles, and the keys to sort by. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.web.page.rows import TaskRow

SortKey = Callable[[TaskRow], str | float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. key: rows for which it is None come last in both orders.

    order: asc or desc, the first one to offer. would: shown only if something is recommended.
    asks: shown only if a task asks for too little.
    """

    title: str
    key: SortKey
    order: str = "desc"
    would: bool = False
    asks: bool = False

    @property
    def numeric(self) -> bool:
        """Whether its figures are aligned right."""
        return self.order == "desc"


COLUMNS: Final[dict[str, Column]] = {
    "task": Column(title="task", key=lambda row: row.name.casefold(), order="asc"),
    "mode": Column(title="mode", key=lambda row: row.mode, order="asc"),
    "phase": Column(title="phase", key=lambda row: row.phase, order="asc"),
    "champion": Column(title="decided by", key=lambda row: row.champion, order="asc"),
    "runs": Column(title="runs", key=lambda row: row.summary.runs_known),
    "kills": Column(title="OOM kills", key=lambda row: row.summary.oom_kills),
    "runtime": Column(title="runtime", key=lambda row: row.runtime_p50_s),
    "asked": Column(title="asked", key=lambda row: row.summary.requested_gb_h),
    "allocated": Column(title="allocated", key=lambda row: row.summary.allocated_gb_h),
    "needed": Column(title="needed", key=lambda row: row.summary.peak_gb_h),
    "saved": Column(title="saved", key=lambda row: row.saved_gb_h),
    "asks": Column(title="asks for", key=lambda row: row.asks, order="asc", asks=True),
    "would-save": Column(title="would save", key=lambda row: row.would_save_gb_h, would=True),
    "would-kill": Column(title="would kill", key=lambda row: row.would_kill, would=True),
    "last": Column(title="last run", key=lambda row: row.summary.last_finished_s),
}
