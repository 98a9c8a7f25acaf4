"""Tasks that change: what noticing a change saves, and how often one is noticed where none was.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.shifts.comparison
        [--traces FOLDER] [--quick] [--decide start] [--json F]

Traces are cut and joined so that tasks change in the middle (benchmarks/shifts/traces.py), and
played through the product with and without its eye for change. docs/drift.md says what the
figures mean.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.public_traces import TRACES_FOLDER, trace_paths
from benchmarks.shifts.sizers import Eye, ShiftSizer
from benchmarks.shifts.traces import LEAST_RUNS, Shifted, joined, scaled, unchanged
from benchmarks.sizes.comparison import WIDTH, WORKERS
from plimsoll_predictor.replay.sizes.engine import DecideAt, replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.traces import TraceError, read_trace, trace_name

AS_IS: Final = "as it is"
KINDS: Final[Mapping[str, Callable[[Sequence[TraceRow]], Shifted]]] = MappingProxyType(
    {
        AS_IS: unchanged,
        "half from the middle": lambda rows: scaled(rows, 0.5),
        "double from the middle": lambda rows: scaled(rows, 2.0),
        "two tasks joined": joined,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One way to change a trace, replayed with one eye for change."""

    path: Path
    kind: str
    eye: Eye
    decide_at: DecideAt


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result of a job.

    changed: tasks that change. noticed: how many of them were seen to change after they did. false:
        shifts seen without a change: all in an unchanged trace, those before the change elsewhere.
    delay_runs: runs learned after the change until it was seen, the median; None if it never was.
    waste_gb_h, failed_attempts: of the runs after a change; of all in an unchanged trace.
    """

    trace: str
    kind: str
    eye: str
    decide: str
    runs: int
    changed: int
    noticed: int
    false: int
    delay_runs: float | None
    waste_gb_h: float
    failed_attempts: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay, print, write."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        paths = trace_paths(given.traces, quick=given.quick)
        with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
            figures = list(pool.map(measured, _jobs(paths, DecideAt(given.decide))))
    except TraceError as error:
        console.print(f"benchmarks.shifts.comparison: {error}", markup=False, soft_wrap=True)
        return 2
    console.print(_table(figures))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n")
        console.print(f"written to {given.json}", markup=False)
    return 0


def measured(job: Job) -> Figures:
    """Replay one job."""
    shifted = KINDS[job.kind](read_trace(job.path).rows)
    moved = {line for lines in shifted.after.values() for line in lines}
    sizer = ShiftSizer(job.eye, moved)
    ended = replay(shifted.rows, sizer, decide_at=job.decide_at).rows
    counted = [each for each in ended if not moved or each.row.line in moved]
    delays, false = _noticed(sizer.fleet.noticed, ended, moved)
    return Figures(
        trace=trace_name(job.path),
        kind=job.kind,
        eye=job.eye.value,
        decide=job.decide_at.value,
        runs=len(counted),
        changed=len(shifted.after),
        noticed=len(delays),
        false=false,
        delay_runs=sorted(delays)[len(delays) // 2] if delays else None,
        waste_gb_h=round(sum(each.waste_gb_h for each in counted), 1),
        failed_attempts=sum(each.failed_attempts for each in counted),
    )


def _noticed(
    noticed: Mapping[str, Sequence[int]], ended: Sequence[ReplayedRow], moved: set[int]
) -> tuple[list[int], int]:
    """For each task seen to change after it did, how many runs that took; and the false ones."""
    delays: list[int] = []
    false = 0
    for task, places in noticed.items():
        after = [each.row.line in moved for each in ended if each.row.task == task]
        # Runs from before may end after the first of those that changed.
        since = [sum(after[:place]) for place in places]
        late = [runs for runs in since if runs]
        delays += late[:1]
        false += len(since) - len(late)
    return delays, false


def _jobs(paths: Sequence[Path], decide_at: DecideAt) -> list[Job]:
    return [
        Job(path=path, kind=kind, eye=eye, decide_at=decide_at)
        for path in paths
        for kind in KINDS
        for eye in (Eye if kind != AS_IS else (Eye.NONE, Eye.LEVELS))
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.shifts.comparison", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    parser.add_argument("--quick", action="store_true", help="two small traces")
    parser.add_argument("--decide", choices=list(DecideAt), default=DecideAt.SUBMIT)
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    return parser


def _table(figures: Sequence[Figures]) -> Table:
    table = Table(
        title=f"Runs after their task changed, decided at {figures[0].decide}",
        caption=f"tasks of {LEAST_RUNS} runs and more change; waste in GB·h",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for heading in ("trace", "change", "what is seen"):
        table.add_column(heading, no_wrap=True)
    for heading in ("runs", "tasks", "seen", "after", "false", "waste", "failed"):
        table.add_column(heading, justify="right", no_wrap=True)
    before: tuple[str, str] = ("", "")
    for each in figures:
        if before[0] not in ("", each.trace):
            table.add_section()
        same = before == (each.trace, each.kind)
        table.add_row(
            "" if before[0] == each.trace else each.trace,
            "" if same else each.kind,
            each.eye,
            f"{each.runs:,}",
            str(each.changed),
            str(each.noticed),
            "-" if each.delay_runs is None else f"{each.delay_runs:g}",
            str(each.false),
            f"{each.waste_gb_h:,.1f}",
            f"{each.failed_attempts:,}",
        )
        before = (each.trace, each.kind)
    return table


if __name__ == "__main__":
    sys.exit(main())
