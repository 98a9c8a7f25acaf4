"""What the trainer learns from a store's runs: shapes, and why tasks have theirs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from plimsoll_predictor.runtimes.shapes.learning import ShapesLearned, learn_shapes
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.runtimes.shapes.run_table import RunTable, table_of
from plimsoll_predictor.runtimes.shapes.windows import window_edges
from tests.builders.runtimes.shapes import HOUR_S, log_runs_of, steady, two_moded

DAY_S = 24 * HOUR_S


@cache
def the_table(runs: int = 60) -> RunTable:
    random = np.random.default_rng(1)
    tasks = {f"lab/steady-{place}": steady(random, runs) for place in range(6)}
    tasks |= {f"ops/double-{place}": two_moded(random, runs) for place in range(6)}
    return table_of(log_runs_of(tasks, DAY_S))


@cache
def the_learned() -> ShapesLearned:
    return learn_shapes(the_table(), (), seed=1)


@pytest.mark.slow
def test_both_normalisations_are_learned_and_every_task_is_explained() -> None:
    learned = the_learned()
    assert [one.normalisation for one in learned.catalogues] == list(Normalisation)
    assert learned.explanation is not None
    assert {task.task for task in learned.explanation.tasks} == set(the_table().tasks)
    assert len(learned.words) == 3


@pytest.mark.slow
def test_tasks_are_explained_by_the_kind_they_are_of() -> None:
    learned = the_learned()
    assert learned.explanation is not None
    shapes = {task.task: task.shape for task in learned.explanation.tasks}
    steady_ones = [shape.startswith("steady") for task, shape in shapes.items() if "lab/" in task]
    # A week of seven runs may show only one mode, so steady is a fair forecast for some.
    double_ones = [shape.startswith("two") for task, shape in shapes.items() if "ops/" in task]
    assert all(steady_ones)
    assert sum(double_ones) > len(double_ones) / 2
    assert all(task.reasons for task in learned.explanation.tasks)


@pytest.mark.slow
def test_learning_again_keeps_names_and_counts_versions() -> None:
    again = learn_shapes(the_table(), the_learned().catalogues, seed=2)
    for before, after in zip(the_learned().catalogues, again.catalogues, strict=True):
        assert after.version == before.version + 1
        assert {shape.name for shape in after.shapes} == {shape.name for shape in before.shapes}


def test_with_too_few_runs_nothing_is_learned_and_it_is_said() -> None:
    learned = learn_shapes(the_table(10), (), seed=1)
    assert (learned.catalogues, learned.explanation) == ((), None)
    assert "20 are needed" in learned.words[0]


def test_where_every_window_is_alike_there_are_shapes_and_no_explanation() -> None:
    random = np.random.default_rng(1)
    alike = {f"lab/{place}": np.full(40, 60.0 + float(random.random())) for place in range(5)}
    learned = learn_shapes(table_of(log_runs_of(alike, DAY_S)), (), seed=1)
    assert len(learned.catalogues) == 2
    assert learned.explanation is None
    assert learned.words[-1].startswith("not explained: ")


def test_windows_are_weeks_and_cover_all() -> None:
    assert window_edges(0.0, 30 * DAY_S) == [0.0, 7 * DAY_S, 14 * DAY_S, 21 * DAY_S, 30 * DAY_S]
    assert window_edges(5.0, 6.0) == [5.0, 6.0]
