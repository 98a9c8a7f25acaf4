"""The experts' constants by the values that follow from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.drift import BEFORE, Drift
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS, PANEL, view_of
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.pool import Pool, Ratios
from plimsoll_predictor.experts.standing import MOST_PENDING, Ended, Exceeded, Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import BY_FEATURES, CLASSIFIER, CURVES, SAFE
from plimsoll_predictor.knowledge.rule import Rule

GB = 10**9
NOTHING_POOLED = {anchor: Ratios() for anchor in ANCHORS}


def a_past(*needs_gb: float, runtime_s: float = 100.0, feature: bool = False) -> Past:
    past = Past()
    for need_gb in needs_gb:
        features = {"size": need_gb} if feature else {}
        past.add(EndedRun(need_gb * GB, runtime_s), features)
    return past


def rule_of(expert: str, past: Past, overhead_s: float = 0.0) -> Rule:
    return PANEL[expert](view_of(past, NOTHING_POOLED, overhead_s))


def test_the_latest_runs_are_the_last_twenty() -> None:
    assert rule_of("latest-max", a_past(9.0, *[1.0] * 19)).base_bytes == pytest.approx(9.27 * GB)
    assert rule_of("latest-max", a_past(9.0, *[1.0] * 20)).base_bytes == pytest.approx(1.03 * GB)


def test_what_a_feature_predicts_is_trusted_up_to_twice_the_largest_need_at_most() -> None:
    past = a_past(*[1.0 + place / 10 for place in range(12)], feature=True)
    # So far its runs needed four times what the feature said.
    for _ in range(12):
        past.add_anchored(math.log(4.0), 100.0)
    rule = rule_of(BY_FEATURES, past, overhead_s=1e6)
    assert rule.factor > 3.0
    assert rule.most_bytes == pytest.approx(2.0 * past.largest_bytes)


@pytest.mark.parametrize(
    ("overhead_s", "size_gb"),
    [
        pytest.param(2000.0, 0.511, id="five runtimes: one failure in ten is worth it"),
        pytest.param(3000.0, 1.0, id="seven and a half: it is not"),
    ],
)
def test_a_quarter_of_a_restarts_price_is_expected(overhead_s: float, size_gb: float) -> None:
    rule = rule_of(SAFE, a_past(*[0.5] * 9, 1.0), overhead_s)
    assert rule.base_bytes == pytest.approx(size_gb * GB, rel=1e-3)


def a_pool() -> Pool:
    return Pool(("calm", "wild"), ANCHORS)


def test_one_runs_charge_counts_three_times_its_size_in_the_pool_at_most() -> None:
    pool = a_pool()
    pool.charge(5, np.array([2.0, 50.0]))
    assert pool.mean_charges(5).tolist() == [2.0, 3.0]


def test_the_ages_beside_a_tasks_own_weigh_three_tenths() -> None:
    pool = a_pool()
    pool.charge(5, np.array([1.0, 0.0]))
    pool.charge(10, np.array([0.0, 1.0]))
    assert pool.mean_charges(5) == pytest.approx([1 / 1.3, 0.3 / 1.3])
    assert pool.mean_charges(10) == pytest.approx([0.3 / 1.3, 1 / 1.3])


def test_a_task_far_older_hears_nothing_of_the_young() -> None:
    pool = a_pool()
    pool.charge(1, np.array([1.0, 1.0]))
    assert pool.mean_charges(1000).tolist() == [0.0, 0.0]


def test_a_charge_that_is_no_number_counts_as_the_largest_there_is() -> None:
    pool = a_pool()
    pool.charge(5, np.array([2.0, np.nan]))
    assert pool.mean_charges(5).tolist() == [2.0, 3.0]


def test_null_that_an_older_version_stored_counts_as_the_mean_of_its_age() -> None:
    pool, restored = Pool(("calm", "wild", "odd"), ANCHORS), Pool(("calm", "wild", "odd"), ANCHORS)
    pool.charge(5, np.array([1.0, 2.0, 2.5]))
    written = pool.to_dict()
    written["charges"] = [[calm, wild, None] for calm, wild, _ in written["charges"]]
    restored.restore(written)
    assert restored.mean_charges(5).tolist() == [1.0, 2.0, 1.5]


def test_bids_that_an_older_version_stored_as_null_cost_only_themselves() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    standing.learn(a_run(1.0), pool)
    bids = dict(standing.bids(10.0 * GB, {}))
    standing.exceeded(Exceeded(run="r", allocation_bytes=GB, bids=bids))
    written = standing.to_dict()
    written["pending"] = {"r": {**bids, CURVES: None}}
    read = Standing.from_dict(written)
    del bids[CURVES]
    assert read.to_dict() == {**standing.to_dict(), "pending": {"r": bids}}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"charges": [[0.0]]}, id="other ages"),
        pytest.param({"weights": "?"}, id="no weights"),
        pytest.param({"ratios": None}, id="no ratios"),
        pytest.param({"restarts_s": [None]}, id="restarts that are no numbers"),
    ],
)
def test_a_pool_that_cannot_be_read_starts_anew(change: dict[str, Any]) -> None:
    standings = TaskStandings()
    standings.learn("a/b", a_run(1.0))
    standings.learn("a/b", a_run(1.0))
    written = standings.pool.to_dict()
    assert standings.put_pool("", {**written, **change}) is False
    assert standings.pool.to_dict() == Pool(EXPERTS, ANCHORS).to_dict()
    assert standings.put_pool("", written) is True
    assert standings.pool.to_dict() == written


def a_run(need_gb: float, bids: dict[str, float] | None = None) -> Ended:
    run = EndedRun(need_gb * GB, 100.0, 10.0 * GB)
    return Ended(run=run, features={}, bids=bids, overhead_s=600.0)


def test_a_new_model_starts_as_good_as_the_safe_expert_and_not_free_of_cost() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    for place in range(20):
        standing.learn(a_run(1.0 + place % 3), pool)
    same = dict(standing.bids(10.0 * GB, {}))
    standing.learn(a_run(1.0, bids={**same, CLASSIFIER: same[SAFE]}), pool)
    charges = dict(zip(EXPERTS, standing.charges.tolist(), strict=True))
    assert charges[SAFE] > 0
    assert charges[CLASSIFIER] == charges[SAFE]


def after_some_runs() -> tuple[Standing, Pool]:
    """A task that a first model has just been trained for."""
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    for place in range(20):
        standing.learn(a_run(1.0 + place % 3), pool)
    standing.seed(CLASSIFIER, 0.3)
    standing.refresh(pool, 600.0)
    return standing, pool


def test_a_modelled_expert_that_keeps_failing_is_left_however_often_it_is_trained() -> None:
    standing, pool = after_some_runs()
    assert standing.champion == CLASSIFIER
    served = 0
    for place in range(200):
        need_gb = 1.0 + place % 3
        served += standing.champion == CLASSIFIER
        bids = {**standing.bids(10.0 * GB, {}), CLASSIFIER: 0.9 * need_gb * GB}
        standing.learn(a_run(need_gb, bids), pool)
        standing = Standing.from_dict(standing.to_dict())  # a restart forgets nothing
        standing.seed(CLASSIFIER, 0.3)
        standing.refresh(pool, 600.0)
    assert served < 200 / 2


def test_a_model_that_became_good_serves_once_a_quarter_more_runs_are_known() -> None:
    standing, pool = after_some_runs()
    for place in range(20):
        need_gb = 1.0 + place % 3
        bids = {**standing.bids(10.0 * GB, {}), CLASSIFIER: 0.9 * need_gb * GB}
        standing.learn(a_run(need_gb, bids), pool)
    standing.refresh(pool, 600.0)
    assert standing.champion != CLASSIFIER
    standing.seed(CLASSIFIER, 0.3)
    standing.refresh(pool, 600.0)
    assert standing.champion == CLASSIFIER


def test_a_model_after_one_that_was_retired_is_judged_by_its_training() -> None:
    standing, pool = after_some_runs()
    for place in range(60):
        need_gb = 1.0 + place % 3
        bids = {**standing.bids(10.0 * GB, {}), CLASSIFIER: 0.9 * need_gb * GB}
        standing.learn(a_run(need_gb, bids), pool)
    standing.retire(CLASSIFIER)
    standing.seed(CLASSIFIER, 0.3)
    standing.refresh(pool, 600.0)
    assert standing.champion == CLASSIFIER


def test_the_bids_of_killed_runs_are_bounded_and_the_oldest_go() -> None:
    standing = Standing()
    for place in range(MOST_PENDING + 3):
        run, bids = f"run-{place}", {SAFE: 1.0 * GB}
        standing.exceeded(Exceeded(run=run, allocation_bytes=1.0 * GB, bids=bids))
    assert len(standing.pending) == MOST_PENDING == 256
    assert standing.bids_of_killed("run-2") is None
    assert standing.bids_of_killed("run-3") == {SAFE: 1.0 * GB}


def test_after_a_new_version_a_task_drifts_until_sixteen_runs_of_it_are_known() -> None:
    drift = Drift()
    drift.see_version("one")
    drift.see_version("two")
    for _ in range(BEFORE - 1):
        drift.see_version("two")
        assert drift.drifting
    drift.see_version("two")
    assert not drift.drifting
    assert BEFORE == 16
