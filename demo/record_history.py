"""Record the demo's history: run its two tasks a few hundred times and write history.csv.

Every row is a run that really happened here, one after another, each measured by the kernel (see
measure.py). An interrupted recording goes on where it stopped. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from demo.measure import Measured, measure
from demo.runs.workload import JOIN_SALES, TRAIN_DEMAND, Work, draw_weight, draw_work

FOLDER: Final = Path(__file__).resolve().parent
NAMESPACE: Final = "shop"
REQUEST_BYTES: Final = 4 * 2**30
"""The team's request, always: the static request that Plimsoll is to replace."""
SEED: Final = 20
RUNS_PER_LOCK: Final = 10
COLUMNS: Final = (
    "namespace",
    "task",
    "run",
    "attempt",
    "submitted_s",
    "started_s",
    "finished_s",
    "request_bytes",
    "allocation_bytes",
    "outcome",
    "peak_bytes",
    "cpu_s",
    "feature.rows",
    "feature.columns",
    "feature.region",
)


def planned(runs_per_task: int) -> list[tuple[str, Work]]:
    """(run name, work) of the whole history, the tasks in turn; the same every time."""
    random = Random(SEED)
    plan = []
    for number in range(runs_per_task):
        for task in (TRAIN_DEMAND, JOIN_SALES):
            work = draw_work(task, draw_weight(random), random)
            plan.append((f"{task}-{number:04d}", work))
    return plan


def row_of(run: str, work: Work, measured: Measured) -> dict[str, str]:
    """One line of history.csv, as `plimsoll import` reads it."""
    if measured.exit_code != 0:
        raise RuntimeError(
            f"run {run} ({work.arguments}) ended with exit code {measured.exit_code}"
        )
    known = {
        "namespace": NAMESPACE,
        "task": work.task,
        "run": run,
        "attempt": 1,
        "submitted_s": round(measured.started_s, 2),
        "started_s": round(measured.started_s, 2),
        "finished_s": round(measured.finished_s, 2),
        "request_bytes": REQUEST_BYTES,
        "allocation_bytes": REQUEST_BYTES,
        "outcome": "succeeded",
        "peak_bytes": measured.peak_bytes,
        "cpu_s": round(measured.cpu_s, 2),
    }
    features = {f"feature.{name}": value for name, value in work.features.items()}
    return {column: str((known | features).get(column, "")) for column in COLUMNS}


@contextmanager
def alone(lock: Path | None) -> Iterator[None]:
    """Hold a lock file, so that nothing else that uses it runs during a measurement."""
    if lock is None:
        yield
        return
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def record(out: Path, runs_per_task: int, lock: Path | None) -> None:
    """Run what is missing in the file and append it, run by run."""
    done = _recorded(out)
    left = [(run, work) for run, work in planned(runs_per_task) if run not in done]
    for start in range(0, len(left), RUNS_PER_LOCK):
        with alone(lock):
            for run, work in left[start : start + RUNS_PER_LOCK]:
                program = [sys.executable, str(FOLDER / "tasks" / work.program), *work.arguments]
                _append(out, row_of(run, work, measure(program, REQUEST_BYTES)))
        print(f"{min(start + RUNS_PER_LOCK, len(left))} of {len(left)} runs recorded", flush=True)


def _recorded(out: Path) -> set[str]:
    if not out.exists():
        return set()
    with out.open(newline="") as file:
        return {row["run"] for row in csv.DictReader(file)}


def _append(out: Path, row: dict[str, str]) -> None:
    is_new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments and record."""
    parser = argparse.ArgumentParser(description="Record the demo's history by running its tasks.")
    parser.add_argument("--out", type=Path, default=FOLDER / "history.csv")
    parser.add_argument("--runs-per-task", type=int, default=150)
    parser.add_argument("--lock", type=Path, help="file to lock around every few runs")
    given = parser.parse_args(arguments)
    record(given.out, given.runs_per_task, given.lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
