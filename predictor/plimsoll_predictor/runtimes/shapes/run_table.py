"""Past runs as arrays, the source of features and windows. Numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.runs.log_run import SHORTEST_S, LogRun
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, IntArray

MISSING: Final = float("nan")
"""In features only: the trees know it as a value that was not recorded."""
KNOWN_AT_SUBMISSION: Final = (
    "requested_s",
    "processors",
    "requested_bytes",
    "input_bytes",
    "busy",
    "queued",
)
"""Fields of a run that a log may leave out."""


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """Runs in the order of submission, each column (n_runs,).

    task, owner: whole numbers, indices into ``tasks`` and ``owners``. finished_s: when the runtime
    was known. at_submission: what else is known then, by name; NaN if the log does not have it.
    """

    tasks: tuple[str, ...]
    owners: tuple[str, ...]
    task: IntArray
    owner: IntArray
    submitted_s: FloatArray
    finished_s: FloatArray
    runtime_s: FloatArray
    at_submission: dict[str, FloatArray]

    @property
    def size(self) -> int:
        """How many runs."""
        return int(self.runtime_s.size)

    def runs_by_task(self) -> list[IntArray]:
        """Places of each task's runs, in the order of submission; index as in ``tasks``."""
        order = np.argsort(self.task, kind="stable")
        edges = np.searchsorted(self.task[order], np.arange(len(self.tasks) + 1))
        return [order[start:end] for start, end in pairwise(edges)]

    def known_histories(self, by_s: float) -> list[FloatArray]:
        """Runtimes of each task's runs that had finished by a time, in the order of finishing."""
        histories = []
        for places in self.runs_by_task():
            finished = places[self.finished_s[places] <= by_s]
            in_order = np.argsort(self.finished_s[finished], kind="stable")
            histories.append(self.runtime_s[finished[in_order]])
        return histories


def table_of(runs: Sequence[LogRun]) -> RunTable:
    """A table of a log's runs, which are in the order of submission."""
    tasks: dict[str, int] = {}
    owners: dict[str, int] = {}
    return RunTable(
        task=np.array([tasks.setdefault(run.task, len(tasks)) for run in runs], dtype=np.intp),
        owner=np.array([owners.setdefault(run.owner, len(owners)) for run in runs], dtype=np.intp),
        tasks=tuple(tasks),
        owners=tuple(owners),
        submitted_s=np.array([run.submitted_s for run in runs], dtype=np.float64),
        finished_s=np.array([run.finished_s for run in runs], dtype=np.float64),
        # A clock of whole seconds gives 0 for less than one.
        runtime_s=np.array([max(run.runtime_s, SHORTEST_S) for run in runs], dtype=np.float64),
        # numpy turns None into NaN, which is MISSING.
        at_submission={
            name: np.array([getattr(run, name) for run in runs], dtype=np.float64)
            for name in KNOWN_AT_SUBMISSION
        },
    )
