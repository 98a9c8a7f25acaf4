"""``plimsoll export``: what was observed, as a file that ``plimsoll import`` reads back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from plimsoll_operator.commands.past_runs.history_files import printed_history
from plimsoll_operator.commands.printing.printing import refuse
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.tables.cells import TableError
from plimsoll_predictor.tables.history import Written, write_history

ATTEMPTS: Final = 1_000_000
"""Of a task, the newest that are written; the store keeps fewer."""


def export_command(
    tasks: Sequence[str], store_url: str, out: Path, console: Console | None = None
) -> int:
    """Write the attempts of some tasks (``namespace/name``), or of all; the exit status.

    1: nothing was written; what to do was said.
    """
    errors = console or Console(stderr=True)
    return _export(tasks, store_url, (out, str(out)), (console or Console(), errors))


def print_command(tasks: Sequence[str], store_url: str, ending: str) -> int:
    """Print what ``export_command`` would write; the exit status.

    ending: of a file's name, which tells the format.
    """
    # What is said beside it goes where it does no harm.
    errors = Console(stderr=True)
    return printed_history(
        ending, lambda file: _export(tasks, store_url, (file, "standard output"), (errors, errors))
    )


def _export(
    tasks: Sequence[str],
    store_url: str,
    where: tuple[Path, str],
    consoles: tuple[Console, Console],
) -> int:
    """Write them. where: the file, and what people know it as. consoles: for news, for errors."""
    console, errors = consoles
    out, shown = where
    try:
        named = [TaskId.parse(task) for task in tasks]
        with existing_store(store_url) as store:
            chosen = _chosen(store, named)
            written = write_history(out, lambda: _batches(store, chosen))
    except (StoreError, TableError, ValueError) as error:
        refuse(errors, "export", str(error))
        return 1
    except OSError as error:
        refuse(errors, "export", f"{shown} cannot be written: {error.strerror or error}")
        return 1
    _say(console, shown, written, len(chosen))
    return 0


def _chosen(store: Store, named: Sequence[TaskId]) -> Sequence[TaskId]:
    known = store.totals.tasks()
    unknown = [str(task) for task in named if task not in known]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no attempt was observed; is the name right?")
    if not known:
        raise ValueError(f"{store.where} has no observations; is the --store right?")
    return named or known


def _batches(store: Store, tasks: Sequence[TaskId]) -> Iterator[list[Observation]]:
    # A task at a time: the whole store may be more than memory has room for.
    return (store.observations.of_task(task, limit=ATTEMPTS) for task in tasks)


def _say(console: Console, shown: str, written: Written, tasks: int) -> None:
    for reason, count in written.left_out.most_common():
        console.print(f"{count:,} left out: {reason}", markup=False, soft_wrap=True)
    words = f"{shown}: {written.rows:,} attempts of {counted(tasks, 'task')}"
    console.print(words, markup=False, soft_wrap=True)
