"""Which expert serves a task's first runs: its curve once that is clear, and none without one."""

from __future__ import annotations

import random

import pytest

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import CURVES

MB = 10**6
REQUEST_BYTES = 1024 * MB
TASK = "shop/train"


def learn(fleet: TaskStandings, task: str, need_bytes: float, rows: float | None) -> None:
    fleet.learn(
        task,
        Ended(
            run=EndedRun(need_bytes, 20.0, REQUEST_BYTES),
            features={} if rows is None else {"rows": rows},
            bids=None,
            overhead_s=None,
        ),
    )


def linear(rows: float) -> float:
    return 60 * MB + 1000 * rows


def ruled(fleet: TaskStandings, task: str, runs: int, seed: int = 1) -> None:
    draws = random.Random(seed)
    for _ in range(runs):
        rows = draws.uniform(20_000, 400_000)
        learn(fleet, task, linear(rows), rows)


@pytest.mark.parametrize("rows", [100_000.0, 300_000.0])
def test_the_fourth_run_of_a_task_ruled_by_a_feature_is_sized_by_it(rows: float) -> None:
    fleet = TaskStandings()
    ruled(fleet, TASK, 3)
    standing = fleet.standing(TASK)
    assert standing.champion == CURVES
    size_bytes = fleet.bids(TASK, REQUEST_BYTES, {"rows": rows})[CURVES]
    assert linear(rows) <= size_bytes <= 1.1 * linear(rows)


def test_a_curve_that_is_clear_is_so_after_a_restart() -> None:
    fleet = TaskStandings()
    ruled(fleet, TASK, 3)
    past = fleet.standing(TASK).past
    assert from_document(Past, to_document(past), "a past").curve_is_clear


@pytest.mark.slow
def test_how_curves_served_others_says_nothing_of_a_task_without_one() -> None:
    fleet = TaskStandings()
    for task in range(20):
        ruled(fleet, f"shop/{task}", 20, seed=task)
    for run in range(30):
        learn(fleet, TASK, 100 * MB * 1.05**run, None)
        assert fleet.standing(TASK).champion != CURVES


def test_a_task_that_grows_by_the_run_is_sized_by_its_growth() -> None:
    fleet = TaskStandings()
    for run in range(16):
        if run >= 6:
            served = fleet.standing(TASK).champion
            size_bytes = fleet.bids(TASK, REQUEST_BYTES, {})[served]
            assert 1.0 <= size_bytes / (100 * MB * 1.05**run) <= 1.15
        learn(fleet, TASK, 100 * MB * 1.05**run, None)


@pytest.mark.parametrize("rows", [1e-6, 0.001, 100.0, 1e300])
def test_a_number_that_two_runs_show_to_have_no_influence_raises_no_third(rows: float) -> None:
    fleet = TaskStandings()
    learn(fleet, TASK, 100 * MB, 1.0)
    learn(fleet, TASK, 103 * MB, rows)
    standing = fleet.standing(TASK)
    assert standing.past.curve is None
    assert standing.champion != CURVES


@pytest.mark.parametrize(
    ("needs_mb", "rows"),
    [
        pytest.param((50, 100), (1.0, 4.0), id="a need that grows by half of the power"),
        pytest.param((100, 100), (1.0, 1.05), id="runs whose inputs hardly differ"),
        pytest.param((100, 100), (0.0, 100.0), id="a run without an input"),
        pytest.param((100,), (1.0,), id="a single run"),
    ],
)
def test_a_number_that_may_have_influence_is_followed_upward(
    needs_mb: tuple[int, ...], rows: tuple[float, ...]
) -> None:
    fleet = TaskStandings()
    for need_mb, its_rows in zip(needs_mb, rows, strict=True):
        learn(fleet, TASK, need_mb * MB, its_rows)
    served = fleet.standing(TASK).champion
    assert served == CURVES
    larger = fleet.bids(TASK, REQUEST_BYTES, {"rows": 3 * max(rows)})[served]
    assert larger > 1.5 * fleet.bids(TASK, REQUEST_BYTES, {"rows": max(rows)})[served]


@pytest.mark.parametrize(
    ("power", "follows"),
    [pytest.param(0.0, False, id="none"), pytest.param(1.0, True, id="all of it")],
)
def test_what_a_number_ruled_in_other_tasks_says_whether_a_second_run_follows_it(
    power: float, follows: bool
) -> None:
    fleet = TaskStandings()
    for task in range(30):
        learn(fleet, f"shop/{task}", 100 * MB, 1.0)
        learn(fleet, f"shop/{task}", 100 * MB * 3**power, 3.0)
    learn(fleet, TASK, 100 * MB, 1.0)
    assert (fleet.standing(TASK).champion == CURVES) == follows
