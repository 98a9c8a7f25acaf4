"""How often a shape is forecast right on a log of runtimes: the paper's way, and in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.classifier import (
    NotLearnable,
    ShapeClassifier,
    fit_classifier,
)
from plimsoll_predictor.runtimes.shapes.normalising import (
    FloatArray,
    IntArray,
    Normalisation,
    histogram,
    normalised,
)
from plimsoll_predictor.runtimes.shapes.run_table import RunTable
from plimsoll_predictor.runtimes.shapes.submission_features import (
    FeatureRows,
    Moments,
    feature_rows,
)
from plimsoll_predictor.runtimes.shapes.windows import next_windows, window_edges

SEED: Final = 7
MOST_ROWS: Final = 5000
"""In the paper's way: how many runs the classifier learns from, and how many test it."""
PAPER_SUPPORT: Final = 3
PAPER_TRAINING: Final = (0.5, 0.8)
"""Shares of the submissions: the paper's 15 days (D2) before its 5 (D3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracies:
    """How often each way was right, 0 to 1; None if there was nothing to learn from."""

    rows: int
    majority: float
    same: float
    posterior: float | None
    boosted: float | None
    voted: float | None
    ceiling: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A classifier with its test rows, to be explained."""

    model: ShapeClassifier
    rows: FeatureRows
    tasks: tuple[str, ...]


def cut_of(table: RunTable) -> float:
    """When the test begins: with the second half of the submissions."""
    return float(table.submitted_s[table.size // 2])


def in_time_order(table: RunTable, catalogue: ShapeCatalogue) -> tuple[Accuracies, Learned | None]:
    """The shape of each task's next window, from what was known at its start."""
    cut_s = cut_of(table)
    end_s = float(table.submitted_s[-1]) + 1
    tested = next_windows(table, catalogue, window_edges(cut_s, end_s), seed=SEED)
    learned = _classifier(table, catalogue, cut_s)
    boosted = voted = None
    if learned is not None:
        rows = feature_rows(table, tested.moments, catalogue)
        boosted, voted = _right(learned, rows.values, tested.actual)
    found = Accuracies(
        rows=tested.actual.size,
        majority=_majority(tested.actual),
        same=float((tested.same == tested.actual).mean()),
        posterior=float((tested.posterior == tested.actual).mean()),
        boosted=boosted,
        voted=voted,
        ceiling=tested.ceiling(),
    )
    if learned is None:
        return found, None
    tasks = tuple(table.tasks[task] for task in tested.moments.task)
    return found, Learned(learned, rows, tasks)


def _classifier(table: RunTable, catalogue: ShapeCatalogue, cut_s: float) -> ShapeClassifier | None:
    """Learn from the windows that were over when the test begins."""
    start_s = float(table.submitted_s[0])
    try:
        windows = next_windows(table, catalogue, window_edges(start_s, cut_s), seed=SEED)
        rows = feature_rows(table, windows.moments, catalogue)
        return fit_classifier(rows.values, windows.actual, rows.names, seed=SEED)
    except (NotLearnable, ValueError):
        return None


def as_the_paper(table: RunTable, catalogue: ShapeCatalogue) -> Accuracies | None:
    """One label per task, from all its runs, also those of the test: the paper's protocol.

    A run is a row, and the training runs come before the test runs. But in both, a task's label and
    the statistics of its past are from all its runs: knowing the task is knowing the answer.
    """
    labels = _labels_of_tasks(table, catalogue)
    first, second = (int(share * table.size) for share in PAPER_TRAINING)
    counts = [
        np.bincount(table.task[start:end], minlength=len(table.tasks))
        for start, end in ((first, second), (second, table.size))
    ]
    supported = (counts[0] >= PAPER_SUPPORT) & (counts[1] >= PAPER_SUPPORT)
    training, test = (
        _thinned(start + np.flatnonzero(supported[table.task[start:end]]))
        for start, end in ((first, second), (second, table.size))
    )
    try:
        rows = feature_rows(table, _moments(table, training), catalogue)
        actual = labels[table.task[training]]
        model = fit_classifier(rows.values, actual, rows.names, seed=SEED)
    except NotLearnable:
        return None
    tested = feature_rows(table, _moments(table, test), catalogue)
    actual = labels[table.task[test]]
    boosted, voted = _right(model, tested.values, actual)
    before = _labels_of_tasks(table, catalogue, until=second)[table.task[test]]
    return Accuracies(
        rows=test.size,
        majority=_majority(actual),
        same=float((before == actual).mean()),
        posterior=None,
        boosted=boosted,
        voted=voted,
        ceiling=None,
    )


def _labels_of_tasks(
    table: RunTable, catalogue: ShapeCatalogue, until: int | None = None
) -> IntArray:
    """The shape of all of each task's runs among the first ``until``; -1 for none."""
    kind: Normalisation = catalogue.normalisation
    found = np.full(len(table.tasks), -1, dtype=np.intp)
    for task, places in enumerate(table.runs_by_task()):
        runtimes = table.runtime_s[places[places < (table.size if until is None else until)]]
        if runtimes.size:
            values = normalised(runtimes, float(np.median(runtimes)), kind)
            found[task] = np.argmax(catalogue.log_likelihoods(histogram(values, kind)))
    return found


def _moments(table: RunTable, places: IntArray) -> Moments:
    """Each run with everything that will be known of its task at the end."""
    end_s = float(table.finished_s.max())
    return Moments(
        task=table.task[places], at_s=np.full(places.size, end_s), place=places.astype(np.intp)
    )


def _thinned(places: IntArray) -> IntArray:
    if places.size <= MOST_ROWS:
        return places
    return places[np.linspace(0, places.size - 1, MOST_ROWS).astype(np.intp)]


def _right(model: ShapeClassifier, rows: FloatArray, actual: IntArray) -> tuple[float, float]:
    boosted = model.labels(model.probabilities(rows))
    voted = model.labels(model.voted(rows))
    return float((boosted == actual).mean()), float((voted == actual).mean())


def _majority(actual: IntArray) -> float:
    return float(np.bincount(actual).max() / actual.size)
