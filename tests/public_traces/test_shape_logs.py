"""Shapes on a public log, in time order: the posterior foretells at least as well as 'as before'.

`make test-traces` runs these where the logs are; see docs/shapes.md. `make bench-forecast` judges
all logs, and the classifier with them.
"""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.shapes.logs import MAY_MISS, SHAPES
from benchmarks.shapes.rows import SEED, cut_of
from plimsoll_predictor.replay.runtimes.log_reading import read_log
from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.fitting import fit
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.runtimes.shapes.run_table import RunTable, table_of
from plimsoll_predictor.runtimes.shapes.windows import NextWindows, next_windows, window_edges
from tests.rigs.traces import trace_file

# Accuracy of (same as before, posterior, ceiling), measured before this code on windows of its own.
PUBLISHED = {
    Normalisation.RATIO: (0.50, 0.52, 0.64),
    Normalisation.DELTA: (0.67, 0.70, 0.80),
}


@cache
def table() -> RunTable:
    return table_of(read_log(trace_file("runtime-llnl-thunder")).runs)


@cache
def catalogue(kind: Normalisation) -> ShapeCatalogue:
    return fit(table().known_histories(cut_of(table())), kind, seed=SEED, n_shapes=SHAPES).catalogue


@cache
def windows(kind: Normalisation) -> NextWindows:
    edges_s = window_edges(cut_of(table()), float(table().submitted_s[-1]) + 1)
    return next_windows(table(), catalogue(kind), edges_s, seed=SEED)


@pytest.mark.parametrize("kind", list(Normalisation))
def test_the_posterior_is_as_good_as_the_shape_of_before(kind: Normalisation) -> None:
    found = windows(kind)
    same = (found.same == found.actual).mean()
    posterior = (found.posterior == found.actual).mean()
    assert posterior >= same - MAY_MISS
    assert posterior <= found.ceiling()


@pytest.mark.parametrize("kind", list(Normalisation))
def test_accuracies_are_about_the_published_ones(kind: Normalisation) -> None:
    found = windows(kind)
    accuracies = (
        (found.same == found.actual).mean(),
        (found.posterior == found.actual).mean(),
        found.ceiling(),
    )
    assert accuracies == pytest.approx(PUBLISHED[kind], abs=0.06)


@pytest.mark.parametrize("kind", list(Normalisation))
def test_most_tasks_of_the_log_are_in_shapes_that_differ(kind: Normalisation) -> None:
    shapes = catalogue(kind).shapes
    widths = [shape.statistics.interquartile for shape in shapes]
    assert len(shapes) == SHAPES
    assert widths == sorted(widths)
    assert widths[-1] > 10 * widths[0]
    assert max(shape.members for shape in shapes) < 0.5 * sum(shape.members for shape in shapes)
