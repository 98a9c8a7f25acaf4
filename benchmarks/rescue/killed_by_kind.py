"""Counts the growing tasks that were killed, by kind and pace, without rescue and with it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rich.table import Table

from benchmarks.rescue.growing_programs import GrowingTask


def by_kind(
    batch: Sequence[GrowingTask],
    killed_off: Collection[str],
    killed_on: Collection[str],
    in_vain: Collection[str],
) -> list[dict[str, Any]]:
    """Return a row for each kind and pace. All others: names of tasks. headroom: least, in MiB."""
    rows = []
    for kind, rate in sorted({_key(task) for task in batch}):
        those = [task for task in batch if _key(task) == (kind, rate)]
        names = {task.name for task in those}
        rooms = [task.headroom_mib for task in those if task.headroom_mib is not None]
        rows.append(
            {
                "kind": kind,
                "rate_mb_s": rate or None,
                "headroom": min(rooms, default=None),
                "tasks": len(those),
                "kills_off": len(names.intersection(killed_off)),
                "kills_on": len(names.intersection(killed_on)),
                "in_vain": len(names.intersection(in_vain)),
            }
        )
    return rows


def _key(task: GrowingTask) -> tuple[str, int]:
    return task.kind, task.rate_mb_s or 0


def kinds_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table for people."""
    table = Table(title="killed, and given more in vain, by kind and pace")
    for column in ("", "tasks", "headroom, MiB", "killed without", "killed with", "in vain"):
        table.add_column(column)
    for row in rows:
        pace = f" of {row['rate_mb_s']} MB/s" if row["rate_mb_s"] else ""
        figures = (row["tasks"], row["headroom"], row["kills_off"], row["kills_on"])
        shown = ["" if figure is None else str(figure) for figure in (*figures, row["in_vain"])]
        table.add_row(f"{row['kind']}{pace}", *shown)
    return table
