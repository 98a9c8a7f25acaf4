"""Trees that are grown here equal those of XGBoost's own loop."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from plimsoll_predictor.training.growing import grown


@pytest.mark.parametrize("bins", [2, 3])
def test_the_trees_are_those_of_xgboosts_own_training(bins: int) -> None:
    draws = np.random.default_rng(7)
    X = draws.random((60, 3), dtype=np.float32)
    y = np.arange(60) % bins
    objective = "binary:logistic" if bins == 2 else "multi:softprob"
    settings = {"objective": objective, "seed": 3, "subsample": 0.7, "max_bin": 16}
    if bins > 2:
        settings["num_class"] = bins
    ours = grown(settings, xgboost.QuantileDMatrix(X, y, max_bin=16), 12)
    theirs = xgboost.train(settings, xgboost.QuantileDMatrix(X, y, max_bin=16), 12)
    assert ours.get_dump() == theirs.get_dump()
    assert np.array_equal(ours.inplace_predict(X), theirs.inplace_predict(X))
    assert len(ours.get_dump()) == 12 * (1 if bins == 2 else bins)
