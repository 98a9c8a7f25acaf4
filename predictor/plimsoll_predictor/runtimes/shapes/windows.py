"""The shape of a task's next window of runs, and what was to be known of it before. Numpy only.

Time order: a window's runs are held against shapes beside the usual runtime known at its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.shapes.catalogue import HALF_LIFE_RUNS, ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.normalising import (
    FloatArray,
    IntArray,
    histogram,
    normalised,
    recency_weights,
)
from plimsoll_predictor.runtimes.shapes.run_table import RunTable
from plimsoll_predictor.runtimes.shapes.submission_features import Moments

LEAST_IN_WINDOW: Final = 5
"""Runs that a window needs before it is given a shape."""
LEAST_KNOWN: Final = 5
"""Runs a task needs before it, or there is no shape to go on from."""


@dataclass(frozen=True, slots=True, eq=False)
class NextWindows:
    """A row per task and window, all (n_windows,); shapes by their place in the catalogue.

    actual: of the window's runs. same: of all runs known before. posterior: the same, the newest
    weighing most. halves: of two random halves of the window's runs, (n_windows, 2): how well they
    agree is the most that any forecast of ``actual`` could be expected to.
    """

    moments: Moments
    actual: IntArray
    same: IntArray
    posterior: IntArray
    halves: IntArray

    def ceiling(self) -> float:
        """How often two halves of a window have one shape."""
        return float((self.halves[:, 0] == self.halves[:, 1]).mean())


def next_windows(
    table: RunTable, catalogue: ShapeCatalogue, edges_s: Sequence[float], *, seed: int
) -> NextWindows:
    """Every task with ``LEAST_IN_WINDOW`` runs submitted within [edges[i], edges[i + 1]).

    Raises:
        ValueError: if no task has.
    """
    rows = list(_windows(table, edges_s, np.random.default_rng(seed)))
    if not rows:
        raise ValueError(
            f"no task has {LEAST_IN_WINDOW} runs in a window of this log, and runs before it"
        )
    counts = np.array([_counts(table, catalogue, row) for row in rows])
    places = np.argmax(catalogue.log_likelihoods(counts), axis=2)
    return NextWindows(
        moments=Moments(
            task=np.array([table.task[row.inside[0]] for row in rows], dtype=np.intp),
            at_s=np.array([row.start_s for row in rows]),
            # What the first run of the window asks for is known when it is submitted; the load is
            # that of its submission too.
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
    shuffled: IntArray


def _windows(
    table: RunTable, edges_s: Sequence[float], random: np.random.Generator
) -> Iterator[_Window]:
    """In the order of time, as a classifier learns from earlier rows and is held to later ones."""
    found: list[tuple[float, int, IntArray, IntArray]] = []
    for task, places in enumerate(table.runs_by_task()):
        # In the order of submission, so that a window is a slice.
        cuts = np.searchsorted(table.submitted_s[places], np.asarray(edges_s), side="left")
        for window in np.flatnonzero(np.diff(cuts) >= LEAST_IN_WINDOW):
            start_s = float(edges_s[int(window)])
            inside = places[cuts[window] : cuts[window + 1]]
            before = places[: cuts[window]]
            known = before[table.finished_s[before] <= start_s]
            if known.size >= LEAST_KNOWN:
                oldest_first = known[np.argsort(table.finished_s[known], kind="stable")]
                found.append((start_s, task, oldest_first, inside))
    for start_s, _, known, inside in sorted(found, key=lambda row: row[:2]):
        yield _Window(start_s, known, inside, random.permutation(inside))


def _counts(table: RunTable, catalogue: ShapeCatalogue, window: _Window) -> FloatArray:
    """Histograms (5, BINS): the window, the past, the newest past, and the window's halves."""
    known = table.runtime_s[window.known]
    usual = float(np.median(known))
    half = window.shuffled.size // 2
    kind = catalogue.normalisation

    def counted(runtimes_s: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        return histogram(normalised(runtimes_s, usual, kind), kind, weights)

    return np.stack(
        [
            counted(table.runtime_s[window.inside]),
            counted(known),
            counted(known, recency_weights(known.size, HALF_LIFE_RUNS)),
            counted(table.runtime_s[window.shuffled[:half]]),
            counted(table.runtime_s[window.shuffled[half:]]),
        ]
    )
