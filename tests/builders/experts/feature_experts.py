"""Feature experts made by hand: they say what a test needs."""

from __future__ import annotations

import numpy as np

from plimsoll_predictor.runtimes.features.feature_expert import N_SHARES, WIDTHS, FeatureExpert
from plimsoll_predictor.runtimes.features.row import N_FEATURES, NAMES
from plimsoll_predictor.runtimes.features.trees import VectorTrees

RULING = "the requested time"
CLEAR = 3.0
"""Log odds by which half of the shares gain."""


def an_expert(
    made_s: float = 1.0, sure: float = CLEAR, asked_ln: float = 5.0, ruling: str = RULING
) -> FeatureExpert:
    """One tree: more than e^5 s asked for means the upper half of the mixture's forecast.

    ruling: another feature's name, in place of the requested time.
    sure: 0 for an expert that always agrees with the mixture; below 0 for one that is always wrong.
    """
    upper = np.where(np.arange(N_SHARES) >= N_SHARES // 2, sure, -sure).astype(np.float32)
    trees = VectorTrees(
        n_features=N_FEATURES,
        n_trees=1,
        slot=np.array([NAMES.index(ruling), 2 * N_FEATURES, 2 * N_FEATURES]),
        threshold=np.array([asked_ln, 0, 0], dtype=np.float32),
        left=np.array([1, 1, 2]),
        leaf=np.array([0, 0, 1]),
        margins=np.concatenate([-upper, upper]),
        base=np.log(WIDTHS),
    )
    return FeatureExpert(trees=trees, made_s=made_s, runs=600)


def a_row(**values: float) -> list[float]:
    """A row in which only these are known; a name's spaces are underscores."""
    row = [float("nan")] * N_FEATURES
    for name, value in values.items():
        row[NAMES.index(name.replace("_", " "))] = value
    return row
