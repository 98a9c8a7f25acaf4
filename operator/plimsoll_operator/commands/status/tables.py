"""The status as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.printing.tables import plain
from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.summary import Summary
from plimsoll_operator.commands.status.tasks import NamespaceState, TaskState
from plimsoll_operator.views.profile_status import ProfileStatus
from plimsoll_operator.wording.figure_words import words_for_gb_h

_MARKS: Final = {
    Level.GOOD: ("✓", "green"),
    Level.WARNING: ("!", "yellow"),
    Level.BAD: ("✗", "bold red"),
    Level.UNSEEN: ("?", "dim"),
}


def status_tables(summary: Summary, limit: int) -> RenderableType:
    """Show the status. limit: most tasks that are listed."""
    parts: list[RenderableType] = [_headline(summary), _checks(summary.checks)]
    troubled = [task for task in summary.tasks if task.status.troubles]
    if troubled:
        parts += [Text(), _troubles(troubled, limit)]
    ended = [task for task in summary.tasks if task.status.causes]
    if ended:
        parts += [Text(), _causes(ended, limit)]
    if summary.tasks:
        parts += [Text(), _tasks(summary.tasks, limit)]
    if len(summary.namespaces) > 1:
        parts += [Text(), _namespaces(summary.namespaces, limit)]
    if summary.next_steps:
        parts += [Text(), Text("next", style="bold")]
        parts += [plain(f"→ {step}") for step in summary.next_steps]
    unseen = summary.cluster.unseen
    if unseen:
        parts += [Text(), Text("not seen", style="bold")]
        parts += [plain(f"? {each.what}: {each.why}", style="dim") for each in unseen]
    return Group(*parts)


def _headline(summary: Summary) -> Text:
    where = summary.cluster.installed_in or "this cluster"
    if summary.hidden:
        return plain(f"how Plimsoll in {where} is, you may not see", style="bold yellow")
    if summary.healthy:
        return plain(f"Plimsoll in {where} is healthy", style="bold green")
    return plain(f"Plimsoll in {where} is not healthy", style="bold red")


def _checks(checks: Sequence[Check]) -> Table:
    grid = Table.grid(padding=(0, 1))
    for _ in range(3):
        grid.add_column()
    for check in checks:
        mark, style = _MARKS[check.level]
        grid.add_row(
            Text(mark, style=style),
            Text(check.name),
            plain(check.words, style="dim" if check.level is Level.UNSEEN else ""),
        )
    return grid


def _troubles(tasks: Sequence[TaskState], limit: int) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for task in tasks[:limit]:
        for words in task.status.troubles:
            grid.add_row(plain(task.task, style="bold"), plain(words, style="yellow"))
    return Group(Text("in trouble", style="bold"), grid, *_more(len(tasks), limit))


def _causes(tasks: Sequence[TaskState], limit: int) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for task in tasks[:limit]:
        grid.add_row(plain(task.task, style="bold"), plain(task.status.causes or ""))
    heading = Text("did not succeed lately", style="bold")
    return Group(heading, grid, *_more(len(tasks), limit))


def _tasks(tasks: Sequence[TaskState], limit: int) -> RenderableType:
    shown = tasks[:limit]
    # A column is left out where no task has a value, because eighty columns are few.
    saving = any(task.status.saved for task in shown)
    recommending = any(task.status.would_save for task in shown)
    right = ["runs", "OOMs", *(["saved"] if saving else [])]
    right += ["would save", "would kill"] if recommending else []
    table = _table("task", "mode", "phase", right=right)
    for task in shown:
        status = task.status
        figures = [plain(status.saved or "-")] if saving else []
        figures += [plain(status.would_save or "-"), plain(_kills(status))] if recommending else []
        table.add_row(
            plain(task.task),
            plain("paused" if task.paused else task.mode),
            plain(task.phase, style="yellow" if status.troubles else ""),
            f"{status.runs:,}",
            f"{status.oom_kills:,}",
            *figures,
        )
    return Group(table, *_more(len(tasks), limit))


def _kills(status: ProfileStatus) -> str:
    if status.would_kill is None:
        return "-"
    share = "" if status.would_kill_share is None else f" ({status.would_kill_share:.0%})"
    return f"{status.would_kill:,}{share}"


def _namespaces(namespaces: Sequence[NamespaceState], limit: int) -> RenderableType:
    right = ("tasks", "runs", "OOMs", "saved", "would save", "would kill")
    table = _table("namespace", "modes", right=right)
    for each in namespaces[:limit]:
        modes = ", ".join(f"{count} {mode}" for mode, count in sorted(each.modes.items()))
        table.add_row(
            plain(each.namespace),
            plain("paused" if each.paused else modes),
            f"{each.tasks:,}",
            f"{each.runs:,}",
            f"{each.oom_kills:,}",
            words_for_gb_h(each.saved_gb_h),
            words_for_gb_h(each.would_save_gb_h),
            f"{each.would_kill_runs:,}",
        )
    return Group(table, *_more(len(namespaces), limit))


def _table(*left: str, right: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in left:
        # The first column holds names, which must not be cut.
        table.add_column(name, overflow="fold", min_width=24 if name == left[0] else None)
    for name in right:
        table.add_column(name, justify="right")
    return table


def _more(rows: int, limit: int) -> list[RenderableType]:
    if rows <= limit:
        return []
    return [plain(f"and {rows - limit:,} more: --limit, -n or --output json", style="dim")]
