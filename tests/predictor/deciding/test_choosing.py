"""The cost of a ceiling that is too small: the lifts over the bins' ceilings."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.deciding.choosing import cheapest_ceiling
from plimsoll_predictor.knowledge.ladder import OVER_LARGEST
from tests.builders.experts.serving import bins_up_to

MINUTE_S = 60.0
"""Runtime of every run of ``bins_up_to``, whose needs are nine tenths of the ceilings."""


def cost_mib(probabilities: list[float], *ceilings_mib: int, penalty: float) -> float:
    """Expected cost of the cheapest ceiling, in MiB of a run's memory-time."""
    choice = cheapest_ceiling(np.array(probabilities), bins_up_to(*ceilings_mib), penalty)
    return choice.expected_cost_gb_h / gb_hours(MIB, MINUTE_S)


def test_each_attempt_that_fails_on_the_way_up_is_charged() -> None:
    # One run in a hundred needs 360 MiB: 100 and 200 fail, and 400 leaves 40.
    expected = 0.99 * 10 + 0.01 * (3 * (100 + 200) + 40)
    assert cost_mib([0.99, 0.0, 0.01], 100, 200, 400, penalty=3.0) == pytest.approx(expected)


def test_ceilings_that_are_no_useful_step_are_passed_over() -> None:
    # From 100 the next attempt gets 200: 110 is not worth one.
    expected = 0.99 * 10 + 0.01 * (3 * 100 + 20)
    assert cost_mib([0.99, 0.0, 0.01], 100, 110, 200, penalty=3.0) == pytest.approx(expected)


def test_just_below_the_last_ceiling_the_lift_goes_a_little_over_it() -> None:
    # No ceiling is a useful step from 100, but the largest need with a little over it is.
    expected = 0.99 * 10 + 0.01 * (1 * 100 + OVER_LARGEST * 110 - 99)
    assert cost_mib([0.99, 0.01], 100, 110, penalty=1.0) == pytest.approx(expected)


def test_a_ladder_of_many_small_bins_does_not_make_failing_cheap() -> None:
    many = [100, 130, 170, 220, 290, 380, 500, 1000]
    # If only the first failure were charged, 100 MiB would be tried in vain nine times in ten.
    probabilities = np.array([0.1, 0, 0, 0, 0, 0, 0, 0.9])
    choice = cheapest_ceiling(probabilities, bins_up_to(*many), penalty=2.0)
    assert choice.ceiling_bytes == 1000 * MIB
