"""Measures the memory of a forecaster of many tasks, in a process of its own.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.forecast.memory [TASKS]

Prints the MB that the tasks took, beyond the process's memory before them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

TASKS: Final = 100_000
RUNS: Final = 4
OWNERS: Final = 500
_MB: Final = 1e6


def resident_mb() -> float:
    """The memory of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


def grown_mb(tasks: int) -> float:
    """The MB of so many tasks, each with a few runs of several lengths."""
    from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster

    forecaster = Forecaster()
    before_mb = resident_mb()
    for number in range(tasks):
        task, owner = f"team-{number % OWNERS}/task-{number}", f"team-{number % OWNERS}"
        for run in range(RUNS):
            forecaster.learn(task, owner, 3.0 * (number % 1000 + 1) * (run + 1), float(number))
    return resident_mb() - before_mb


def measured_mb(tasks: int = TASKS) -> float:
    """The same, in a process that has nothing else."""
    command = [sys.executable, "-P", __file__, str(tasks)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(said.stdout)


if __name__ == "__main__":
    sys.stdout.write(f"{grown_mb(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS):.1f}\n")
