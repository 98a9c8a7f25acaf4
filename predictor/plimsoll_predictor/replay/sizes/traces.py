"""A trace of past runs: from a file or from a task's observations, and into a file.

Files are CSV (plain or gzip) or Parquet, with their rows in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final

from plimsoll_predictor.core.item_needs import EARLIER, UPSTREAM
from plimsoll_predictor.core.record import Features, Observation, Outcome
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.trace_columns import COLUMNS, FORM, row_cells, trace_row
from plimsoll_predictor.tables.cells import FEATURE, BadRow, CellError, TableError
from plimsoll_predictor.tables.table_reading import LeftOut, NamedRow, leave_out, read_rows
from plimsoll_predictor.tables.table_writing import feature_columns, write_table

MOST_ROWS: Final = 1_000_000
"""A replay needs its rows in order of time, so all are in memory: a million take about 1 GB."""
_REPEATED: Final = "repeats an earlier row"
RUN: Final = "run"
ITEM: Final = "item"
"""Features that say which run of a workflow an attempt belongs to, and what it works on."""
NEVER_MEASURED: Final = "never succeeded with its memory measured"
NO_TIMES: Final = "no start or end known"
_BATCH: Final = 5000


class TraceError(ValueError):
    """A trace cannot be replayed; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Past runs, ready to be replayed.

    left_out: reason -> the rows that it excluded. unasked: rows without a request; UNASKED_BYTES
        stands for it.
    shifted: rows that started before they were submitted, since two machines' clocks differ; their
        start and completion were moved by the gap.
    """

    name: str
    rows: Sequence[TraceRow]
    left_out: Mapping[str, LeftOut]
    shifted: int
    unasked: int


def read_trace(path: Path, progress: Callable[[int], None] | None = None) -> Trace:
    """The trace in a file. progress: gets the number of bytes read so far, every so often.

    Raises:
        TraceError: if it cannot be read, lacks a column, has more than MOST_ROWS rows, or none.
    """
    gathered = _Gathering()
    try:
        for row in read_rows(path, FORM, progress):
            gathered.read(row, str(path))
    except TableError as error:
        raise TraceError(str(error)) from error
    return gathered.trace(trace_name(path))


def trace_name(path: Path) -> str:
    """A trace's name: its file's, without the endings that name its format."""
    name = path.name
    for ending in (".gz", ".csv", ".tsv", ".txt", ".parquet"):
        name = name.removesuffix(ending)
    return name or path.name


def stored_trace(name: str, observations: Iterable[Observation]) -> Trace:
    """The runs of observed attempts, one row each.

    A run is submitted and starts with its first attempt; its need and runtime are those of the
    attempt that succeeded. Runs that never succeeded, and those without times, are left out. Their
    line is the place of their first attempt, from 1.

    Raises TraceError if nothing is left.
    """
    attempts: dict[str, list[tuple[int, Observation]]] = {}
    for place, observation in enumerate(observations, start=1):
        key = f"{observation.task}\x00{observation.run}"
        attempts.setdefault(key, []).append((place, observation))
    gathered = _Gathering()
    for of_run in attempts.values():
        try:
            gathered.add(_row(of_run))
        except CellError as error:
            leave_out(gathered.left_out, str(error), of_run[0][0])
    return gathered.trace(name)


def write_trace(path: Path, rows: Sequence[TraceRow]) -> None:
    """Write rows in order of submission; the name's ending decides the format.

    Raises:
        TableError: if pyarrow is missing and the name ends in .parquet.
        OSError: if the file cannot be written.
    """
    columns = {**COLUMNS, **feature_columns(FEATURE, (row.features for row in rows))}
    ordered = iter(sorted(rows, key=lambda row: row.submit_s))
    batches = iter(lambda: [row_cells(row) for row in islice(ordered, _BATCH)], [])
    write_table(path, columns, batches)


class _Gathering:
    """Collects the rows of a trace, and why others were left out."""

    def __init__(self) -> None:
        self._rows: list[TraceRow] = []
        self.left_out: dict[str, LeftOut] = {}
        self._digests: set[bytes] = set()
        self._shifted = 0
        self._unasked = 0

    def read(self, row: NamedRow | BadRow, where: str) -> None:
        if isinstance(row, BadRow):
            leave_out(self.left_out, row.reason, row.line)
            return
        try:
            self._check_new(row)
            self.add(trace_row(row.cells, row.line))
        except CellError as error:
            leave_out(self.left_out, str(error), row.line)
        if len(self._rows) > MOST_ROWS:
            raise TraceError(
                f"{where} has more than {MOST_ROWS:,} runs, and a replay holds them all in memory;"
                f" cut it, for instance by run (line {row.line} was reached)"
            )

    def add(self, row: TraceRow) -> None:
        gap_s = row.submit_s - row.start_s
        if gap_s > 0:
            self._shifted += 1
            row = replace(row, start_s=row.submit_s, complete_s=row.complete_s + gap_s)
        self._unasked += row.preset_bytes is None
        self._rows.append(row)

    def trace(self, name: str) -> Trace:
        if not self._rows:
            reasons = "; ".join(f"{out.count} rows: {why}" for why, out in self.left_out.items())
            raise TraceError(f"{name} has no run to replay" + (f" ({reasons})" if reasons else ""))
        return Trace(
            name=name,
            rows=self._rows,
            left_out=self.left_out,
            shifted=self._shifted,
            unasked=self._unasked,
        )

    def _check_new(self, row: NamedRow) -> None:
        # A digest of each row instead of its text: rows are many and long.
        digest = blake2b("\x00".join(row.text).encode(), digest_size=12).digest()
        if digest in self._digests:
            raise CellError(_REPEATED)
        self._digests.add(digest)


def _row(attempts: Sequence[tuple[int, Observation]]) -> TraceRow:
    """A run's row; CellError says why it has none."""
    line, first = min(attempts, key=lambda pair: pair[1].attempt)
    succeeded = (each for _, each in attempts if each.outcome is Outcome.SUCCEEDED)
    done = next((each for each in succeeded if each.peak_bytes), None)
    if done is None or done.peak_bytes is None:
        raise CellError(NEVER_MEASURED)
    start_s = done.started_s if first.started_s is None else first.started_s
    if start_s is None or done.runtime_s is None:
        raise CellError(NO_TIMES)
    return TraceRow(
        line=line,
        run=done.workflow_run or _text(done.features, RUN) or done.run,
        task=str(done.task),
        item=done.item or _text(done.features, ITEM),
        submit_s=start_s if first.submitted_s is None else first.submitted_s,
        start_s=start_s,
        complete_s=start_s + done.runtime_s,
        runtime_s=done.runtime_s,
        cpus=None,
        preset_bytes=done.request_bytes or None,
        input_bytes=None,
        peak_bytes=done.peak_bytes,
        features={name: value for name, value in done.features.items() if _is_own(name)},
    )


def _is_own(name: str) -> bool:
    """Whether the author wrote it: the replay builds the other features of an item anew."""
    return name not in (RUN, ITEM, EARLIER) and not name.startswith(UPSTREAM)


def _text(features: Features, name: str) -> str | None:
    value = features.get(name)
    return None if value is None else str(value)
