from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from plimsoll_predictor.placing.interference import Interference, learned_from
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.replay.placing.past_queue import (
    LEAST_PLACES,
    MOST_PLACES,
    MOST_RUNS,
    gains_of_past,
    known_share,
    past_queue,
)
from plimsoll_predictor.replay.placing.world import World
from tests.builders.placing.placed_runs import MEAN_S, Lived, four_kinds, placed_runs


def a_run(start_s: float, end_s: float, node: str = "node-1", kind: str = "team/cpu") -> PlacedRun:
    return PlacedRun(
        kind=kind,
        node=node,
        submitted_s=start_s,
        started_s=start_s,
        finished_s=end_s,
        forecast_s=end_s - start_s,
        beside={},
    )


def believed(runs: list[PlacedRun]) -> Matrix:
    return learned_from(runs).matrix()


@pytest.mark.slow
def test_what_placing_would_have_saved_is_found_where_kinds_differ() -> None:
    runs = placed_runs(600)
    gains = gains_of_past(runs, believed(runs), plays=4)
    assert gains is not None
    assert (gains.runs, gains.nodes, gains.places) == (600, 4, 2)
    assert gains.known > 0.9
    assert gains.nodes_chosen.certain
    assert gains.ordered.certain
    assert gains.nodes_chosen.mean_slowdown < gains.usual_slowdown
    for gain in (gains.nodes_chosen, gains.ordered):
        assert 0 < gain.low <= gain.saved <= gain.high < 0.5


@pytest.mark.slow
def test_the_same_past_says_the_same() -> None:
    runs = placed_runs(200)
    matrix = believed(runs)
    assert gains_of_past(runs, matrix, plays=2) == gains_of_past(runs, matrix, plays=2)


@pytest.mark.slow
def test_nothing_is_saved_where_all_slow_each_other_alike() -> None:
    alike = World("alike", four_kinds().kinds, np.ones(4), np.full((4, 4), 1.5))
    runs = placed_runs(600, world=alike)
    gains = gains_of_past(runs, believed(runs), plays=4)
    assert gains is not None
    assert abs(gains.nodes_chosen.saved) < 0.02
    assert abs(gains.ordered.saved) < 0.02


@pytest.mark.parametrize("count", [0, 1, 12])
def test_a_saving_is_not_told_from_few_runs(count: int) -> None:
    runs = placed_runs(count)
    matrix = believed(runs)
    assert known_share(matrix) < 0.5
    assert gains_of_past(runs, matrix) is None


@pytest.mark.slow
def test_a_saving_is_not_told_of_one_kind() -> None:
    one = World("one", ("team/only",), np.ones(1), np.full((1, 1), 1.5))
    runs = placed_runs(300, world=one)
    assert known_share(believed(runs)) == 0.0
    assert gains_of_past(runs, believed(runs)) is None


def test_nodes_that_come_and_go_are_not_there_at_once() -> None:
    """An autoscaler's nodes have a new name each time."""
    runs = [a_run(100 * n, 100 * n + 90, f"node-{n}") for n in range(20)]
    queue = past_queue(runs, believed(runs))
    assert queue is not None
    assert (queue.nodes, queue.places) == (1, LEAST_PLACES)


@pytest.mark.parametrize(("together", "places"), [(1, LEAST_PLACES), (5, 5), (30, MOST_PLACES)])
def test_a_node_has_as_many_places_as_ran_on_it_at_once(together: int, places: int) -> None:
    runs = [a_run(0.0, 100.0 + n) for n in range(together)]
    queue = past_queue(runs, believed(runs))
    assert queue is not None
    assert queue.places == places


def test_jobs_come_as_they_were_submitted_in_runtimes_of_a_mean_job() -> None:
    waited = dataclasses.replace(a_run(400.0, 500.0), submitted_s=50.0)
    unsaid = dataclasses.replace(a_run(300.0, 400.0), submitted_s=None)
    runs = [a_run(0.0, 100.0), unsaid, waited]
    queue = past_queue(runs, believed(runs))
    assert queue is not None
    assert queue.unit_s == pytest.approx(100.0)
    assert [job.comes_at for job in queue.jobs] == pytest.approx([0.0, 0.5, 3.0])


@pytest.mark.slow
def test_a_job_is_as_long_as_it_would_have_taken_alone() -> None:
    runs = Lived(four_kinds(), seed=1, load=0.6).runs(600)
    matrix = believed(runs)
    queue = past_queue(runs, matrix)
    assert queue is not None
    for kind, work in zip(four_kinds().kinds, four_kinds().work, strict=True):
        found_s = queue.world.work[matrix.place(kind)] * queue.unit_s
        assert found_s == pytest.approx(work * MEAN_S, rel=0.1)


def test_runs_too_short_to_tell_and_runs_long_past_are_left_out() -> None:
    short = a_run(5.0, 5.4)
    assert past_queue([short], Interference().matrix()) is None
    runs = [a_run(float(n), n + 10.0) for n in range(MOST_RUNS + 50)]
    matrix = believed(runs[:100])
    queue = past_queue([*runs, short], matrix)
    assert queue is not None
    assert len(queue.jobs) == MOST_RUNS - 1
