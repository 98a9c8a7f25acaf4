"""One row through a 300-tree, depth-6 model: our walk against XGBoost's own inplace_predict."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

TREES, DEPTH, BINS, FEATURES, ROWS = 300, 6, 2, 20, 4000
ROUNDS, CALLS = 40, 200


def measure() -> dict[str, float]:
    """Microseconds per row of both, the median of interleaved rounds, and that they agree."""
    import numpy as np
    import xgboost

    from plimsoll_predictor.training.compile import compile_booster

    draw = np.random.default_rng(3)
    X = draw.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + draw.normal(scale=0.5, size=ROWS) > 0).astype(int)
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": DEPTH, "nthread": 1, "seed": 3},
        xgboost.DMatrix(X, y),
        num_boost_round=TREES,
    )
    trees = compile_booster(booster, BINS)
    row = X[:1]
    ours = trees.probabilities(row[0])
    theirs = float(booster.inplace_predict(row)[0])
    if not np.isclose(ours[1], theirs, rtol=1e-5):
        raise SystemExit(f"bench walk: {ours[1]} is not XGBoost's {theirs}")
    walks, predicts = [], []
    for _ in range(ROUNDS):
        walks.append(_per_call_us(lambda: trees.probabilities(row[0])))
        predicts.append(_per_call_us(lambda: booster.inplace_predict(row)))
    return {"walk_us": statistics.median(walks), "inplace_us": statistics.median(predicts)}


def _per_call_us(call: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began_s) / CALLS * 1e6


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
