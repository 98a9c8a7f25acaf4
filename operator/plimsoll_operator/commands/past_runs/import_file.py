"""``plimsoll import``: past runs from a CSV file into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from rich.console import Console
from rich.markup import escape
from rich.progress import TaskProgressColumn
from rich.table import Table

from plimsoll_operator.attempts.truth_table import judge_row
from plimsoll_operator.commands.printing.printing import people_console, progress_bars, refuse
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S, counted, words_for_bytes
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.store.pruning import QUIET_TASKS_KEPT_S
from plimsoll_predictor.tables.cells import BadRow, TableError
from plimsoll_predictor.tables.history import read_history

BATCH: Final = 1000
SHOWN_BAD_ROWS: Final = 20
SHOWN_TASKS: Final = 50
"""Tasks in the table; the rest are counted."""


@dataclass(slots=True)
class _Tally:
    """Counts of the rows that were read, for the table at the end.

    damage: where the file broke off; None if all of it was read.
    """

    rows: Counter[TaskId] = field(default_factory=Counter)
    new: Counter[TaskId] = field(default_factory=Counter)
    oom_kills: Counter[TaskId] = field(default_factory=Counter)
    largest_bytes: dict[TaskId, int] = field(default_factory=dict)
    bad: int = 0
    observed: int = 0
    quiet: list[TaskId] = field(default_factory=list)
    first_bad: list[BadRow] = field(default_factory=list)
    damage: BadRow | None = None

    def count(self, row: Observation) -> None:
        self.rows[row.task] += 1
        self.oom_kills[row.task] += row.outcome is Outcome.OOM_KILLED
        if row.need is not None:
            before = self.largest_bytes.get(row.task, 0)
            self.largest_bytes[row.task] = max(before, row.need.size_bytes)

    @property
    def all_good(self) -> bool:
        return self.bad == 0 and self.damage is None

    def refuse(self, row: BadRow) -> None:
        if row.ends:
            self.damage = row
            return
        self.bad += 1
        if len(self.first_bad) < SHOWN_BAD_ROWS:
            self.first_bad.append(row)


@dataclass(frozen=True, slots=True)
class ImportRules:
    """Which rows of a file are stored.

    namespace: for rows that name none. strict: store nothing if any row is bad; otherwise store the
    good rows and list the bad ones.
    unobserved: leave out rows of runs if Plimsoll itself observed an attempt of the run.
    now_s: Unix seconds; rows of a later time are bad. None takes them.
    """

    namespace: str | None = None
    strict: bool = False
    unobserved: bool = False
    now_s: float | None = None


ALL_GOOD_ROWS: Final = ImportRules()


def import_command(
    path: Path,
    store_url: str,
    rules: ImportRules = ALL_GOOD_ROWS,
    console: Console | None = None,
    shown: str | None = None,
) -> int:
    """Import a history file; the exit status of the process.

    shown: the file's name for people, if it is another one than its path.
    The status is 0 if rows were stored, or all were stored before; else it is 1, and a message says
    what to do. It is 1 as well if the file is damaged: the rows before the damage are stored.
    Importing a file again stores no row twice.
    """
    errors = console or people_console(stderr=True)
    console = console or people_console()
    shown = shown or str(path)
    tally = _Tally()
    try:
        with path.open("rb") as file, progress_bars(console, TaskProgressColumn()) as progress:
            bar = progress.add_task(f"reading {Path(shown).name}", total=_size(file))
            if rules.strict and not _all_good(file, rules, shown, tally):
                progress.stop()
                return _refused(errors, shown, tally)
            rows = _good(_read(file, rules, shown), tally)
            into = _Into(store_url, rules.unobserved)
            _store(rows, into, tally, lambda: progress.update(bar, completed=file.tell()))
    except (TableError, StoreError, OSError) as error:
        unread = f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}"
        refuse(errors, "import", unread if isinstance(error, OSError) else str(error))
        if tally.rows:
            errors.print(
                f"{counted(tally.rows.total(), 'row')} kept before that; import the file again, "
                "rows that were kept are not doubled"
            )
        return 1
    if not (tally.rows or tally.observed or tally.damage):
        _say_bad(errors, tally)
        no_use = f"no row of {shown} could be used; mend the rows"
        refuse(errors, "import", no_use if tally.bad else f"{shown} has a header and no rows")
        return 1
    _say_bad(console, tally)
    console.print(_table(tally))
    _say_quiet(console, tally)
    if tally.damage is not None:
        where = f"{shown}, line {tally.damage.line:,}: {tally.damage.reason}"
        refuse(errors, "import", f"{where}; only the rows before it were kept")
        return 1
    return 0


@dataclass(frozen=True, slots=True)
class _Into:
    """The store, and whether observed runs are left out."""

    store_url: str
    unobserved: bool


def _store(
    rows: Iterator[Observation], into: _Into, tally: _Tally, stored: Callable[[], None]
) -> None:
    """Store all rows. stored: is called after each batch."""
    # The header is checked before the store is touched.
    batch = list(islice(rows, BATCH))
    store = Store.open(into.store_url)
    try:
        while batch:
            if into.unobserved:
                observed = store.observations.observed_runs(batch)
                theirs = [row for row in batch if (row.task, row.run) not in observed]
                tally.observed += len(batch) - len(theirs)
                batch = theirs
            tally.new.update(store.observations.record_history(batch))
            for row in batch:
                tally.count(row)
            stored()
            batch = list(islice(rows, BATCH))
        tally.quiet += sorted(tally.rows.keys() & set(store.quiet_tasks()))
    finally:
        store.close()


def _read(file: BinaryIO, rules: ImportRules, shown: str) -> Iterator[Observation | BadRow]:
    return read_history(file, namespace=rules.namespace, where=shown, now_s=rules.now_s)


def _good(rows: Iterator[Observation | BadRow], tally: _Tally) -> Iterator[Observation]:
    for row in rows:
        if isinstance(row, Observation):
            end = judge_row(row)
            yield replace(row, outcome=end.outcome, cause=end.cause)
        else:
            tally.refuse(row)


def _all_good(file: BinaryIO, rules: ImportRules, shown: str, tally: _Tally) -> bool:
    for _ in _good(_read(file, rules, shown), tally):
        pass
    file.seek(0)
    return tally.all_good


def _refused(errors: Console, shown: str, tally: _Tally) -> int:
    _say_bad(errors, tally)
    if tally.damage is not None:
        _say_row(errors, tally.damage)
    words = "because --strict was asked for; mend the rows, or import without it"
    refuse(errors, "import", f"nothing was kept of {shown}, {words}")
    return 1


def _say_bad(console: Console, tally: _Tally) -> None:
    for row in tally.first_bad:
        _say_row(console, row)
    if tally.bad > len(tally.first_bad):
        console.print(f"... and {counted(tally.bad - len(tally.first_bad), 'more bad row')}")


def _say_row(console: Console, row: BadRow) -> None:
    console.print(f"[yellow]line {row.line}:[/yellow] {escape(row.reason)}", soft_wrap=True)


def _say_quiet(console: Console, tally: _Tally) -> None:
    """Say which tasks the store does not keep: people would wonder where their past is."""
    if not tally.quiet:
        return
    days = round(QUIET_TASKS_KEPT_S / DAY_S)
    first, others = tally.quiet[0], len(tally.quiet) - 1
    named = f"{first} and {counted(others, 'other task')}" if others else str(first)
    whose = "they are" if others else "it is"
    words = f"{named} last ran more than {days} days ago: {whose} forgotten within hours"
    console.print(f"{words}, unless new runs are observed before", markup=False, soft_wrap=True)


def _table(tally: _Tally) -> Table:
    table = Table(title="Imported history", caption=_caption(tally))
    table.add_column("task", overflow="fold")
    for heading in ("attempts", "new", "OOM kills", "largest need"):
        table.add_column(heading, justify="right")
    for task in sorted(tally.rows)[:SHOWN_TASKS]:
        largest_bytes = tally.largest_bytes.get(task)
        table.add_row(
            escape(str(task)),
            str(tally.rows[task]),
            str(tally.new[task]),
            str(tally.oom_kills[task]),
            "unknown" if largest_bytes is None else words_for_bytes(largest_bytes),
        )
    if len(tally.rows) > SHOWN_TASKS:
        table.add_row(f"and {counted(len(tally.rows) - SHOWN_TASKS, 'more task')}")
    return table


def _caption(tally: _Tally) -> str:
    new = tally.new.total()
    known_before = tally.rows.total() - new
    words = f"{new} new, {known_before} known before, {counted(tally.bad, 'bad row')} left out"
    return f"{words}, {tally.observed} of runs that were observed" if tally.observed else words


def _size(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size
