"""The status as tables in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from plimsoll_operator.wording.saving_words import NONE_SAVED

NAME_WIDTH: Final = 24
"""Longer names are folded if there is no room for them."""
_MARKS: Final = {
    Level.GOOD: ("✓", "green"),
    Level.WARNING: ("!", "yellow"),
    Level.BAD: ("✗", "bold red"),
    Level.UNSEEN: ("?", "dim"),
}


_SENTENCES: Final[Mapping[str, Callable[[ProfileStatus], str | None]]] = {
    "did not succeed lately": lambda status: status.causes,
    "killed below the request": lambda status: status.killed_below_request,
}
"""Heading -> what is said about a task under it."""


def status_tables(summary: Summary, limit: int) -> RenderableType:
    """Show the status. limit: most tasks that are listed."""
    parts: list[RenderableType] = [_headline(summary), _checks(summary.checks)]
    troubled = [task for task in summary.tasks if task.status.troubles]
    if troubled:
        parts += [Text(), _troubles(troubled, limit)]
    for heading, words_of in _SENTENCES.items():
        rows = [(task.task, words) for task in summary.tasks if (words := words_of(task.status))]
        if rows:
            parts += [Text(), _sentences(heading, rows, limit)]
    if summary.tasks:
        parts += [Text(), _tasks(summary.tasks, limit)]
    asking = [task for task in summary.tasks if task.status.asks]
    if asking:
        parts += [Text(), _asks(asking, limit)]
    if len(summary.namespaces) > 1:
        parts += [Text(), _namespaces(summary.namespaces, limit)]
    return Group(*parts, *_ending(summary))


def _ending(summary: Summary) -> list[RenderableType]:
    """Show what to do next, and what could not be read."""
    parts: list[RenderableType] = []
    if summary.next_steps:
        parts += [Text(), Text("next", style="bold")]
        parts += [plain(f"→ {step}") for step in summary.next_steps]
    unseen = summary.cluster.unseen
    if unseen:
        parts += [Text(), Text("not seen", style="bold")]
        parts += [plain(f"? {each.what}: {each.why}", style="dim") for each in unseen]
    return parts


def _headline(summary: Summary) -> Text:
    beside = summary.cluster.outside is not None
    where = (None if beside else summary.cluster.installed_in) or "this cluster"
    if summary.hidden:
        return plain(f"you may not see whether Plimsoll in {where} is healthy", style="bold yellow")
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


def _sentences(heading: str, rows: Sequence[tuple[str, str]], limit: int) -> RenderableType:
    """Show a sentence for each task."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for task, words in rows[:limit]:
        grid.add_row(plain(task, style="bold"), plain(words))
    return Group(Text(heading, style="bold"), grid, *_more(len(rows), limit))


def _asks(tasks: Sequence[TaskState], limit: int) -> RenderableType:
    # A separate table: eighty columns have no room for words beside the figures.
    table = _table("task", "asks for", names=[task.task for task in tasks[:limit]])
    for task in tasks[:limit]:
        table.add_row(plain(task.task), plain(task.status.asks or "", style="yellow"))
    return Group(table, *_more(len(tasks), limit))


def _tasks(tasks: Sequence[TaskState], limit: int) -> RenderableType:
    shown = tasks[:limit]
    # A column without any value is left out, because eighty columns are few.
    saving = any(task.status.saved for task in shown)
    recommending = any(task.status.would_save for task in shown)
    right = ["runs", "OOMs", *(["saved"] if saving else [])]
    right += ["would save", "would kill"] if recommending else []
    names = [task.task for task in shown]
    table = _table("task", "mode", "phase", names=names, right=right)
    for task in shown:
        status = task.status
        # The amounts are in the namespaces' table, and in the profiles.
        figures = [plain(_share(status.saved))] if saving else []
        figures += [plain(_share(status.would_save)), plain(_kills(status))] if recommending else []
        table.add_row(
            plain(task.task),
            plain("paused" if task.paused else task.mode),
            plain(task.phase, style="yellow" if status.troubles else ""),
            f"{status.runs:,}",
            f"{status.oom_kills:,}",
            *figures,
        )
    return Group(table, *_more(len(tasks), limit))


def _share(words: str | None) -> str:
    """Return the beginning of words about a saving: ``62%`` of ``62% (12.4 GB·h)``."""
    return "-" if words is None else words.partition(" ")[0]


def _kills(status: ProfileStatus) -> str:
    if status.would_kill is None:
        return "-"
    share = "" if status.would_kill_share is None else f" ({status.would_kill_share:.0%})"
    return f"{status.would_kill:,}{share}"


def _namespaces(namespaces: Sequence[NamespaceState], limit: int) -> RenderableType:
    right = ("tasks", "runs", "OOMs", "saved", "would save", "would kill")
    names = [each.namespace for each in namespaces[:limit]]
    table = _table("namespace", "modes", names=names, right=right)
    for each in namespaces[:limit]:
        modes = ", ".join(f"{count} {mode}" for mode, count in sorted(each.modes.items()))
        table.add_row(
            plain(each.namespace),
            plain("paused" if each.paused else modes),
            f"{each.tasks:,}",
            f"{each.runs:,}",
            f"{each.oom_kills:,}",
            _amount(each.saved_gb_h),
            _amount(each.would_save_gb_h),
            f"{each.would_kill_runs:,}",
        )
    return Group(table, *_more(len(namespaces), limit))


def _amount(saved_gb_h: float) -> str:
    return words_for_gb_h(saved_gb_h) if saved_gb_h >= 0 else NONE_SAVED


def _table(*left: str, names: Iterable[str], right: Sequence[str] = ()) -> Table:
    """Make an empty table. names: those of its first column, which are not cut."""
    widest = min(NAME_WIDTH, max(map(len, names), default=NAME_WIDTH))
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        collapse_padding=True,
    )
    for name in left:
        first = name == left[0]
        table.add_column(name, overflow="fold", min_width=widest if first else len("recommend"))
    for name in right:
        # Each of two words has its own line, because eighty columns are few.
        table.add_column(name.replace(" ", "\n"), justify="right")
    return table


def _more(rows: int, limit: int) -> list[RenderableType]:
    if rows <= limit:
        return []
    return [plain(f"and {rows - limit:,} more: --limit, -n or --output json", style="dim")]
