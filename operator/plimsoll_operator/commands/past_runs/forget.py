"""``plimsoll forget``: forgets tasks that should not exist, with all that was learned.

The running controller notices it within seconds, by the same marks as for an import.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from fnmatch import fnmatchcase
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plimsoll_operator.commands.printing.printing import progress_bars, refuse
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import Store, StoreError, TaskSummary

NOT_CONFIRMED: Final = 2
SHOWN: Final = 50
"""Tasks in the table; the rest are counted."""


class Doing(Enum):
    """Whether the tasks are only shown."""

    LIST = "list"
    FORGET = "forget"


def forget_command(named: str, store_url: str, doing: Doing, console: Console | None = None) -> int:
    """Forget the tasks that match ``named``, or list them; the exit status.

    named: ``namespace`` or ``namespace/name``; the name may have ``*`` in it.
    The status is 1 if there is no such task; a message then says so. It is NOT_CONFIRMED if they
    are only listed: a script that needs them gone must not go on.
    """
    console = console or Console()
    try:
        with existing_store(store_url) as store:
            return _forget(named, store, doing, console)
    except StoreError as error:
        refuse(Console(stderr=True), "forget", str(error))
        return 1


def _forget(named: str, store: Store, doing: Doing, console: Console) -> int:
    found = _named(named, store)
    if not found:
        refuse(Console(stderr=True), "forget", _not_found(named))
        return 1
    console.print(_table(found))
    attempts = sum(each.observations for each in found)
    words = f"{counted(len(found), 'task')} with {counted(attempts, 'attempt')}"
    if doing is Doing.LIST:
        console.print(f"{words} would be forgotten; say --yes to forget them")
        return NOT_CONFIRMED
    with progress_bars(console) as progress:
        bar = progress.add_task("forgetting", total=len(found))
        for each in found:
            store.forget(each.task)
            progress.advance(bar)
    console.print(f"{words} are forgotten; a task comes back with its next pod")
    return 0


def _not_found(named: str) -> str:
    namespace, slash, name = named.partition("/")
    if namespace and slash and not name:
        return f"{named} names no task; write {namespace} for all its tasks"
    return f"{named}: no such task is stored; is the name right?"


def _named(named: str, store: Store) -> list[TaskSummary]:
    namespace, slash, pattern = named.partition("/")
    # A slash without a name is a task's name that was left out, not a whole namespace.
    pattern = pattern if slash else "*"
    # Only the star is special: a name may contain brackets.
    plain = pattern.replace("[", "[[]").replace("?", "[?]")
    return [
        summary
        for task, summary in sorted(store.totals.by_task().items())
        if task.namespace == namespace and fnmatchcase(task.name, plain)
    ]


def _table(found: Sequence[TaskSummary]) -> Table:
    more = len(found) - SHOWN
    table = Table(caption=f"and {more:,} more" if more > 0 else None)
    table.add_column("task", overflow="fold")
    table.add_column("attempts", justify="right")
    table.add_column("last one ended")
    for each in found[:SHOWN]:
        ended_s = each.last_finished_s
        ended = "" if ended_s is None else f"{datetime.fromtimestamp(ended_s, UTC):%Y-%m-%d %H:%M}"
        table.add_row(escape(str(each.task)), f"{each.observations:,}", ended)
    return table
