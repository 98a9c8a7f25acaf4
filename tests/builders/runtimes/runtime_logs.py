"""Runs of a log, and logs of them, for the tests of the replay of runtimes."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from plimsoll_predictor.runtimes.runs.log_run import LogRun, RuntimeLog

BASE = LogRun(
    line=2,
    task="t",
    owner="u",
    submitted_s=0.0,
    started_s=0.0,
    runtime_s=60.0,
    finished_s=60.0,
)
COLUMNS = ("task", "submit_s", "start_s", "runtime_s", "user", "requested_s")


@dataclass(frozen=True)
class LogRunBuilder:
    """A past run of a minute, started when it was submitted; each step copies."""

    run: LogRun = BASE

    def of(self, task: str, owner: str = "u") -> Self:
        return replace(self, run=replace(self.run, task=task, owner=owner))

    def at(self, submitted_s: float, waited_s: float = 0.0) -> Self:
        started_s = submitted_s + waited_s
        run = replace(
            self.run,
            submitted_s=submitted_s,
            started_s=started_s,
            finished_s=started_s + self.run.runtime_s,
        )
        return replace(self, run=run)

    def taking(self, runtime_s: float) -> Self:
        finished_s = self.run.started_s + runtime_s
        return replace(self, run=replace(self.run, runtime_s=runtime_s, finished_s=finished_s))

    def asking(self, requested_s: float) -> Self:
        return replace(self, run=replace(self.run, requested_s=requested_s))


def a_log_run(line: int = 2) -> LogRunBuilder:
    return LogRunBuilder(replace(BASE, line=line))


def a_log(runs: Sequence[LogRun], name: str = "log") -> RuntimeLog:
    return RuntimeLog(name=name, runs=runs, left_out={})


def write_rows(path: Path, rows: Sequence[str], columns: Sequence[str] = COLUMNS) -> Path:
    """A CSV file of unchanged rows; compressed if its name ends in .gz."""
    text = "\n".join([",".join(columns), *rows]) + "\n"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_log(path: Path, runs: Sequence[LogRun]) -> Path:
    """A CSV file of runs."""
    return write_rows(path, [_row(run) for run in runs])


def _row(run: LogRun) -> str:
    requested = -1 if run.requested_s is None else run.requested_s
    return (
        f"{run.task},{run.submitted_s!r},{run.started_s!r},{run.runtime_s!r},"
        f"{run.owner},{requested!r}"
    )
