"""``plimsoll import``: past runs from a CSV file into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID, TaskProgressColumn
from rich.table import Table

from plimsoll_operator.commands.printing.printing import progress_bars, refuse
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.tables.cells import BadRow
from plimsoll_predictor.tables.history import HistoryError, read_history

BATCH: Final = 1000
SHOWN_BAD_ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import, and where to.

    namespace: of rows that name none.
    strict: keep nothing if any row is bad; else the good ones are kept and the bad ones told.
    """

    path: Path
    store_url: str
    namespace: str | None = None
    strict: bool = False


@dataclass(slots=True)
class _Tally:
    """What was read, for the table at the end."""

    rows: Counter[TaskId] = field(default_factory=Counter)
    new: Counter[TaskId] = field(default_factory=Counter)
    oom_kills: Counter[TaskId] = field(default_factory=Counter)
    largest_bytes: dict[TaskId, int] = field(default_factory=dict)
    bad: int = 0
    first_bad: list[BadRow] = field(default_factory=list)

    def count(self, row: Observation) -> None:
        self.rows[row.task] += 1
        self.oom_kills[row.task] += row.outcome is Outcome.OOM_KILLED
        if row.need is not None:
            known = self.largest_bytes.get(row.task, 0)
            self.largest_bytes[row.task] = max(known, row.need.size_bytes)

    def refuse(self, row: BadRow) -> None:
        self.bad += 1
        if len(self.first_bad) < SHOWN_BAD_ROWS:
            self.first_bad.append(row)


def import_command(request: ImportRequest, console: Console | None = None) -> int:
    """Import a history file; the exit status of the process.

    0: rows were kept (bad ones, if any, were told and left out), or all were known already.
    1: nothing was kept, or not all that should have been; what to do was said.
    Importing a file again doubles nothing.
    """
    console = console or Console()
    tally = _Tally()
    try:
        with (
            request.path.open("rb") as file,
            progress_bars(console, TaskProgressColumn()) as progress,
        ):
            bar = progress.add_task(f"reading {request.path.name}", total=_size(file))
            if request.strict and not _all_good(file, request, tally):
                progress.stop()
                return _refused(console, request, tally)
            _keep(file, request, tally, (progress, bar))
    except (HistoryError, StoreError, OSError) as error:
        refuse(console, "import", _words(error, request))
        _say_kept(console, tally)
        return 1
    _say_bad(console, tally)
    console.print(_table(tally))
    return 0 if tally.rows or not tally.bad else 1


def _keep(
    file: BinaryIO, request: ImportRequest, tally: _Tally, bar: tuple[Progress, TaskID]
) -> None:
    rows = _good(read_history(file, namespace=request.namespace), tally)
    # The header is checked before the store is touched.
    batch = list(islice(rows, BATCH))
    store = Store.open(request.store_url)
    try:
        while batch:
            uids = store.observations.record_history(batch).new
            for row in batch:
                tally.count(row)
                tally.new[row.task] += row.attempt_uid in uids
            bar[0].update(bar[1], completed=file.tell())
            batch = list(islice(rows, BATCH))
    finally:
        store.close()
    bar[0].update(bar[1], completed=file.tell())


def _good(rows: Iterator[Observation | BadRow], tally: _Tally) -> Iterator[Observation]:
    for row in rows:
        if isinstance(row, Observation):
            yield row
        else:
            tally.refuse(row)


def _all_good(file: BinaryIO, request: ImportRequest, tally: _Tally) -> bool:
    for _ in _good(read_history(file, namespace=request.namespace), tally):
        pass
    file.seek(0)
    return tally.bad == 0


def _refused(console: Console, request: ImportRequest, tally: _Tally) -> int:
    _say_bad(console, tally)
    console.print(
        f"[red]plimsoll import:[/red] nothing was kept of {escape(str(request.path))}, because "
        "--strict was asked for; mend the rows, or import without it"
    )
    return 1


def _say_bad(console: Console, tally: _Tally) -> None:
    for row in tally.first_bad:
        console.print(f"[yellow]line {row.line}:[/yellow] {escape(row.reason)}")
    if tally.bad > len(tally.first_bad):
        console.print(f"... and {tally.bad - len(tally.first_bad)} more bad rows")


def _say_kept(console: Console, tally: _Tally) -> None:
    if tally.rows:
        console.print(
            f"{tally.rows.total()} rows were kept before that; import the file again, "
            "what is kept already is not doubled"
        )


def _words(error: Exception, request: ImportRequest) -> str:
    if isinstance(error, OSError):
        return f"{request.path} cannot be read: {error.strerror or error}"
    return str(error)


def _table(tally: _Tally) -> Table:
    table = Table(title="Imported history", caption=_caption(tally))
    table.add_column("task")
    for heading in ("attempts", "new", "OOM kills", "largest need"):
        table.add_column(heading, justify="right")
    for task in sorted(tally.rows):
        largest_bytes = tally.largest_bytes.get(task)
        table.add_row(
            escape(str(task)),
            str(tally.rows[task]),
            str(tally.new[task]),
            str(tally.oom_kills[task]),
            "unknown" if largest_bytes is None else words_for_bytes(largest_bytes),
        )
    return table


def _caption(tally: _Tally) -> str:
    known = tally.rows.total() - tally.new.total()
    return f"{tally.new.total()} new, {known} known before, {tally.bad} bad rows left out"


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size
