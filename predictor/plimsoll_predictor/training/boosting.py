"""Training of boosted needs, and what they would have bid in the past.

Where features carry the size, a high quantile of the need given the features is closer than any
bin's ceiling: trees of the pinball loss on log needs. Nothing on the admission path imports this.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.record import Features
from plimsoll_predictor.model.boosted import MARGIN, BoostedNeed
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.compile import compile_regression
from plimsoll_predictor.training.folds import Fold
from plimsoll_predictor.training.out_of_time import Bid, ReplayedBids, ReplayPlan, replayed_bids
from plimsoll_predictor.training.runs import RunRows

LEVEL: Final = 0.95
"""The quantile: far enough out for a factor of a tenth over it to cover most of the rest, near
enough to be learned from hundreds of runs."""
LEAST_RUNS: Final = 20
"""One run beyond the quantile: with fewer it is the largest need seen, which needs no trees."""
ROUNDS: Final = 80
MAX_BIN: Final = 64
PARAMETERS: Final[dict[str, Any]] = {
    "objective": "reg:quantileerror",
    "quantile_alpha": LEVEL,
    "tree_method": "hist",
    "max_bin": MAX_BIN,
    "max_depth": 5,
    "eta": 0.1,
    # Of the pinball loss each row counts one: no leaf speaks for fewer than five runs.
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
    booster = xgboost.train(settings, data, num_boost_round=ROUNDS)
    return BoostedNeed(
        trees=compile_regression(booster),
        level=LEVEL,
        least_bytes=float(needs_bytes.min()),
        most_bytes=float(needs_bytes.max()),
    )


def boosted_bids(rows: RunRows, plan: ReplayPlan) -> ReplayedBids:
    """The bids of boosting in the past. There is no bid where nothing can be fitted."""
    return replayed_bids(len(rows.runs), plan, partial(_bids_of_fold, rows, plan))


def _bids_of_fold(rows: RunRows, plan: ReplayPlan, fold: Fold) -> dict[int, Bid]:
    past = rows.part(fold.training)
    schema = FeatureSchema.fit(past.features)
    X = schema.expand(schema.encode_rows(past.features))
    boosted = fit_boosted(X, past.needs_bytes, seed=plan.seed, threads=plan.threads)
    if boosted is None:
        return {}
    coming = [rows.runs[place].features for place in fold.validation]
    needs_bytes = needs_of_rows(boosted, schema, coming)
    return {
        int(place): Bid(need_bytes * MARGIN)
        for place, need_bytes in zip(fold.validation, needs_bytes, strict=True)
    }


def needs_of_rows(
    boosted: BoostedNeed, schema: FeatureSchema, rows: Sequence[Features]
) -> list[float]:
    """``need_bytes`` of each run, by the schema the trees were fitted with."""
    expanded = schema.expand(schema.encode_rows(rows))
    return [boosted.need_bytes(row) for row in expanded]
