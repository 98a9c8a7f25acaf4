"""Where a run's length decides whom it meets, nothing wrong is told of its neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plimsoll_predictor.placing.hinting import Neighbourhoods, NoHint
from plimsoll_predictor.placing.interference import learned_from
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import SLIGHTLY, TELLING, Matrix
from plimsoll_predictor.placing.prices import cost_of_pairs, costs_on_nodes
from plimsoll_predictor.replay.placing.past_queue import gains_of_past
from tests.builders.placing.lone_waves import bursts, sleepers

FAST = math.log(0.6)


def a_matrix(*rows: list[float], deviation: float = TELLING / 2) -> Matrix:
    """A matrix of OTHERS and two kinds."""
    theta = np.array([[0.0, 0.0, 0.0], *rows])
    size = len(theta)
    deviations = np.full((size, size), deviation)
    return Matrix((OTHERS, "t/a", "t/b"), theta, deviations, np.zeros(size), np.full(size, 1 / 3))


@pytest.mark.parametrize("scatter", [0.2, 0.3, 0.5])
def test_pods_that_start_together_are_not_told_to_speed_each_other_up(scatter: float) -> None:
    matrix = learned_from(bursts(scatter)).matrix()
    assert matrix.theta[matrix.place("t/a"), matrix.place("t/a")] < -SLIGHTLY
    assert not matrix.slowdown("t/a", "t/a").known
    assert cost_of_pairs(matrix.slowdowns).min() >= 0.0


def test_who_sleeps_until_a_time_of_day_is_not_stacked() -> None:
    runs = sleepers()
    matrix = learned_from(runs).matrix()
    for neighbour in ("t/sleep", "t/b"):
        assert not matrix.slowdown("t/sleep", neighbour).known
    nodes = Neighbourhoods()
    nodes.costs, _ = costs_on_nodes(matrix)
    for number in range(4):
        place = matrix.place("t/b" if number else "t/sleep")
        nodes.put(f"n{number}", [(place, 3 if not number else 1)])
    hint = nodes.hint("t/sleep", 0.0)
    assert isinstance(hint, NoHint) or "n0" not in hint.nodes
    gains = gains_of_past(runs, matrix)
    assert gains is None or gains.nodes_chosen.low <= 0.0


def test_a_speedup_counts_as_none_and_is_not_told() -> None:
    matrix = a_matrix([0.0, math.log(2), -0.1], [0.0, 0.3, 0.0])
    assert not matrix.slowdown("t/a", "t/b").known
    assert matrix.slowdown("t/a", "t/a").known
    assert matrix.slowdowns[1].tolist() == pytest.approx([1.0, 2.0, 1.0])
    assert matrix.times_forecast[1].tolist() == pytest.approx([1.0, 2.0, 1.0])
    assert matrix.known_pairs == 3


def test_with_a_sure_speedup_nothing_of_its_row_is_told() -> None:
    matrix = a_matrix([0.0, math.log(2), FAST], [0.0, 0.3, 0.0])
    assert matrix.told.tolist() == [[True] * 3, [False] * 3, [True] * 3]
    assert [matrix.slowdown("t/a", each).known for each in ("t/a", "t/b")] == [False, False]
    assert matrix.slowdown("t/b", "t/a").known


def test_what_is_nearly_none_is_told() -> None:
    matrix = a_matrix([0.0, 0.0, -0.02], [0.0, 0.3, 0.0], deviation=0.004)
    assert matrix.slowdown("t/a", "t/b").known
    assert matrix.slowdowns[1, 2] == 1.0
