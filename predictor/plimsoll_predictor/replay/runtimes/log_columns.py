"""The columns of a log of runtimes, and how one row of text becomes a run.

==============================  ======  ============================================================
column                          needed  what it holds
==============================  ======  ============================================================
task                            yes     what recurs: an executable of a user, a workflow's step
submit_s, or submit_ms          yes     when the run was asked for, seconds or Unix milliseconds
start_s, or start_ms            no      when it started; else when it was submitted
runtime_s                       yes     seconds from its start to its end
complete_s, or complete_ms      no      when it ended; else start and runtime together
user, owner, namespace, or run  no      who runs it: the first of these that the log has
procs, or cpus                  no      processors asked for
requested_s                     no      seconds asked for
requested_mem_kb                no      memory asked for, or preset_bytes in bytes
input_bytes                     no      size of its input
queue, partition                no      where it was submitted to
busy_at_submit                  no      share of the processors in use then
queued_at_submit                no      runs that waited then
status                          no      how it ended
==============================  ======  ============================================================

Empty cells, and -1 if the column is not needed, mean unknown. Any other column is ignored. If `run`
gives the owner, the owner is the workflow: the run's name without the number at its end. Its steps
are other tasks than steps of the same name in another workflow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from sys import intern
from typing import Final

from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.tables.cells import CellError, Cells, number, text_of
from plimsoll_predictor.tables.table_reading import Form

SUBMITS: Final = ("submit_s", "submit_ms")
STARTS: Final = ("start_s", "start_ms")
FINISHES: Final = ("complete_s", "complete_ms")
OWNERS: Final = ("user", "owner", "namespace")
RUN: Final = "run"
PROCESSORS: Final = ("procs", "cpus")
FORM: Final = Form(
    needed=(("task",), SUBMITS, ("runtime_s",)),
    others=(
        *STARTS,
        *FINISHES,
        *OWNERS,
        RUN,
        *PROCESSORS,
        "requested_s",
        "requested_mem_kb",
        "preset_bytes",
        "input_bytes",
        "queue",
        "partition",
        "status",
        "busy_at_submit",
        "queued_at_submit",
    ),
    see="see docs/forecast-benchmark.md for the columns of a log",
)
_NUMBERED: Final = re.compile(r"(?<=[^-_.\d])[-_.]?\d+$", re.ASCII)
_MOST_S: Final = 10**9
"""About 30 years: a longer runtime was written in milliseconds."""
_MOST_TIME_S: Final = 10**11


def log_run(cells: Cells, line: int) -> LogRun:
    """One row of text as a run, its times as they stand.

    Raises:
        CellError: if a needed cell is missing, or one holds an invalid value.
    """
    submitted_s = _time_s(cells, SUBMITS)
    if submitted_s is None:
        raise CellError(f"{SUBMITS[0]} is empty")
    started_s = _time_s(cells, STARTS)
    if started_s is None:
        started_s = submitted_s
    runtime_s = _runtime_s(cells)
    finished_s = _time_s(cells, FINISHES)
    if finished_s is not None and finished_s < started_s:
        raise CellError("it finished before it started")
    owner, task = _owner_and_task(cells)
    kb = _known(cells, "requested_mem_kb")
    return LogRun(
        line=line,
        task=intern(task),
        owner=intern(owner),
        submitted_s=submitted_s,
        started_s=started_s,
        runtime_s=runtime_s,
        finished_s=started_s + runtime_s if finished_s is None else finished_s,
        processors=next((_known(cells, name) for name in PROCESSORS if name in cells), None),
        requested_s=_known(cells, "requested_s"),
        requested_bytes=_known(cells, "preset_bytes") if kb is None else kb * 1024,
        input_bytes=_known(cells, "input_bytes"),
        queue=intern(_text(cells, "queue")),
        partition=intern(_text(cells, "partition")),
        status=intern(_text(cells, "status")),
        busy=_known(cells, "busy_at_submit"),
        queued=_known(cells, "queued_at_submit"),
    )


def _owner_and_task(cells: Cells) -> tuple[str, str]:
    task = _text(cells, "task")
    if not task:
        raise CellError("task is empty")
    owner = next((_text(cells, name) for name in OWNERS if name in cells), None)
    if owner is not None:
        return owner, task
    workflow = _NUMBERED.sub("", _text(cells, RUN))
    return workflow, f"{workflow}/{task}" if workflow else task


def _runtime_s(cells: Cells) -> float:
    runtime_s = number(cells, "runtime_s")
    if runtime_s is None:
        raise CellError("runtime_s is empty")
    if runtime_s < 0:
        raise CellError("runtime_s is negative: it finished before it started, or is not recorded")
    if runtime_s > _MOST_S:
        raise CellError("runtime_s is more than 30 years; write seconds")
    return runtime_s


def _time_s(cells: Cells, names: Sequence[str]) -> float | None:
    """The time in the first of a column of seconds and one of milliseconds."""
    for name in names:
        time = number(cells, name)
        if time is None:
            continue
        time_s = time / 1000 if name.endswith("_ms") else time
        if not 0 <= time_s <= _MOST_TIME_S:
            raise CellError(f"{name} is negative or thousands of years away")
        return time_s
    return None


def _known(cells: Cells, name: str) -> float | None:
    """A number that a log may lack; the Parallel Workloads Archive marks that by a negative one."""
    value = number(cells, name)
    return None if value is None or value < 0 else value


def _text(cells: Cells, name: str) -> str:
    return text_of(cells, name) or ""
