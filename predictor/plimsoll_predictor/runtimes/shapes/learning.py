"""The trainer's learning of shapes: catalogues, and why tasks have their shapes.

It needs scikit-learn and xgboost; its result is read without them. The same runs and seed give
the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.classifier import fit_classifier
from plimsoll_predictor.runtimes.shapes.explaining import Named, explain
from plimsoll_predictor.runtimes.shapes.explanation import MOST_TASKS, Explanation
from plimsoll_predictor.runtimes.shapes.fitting import TooFewRuns, fit
from plimsoll_predictor.runtimes.shapes.normalising import IntArray, Normalisation
from plimsoll_predictor.runtimes.shapes.run_table import RunTable
from plimsoll_predictor.runtimes.shapes.submission_features import (
    FeatureRows,
    Moments,
    feature_rows,
)
from plimsoll_predictor.runtimes.shapes.windows import next_windows, window_edges

MOST_WINDOWS: Final = 20_000
"""The most rows to learn from, the newest."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapesLearned:
    """One learning. words: a line for each step; also says why a step learned nothing."""

    catalogues: tuple[ShapeCatalogue, ...]
    explanation: Explanation | None
    words: tuple[str, ...]


def learn_shapes(
    table: RunTable, previous: Sequence[ShapeCatalogue], *, seed: int
) -> ShapesLearned:
    """Learn catalogues of both normalisations, with the names of ``previous``, and an explanation.

    The explanation is of the ratio-normalised shapes, for the tasks that ran last. A part that
    cannot be learned is missing, and the words say so.
    """
    histories = table.known_histories(float("inf"))
    catalogues, words = [], []
    for kind in Normalisation:
        before = next((one for one in previous if one.normalisation is kind), None)
        try:
            fitted = fit(histories, kind, seed=seed, previous=before)
        except TooFewRuns as error:
            return ShapesLearned((), None, (str(error),))
        catalogues.append(fitted.catalogue)
        words.append(f"{kind}: version {fitted.catalogue.version}, {fitted.elbow.words()}")
    try:
        explanation = _explained(table, catalogues[0], seed)
        words.append(f"explained {len(explanation.tasks)} tasks from {explanation.rows} windows")
    except ValueError as error:
        return ShapesLearned(tuple(catalogues), None, (*words, f"not explained: {error}"))
    return ShapesLearned(tuple(catalogues), explanation, tuple(words))


def _explained(table: RunTable, catalogue: ShapeCatalogue, seed: int) -> Explanation:
    """Raises ValueError if there is no window, or if all windows have the same shape."""
    edges_s = window_edges(float(table.submitted_s[0]), float(table.submitted_s[-1]) + 1)
    windows = next_windows(table, catalogue, edges_s, seed=seed)
    newest = slice(-MOST_WINDOWS, None)
    past = Moments(
        windows.moments.task[newest], windows.moments.at_s[newest], windows.moments.place[newest]
    )
    rows = feature_rows(table, past, catalogue)
    model = fit_classifier(rows.values, windows.actual[newest], rows.names, seed=seed)
    present = _present(table)
    now = feature_rows(table, present, catalogue)
    both = FeatureRows(rows.names, rows.kinds, np.concatenate([rows.values, now.values]))
    tasks = [table.tasks[int(task)] for task in [*past.task, *present.task]]
    names = {place: shape.name for place, shape in enumerate(catalogue.shapes)}
    return explain(model, both, Named(names, tasks))


def _present(table: RunTable) -> Moments:
    """The tasks that were submitted last, after all that ran is known."""
    last: IntArray = np.array([places[-1] for places in table.runs_by_task()], dtype=np.intp)
    newest = np.sort(last)[-MOST_TASKS:]
    end_s = float(table.finished_s.max())
    return Moments(table.task[newest], np.full(newest.size, end_s), newest)
