"""The measured restart: bounded, robust, part of the price, and saved with the pool."""

from __future__ import annotations

import math

import pytest

from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.restarts import LEAST, LONGEST_S, NEWEST, SHORTEST_S, Restarts
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants


def a_pool(*restarts_s: float, constants: Constants = SERVED) -> Pool:
    pool = Pool(EXPERTS, ANCHORS, constants)
    for each in restarts_s:
        pool.restarted(each)
    return pool


def test_a_few_restarts_say_nothing_yet() -> None:
    assert Restarts([5.0] * (LEAST - 1)).usual_s is None
    assert Restarts([5.0] * LEAST).usual_s == 5.0


def test_a_few_that_took_long_move_little() -> None:
    assert Restarts([5.0] * 10 + [LONGEST_S] * 9).usual_s == 5.0


@pytest.mark.parametrize(
    ("restart_s", "counted_s"),
    [(-3.0, SHORTEST_S), (0.0, SHORTEST_S), (30.0, 30.0), (1e300, LONGEST_S)],
)
def test_each_is_bounded(restart_s: float, counted_s: float) -> None:
    assert Restarts([restart_s]).seconds == [counted_s]


@pytest.mark.parametrize("restart_s", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_left_out(restart_s: float) -> None:
    assert Restarts([restart_s]).seconds == []


def test_only_the_newest_count() -> None:
    restarts = Restarts([300.0] * NEWEST + [5.0] * (NEWEST // 2 + 1))
    assert (len(restarts), restarts.usual_s) == (NEWEST, 5.0)


def test_the_price_goes_by_the_median_once_enough_are_known() -> None:
    pool = a_pool(*[6.0] * (LEAST - 1))
    assert pool.constants is SERVED
    pool.restarted(6.0)
    assert pool.constants.price_s(20.0, None) == 66.0
    assert pool.constants.price_s(20.0, 7200.0) == 7200.0, "an admin knows better"
    assert a_pool(*[600.0] * LEAST).constants.price_s(3600.0, None) == SERVED.most_price_s


def test_a_failure_of_a_short_run_costs_a_few_of_its_runtimes_at_most() -> None:
    for restarts_s in ([], [600.0] * LEAST):
        assert a_pool(*restarts_s).constants.price_s(5.0, None) == 30.0
    assert a_pool(*[2.0] * LEAST).constants.price_s(5.0, None) == 17.0, "as it was measured"
    assert SERVED.price_s(5.0, 600.0) == 600.0, "an admin knows better"


def test_other_constants_stay_as_they_were_chosen() -> None:
    chosen = Constants(price_runtimes=1.0, restart_s=20.0)
    assert a_pool(constants=chosen).constants.price_s(20.0, None) == 40.0
    assert a_pool(*[6.0] * LEAST, constants=chosen).constants.price_s(20.0, None) == 26.0


def test_a_pool_that_was_saved_prices_alike() -> None:
    pool, again = a_pool(*[float(each) for each in range(1, 20)]), a_pool()
    again.restore(pool.to_dict())
    assert again.constants == pool.constants
    assert again.to_dict() == pool.to_dict()


def test_a_pool_of_an_older_version_measured_none() -> None:
    written = a_pool(*[6.0] * LEAST).to_dict()
    del written["restarts_s"]
    again = a_pool()
    again.restore(written)
    assert again.constants is SERVED


def test_a_pool_of_another_versions_experts_keeps_what_was_measured() -> None:
    again = a_pool()
    again.restore(a_pool(*[6.0] * LEAST).to_dict() | {"experts": ["another"]})
    assert again.constants.restart_s == 6.0
