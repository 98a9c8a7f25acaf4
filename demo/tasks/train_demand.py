"""Train a demand forecast: one of the demo's two tasks, an ordinary Python ML job.

It makes a table of articles and what is known of them, derives features, holds a part back, trains
an XGBoost model on the rest and prints how good it is. Memory follows the table's size, ``--rows``
times ``--columns``: the raw table, the derived one, the split and XGBoost's own copy exist at the
same time, as in many training scripts. Nothing is allocated for show.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xgboost
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

ROUNDS = 12
"""Boosting rounds; few, because the demo's runs should last seconds."""
INFORMATIVE = 5
"""Columns that the demand really depends on; the others are noise, as in real tables."""


def raw_table(rows: int, columns: int, seed: int) -> pd.DataFrame:
    """The data of each article: (rows, columns) float64, with gaps as real tables have."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, columns))
    gaps = random.integers(0, rows, size=rows // 50)
    values[gaps, random.integers(0, columns, size=gaps.size)] = np.nan
    return pd.DataFrame(values, columns=[f"known_{number}" for number in range(columns)])


def demand_of(known: pd.DataFrame, seed: int) -> NDArray[np.float64]:
    """The demand to be learned, (rows,): a sum over the informative columns, and noise."""
    random = np.random.default_rng(seed + 1)
    informative = known.iloc[:, :INFORMATIVE].fillna(0.0).to_numpy()
    weights = random.uniform(0.5, 2.0, size=informative.shape[1])
    noise = random.normal(0.0, 0.3, size=len(known))
    return np.asarray(np.tanh(informative) @ weights + noise, dtype=np.float64)


def derived_features(known: pd.DataFrame) -> pd.DataFrame:
    """Each column scaled, and its distance from its running mean; twice as wide as ``known``."""
    filled = known.fillna(known.iloc[:10_000].median())
    scaled = (filled - filled.mean()) / filled.std()
    drift = filled - filled.ewm(span=50).mean()
    return pd.concat([scaled, drift.add_prefix("drift_of_")], axis="columns")


def most_telling(features: pd.DataFrame, demand: NDArray[np.float64], columns: int) -> pd.DataFrame:
    """The ``columns`` features that correlate most with the demand, in their own order."""
    centred = demand - demand.mean()
    strength = np.abs(features.to_numpy().T @ centred) / features.std().to_numpy()
    chosen = np.sort(np.argsort(strength)[-columns:])
    return features.iloc[:, chosen]


def train(rows: int, columns: int, seed: int) -> float:
    """Train once. Returns the root mean squared error on the part that was held back."""
    known = raw_table(rows, columns, seed)
    demand = demand_of(known, seed)
    features = derived_features(known)
    telling = most_telling(features, demand, columns)
    parts = train_test_split(telling, demand, test_size=0.2, random_state=seed)
    train_features, test_features, train_demand, test_demand = parts
    settings = {
        "objective": "reg:squarederror",
        "tree_method": "hist",
        "max_depth": 4,
        "max_bin": 64,
        "eta": 0.3,
        "nthread": 1,
        "seed": seed,
    }
    train_matrix = xgboost.DMatrix(train_features, train_demand, nthread=1)
    booster = xgboost.train(settings, train_matrix, num_boost_round=ROUNDS)
    forecast = booster.predict(xgboost.DMatrix(test_features, nthread=1))
    return float(np.sqrt(np.mean((forecast - test_demand) ** 2)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, train, print one line."""
    parser = argparse.ArgumentParser(description="Train a demand forecast on a generated table.")
    parser.add_argument("--rows", type=int, required=True, help="articles in the table, >= 100")
    parser.add_argument("--columns", type=int, required=True, help="columns of the table, >= 5")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.rows < 100 or given.columns < INFORMATIVE:
        parser.error(f"needs at least 100 rows and {INFORMATIVE} columns")
    started_s = time.monotonic()
    with threadpool_limits(limits=1):
        error = train(given.rows, given.columns, given.seed)
    print(
        f"train-demand rows={given.rows} columns={given.columns} "
        f"rmse={error:.4f} seconds={time.monotonic() - started_s:.1f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
