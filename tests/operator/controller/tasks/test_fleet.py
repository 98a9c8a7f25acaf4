"""What a whole fleet's sizes held compared with its requests, for the metric."""

from __future__ import annotations

import pytest

from plimsoll_operator.controller.tasks.fleet import ALL, MOST_SHOWN, Fleet
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.experts.guard import Comparison


def beside(served: float, rule: float) -> Comparison:
    return Comparison(served=served, rule=rule)


def test_nothing_is_shown_before_a_run_was_sized() -> None:
    fleet = Fleet()
    fleet.note(TaskId("shop", "a"), Comparison())
    assert fleet.ratios() == {}


def test_all_are_shown_together_and_only_namespaces_that_were_worse() -> None:
    fleet = Fleet()
    fleet.note(TaskId("shop", "a"), beside(10.0, 40.0))
    fleet.note(TaskId("shop", "b"), beside(10.0, 20.0))
    fleet.note(TaskId("lab", "c"), beside(30.0, 20.0))
    assert fleet.ratios() == {ALL: pytest.approx(50 / 80), "lab": pytest.approx(1.5)}


def test_a_task_counts_once_and_not_after_it_was_forgotten() -> None:
    fleet = Fleet()
    task = TaskId("shop", "a")
    fleet.note(task, beside(10.0, 5.0))
    fleet.note(task, beside(10.0, 20.0))
    assert fleet.ratios() == {ALL: pytest.approx(0.5)}
    fleet.forget(task)
    assert fleet.ratios() == {}


def test_series_are_bounded_and_the_worst_stay() -> None:
    fleet = Fleet()
    for number in range(MOST_SHOWN + 20):
        fleet.note(TaskId(f"n{number:03}", "a"), beside(2.0 + number, 1.0))
    ratios = fleet.ratios()
    assert len(ratios) == MOST_SHOWN + 1
    assert "n000" not in ratios
    assert f"n{MOST_SHOWN + 19:03}" in ratios
