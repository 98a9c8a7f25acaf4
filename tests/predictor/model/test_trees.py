from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.model.trees import CompiledTrees, _slots
from plimsoll_predictor.training.compile import compile_booster
from tests.builders.experts.serving import train_booster
from tests.rigs.drawing import examples

N_FEATURES = 5


def rows_of(n: int, seed: int, *, n_features: int = N_FEATURES) -> NDArray[np.float32]:
    """Random rows: a tenth missing, few distinct values so that thresholds are met exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).round(1).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def labels_of(X: NDArray[np.float32], n_classes: int) -> NDArray[np.int64]:
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return np.searchsorted(edges, score).astype(np.int64)


def thresholds_of(trees: CompiledTrees) -> NDArray[np.float32]:
    found: NDArray[np.float32] = trees.value[trees.left != np.arange(trees.n_nodes)]
    return found


def touching_thresholds(trees: CompiledTrees, n: int, seed: int) -> NDArray[np.float32]:
    """Rows made of thresholds, their float32 neighbours, and missing values."""
    rng = np.random.default_rng(seed)
    thresholds = thresholds_of(trees)
    if not thresholds.size:
        thresholds = np.zeros(1, dtype=np.float32)
    X = rng.choice(thresholds, size=(n, trees.n_features)).astype(np.float32)
    above = np.nextafter(X, np.float32(np.inf))
    below = np.nextafter(X, np.float32(-np.inf))
    kind = rng.integers(0, 4, size=X.shape)
    return np.choose(kind, [X, above, below, np.full_like(X, np.nan)]).astype(np.float32)


def by_xgboost(booster: xgboost.Booster, X: NDArray[np.float32]) -> NDArray[np.float64]:
    found = np.asarray(booster.predict(xgboost.DMatrix(X)), dtype=np.float64)
    if found.ndim == 2:
        return found
    objective = booster.save_config().partition('"objective":{"name":"')[2]
    if objective.startswith("binary"):
        return np.column_stack([1 - found, found])
    return found[:, np.newaxis]


def probabilities(trees: CompiledTrees, X: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.array([trees.probabilities(row) for row in X])


def assert_same(booster: xgboost.Booster, trees: CompiledTrees, X: NDArray[np.float32]) -> None:
    expected = by_xgboost(booster, X)
    np.testing.assert_allclose(probabilities(trees, X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8])
def test_thousands_of_rows_are_answered_as_xgboost_answers_them(n_classes: int) -> None:
    X = rows_of(600, seed=1)
    booster = train_booster(X, labels_of(X, n_classes), n_classes, rounds=20)
    trees = compile_booster(booster, n_classes)
    assert_same(booster, trees, rows_of(4000, seed=2))
    assert_same(booster, trees, touching_thresholds(trees, 4000, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_tree_ends_in_the_leaf_xgboost_ends_in(n_classes: int) -> None:
    X = rows_of(600, seed=1)
    booster = train_booster(X, labels_of(X, n_classes), n_classes, rounds=10, max_depth=6)
    trees = compile_booster(booster, n_classes)
    rows = np.concatenate([rows_of(2000, seed=4), touching_thresholds(trees, 2000, seed=5)])
    theirs = np.asarray(booster.predict(xgboost.DMatrix(rows), pred_leaf=True), dtype=np.int64)
    ours = np.array([trees._leaves(_slots(row)) for row in rows])
    # Leaves are numbered differently; the same choice means the numbers match one to one.
    for tree in range(trees.n_trees):
        pairs = set(zip(ours[:, tree].tolist(), theirs[:, tree].tolist(), strict=True))
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


@pytest.mark.slow
@given(
    n_classes=st.sampled_from([1, 2, 3, 8]),
    seed=st.integers(0, 2**16),
    shape=st.fixed_dictionaries(
        {
            "rounds": st.integers(1, 6),
            "max_depth": st.integers(1, 9),
            "min_child_weight": st.sampled_from([0.0, 1.0, 1e6]),
            "num_parallel_tree": st.integers(1, 2),
            "grow_policy": st.sampled_from(["depthwise", "lossguide"]),
            "base_score": st.sampled_from([None, 0.3]),
        }
    ),
)
@examples(40)
def test_any_booster_is_answered_as_xgboost_answers_it(
    n_classes: int, seed: int, shape: dict[str, Any]
) -> None:
    X = rows_of(80, seed)
    chosen = {key: value for key, value in shape.items() if value is not None}
    booster = train_booster(X, labels_of(X, n_classes), n_classes, **chosen)
    trees = compile_booster(booster, n_classes)
    assert_same(booster, trees, rows_of(100, seed + 1))
    assert_same(booster, trees, touching_thresholds(trees, 100, seed))


def test_an_early_stopped_booster_is_cut_at_its_best_round() -> None:
    X = rows_of(400, seed=1)
    y = labels_of(X, 3)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 0.5, rng.integers(0, 3, len(y)), y)
    classifier = xgboost.XGBClassifier(
        n_estimators=200, learning_rate=0.5, early_stopping_rounds=3, n_jobs=1
    )
    classifier.fit(X[:200], noisy[:200], eval_set=[(X[200:], noisy[200:])], verbose=False)
    booster = classifier.get_booster()
    trees = compile_booster(booster, 3)
    assert trees.n_trees == 3 * (classifier.best_iteration + 1) < 3 * booster.num_boosted_rounds()
    fresh = rows_of(500, seed=9)
    np.testing.assert_allclose(
        probabilities(trees, fresh), classifier.predict_proba(fresh), rtol=1e-5, atol=1e-6
    )


def test_trees_of_a_single_leaf_are_walked_too() -> None:
    X = rows_of(100, seed=1)
    booster = train_booster(X, labels_of(X, 3), 3, min_child_weight=1e9)
    trees = compile_booster(booster, 3)
    assert trees.depth == 0
    assert_same(booster, trees, rows_of(100, seed=2))


def test_infinities_are_missing_values() -> None:
    X = rows_of(300, seed=1)
    trees = compile_booster(train_booster(X, labels_of(X, 3), 3), 3)
    missing = np.full(N_FEATURES, np.nan, dtype=np.float32)
    expected = trees.probabilities(missing)
    for infinite in (np.inf, -np.inf):
        row = np.full(N_FEATURES, infinite, dtype=np.float32)
        np.testing.assert_array_equal(trees.probabilities(row), expected)


def test_probabilities_add_up_to_one_and_the_row_is_left_alone() -> None:
    X = rows_of(300, seed=1)
    trees = compile_booster(train_booster(X, labels_of(X, 8), 8), 8)
    before = X.copy()
    assert all(abs(trees.probabilities(row).sum() - 1.0) < 1e-12 for row in X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.filterwarnings("ignore:.*booster=dart. is deprecated")  # by XGBoost 3.4
@pytest.mark.parametrize(
    ("settings_", "sentence"),
    [
        pytest.param(
            {"booster": "dart", "rate_drop": 0.5}, "cannot compile a 'dart' booster", id="dart"
        ),
        pytest.param(
            {"multi_strategy": "multi_output_tree", "tree_method": "hist"},
            "vector leaves",
            id="one tree for all classes",
        ),
    ],
)
def test_boosters_that_cannot_be_walked_are_refused_in_words(
    settings_: dict[str, Any], sentence: str
) -> None:
    X = np.nan_to_num(rows_of(100, seed=1))
    y = labels_of(X, 3)
    booster = train_booster(X, y, 3, **settings_)
    with pytest.raises(ModelError, match=sentence):
        compile_booster(booster, 3)


def test_another_objective_or_number_of_classes_is_refused_in_words() -> None:
    X = rows_of(100, seed=1)
    y = labels_of(X, 3)
    regression = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, y), num_boost_round=2)
    with pytest.raises(ModelError, match="reg:squarederror"):
        compile_booster(regression, 3)
    with pytest.raises(ModelError, match="3 classes cannot serve 4 bins"):
        compile_booster(train_booster(X, y, 3), 4)


def test_categorical_splits_are_refused_in_words() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(200, 2)).astype(np.float32)
    y = (X[:, 0] % 2).astype(np.int64)
    data = xgboost.DMatrix(X, y, feature_types=["c", "c"], enable_categorical=True)
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1, "max_cat_to_onehot": 1}, data, 2
    )
    with pytest.raises(ModelError, match="categorical splits"):
        compile_booster(booster, 2)


@pytest.mark.slow
def test_one_row_is_walked_faster_than_xgboost_predicts_it_in_place() -> None:
    X = rows_of(1460, seed=1, n_features=20)
    booster = train_booster(X, labels_of(X, 2), 2, rounds=300, max_depth=6)
    trees = compile_booster(booster, 2)
    assert (trees.n_trees, trees.depth) == (300, 6)
    booster.set_param({"nthread": 1})
    walked: list[float] = []
    in_place: list[float] = []
    for row in X[:200]:
        began = time.perf_counter()
        trees.probabilities(row)
        between = time.perf_counter()
        booster.inplace_predict(row[np.newaxis, :])
        walked.append(between - began)
        in_place.append(time.perf_counter() - between)
    assert np.median(walked) < np.median(in_place)
