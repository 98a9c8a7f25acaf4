"""The feature expert: the fitted one serves, and others are refused."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import orjson
import pytest
from msgspec.structs import replace as with_fields

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.runtimes.features.explaining import answer, explain, shapley_values
from plimsoll_predictor.runtimes.features.explanation import (
    FeatureExplanation,
    FeatureExplanationError,
)
from plimsoll_predictor.runtimes.features.feature_expert import (
    MOST_BYTES,
    N_SHARES,
    SHARES,
    WIDTHS,
    FeatureExpert,
    moved,
    place_of,
)
from plimsoll_predictor.runtimes.features.fitting import (
    FIT_SETTINGS,
    GROWTH,
    LEAST_RUNS,
    MOST_BETWEEN,
    Examples,
    fit,
    is_due,
)
from plimsoll_predictor.runtimes.features.row import N_FEATURES, NAMES
from tests.builders.experts.feature_experts import RULING, a_row, an_expert

FEW_TREES = replace(FIT_SETTINGS, trees=12, depth=3)


def examples(runs: int = 1500, seed: int = 1) -> Examples:
    """A run's place in its forecast follows its request; a tenth of all values are unknown."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(runs, N_FEATURES)).astype(np.float32)
    asked = rows[:, NAMES.index(RULING)]
    shares = np.clip(0.5 + 0.2 * asked + 0.05 * random.normal(size=runs), 0, 0.999)
    rows[random.random(rows.shape) < 0.1] = np.nan
    return Examples(rows, np.array([place_of(float(share)) for share in shares]))


@pytest.fixture(scope="module")
def fitted() -> FeatureExpert:
    return fit(examples(), 5.0, seed=3, settings=FEW_TREES)


@pytest.mark.slow
def test_a_row_alone_gets_what_it_gets_among_many(fitted: FeatureExpert) -> None:
    rows = examples(seed=2).rows[:50]
    together = fitted.masses_of_rows(rows)
    alone = [fitted.masses(row.tolist()) for row in rows]
    assert np.allclose(together, alone, atol=1e-6)
    assert np.allclose(together.sum(axis=1), 1.0)
    assert (together > 0).all()


@pytest.mark.slow
def test_what_serves_is_what_xgboost_would_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import xgboost

    grown, train = [], xgboost.train

    def kept(*given: object) -> object:
        grown.append(train(*given))
        return grown[-1]

    monkeypatch.setattr(xgboost, "train", kept)
    known = examples()
    expert = fit(known, 5.0, seed=3, settings=FEW_TREES)
    asked = examples(seed=4).rows[:100]
    margins = np.tile(expert.trees.base, (len(asked), 1))
    matrix = xgboost.DMatrix(asked, base_margin=margins)
    theirs = grown[0].predict(matrix, output_margin=True)
    assert np.allclose(expert.trees.margins_of_rows(asked), theirs, atol=1e-4)


def test_it_learns_what_rules_the_runs(fitted: FeatureExpert) -> None:
    low, high = (fitted.masses(a_row(the_requested_time=at)) for at in (-2.0, 2.0))
    middles = (SHARES[1:] + SHARES[:-1]) / 2
    assert low @ middles < 0.45
    assert high @ middles > 0.55


@pytest.mark.slow
def test_the_same_runs_and_seed_give_the_same_expert(fitted: FeatureExpert) -> None:
    again = fit(examples(), 5.0, seed=3, settings=FEW_TREES)
    assert again.to_bytes() == fitted.to_bytes()


def test_what_was_written_is_read_back(fitted: FeatureExpert) -> None:
    written = fitted.to_bytes()
    assert FeatureExpert.from_bytes(written).to_bytes() == written


def test_too_few_runs_are_not_fitted_to() -> None:
    few = examples(LEAST_RUNS - 1)
    with pytest.raises(ValueError, match=f"{LEAST_RUNS} are needed"):
        fit(few, 5.0, seed=3)


