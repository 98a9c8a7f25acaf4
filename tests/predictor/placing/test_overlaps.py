"""How neighbours slow a run if they are there for a part of its time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.overlaps import linear_in_theta

HALVES = math.log(2)


def slowdown(beside: Array, theta: Array) -> float:
    """The factor by which it takes longer."""
    slope, offset = linear_in_theta(beside, theta)
    return math.exp(offset + float(slope @ theta))


def test_two_thirds_of_the_time_beside_one_that_halves_the_pace() -> None:
    """Half of a work of 2 takes 1 alone, and half takes 2 beside it: 3 in all."""
    assert slowdown(np.array([2 / 3]), np.array([HALVES])) == pytest.approx(1.5)


def test_of_two_that_take_turns_each_slows_it_while_it_is_there() -> None:
    """One third of the time beside one that halves the pace, two thirds at a third of the pace."""
    found = slowdown(np.array([1 / 3, 2 / 3]), np.array([HALVES, math.log(3)]))
    assert found == pytest.approx(3 / (1 / 2 + 2 / 3))


def test_who_is_always_there_slows_it_by_all_of_it() -> None:
    for beside, theta in (([1.0], [0.4]), ([1.0, 1.0], [0.4, 0.7]), ([3.0], [-0.2]), ([], [])):
        slope, offset = linear_in_theta(np.array(beside), np.array(theta))
        assert slope == pytest.approx(np.array(beside))
        assert offset == pytest.approx(0.0)


shares = arrays(float, 3, elements=st.floats(0, 3))
thetas = arrays(float, 3, elements=st.floats(-1.5, 3))


@pytest.mark.slow
@given(shares, thetas)
def test_the_line_touches_the_curve(beside: Array, theta: Array) -> None:
    slope, _ = linear_in_theta(beside, theta)
    for at in np.eye(3) * 1e-6:
        up, down = (math.log(slowdown(beside, theta + side)) for side in (at, -at))
        assert (up - down) / 2e-6 == pytest.approx(float(slope @ at) * 1e6, abs=1e-4)


@pytest.mark.slow
@given(shares, thetas)
def test_a_little_more_time_together_is_a_little_more_slowdown(beside: Array, theta: Array) -> None:
    """From one neighbour at a time, and from two, another rule holds, without a step between."""
    before = math.log(slowdown(beside, theta))
    after = math.log(slowdown(beside + 1e-7, theta))
    assert after == pytest.approx(before, abs=1e-4)


@pytest.mark.slow
@given(shares, thetas)
def test_it_is_never_slower_than_by_all_of_the_worst_nor_faster_than_by_the_best(
    beside: Array, theta: Array
) -> None:
    found, most = math.log(slowdown(beside, theta)), float(np.ceil(beside).sum())
    assert most * min(0.0, theta.min()) - 1e-9 <= found <= most * max(0.0, theta.max()) + 1e-9
