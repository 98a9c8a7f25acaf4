"""The shape of a task's next window of runs, and what was known before it. Numpy only.

In time order: a window's runs are normalised by the usual runtime that was known at its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.runtimes.shapes.catalogue import HALF_LIFE_RUNS, ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.normalising import FloatArray, IntArray, recency_weights
from plimsoll_predictor.runtimes.shapes.run_table import RunTable
from plimsoll_predictor.runtimes.shapes.submission_features import Moments

WINDOW_S: Final = 7 * DAY_S
"""A week: it holds a task's next runs, and few enough that they were soon over."""
LEAST_IN_WINDOW: Final = 5
"""How many runs a window needs to be given a shape."""
LEAST_KNOWN: Final = 5
"""How many earlier runs a task needs; fewer give no shape to start from."""


@dataclass(frozen=True, slots=True, eq=False)
class NextWindows:
    """A row per task and window, all (n_windows,); shapes by their place in the catalogue.

    actual: the shape of the window's runs. same: that of all runs known before. posterior: the
    same, but the newest weigh most. halves: of two random halves of the window's runs, (n_windows,
    2).
    """

    moments: Moments
    actual: IntArray
    same: IntArray
    posterior: IntArray
    halves: IntArray

    def ceiling(self) -> float:
        """How often two halves of a window have one shape: no forecast can agree more often."""
        return float((self.halves[:, 0] == self.halves[:, 1]).mean())


def window_edges(start_s: float, end_s: float) -> list[float]:
    """Windows of ``WINDOW_S``; the last is longer or shorter by up to half of that."""
    count = max(1, round((end_s - start_s) / WINDOW_S))
    return [start_s + WINDOW_S * place for place in range(count)] + [end_s]


def next_windows(
    table: RunTable, catalogue: ShapeCatalogue, edges_s: Sequence[float], *, seed: int
) -> NextWindows:
    """Every task with ``LEAST_IN_WINDOW`` runs submitted within [edges[i], edges[i + 1]).

    Raises:
        ValueError: if there is no such task.
    """
    random = np.random.default_rng(seed)
    rows = _windows(table, edges_s)
    if not rows:
        raise ValueError(
            f"no task has {LEAST_IN_WINDOW} runs in a window of this log, and runs before it"
        )
    counts = np.array(
        [_counts(table, catalogue, row, random.permutation(row.inside)) for row in rows]
    )
    places = np.argmax(catalogue.log_likelihoods(counts), axis=2)
    return NextWindows(
        moments=Moments(
            task=np.array([table.task[row.inside[0]] for row in rows], dtype=np.intp),
            at_s=np.array([row.start_s for row in rows]),
            # The request of the window's first run, and the load, are known at its submission.
            place=np.array([row.inside[0] for row in rows], dtype=np.intp),
        ),
        actual=places[:, 0],
        same=places[:, 1],
        posterior=places[:, 2],
        halves=places[:, 3:],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Places in the table: of the runs known before, oldest first, and of those inside."""

    start_s: float
    known: IntArray
    inside: IntArray


def _windows(table: RunTable, edges_s: Sequence[float]) -> list[_Window]:
    """In the order of time: a classifier learns from earlier rows and is judged on later ones."""
    windows: list[_Window] = []
    for places in table.runs_by_task():
        # In the order of submission, so a window is a slice.
        cuts = np.searchsorted(table.submitted_s[places], np.asarray(edges_s), side="left")
        for window in np.flatnonzero(np.diff(cuts) >= LEAST_IN_WINDOW):
            start_s = float(edges_s[int(window)])
            inside = places[cuts[window] : cuts[window + 1]]
            before = places[: cuts[window]]
            known = before[table.finished_s[before] <= start_s]
            if known.size >= LEAST_KNOWN:
                oldest_first = known[np.argsort(table.finished_s[known], kind="stable")]
                windows.append(_Window(start_s, oldest_first, inside))
    return sorted(windows, key=lambda window: window.start_s)


def _counts(
    table: RunTable, catalogue: ShapeCatalogue, window: _Window, shuffled: IntArray
) -> FloatArray:
    """Histograms (5, BINS): the window, the past, the newest past, and the window's halves."""
    known = table.runtime_s[window.known]
    usual = float(np.median(known))
    first, second = shuffled[: shuffled.size // 2], shuffled[shuffled.size // 2 :]
    return np.stack(
        [
            catalogue.counts(table.runtime_s[window.inside], usual),
            catalogue.counts(known, usual),
            catalogue.counts(known, usual, recency_weights(known.size, HALF_LIFE_RUNS)),
            catalogue.counts(table.runtime_s[first], usual),
            catalogue.counts(table.runtime_s[second], usual),
        ]
    )
