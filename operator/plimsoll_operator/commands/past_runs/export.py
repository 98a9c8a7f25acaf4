"""``plimsoll export``: what was observed, as a file that ``plimsoll import`` reads back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from plimsoll_operator.commands.printing.printing import refuse
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.history import Batches, Written, stream_history, write_history

ATTEMPTS: Final = 1_000_000
"""The most attempts of a task that are written, newest first; the store keeps fewer."""


def export_command(tasks: Sequence[str], store_url: str, out: Path, ending: str = ".csv") -> int:
    """Write the attempts of some tasks (``namespace/name``), or of all; the exit status.

    out: ``-`` prints them; ending: of a file name, which then gives the format.
    If the status is 1, no file was written, or what was printed is not whole; a message then says
    what to do.
    """
    if str(out) != "-":
        return _export(
            tasks, store_url, lambda batches: write_history(out, batches), str(out), Console()
        )
    shown = "standard output"

    def print_history(batches: Batches) -> Written:
        # As it is read: the controller's pod, where this runs, has no room for a whole history.
        written = stream_history(sys.stdout.buffer, ending, batches, shown)
        sys.stdout.flush()
        return written

    # Messages go to stderr, so that stdout holds the history alone.
    return _export(tasks, store_url, print_history, shown, Console(stderr=True))


def _export(
    tasks: Sequence[str],
    store_url: str,
    write: Callable[[Batches], Written],
    shown: str,
    news: Console,
) -> int:
    """Write them. shown: the file's name for people."""
    errors = Console(stderr=True)
    try:
        named = [TaskId.parse(task) for task in tasks]
        with existing_store(store_url) as store:
            chosen = _chosen(store, named)
            # One task at a time, because the whole store may not fit into memory.
            written = write(
                lambda: (store.observations.of_task(each, limit=ATTEMPTS) for each in chosen)
            )
    except (StoreError, TableError, ValueError) as error:
        refuse(errors, "export", str(error))
        return 1
    except BrokenPipeError:
        raise  # the reader, such as `head`, has enough
    except OSError as error:
        refuse(errors, "export", f"{shown} cannot be written: {error.strerror or error}")
        return 1
    for reason, count in written.left_out.most_common():
        news.print(f"{count:,} left out: {reason}", markup=False, soft_wrap=True)
    words = f"{shown}: {counted(written.rows, 'attempt')} of {counted(len(chosen), 'task')}"
    news.print(words, markup=False, soft_wrap=True)
    return 0


def _chosen(store: Store, named: Sequence[TaskId]) -> Sequence[TaskId]:
    observed = store.totals.tasks()
    unknown = [str(task) for task in named if task not in observed]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no attempt was observed; is the name right?")
    if not observed:
        raise ValueError(f"{store.where} has no observations; is the --store right?")
    return named or observed
