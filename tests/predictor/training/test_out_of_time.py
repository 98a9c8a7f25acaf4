"""Out-of-time costs: each expert pays for what it would have done on a task's past."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import GIB, MIB, gb_hours
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.out_of_time import (
    LEAST_SHARE_COMPARED,
    Bid,
    OutOfTimeCosts,
    PastRun,
    charged_over,
    out_of_time_costs,
    replayed_bids,
)
from plimsoll_predictor.training.runs import RunRows, runs_of
from tests.builders.training.trainings import a_plan, an_attempt, killed

HOUR_S = 3600.0
RUNTIME_S = 30.0
POLICY = Policy(penalty=10, headroom=1.1)
ALL_BUT_THE_FIRST = range(1, 20)


def a_run(need_bytes: int, **changes: Any) -> PastRun:
    run = PastRun(
        need_bytes=need_bytes, teaches_bytes=need_bytes, runtime_s=HOUR_S, request_bytes=4 * GIB
    )
    return replace(run, **changes)


def charged(
    runs: list[PastRun], classifier: dict[int, Bid] | None = None, policy: Policy = POLICY
) -> OutOfTimeCosts:
    return charged_over(runs, {CLASSIFIER: classifier or {}}, policy)


def test_each_expert_is_charged_its_waste() -> None:
    costs = charged([a_run(1000 * MIB), a_run(500 * MIB)], {1: Bid(600 * MIB)}).by_expert
    assert {expert: cost.cost_gb_h for expert, cost in costs.items()} == pytest.approx(
        {
            REQUEST: gb_hours(4 * GIB - 500 * MIB, HOUR_S),
            MAX_SEEN: gb_hours(1100 * MIB - 500 * MIB, HOUR_S),
            CLASSIFIER: gb_hours(100 * MIB, HOUR_S),
        }
    )


def test_a_failed_attempt_costs_penalty_times_its_memory_and_then_the_lifts_waste() -> None:
    runs = [a_run(100 * MIB), a_run(500 * MIB)]
    found = charged(runs, {1: Bid(200 * MIB, (200 * MIB, 210 * MIB, 600 * MIB))})
    classifier = found.by_expert[CLASSIFIER]
    # 210 MiB is too small a step from 200 for an attempt; doubling comes before 600.
    assert classifier.failed_attempts == 2
    assert classifier.cost_gb_h == pytest.approx(
        gb_hours(200 * MIB + 400 * MIB, HOUR_S) * 10 + gb_hours(100 * MIB, HOUR_S)
    )


def test_without_a_useful_step_a_lift_doubles_until_it_fits() -> None:
    runs = [a_run(100 * MIB, request_bytes=None), a_run(430 * MIB, request_bytes=None)]
    max_seen = charged(runs).by_expert[MAX_SEEN]
    assert max_seen.failed_attempts == 2
    failed = gb_hours(110 * MIB + 220 * MIB, HOUR_S) * 10
    assert max_seen.cost_gb_h == pytest.approx(failed + gb_hours(10 * MIB, HOUR_S))


@pytest.mark.parametrize(
    ("request_mib", "waste_mib"),
    [
        pytest.param(131, 9, id="a request below a ceiling's least step is passed by"),
        pytest.param(133, 3, id="a request at a ceiling's least step is lifted to"),
    ],
)
def test_a_request_is_a_step_of_the_ladder_like_a_ceiling(request_mib: int, waste_mib: int) -> None:
    runs = [a_run(100 * MIB), a_run(130 * MIB, request_bytes=request_mib * MIB)]
    max_seen = charged(runs, {1: Bid(110 * MIB, (139 * MIB,))}).by_expert[CLASSIFIER]
    assert max_seen.failed_attempts == 1
    assert max_seen.cost_gb_h == pytest.approx(
        gb_hours(110 * MIB, HOUR_S) * 10 + gb_hours(waste_mib * MIB, HOUR_S)
    )


def test_a_need_that_was_only_exceeded_is_charged_to_nobody_but_remembered() -> None:
    killed_run = replace(a_run(0), need_bytes=None, teaches_bytes=1000 * MIB)
    found = charged([a_run(100 * MIB), killed_run, a_run(100 * MIB)])
    assert found.runs == 1
    assert found.by_expert[MAX_SEEN].cost_gb_h == pytest.approx(gb_hours(1000 * MIB, HOUR_S))


def test_all_experts_are_compared_over_the_same_runs() -> None:
    runs = [a_run(100 * MIB), a_run(3000 * MIB), a_run(100 * MIB)]
    found = charged(runs, {2: Bid(200 * MIB)})
    assert found.runs == 1
    assert found.by_expert[MAX_SEEN].failed_attempts == 0


def test_the_last_bin_follows_the_largest_need_seen_as_it_does_in_service() -> None:
    runs = [a_run(1000 * MIB), a_run(1000 * MIB)]
    found = charged(runs, {1: Bid(500 * MIB, open_ended=True)})
    assert found.by_expert[CLASSIFIER].failed_attempts == 0


@pytest.mark.parametrize("runs", [[], [a_run(100 * MIB)]], ids=["no run", "one run"])
def test_where_nothing_can_be_compared_nobody_is_charged(runs: list[PastRun]) -> None:
    assert charged(runs) == OutOfTimeCosts({}, 0)


def test_an_expert_without_a_bid_for_a_run_is_not_charged() -> None:
    runs = [a_run(100 * MIB), a_run(100 * MIB, request_bytes=None)]
    assert set(charged(runs).by_expert) == {MAX_SEEN}


def test_the_policys_bounds_hold_for_every_bid() -> None:
    runs = [a_run(100 * MIB), a_run(100 * MIB)]
    bounded = replace(POLICY, min_bytes=150 * MIB, max_bytes=200 * MIB)
    costs = charged(runs, {1: Bid(50 * MIB)}, bounded).by_expert
    assert costs[CLASSIFIER].cost_gb_h == pytest.approx(gb_hours(50 * MIB, HOUR_S))
    assert costs[REQUEST].cost_gb_h == pytest.approx(gb_hours(100 * MIB, HOUR_S))


def some_rows(*, last_mib: int = 300) -> RunRows:
    """Twenty runs of 300 MiB and half a minute, each asking for 4 GiB."""
    attempts = [an_attempt(index) for index in range(19)]
    return RunRows.of(runs_of([*attempts, an_attempt(19, peak_bytes=last_mib * MIB)], latest=20))


def bids_of(places: range, allocation_mib: int, ladder_mib: tuple[int, ...] = ()) -> dict[int, Bid]:
    ladder = tuple(float(step * MIB) for step in ladder_mib)
    return {place: Bid(float(allocation_mib * MIB), ladder) for place in places}


def test_all_experts_are_charged_over_the_runs_both_models_bid_for() -> None:
    classifier, boosting = bids_of(ALL_BUT_THE_FIRST, 400), bids_of(range(10, 20), 310)
    found = out_of_time_costs(some_rows(), classifier, boosting, POLICY)
    assert found.runs == 10
    wasted = {name: cost.cost_gb_h for name, cost in found.by_expert.items()}
    assert wasted == pytest.approx(
        {
            REQUEST: 10 * gb_hours(4 * GIB - 300 * MIB, RUNTIME_S),
            MAX_SEEN: 10 * gb_hours(30 * MIB, RUNTIME_S),
            CLASSIFIER: 10 * gb_hours(100 * MIB, RUNTIME_S),
            BOOSTING: 10 * gb_hours(10 * MIB, RUNTIME_S),
        }
    )


def test_a_boosted_bid_that_fails_is_lifted_over_the_bins_as_in_service() -> None:
    classifier = bids_of(ALL_BUT_THE_FIRST, 1000, ladder_mib=(450, 1000))
    boosting = bids_of(ALL_BUT_THE_FIRST, 310)
    found = out_of_time_costs(some_rows(last_mib=440), classifier, boosting, POLICY)
    cost = found.by_expert[BOOSTING]
    assert cost.failed_attempts == 1
    # Without the bins' ceilings the lift would double 310 MiB instead of going to 450.
    after_failing = gb_hours(310 * MIB, RUNTIME_S) * POLICY.penalty + gb_hours(10 * MIB, RUNTIME_S)
    assert cost.cost_gb_h == pytest.approx(18 * gb_hours(10 * MIB, RUNTIME_S) + after_failing)


def test_boosting_that_bid_for_too_few_runs_narrows_nobodys_comparison() -> None:
    few = range(20 - int(LEAST_SHARE_COMPARED * 20) + 1, 20)
    classifier, boosting = bids_of(ALL_BUT_THE_FIRST, 400), bids_of(few, 310)
    found = out_of_time_costs(some_rows(), classifier, boosting, POLICY)
    assert found.runs == len(ALL_BUT_THE_FIRST)
    assert set(found.by_expert) == {REQUEST, MAX_SEEN, CLASSIFIER}


def test_without_any_bid_by_a_model_the_rules_are_compared() -> None:
    found = out_of_time_costs(some_rows(), {}, {}, POLICY)
    assert set(found.by_expert) == {REQUEST, MAX_SEEN}
    assert found.runs == len(ALL_BUT_THE_FIRST)


def test_where_no_compared_need_is_known_nobody_is_charged() -> None:
    runs = runs_of([killed(index, 100 * MIB) for index in range(20)], latest=20)
    places = bids_of(ALL_BUT_THE_FIRST, 400)
    found = out_of_time_costs(RunRows.of(runs), places, places, POLICY)
    assert (found.runs, found.by_expert) == (0, {})


def learned_from(rows: RunRows) -> dict[int, set[int]]:
    """Run -> the runs that an expert learned from before it bid for it."""
    learned: dict[int, set[int]] = {}

    def bids_of_fold(fold: Fold) -> dict[int, Bid]:
        learned.update({run: set(fold.training.tolist()) for run in fold.validation.tolist()})
        return {}

    replayed_bids(rows, a_plan(), math.inf, bids_of_fold)
    return learned


def test_a_run_that_ends_after_anothers_decision_teaches_nothing_about_it() -> None:
    # A minute apart; one runs for a day, another was killed first and succeeded an hour later.
    attempts = [an_attempt(index) for index in range(40)]
    attempts[3] = replace(attempts[3], finished_s=(attempts[3].started_s or 0) + 24 * HOUR_S)
    late_s = (attempts[5].finished_s or 0) + HOUR_S
    attempts[5] = replace(attempts[5], attempt_uid="again", finished_s=late_s)
    rows = RunRows.of(runs_of([killed(5, 100 * MIB), *attempts], latest=40))
    learned = learned_from(rows)
    assert set(learned) == set(range(16, 40))
    assert not any(3 in runs or 5 in runs for runs in learned.values())
    assert all(runs >= set(range(16)) - {3, 5} for runs in learned.values())


def test_in_a_burst_no_run_is_learned_from_and_nobody_is_compared() -> None:
    attempts = [
        an_attempt(index, submitted_s=1000.0 + index, started_s=1100.0, finished_s=3000.0 + index)
        for index in range(40)
    ]
    rows = RunRows.of(runs_of(attempts, latest=40))
    assert learned_from(rows) == {}
    assert out_of_time_costs(rows, {}, {}, POLICY) == OutOfTimeCosts({}, 0)


def test_a_run_that_waited_for_a_node_was_decided_when_it_started() -> None:
    attempts = [
        an_attempt(
            index,
            submitted_s=1000.0 + index,
            started_s=2000.0 + 60 * index,
            finished_s=2030.0 + 60 * index,
        )
        for index in range(40)
    ]
    learned = learned_from(RunRows.of(runs_of(attempts, latest=40)))
    assert learned[39] == set(range(min(run for run in learned if learned[run] == learned[39])))


def test_the_largest_need_seen_is_of_runs_that_had_ended() -> None:
    runs = [
        a_run(100 * MIB, decided_s=0.0, ended_s=10.0),
        a_run(900 * MIB, decided_s=0.0, ended_s=99.0),
        a_run(100 * MIB, decided_s=20.0, ended_s=30.0),
        a_run(100 * MIB, decided_s=99.0, ended_s=120.0),
    ]
    found = charged(runs)
    assert found.runs == 2, "nothing was known before the first two"
    assert found.by_expert[MAX_SEEN].cost_gb_h == pytest.approx(
        gb_hours(10 * MIB, HOUR_S) + gb_hours(890 * MIB, HOUR_S)
    )


def test_runs_without_times_are_known_in_their_order() -> None:
    attempts = [
        an_attempt(index, submitted_s=None, started_s=None, finished_s=None) for index in range(40)
    ]
    learned = learned_from(RunRows.of(runs_of(attempts, latest=40)))
    assert set(learned) == set(range(16, 40))
    assert learned[16] == set(range(16))
