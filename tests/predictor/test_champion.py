"""Who serves: each expert pays for what it would have done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_predictor.champion import Bid, PastRun, compare
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.policy import Policy
from plimsoll_predictor.units import GIB, MIB, gb_hours

HOUR_S = 3600.0
POLICY = Policy(penalty=10, headroom=1.1)


def a_run(need_bytes: int, **changes: Any) -> PastRun:
    run = PastRun(
        need_bytes=need_bytes, teaches_bytes=need_bytes, runtime_s=HOUR_S, request_bytes=4 * GIB
    )
    return replace(run, **changes)


def test_each_expert_is_charged_its_waste() -> None:
    runs = [a_run(1000 * MIB), a_run(500 * MIB)]
    costs = compare(runs, {1: Bid(600 * MIB)}, POLICY).costs
    wasted = {expert: cost.cost_gb_h for expert, cost in costs.items()}
    assert wasted == pytest.approx(
        {
            Expert.REQUEST: gb_hours(4 * GIB - 500 * MIB, HOUR_S),
            Expert.MAX_SEEN: gb_hours(1100 * MIB - 500 * MIB, HOUR_S),
            Expert.CLASSIFIER: gb_hours(100 * MIB, HOUR_S),
        }
    )


def test_a_failed_attempt_costs_penalty_times_its_memory_and_then_the_lifts_waste() -> None:
    runs = [a_run(100 * MIB), a_run(500 * MIB)]
    comparison = compare(runs, {1: Bid(200 * MIB, (200 * MIB, 210 * MIB, 600 * MIB))}, POLICY)
    classifier = comparison.costs[Expert.CLASSIFIER]
    # 210 MiB is too small a step from 200 to be worth an attempt; twice comes before 600.
    assert classifier.failed_attempts == 2
    assert classifier.cost_gb_h == pytest.approx(
        gb_hours(200 * MIB + 400 * MIB, HOUR_S) * 10 + gb_hours(100 * MIB, HOUR_S)
    )


def test_without_a_useful_step_a_lift_doubles_until_it_fits() -> None:
    runs = [a_run(100 * MIB, request_bytes=None), a_run(430 * MIB, request_bytes=None)]
    max_seen = compare(runs, {}, POLICY).costs[Expert.MAX_SEEN]
    assert max_seen.failed_attempts == 2
    failed = gb_hours(110 * MIB + 220 * MIB, HOUR_S) * 10
    assert max_seen.cost_gb_h == pytest.approx(failed + gb_hours(10 * MIB, HOUR_S))


def test_the_cheapest_serves_and_the_simpler_of_equals() -> None:
    runs = [a_run(1000 * MIB), a_run(500 * MIB)]
    assert compare(runs, {1: Bid(600 * MIB)}, POLICY).champion is Expert.CLASSIFIER
    assert compare(runs, {1: Bid(1100 * MIB)}, POLICY).champion is Expert.MAX_SEEN
    assert compare(runs, {1: Bid(1101 * MIB)}, POLICY).champion is Expert.MAX_SEEN


def test_a_request_that_is_right_serves() -> None:
    runs = [a_run(need * MIB, request_bytes=1000 * MIB) for need in (990, 1000, 950, 1000)]
    assert compare(runs, {}, POLICY).champion is Expert.REQUEST


def test_a_need_that_was_only_exceeded_is_charged_to_nobody_but_remembered() -> None:
    killed = replace(a_run(0), need_bytes=None, teaches_bytes=1000 * MIB)
    comparison = compare([a_run(100 * MIB), killed, a_run(100 * MIB)], {}, POLICY)
    assert comparison.runs == 1
    assert comparison.costs[Expert.MAX_SEEN].cost_gb_h == pytest.approx(
        gb_hours(1000 * MIB, HOUR_S)
    )


def test_all_experts_are_compared_over_the_same_runs() -> None:
    runs = [a_run(100 * MIB), a_run(3000 * MIB), a_run(100 * MIB)]
    comparison = compare(runs, {2: Bid(200 * MIB)}, POLICY)
    assert comparison.runs == 1
    assert comparison.costs[Expert.MAX_SEEN].failed_attempts == 0


def test_the_last_bin_follows_the_largest_need_seen_as_it_does_in_service() -> None:
    runs = [a_run(1000 * MIB), a_run(1000 * MIB)]
    comparison = compare(runs, {1: Bid(500 * MIB, open_ended=True)}, POLICY)
    assert comparison.costs[Expert.CLASSIFIER].failed_attempts == 0


def test_nothing_to_compare_leaves_the_task_to_its_largest_need() -> None:
    for runs in ([], [a_run(100 * MIB)]):
        comparison = compare(runs, {}, POLICY)
        assert (comparison.champion, comparison.costs) == (Expert.MAX_SEEN, {})


def test_an_expert_without_a_bid_for_a_run_does_not_compete() -> None:
    runs = [a_run(100 * MIB), a_run(100 * MIB, request_bytes=None)]
    assert set(compare(runs, {}, POLICY).costs) == {Expert.MAX_SEEN}


def test_the_policys_bounds_hold_for_every_bid() -> None:
    runs = [a_run(100 * MIB), a_run(100 * MIB)]
    bounded = replace(POLICY, min_bytes=150 * MIB, max_bytes=200 * MIB)
    costs = compare(runs, {1: Bid(50 * MIB)}, bounded).costs
    assert costs[Expert.CLASSIFIER].cost_gb_h == pytest.approx(gb_hours(50 * MIB, HOUR_S))
    assert costs[Expert.REQUEST].cost_gb_h == pytest.approx(gb_hours(100 * MIB, HOUR_S))
