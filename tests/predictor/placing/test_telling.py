from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import TELLING, Matrix
from plimsoll_predictor.placing.telling import MOST_NAMED, NOTICED, neighbours_of

CPU, MEM, DISK, WAIT = "team/cpu", "team/mem", "team/disk", "team/wait"
KINDS = (OTHERS, CPU, MEM, DISK, WAIT)
KNOWN, UNKNOWN = TELLING / 2, TELLING * 2


def a_matrix(
    row: Mapping[str, float], unknown: tuple[str, ...] = (), deviation: float = KNOWN
) -> Matrix:
    """A matrix with these times in cpu's row; all other times are one."""
    theta = np.zeros((len(KINDS), len(KINDS)))
    deviations = np.full(theta.shape, deviation)
    for kind, times in row.items():
        theta[1, KINDS.index(kind)] = math.log(times)
    for kind in unknown:
        deviations[1, KINDS.index(kind)] = UNKNOWN
    return Matrix(KINDS, theta, deviations, np.zeros(5), np.full(5, 0.2))


def named(matrix: Matrix, kind: str = CPU, most: int = MOST_NAMED) -> tuple[list[str], list[str]]:
    found = neighbours_of(matrix, kind, most)
    return [each.kind for each in found.best], [each.kind for each in found.worst]


def test_those_that_slow_it_least_and_most_are_named_each_from_the_clearest() -> None:
    row = {CPU: 1.92, MEM: 1.91, DISK: 1.18, WAIT: 1.14}
    assert named(a_matrix(row)) == ([WAIT, DISK], [CPU, MEM])
    assert named(a_matrix(row), most=1) == ([WAIT], [CPU])


def test_what_is_neither_near_the_least_nor_beyond_the_middle_is_not_named() -> None:
    row = {CPU: 1.92, MEM: 1.91, DISK: 1.42, WAIT: 1.14}
    assert named(a_matrix(row)) == ([WAIT], [CPU, MEM])


def test_what_cannot_be_told_is_not_named() -> None:
    row = {CPU: 1.92, MEM: 1.91, DISK: 1.42, WAIT: 1.1}
    assert named(a_matrix(row, unknown=(CPU, WAIT))) == ([DISK], [MEM])
    nearly = {CPU: 1.15, MEM: 0.9, DISK: 0.9, WAIT: 0.9}
    assert named(a_matrix(nearly, deviation=TELLING)) == ([DISK, MEM, WAIT], [])
    assert named(a_matrix(row, unknown=KINDS)) == ([], [])


@pytest.mark.parametrize("kind", [OTHERS, "team/never-seen"])
def test_a_kind_that_is_not_told_apart_has_no_neighbours(kind: str) -> None:
    assert named(a_matrix({}), kind) == ([], [])


def test_nobody_is_a_bad_neighbour_for_less_than_people_notice() -> None:
    row = {CPU: 1.09, MEM: 1.05, DISK: 1.0, WAIT: 0.98}
    assert named(a_matrix(row)) == ([WAIT, DISK, MEM], [])


def test_where_all_slow_it_alike_none_is_a_good_neighbour() -> None:
    row = {CPU: 1.92, MEM: 1.91, DISK: 1.9, WAIT: 1.88}
    assert named(a_matrix(row)) == ([], [CPU, MEM, DISK])


@pytest.mark.slow
@given(st.lists(st.floats(0.5, 8.0), min_size=4, max_size=4), st.integers(1, 5))
def test_nobody_is_both_and_the_best_slow_it_less_than_the_worst(
    times: list[float], most: int
) -> None:
    found = neighbours_of(a_matrix(dict(zip(KINDS[1:], times, strict=True))), CPU, most)
    best, worst = [each.slowdown.times for each in found.best], found.worst
    assert not {each.kind for each in found.best} & {each.kind for each in worst}
    assert max(len(best), len(worst)) <= most
    assert all(each.slowdown.times > NOTICED for each in worst)
    assert max(best, default=0.0) < min((each.slowdown.times for each in worst), default=math.inf)
    assert best == sorted(best)
