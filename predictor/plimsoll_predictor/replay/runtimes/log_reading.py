"""A log of runtimes from a file: CSV (plain or gzip) or Parquet, in any order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Final

from plimsoll_predictor.replay.runtimes.log_columns import FORM, log_run
from plimsoll_predictor.replay.sizes.traces import trace_name
from plimsoll_predictor.runtimes.runs.log_run import LogRun, RuntimeLog
from plimsoll_predictor.tables.cells import BadRow, CellError, TableError
from plimsoll_predictor.tables.table_reading import LeftOut, NamedRow, leave_out, read_rows

MOST_RUNS: Final = 2_000_000
"""A replay needs the runs in order of time, so all are in memory: a million take about 0.5 GB."""
CLOCK_S: Final = 1.0
"""A start this much before the submission comes from a clock of whole seconds; it is not
counted."""


class LogError(ValueError):
    """A log cannot be replayed; the message says why and what to do."""


def read_log(path: Path, progress: Callable[[int], None] | None = None) -> RuntimeLog:
    """The runs in a file, in the order of their submission; rows that are no run are counted.

    progress: gets the number of bytes read so far, every so often.

    Raises:
        LogError: if it cannot be read, lacks a column, has more than MOST_RUNS runs, or none.
    """
    return read_logs([path], trace_name(path), progress)


def read_logs(
    paths: Sequence[Path], name: str, progress: Callable[[int], None] | None = None
) -> RuntimeLog:
    """Several files as one log, their runs in the order of submission; read_log's errors."""
    gathered = _Gathering()
    for path in paths:
        gathered.latest_s = 0.0
        try:
            for row in read_rows(path, FORM, progress):
                gathered.take(row, str(path))
        except TableError as error:
            raise LogError(str(error)) from error
    return gathered.log(name)


@dataclass(slots=True)
class _Gathering:
    runs: list[LogRun] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    shifted: int = 0
    disordered: int = 0
    zeros: int = 0
    latest_s: float = 0.0

    def take(self, row: NamedRow | BadRow, where: str) -> None:
        if isinstance(row, BadRow):
            leave_out(self.left_out, row.reason, row.line)
            return
        try:
            self._keep(log_run(row.cells, row.line))
        except CellError as error:
            leave_out(self.left_out, str(error), row.line)
        if len(self.runs) > MOST_RUNS:
            raise LogError(
                f"{where} has more than {MOST_RUNS:,} runs, and a replay holds them all in memory;"
                f" cut it, for instance by time (line {row.line} was reached)"
            )

    def log(self, name: str) -> RuntimeLog:
        if not self.runs:
            reasons = "; ".join(out.words(why) for why, out in self.left_out.items())
            raise LogError(f"{name} has no run to replay" + (f" ({reasons})" if reasons else ""))
        # Stable: runs submitted at the same moment stay in the order of the file.
        self.runs.sort(key=attrgetter("submitted_s"))
        return RuntimeLog(
            name=name,
            runs=self.runs,
            left_out=self.left_out,
            shifted=self.shifted,
            disordered=self.disordered,
            zeros=self.zeros,
        )

    def _keep(self, run: LogRun) -> None:
        gap_s = run.submitted_s - run.started_s
        if gap_s > 0:
            run = self._moved(run, gap_s)
        self.disordered += run.submitted_s < self.latest_s
        self.latest_s = max(self.latest_s, run.submitted_s)
        self.zeros += run.runtime_s == 0
        self.runs.append(run)

    def _moved(self, run: LogRun, gap_s: float) -> LogRun:
        self.shifted += gap_s > CLOCK_S
        # It ended when the log says, whatever the clocks; but not before its submission.
        finished_s = max(run.finished_s, run.submitted_s)
        return replace(run, started_s=run.submitted_s, finished_s=finished_s)
