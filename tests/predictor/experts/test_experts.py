"""The experts: one contract for all of them, their charges, and which serves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.experts.charging import EndedRun, charge, relative_costs
from plimsoll_predictor.experts.expected import (
    GRID,
    N_CELLS,
    cell_of,
    cells,
    cheapest_multiple,
    histogram,
)
from plimsoll_predictor.experts.panel import (
    EXPERTS,
    PANEL,
    YARDSTICKS,
    YOUNG,
    YOUNG_RUNS,
    words_for_expert,
)
from plimsoll_predictor.experts.pool import AGES, age_of
from plimsoll_predictor.experts.standing import Bids, Ended, Exceeded, Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import (
    CLASSIFIER,
    MAX_SEEN,
    NEAR_MAX,
    REQUEST,
    SAFE,
    YOUNG_SAFE,
)
from plimsoll_predictor.knowledge.ladder import OVER_LARGEST, next_step_bytes
from plimsoll_predictor.knowledge.rule import Line, Rule, for_larger_request

GB = 10**9
TASK = "shop/train"
OVERHEAD_S = 600.0


def ended(
    need_gb: float,
    *,
    runtime_s: float = 100.0,
    request_gb: float | None = 10.0,
    features: Mapping[str, float] | None = None,
    bids: Bids | None = None,
    version: str = "",
) -> Ended:
    request_bytes = None if request_gb is None else request_gb * GB
    return Ended(
        run=EndedRun(need_gb * GB, runtime_s, request_bytes),
        features=features or {},
        bids=bids,
        version=version,
        overhead_s=OVERHEAD_S,
    )


def a_fleet(*needs_gb: float) -> TaskStandings:
    fleet = TaskStandings()
    for need_gb in needs_gb:
        fleet.learn(TASK, ended(need_gb))
    return fleet


runs = st.lists(
    st.tuples(
        st.floats(0.001, 100),
        st.floats(0, 1e6),
        st.one_of(st.none(), st.floats(0.1, 500)),
        st.floats(0.1, 1e9),
    ),
    min_size=1,
    max_size=30,
)


@pytest.mark.slow
@given(runs)
def test_every_expert_bids_a_finite_size_above_zero_whatever_was_seen(
    seen: list[tuple[float, float, float | None, float]],
) -> None:
    fleet = TaskStandings()
    for need_gb, runtime_s, request_gb, size in seen:
        run = ended(need_gb, runtime_s=runtime_s, request_gb=request_gb, features={"size": size})
        fleet.learn(TASK, run)
    for features in ({}, {"size": 1e-9}, {"size": 1e30}, {"size": "large"}, {"size": math.inf}):
        bids = fleet.bids(TASK, 5.0 * GB, features)
        assert set(bids) == set(PANEL)
        assert all(0 < bid < math.inf for bid in bids.values())


@pytest.mark.slow
@given(runs)
def test_a_standing_that_was_kept_bids_charges_and_learns_like_the_one_it_was(
    seen: list[tuple[float, float, float | None, float]],
) -> None:
    fleet, again = TaskStandings(), TaskStandings()
    for need_gb, runtime_s, request_gb, size in seen:
        run = ended(need_gb, runtime_s=runtime_s, request_gb=request_gb, features={"size": size})
        fleet.learn(TASK, run)
    kept = json.loads(json.dumps(fleet.standing(TASK).to_dict()))
    again.pool.restore(json.loads(json.dumps(fleet.pool.to_dict())))
    again.put(TASK, Standing.from_dict(kept))
    for each in (fleet, again):
        each.learn(TASK, ended(3.0, features={"size": 7.0}))
    assert again.standing(TASK).to_dict() == fleet.standing(TASK).to_dict()
    assert again.pool.to_dict() == fleet.pool.to_dict()


def test_the_same_runs_in_the_same_order_give_the_same_state() -> None:
    needs = [1.0, 2.0, 1.5, 7.0, 0.5] * 8
    assert a_fleet(*needs).standing(TASK).to_dict() == a_fleet(*needs).standing(TASK).to_dict()


def test_a_task_nobody_has_seen_gets_no_bids() -> None:
    assert TaskStandings().bids(TASK, 4.0 * GB, {}) == {}


def test_every_expert_has_a_name_and_words_of_its_own() -> None:
    words = {words_for_expert(name) for name in EXPERTS}
    assert len(words) == len(EXPERTS)
    assert not words & set(EXPERTS)


def test_an_expert_of_another_version_is_called_by_its_name() -> None:
    assert words_for_expert("quantile") == "quantile"


def test_a_bid_that_fits_is_charged_the_memory_left_unused() -> None:
    assert charge(3.0 * GB, EndedRun(2.0 * GB, 100.0), 2.0 * GB, OVERHEAD_S).cost == 100.0 * GB


def test_a_bid_that_is_too_small_is_charged_its_failures_their_overhead_and_the_lifts_waste() -> (
    None
):
    charged = charge(1.0 * GB, EndedRun(3.0 * GB, 100.0), largest_bytes=0.0, overhead_s=600.0)
    # 1 GB, then twice, then twice that fits.
    assert charged.failed_attempts == 2
    assert charged.cost == pytest.approx((1 + 2) * GB * 700 + 1 * GB * 100)


def test_a_dearer_restart_makes_failures_cost_more_and_fitting_bids_no_more() -> None:
    run = EndedRun(2.0 * GB, 100.0)
    cheap = relative_costs([1.0 * GB, 4.0 * GB], run, 2.0 * GB, overhead_s=0.0)
    dear = relative_costs([1.0 * GB, 4.0 * GB], run, 2.0 * GB, overhead_s=3600.0)
    assert dear[0] > cheap[0]
    assert dear[1] == cheap[1]


@pytest.mark.parametrize(
    ("failed_gb", "largest_gb", "expected_gb"),
    [
        pytest.param(1.0, 2.0, 2.0 * OVER_LARGEST, id="a little over the largest need"),
        pytest.param(2.0, 2.0, 2.0 * OVER_LARGEST, id="which need not be much"),
        pytest.param(2.1, 2.0, 4.2, id="twice, where that would hardly be a step"),
        pytest.param(1.0, 0.0, 2.0, id="twice, where nothing is known"),
    ],
)
def test_the_ladder(failed_gb: float, largest_gb: float, expected_gb: float) -> None:
    assert next_step_bytes(failed_gb * GB, largest_gb * GB) == pytest.approx(expected_gb * GB)


def test_retries_do_not_creep_up_by_what_kills_showed() -> None:
    size, attempts = 1.0 * GB, 0
    while size < 40 * GB:
        size, attempts = next_step_bytes(size, 2.0 * GB), attempts + 1
    assert attempts <= 7


def test_a_young_task_is_served_by_an_expert_for_young_tasks() -> None:
    fleet = TaskStandings()
    for run in range(YOUNG_RUNS - 1):
        fleet.learn(TASK, ended(1.0 + run % 3))
        assert fleet.standing(TASK).champion in YOUNG


def test_the_largest_need_seen_gets_room_while_few_runs_are_known() -> None:
    young = a_fleet(1.0).bids(TASK, None, {})[YOUNG_SAFE]
    grown = a_fleet(*[1.0] * YOUNG_RUNS).bids(TASK, None, {})[YOUNG_SAFE]
    assert young > 1.5 * GB
    assert grown == pytest.approx(1.01 * GB)


def test_who_is_clearly_cheaper_takes_over_by_itself() -> None:
    # Every other run needs four times as much, and the feature says which.
    fleet = TaskStandings()
    for run in range(60):
        size = 4.0 if run % 2 else 1.0
        fleet.learn(TASK, ended(size, features={"size": size}))
    standing = fleet.standing(TASK)
    assert fleet.bids(TASK, 10.0 * GB, {"size": 1.0})[standing.champion] < 1.5 * GB
    assert fleet.bids(TASK, 10.0 * GB, {"size": 4.0})[standing.champion] >= 4.0 * GB


def test_a_modelled_expert_serves_once_its_bids_were_cheaper_and_not_before_it_bid() -> None:
    fleet = a_fleet(*[1.0, 4.0] * 10)
    standing = fleet.standing(TASK)
    assert CLASSIFIER not in standing.costs(fleet.pool)
    for run in range(60):
        need = 4.0 if run % 2 else 1.0
        bids = {**fleet.bids(TASK, 10.0 * GB, {}), CLASSIFIER: need * 1.01 * GB}
        fleet.learn(TASK, ended(need, bids=bids))
    assert standing.champion == CLASSIFIER


@pytest.mark.parametrize(
    ("rival_gb", "champion"),
    [
        pytest.param(1.09, SAFE, id="not for a hair"),
        pytest.param(1.03, NEAR_MAX, id="but for a clear gain"),
    ],
)
def test_the_safe_expert_is_left(rival_gb: float, champion: str) -> None:
    fleet = TaskStandings()
    for _ in range(80):
        bids = dict.fromkeys(PANEL, 1.5 * GB) | {SAFE: 1.1 * GB, NEAR_MAX: rival_gb * GB}
        fleet.learn(TASK, ended(1.0, bids=bids))
    assert fleet.standing(TASK).champion == champion


def test_yardsticks_are_charged_and_never_serve() -> None:
    fleet = TaskStandings()
    for _ in range(50):
        # Only max-seen is right: every other expert is charged a failure.
        bids = dict.fromkeys(PANEL, 0.5 * GB) | {MAX_SEEN: 1.0 * GB}
        fleet.learn(TASK, ended(1.0, bids=bids))
        assert fleet.standing(TASK).champion not in YARDSTICKS
    costs = fleet.standing(TASK).costs(fleet.pool)
    assert costs[MAX_SEEN] == min(costs.values())


def test_bids_are_charged_as_they_were_when_the_run_was_decided() -> None:
    fleet, late = a_fleet(1.0), a_fleet(1.0)
    then = fleet.bids(TASK, 10.0 * GB, {})
    for each in (fleet, late):
        each.learn(TASK, ended(5.0))
    fleet.learn(TASK, ended(5.0, bids=then))
    late.learn(TASK, ended(5.0))
    assert (
        fleet.standing(TASK).costs(fleet.pool)[NEAR_MAX]
        > late.standing(TASK).costs(late.pool)[NEAR_MAX]
    )


def test_a_kill_teaches_at_once_that_more_is_needed() -> None:
    fleet = a_fleet(*[1.0] * 3)
    fleet.exceeded(TASK, Exceeded(run="run-9", allocation_bytes=2.0 * GB))
    fleet.standing(TASK).refresh(fleet.pool, OVERHEAD_S)
    assert fleet.bids(TASK, None, {})[NEAR_MAX] >= 2.0 * GB


def test_a_task_whose_needs_were_corrected_bids_like_one_that_learned_them_at_once() -> None:
    at_once, corrected = TaskStandings(), TaskStandings()
    for run in range(40):
        rows = 1.0 + run * 7 % 11
        features = {"rows": rows}
        at_once.learn(TASK, ended(rows, features=features))
        # Three pods share each run, and the first that ends needs least.
        corrected.learn(TASK, ended(0.6 * rows, features=features))
        for before, after in ((0.6, 0.8), (0.8, 1.0)):
            standing = corrected.standing(TASK)
            standing.correct(before * rows * GB, after * rows * GB, features)
            standing.refresh(corrected.pool, OVERHEAD_S)
    for rows in (2.0, 6.0, 11.0):
        expected = at_once.bids(TASK, None, {"rows": rows})
        assert corrected.bids(TASK, None, {"rows": rows}) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_correction_brings_the_features_of_the_attempt_that_needed_most(told: bool) -> None:
    at_once, corrected = TaskStandings(), TaskStandings()
    for run in range(12):
        rows = 1.0 + run * 7 % 11
        at_once.learn(TASK, ended(rows, features={"rows": rows}))
        corrected.learn(TASK, ended(0.6 * rows, features={"rows": rows - 0.5 if told else rows}))
        features = {"rows": rows} if told else {}
        corrected.standing(TASK).correct(0.6 * rows * GB, rows * GB, features)
    past = corrected.standing(TASK).past
    assert past.table == at_once.standing(TASK).past.table
    assert past.lines.fitted()[0].line.at({"rows": 5.0}) == pytest.approx(5.0 * GB)


@pytest.mark.slow
def test_other_tasks_tell_a_young_one_what_to_trust() -> None:
    steady, growing = TaskStandings(), TaskStandings()
    for task in range(30):
        for run in range(6):
            steady.learn(f"shop/{task}", ended(1.0))
            growing.learn(f"shop/{task}", ended(1.3**run))
    for fleet in (steady, growing):
        fleet.learn(TASK, ended(1.0))
    assert (
        steady.bids(TASK, 10.0 * GB, {})[steady.standing(TASK).champion]
        < growing.bids(TASK, 10.0 * GB, {})[growing.standing(TASK).champion]
    )


@pytest.mark.slow
def test_state_is_bounded_however_many_runs_there_were() -> None:
    fleet = TaskStandings()
    sizes = []
    for run in range(1500):
        fleet.learn(TASK, ended(1.0 + run % 7, features={"size": 1.0 + run % 7}))
        if run in (700, 1499):
            sizes.append(len(json.dumps(fleet.standing(TASK).to_dict())))
    assert sizes[1] < sizes[0] * 1.05


def test_whether_requests_were_too_small_is_kept_and_older_states_do_not_say_it() -> None:
    fleet = TaskStandings()
    fleet.learn(TASK, ended(2.0, request_gb=1.0))
    data = fleet.standing(TASK).to_dict()
    assert Standing.from_dict(data).past.exceeds_requests
    del data["past"]["exceeds_requests"]
    assert not Standing.from_dict(data).past.exceeds_requests


def test_an_expert_that_an_older_version_did_not_have_starts_as_good_as_the_safe_one() -> None:
    data = a_fleet(*[1.0, 2.0] * 10).standing(TASK).to_dict()
    del data["charges"][NEAR_MAX]
    standing = Standing.from_dict(data)
    costs = standing.costs(TaskStandings().pool)
    assert costs[NEAR_MAX] == costs[SAFE]


def test_a_line_is_never_trusted_beyond_what_was_seen() -> None:
    fleet = TaskStandings()
    for run in range(1, 30):
        fleet.learn(TASK, ended(run / 10, features={"size": float(run)}))
    bids = fleet.bids(TASK, 10.0 * GB, {"size": 1e6})
    assert max(bid for name, bid in bids.items() if name != REQUEST) <= 2 * 2.9 * GB + 4 * GB


def test_a_run_that_asks_for_more_than_any_before_gets_more_up_to_its_request() -> None:
    assert for_larger_request(1.0 * GB, 8.0 * GB, 4.0 * GB) == 2.0 * GB
    assert for_larger_request(1.0 * GB, 4.1 * GB, 4.0 * GB) == 1.0 * GB
    assert for_larger_request(3.0 * GB, 5.0 * GB, 4.0 * GB) == 3.75 * GB
    assert for_larger_request(1.0 * GB, None, 4.0 * GB) == 1.0 * GB
    assert for_larger_request(1.0 * GB, 8.0 * GB, 0.0) == 1.0 * GB, "0 says nothing"


def test_a_rule_reads_back_as_it_was_written() -> None:
    rule = Rule(
        base_bytes=1.5, lines=(Line("size", 0.5, 2.0),), factor=1.1, least_bytes=3.0, most_bytes=9.0
    )
    assert from_document(Rule, json.loads(json.dumps(to_document(rule))), "a rule") == rule
    plain = Rule(base_bytes=2.0, request_share=0.25, over_bytes=1.0)
    assert from_document(Rule, json.loads(json.dumps(to_document(plain))), "a rule") == plain


def test_the_expected_cheapest_multiple_covers_what_often_happens() -> None:
    ratios = np.log(np.array([1.0] * 95 + [3.0] * 5))
    weights = histogram(cells(ratios), np.ones(100))
    assert weights.shape == (N_CELLS,)
    cheap = cheapest_multiple(weights, weights, overhead_runtimes=0.0)
    dear = cheapest_multiple(weights, weights, overhead_runtimes=100.0)
    assert 1.0 <= cheap < 1.1
    assert dear >= 3.0


def test_one_ratio_lies_in_the_cell_that_it_has_among_many() -> None:
    edges = np.concatenate([GRID, GRID + 1e-9, GRID - 1e-9, GRID + 1e-6, [-50.0, 50.0]])
    assert [cell_of(each) for each in edges.tolist()] == cells(edges).tolist()


def test_ages_double_and_end() -> None:
    assert [age_of(runs) for runs in (1, 2, 3, 6, 7, 14)] == [1, 1, 2, 2, 3, 3]
    assert age_of(10**9) == AGES - 1
