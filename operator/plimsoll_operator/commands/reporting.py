"""``plimsoll report``: the report page as a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from plimsoll_operator.report.data import gather
from plimsoll_operator.report.page import render
from plimsoll_operator.report.writing import write_whole
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.task import TaskId


def report_command(task: str | None, store_url: str, out: Path, *, now_s: float) -> int:
    """Write the report of one task (``namespace/name``) or of all; the exit status.

    out: replaced as a whole or not at all. now_s: Unix seconds, printed on the page.
    """
    console = Console(stderr=True)
    try:
        tasks = None if task is None else (TaskId.parse(task),)
        store = Store.open(store_url)
        try:
            data = gather(store, tasks)
        finally:
            store.close()
        if tasks and not data.tasks:
            console.print(f"{tasks[0]}: no attempt was observed; is the name right?", markup=False)
            return 1
        write_whole(out, render(data, now_s))
    except (StoreError, ValueError, OSError) as error:
        console.print(f"no report was written: {error}", markup=False, soft_wrap=True)
        return 1
    console.print(f"{out}: {len(data.tasks)} task(s)", markup=False, soft_wrap=True)
    return 0
