"""``plimsoll report``: the report page as a file."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.views.report.task_views import gather
from plimsoll_operator.web.report.page import render
from plimsoll_operator.web.report.writing import check_writable, write_whole
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import StoreError


def report_command(task: str | None, store_url: str, out: Path, *, now_s: float) -> int:
    """Write the report of one task (``namespace/name``) or of all; the exit status.

    out: replaced as a whole or not at all; ``-`` prints the page. now_s: Unix seconds, on the page.
    """
    console = Console(stderr=True)
    try:
        if str(out) != "-":
            check_writable(out)
        tasks = None if task is None else (TaskId.parse(task),)
        with existing_store(store_url) as store:
            data = gather(store, tasks)
        if tasks and not data.tasks:
            console.print(f"{tasks[0]}: no attempt was observed; is the name right?", markup=False)
            return 1
        page = render(data, now_s)
        if str(out) == "-":
            sys.stdout.buffer.write(page.encode())  # as its first line says, in any locale
        else:
            write_whole(out, page)
    except (StoreError, ValueError, OSError) as error:
        why = f"{out}: {error.strerror}" if isinstance(error, OSError) else str(error)
        console.print(f"no report was written: {why}", markup=False, soft_wrap=True)
        return 1
    tasks_told = counted(data.known, "task")
    shown = "standard output" if str(out) == "-" else out
    console.print(f"{shown}: {tasks_told}", markup=False, soft_wrap=True)
    return 0