@pytest.mark.parametrize(
    ("known", "fitted_at", "due"),
    [
        (LEAST_RUNS - 1, 0, False),
        (LEAST_RUNS, 0, True),
        (int(1000 * GROWTH) - 1, 1000, False),
        (int(1000 * GROWTH), 1000, True),
        (10**6 + MOST_BETWEEN - 1, 10**6, False),
        (10**6 + MOST_BETWEEN, 10**6, True),
    ],
)
def test_it_is_fitted_again_as_enough_is_new(known: int, fitted_at: int, *, due: bool) -> None:
    assert is_due(known, fitted_at) is due


@pytest.mark.parametrize(
    "damage",
    [
        {"slot": np.array([2 * N_FEATURES + 1, 2 * N_FEATURES, 2 * N_FEATURES])},
        {"slot": np.array([-1, 2 * N_FEATURES, 2 * N_FEATURES])},
        {"left": np.array([0, 1, 2])},
        {"left": np.array([2, 1, 2])},
        {"left": np.array([1, 1])},
        {"leaf": np.array([0, 0, 2])},
        {"leaf": np.array([0, 0, -1])},
        {"margins": np.full(2 * N_SHARES, np.nan, dtype=np.float32)},
        {"margins": np.zeros(3, dtype=np.float32)},
        {"base": np.zeros(0)},
        {"n_trees": 0},
        {"n_trees": 4},
    ],
)
def test_arrays_that_are_no_forest_are_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        with_fields(an_expert().trees, **damage)


def test_trees_over_other_features_or_shares_are_refused() -> None:
    expert = an_expert()
    with pytest.raises(ModelError, match="features"):
        with_fields(expert, names=("other",))
    trees = expert.trees
    fewer = with_fields(trees, base=trees.base[:7], margins=trees.margins[:14])
    with pytest.raises(ModelError, match="shares"):
        with_fields(expert, trees=fewer)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"plain",
        zlib.compress(b"no json"),
        zlib.compress(b"[]"),
        zlib.compress(orjson.dumps({"format": 99})),
        zlib.compress(orjson.dumps({"format": 1, "trees": {}})),
        zlib.compress(b" " * (MOST_BYTES + 1)),
    ],
)
def test_bytes_that_are_no_expert_are_refused(written: bytes) -> None:
    with pytest.raises(ModelError):
        FeatureExpert.from_bytes(written)


def test_without_weight_nothing_moves() -> None:
    masses = an_expert().masses(a_row(the_requested_time=9.0))
    assert np.allclose(moved(masses, 0.0), SHARES)
    rising = moved(masses, 1.0)
    assert rising[0] == 0
    assert rising[-1] == 1
    assert np.all(np.diff(rising) > 0)
    assert masses[0] < WIDTHS[0]


def test_contributions_add_up_and_name_what_rules(fitted: FeatureExpert) -> None:
    rows = examples(seed=6).rows[:200]
    values = shapley_values(fitted, rows[:40], rows, seed=1)
    random = np.random.default_rng(1)
    for at in range(40):
        # The rows that it drew, in the order in which it draws.
        random.permuted(np.tile(np.arange(N_FEATURES), (24, 1)), axis=1)
        drawn = rows[random.integers(len(rows), size=24)]
        off = answer(fitted, rows[at : at + 1])[0] - answer(fitted, drawn).mean()
        assert values[at].sum() == pytest.approx(off, abs=1e-6)
    assert int(np.argmax(np.abs(values).mean(axis=0))) == NAMES.index(RULING)


def test_an_explanation_tells_each_tasks_newest_run(fitted: FeatureExpert) -> None:
    rows = examples(seed=6).rows[:6]
    rows[5] = a_row(the_requested_time=2.5)
    told = explain(fitted, rows, ["a", "b", "a", "b", "a", "b"], seed=1)
    assert [each.task for each in told.tasks] == ["a", "b"]
    of_b = told.of_task("b")
    assert of_b is not None
    assert of_b.words.startswith(f"{RULING}: longer")
    assert told.of_task("c") is None
    assert FeatureExplanation.from_dict(orjson.loads(orjson.dumps(told.to_dict()))) == told
    with pytest.raises(FeatureExplanationError):
        FeatureExplanation.from_dict({"format": 1, "rows": -1})
