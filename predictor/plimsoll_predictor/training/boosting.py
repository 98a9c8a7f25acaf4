"""Training of boosted needs, and what they would have bid in the past.

Where features carry the size, a high quantile of the need given the features is closer than any
bin's ceiling: trees of the pinball loss on log needs. Nothing on the admission path imports this.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.model.boosted import MARGIN, BoostedNeed
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.compile import compile_regression
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.growing import grown
from plimsoll_predictor.training.out_of_time import Bid, ReplayedBids, replayed_bids
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.runs import RunRows

LEVEL: Final = 0.95
"""The quantile: a tenth over it covers most of the rest, and hundreds of runs suffice for it."""
LEAST_RUNS: Final = 20
"""One run is beyond the quantile: with fewer, it is the largest need, which needs no trees."""
ROUNDS: Final = 80
MAX_BIN: Final = 64
PARAMETERS: Final[dict[str, Any]] = {
    "objective": "reg:quantileerror",
    "quantile_alpha": LEVEL,
    "tree_method": "hist",
    "max_bin": MAX_BIN,
    "max_depth": 5,
    "eta": 0.1,
    # Each row counts one in the pinball loss: a leaf has five runs or more.
    "min_child_weight": 5,
    "subsample": 0.8,
    "colsample_bytree": 0.6,
}
"""One setting for every task: with others the figures on the traces differed by about one in a
hundred, less than between seeds, so there is nothing to search."""


def fit_boosted(
    X: NDArray[np.float32], needs_bytes: NDArray[np.float64], *, seed: int, threads: int
) -> BoostedNeed | None:
    """Fit on expanded rows (n, k) and their needs (n,), all above zero. Deterministic by seed.

    None where trees have nothing to say: fewer than LEAST_RUNS, or no column.
    """
    if len(X) < LEAST_RUNS or not X.shape[1]:
        return None
    import xgboost

    data = xgboost.QuantileDMatrix(
        X, np.log(needs_bytes), nthread=threads, max_bin=MAX_BIN, missing=np.nan
    )
    settings = {**PARAMETERS, "nthread": threads, "seed": seed}
    booster = grown(settings, data, ROUNDS)
    return BoostedNeed(
        trees=compile_regression(booster),
        level=LEVEL,
        least_bytes=float(needs_bytes.min()),
        most_bytes=float(needs_bytes.max()),
    )


def boosted_bids(rows: RunRows, plan: TrainingPlan, deadline_s: float) -> ReplayedBids:
    """The bids of boosting in the past. There is no bid where nothing can be fitted."""
    return replayed_bids(rows, plan, deadline_s, partial(_bids_of_fold, rows, plan))


def _bids_of_fold(rows: RunRows, plan: TrainingPlan, fold: Fold) -> dict[int, Bid]:
    past = rows.part(fold.training)
    schema = FeatureSchema.fit(past.features)
    X = schema.expand(schema.encode_rows(past.features))
    boosted = fit_boosted(X, past.needs_bytes, seed=plan.seed, threads=plan.threads)
    if boosted is None:
        return {}
    coming = schema.encode_rows([rows.runs[place].features for place in fold.validation])
    return {
        int(place): Bid(boosted.need_bytes(row) * MARGIN)
        for place, row in zip(fold.validation, schema.expand(coming), strict=True)
    }
