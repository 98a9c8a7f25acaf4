from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.model.boosted import MARGIN, BoostedNeed
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.boosting import (
    LEAST_RUNS,
    LEVEL,
    boosted_bids,
    fit_boosted,
)
from plimsoll_predictor.training.compile import compile_regression
from plimsoll_predictor.training.out_of_time import LEAST_SHARE_REPLAYED, ReplayedBids
from plimsoll_predictor.training.runs import RunRows, runs_of
from plimsoll_predictor.training.train import train
from tests.builders.training.trainings import StepClock, a_history, a_plan, an_attempt


def some_rows(n: int, *, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rows (n, 3), a tenth missing, and needs that follow the first column with a spread."""
    draw = np.random.default_rng(seed)
    X = draw.uniform(0, 1, (n, 3)).astype(np.float32)
    needs_bytes = GIB * np.exp(2 * X[:, 0].astype(np.float64) + draw.normal(0, 0.1, n))
    X[draw.random(X.shape) < 0.1] = np.nan
    return X, needs_bytes


def fitted(n: int = 800) -> BoostedNeed:
    boosted = fit_boosted(*some_rows(n), seed=1, threads=1)
    assert boosted is not None
    return boosted


def bids_in_the_past(rows: RunRows, **changes: Any) -> ReplayedBids:
    return boosted_bids(rows, a_plan(seed=1, **changes), deadline_s=60.0)


@pytest.mark.slow
def test_compiled_trees_answer_as_xgboost_does() -> None:
    X, needs_bytes = some_rows(600)
    booster = xgboost.train(
        {"objective": "reg:quantileerror", "quantile_alpha": 0.9, "max_depth": 5, "nthread": 1},
        xgboost.QuantileDMatrix(X, np.log(needs_bytes)),
        num_boost_round=40,
    )
    trees = compile_regression(booster)
    coming, _ = some_rows(3000, seed=1)
    expected = booster.predict(xgboost.DMatrix(coming))
    found = [trees.margin(row) for row in coming]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param({"objective": "reg:squarederror"}, "reg:quantileerror", id="another loss"),
        pytest.param(
            {"objective": "reg:quantileerror", "quantile_alpha": np.array([0.5, 0.9])},
            "2 quantiles",
            id="two quantiles",
        ),
    ],
)
def test_what_is_not_one_quantile_is_not_compiled(settings: dict[str, object], words: str) -> None:
    X, needs_bytes = some_rows(60)
    data = xgboost.QuantileDMatrix(X, np.log(needs_bytes))
    booster = xgboost.train({**settings, "nthread": 1}, data, num_boost_round=2)
    with pytest.raises(ModelError, match=words):
        compile_regression(booster)


@pytest.mark.slow
def test_the_boosted_need_is_close_to_the_quantile_and_covers_its_share_of_new_runs() -> None:
    boosted = fitted(3000)
    X, needs_bytes = some_rows(3000, seed=1)
    known = ~np.isnan(X[:, 0])
    found = np.array([boosted.need_bytes(row) for row in X])
    covered = float(np.mean(found[known] >= needs_bytes[known]))
    assert covered == pytest.approx(LEVEL, abs=0.03)
    # A quantile that ignored the features would be more than twice the need of most runs.
    assert np.median(found[known] / needs_bytes[known]) < 1.4


def test_no_need_beyond_the_range_seen_is_answered() -> None:
    boosted = fitted()
    inside = boosted.need_bytes(np.full(3, np.nan, dtype=np.float32))
    assert boosted.least_bytes < inside < boosted.most_bytes
    low = replace(boosted, least_bytes=inside * 2, most_bytes=inside * 4)
    high = replace(boosted, least_bytes=inside / 4, most_bytes=inside / 2)
    row = np.full(3, np.nan, dtype=np.float32)
    assert (low.need_bytes(row), high.need_bytes(row)) == (inside * 2, inside / 2)


def test_trees_that_overflow_answer_the_largest_need_seen() -> None:
    boosted = fitted()
    trees = msgspec.structs.replace(boosted.trees, base=np.array([1e9]))
    wild = replace(boosted, trees=trees)
    assert wild.need_bytes(np.zeros(3, dtype=np.float32)) == boosted.most_bytes


def test_a_boosted_need_survives_json_unchanged() -> None:
    boosted = fitted()
    again = from_document(
        BoostedNeed, json.loads(json.dumps(to_document(boosted))), "boosted needs"
    )
    assert again == boosted
    X, _ = some_rows(200, seed=2)
    assert [again.need_bytes(row) for row in X] == [boosted.need_bytes(row) for row in X]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"level": 1.0}, "a quantile of 1.0 is not within"),
        ({"level": "high"}, "got `str` - at `\\$.level`"),
        ({"least_bytes": 0.0}, "are no range"),
        ({"least_bytes": 9e12, "most_bytes": 1e12}, "are no range"),
        ({"most_bytes": 1e300}, "are no range"),
        ({"trees": None}, "got `null` - at `\\$.trees`"),
        ({"trees": {"kind": "trees"}}, "`n_classes` - at `\\$.trees`"),
    ],
    ids=str,
)
def test_a_damaged_boosted_need_is_refused_with_a_sentence(
    damage: dict[str, object], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        from_document(BoostedNeed, to_document(fitted(40)) | damage, "boosted needs", ModelError)


@pytest.mark.slow
def test_the_same_runs_give_the_same_trees() -> None:
    assert fitted() == fitted()


def test_too_few_runs_or_no_feature_give_no_trees() -> None:
    X, needs_bytes = some_rows(LEAST_RUNS - 1)
    assert fit_boosted(X, needs_bytes, seed=1, threads=1) is None
    X, needs_bytes = some_rows(200)
    assert fit_boosted(X[:, :0], needs_bytes, seed=1, threads=1) is None


@pytest.mark.slow
def test_past_bids_are_learned_only_from_what_came_before() -> None:
    rows = RunRows.of(runs_of(a_history(200), latest=200))
    bids = bids_in_the_past(rows).bids
    cut = 150
    # If later runs had any influence, other later needs would change earlier bids.
    changed = [
        replace(run, need_bytes=run.need_bytes * (50 if place >= cut else 1))
        for place, run in enumerate(rows.runs)
    ]
    others = bids_in_the_past(RunRows.of(changed)).bids
    earlier = [place for place in bids if place < cut]
    assert len(earlier) >= 50
    assert [others[place] for place in earlier] == [bids[place] for place in earlier]


@pytest.mark.slow
def test_past_bids_follow_the_features() -> None:
    rows = RunRows.of(runs_of(a_history(300), latest=300))
    bids = bids_in_the_past(rows).bids
    ratios = [bid.allocation_bytes / rows.runs[place].need_bytes for place, bid in bids.items()]
    assert 1.0 < math.exp(float(np.mean(np.log(ratios)))) < 2.0


@pytest.mark.slow
def test_when_time_is_out_the_newest_runs_are_still_replayed() -> None:
    rows = RunRows.of(runs_of(a_history(200), latest=200))
    cut = bids_in_the_past(rows, clock=StepClock(step_s=100.0))
    assert cut.cut_by_budget
    assert len(cut.bids) >= LEAST_SHARE_REPLAYED * 200
    assert max(cut.bids) == 199
    assert len(cut.bids) < len(bids_in_the_past(rows).bids)


def test_a_task_without_features_has_no_bids() -> None:
    rows = RunRows.of(
        runs_of([an_attempt(i, peak_bytes=(100 + i) * MIB) for i in range(60)], latest=60)
    )
    assert bids_in_the_past(rows).bids == {}


def test_runs_with_missing_and_unseen_features_get_a_need_within_range() -> None:
    rows = RunRows.of(runs_of(a_history(120), latest=120))
    schema = FeatureSchema.fit(rows.features)
    X = schema.expand(schema.encode_rows(rows.features))
    boosted = fit_boosted(X, rows.needs_bytes, seed=1, threads=1)
    assert boosted is not None
    odd: list[Features] = [{}, {"region": "moon"}, {"rows": "many", "columns": 1e30}]
    for row in schema.expand(schema.encode_rows(odd)):
        assert boosted.least_bytes <= boosted.need_bytes(row) <= boosted.most_bytes


@pytest.mark.slow
def test_a_trainings_model_bids_what_boosting_was_judged_by() -> None:
    history = a_history(120)
    model = train("shop/train", history, a_plan()).model
    assert model.boosted is not None
    for attempt in history[:20]:
        row = model.schema.expand(model.schema.encode(attempt.features)[np.newaxis, :])[0]
        need_bytes = model.boosted.need_bytes(row)
        assert model.boosted_bid_bytes(attempt.features) == need_bytes * MARGIN
    without = replace(model, version="", boosted=None)
    assert without.boosted_bid_bytes(history[0].features) is None


@pytest.mark.slow
def test_where_features_carry_the_size_boosting_is_charged_beside_the_others() -> None:
    report = train("shop/train", a_history(300), a_plan()).report
    assert set(report.out_of_time_costs) == {"request", "max-seen", "classifier", "boosting"}
    costs = {name: figures.cost_gb_h for name, figures in report.out_of_time_costs.items()}
    assert costs["boosting"] < costs["max-seen"] < costs["request"]
    # Three fifths of the runs come after the first past from which it learns.
    assert report.compared_runs == 180


@pytest.mark.slow
def test_a_task_too_young_for_trees_is_trained_without_them() -> None:
    result = train("shop/train", a_history(LEAST_RUNS - 1), a_plan())
    assert result.model.boosted is None
    assert "boosting" not in result.report.out_of_time_costs
    assert "classifier" in result.report.out_of_time_costs
