"""Fits the feature expert to runs that have finished: boosted trees with a vector in each leaf."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.runtimes.features.feature_expert import N_SHARES, FeatureExpert
from plimsoll_predictor.runtimes.features.row import N_FEATURES
from plimsoll_predictor.runtimes.features.trees import VectorTrees

LEAST_RUNS: Final = 400
GROWTH: Final = 1.5
"""It is fitted again when this many times the runs of the last fit are known ..."""
MOST_BETWEEN: Final = 30_000
"""... or so many more."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """How trees are grown: one configuration for every cluster.

    newest_runs: the most that they are fitted to.
    """

    newest_runs: int = 60_000
    trees: int = 80
    depth: int = 6
    rate: float = 0.1
    least_weight: float = 5.0
    row_share: float = 0.7
    column_share: float = 0.7
    bins: int = 64


FIT_SETTINGS: Final = FitSettings()


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Finished runs. rows: (n, N_FEATURES). places: (n,) where each lay in its forecast."""

    rows: NDArray[np.float32]
    places: NDArray[np.int64]


def is_due(known: int, fitted_at: int) -> bool:
    """Whether to fit: known runs, and how many were known at the last fit (0: never)."""
    if known < LEAST_RUNS:
        return False
    return known >= min(fitted_at * GROWTH, fitted_at + MOST_BETWEEN)


def fit(
    examples: Examples, made_s: float, *, seed: int, settings: FitSettings = FIT_SETTINGS
) -> FeatureExpert:
    """Fit to the newest of the examples, which are in the order of their finish.

    Raises ValueError for fewer than LEAST_RUNS.
    """
    # Only fitting needs it, and it takes a second to load.
    import xgboost

    rows, places = (each[-settings.newest_runs :] for each in (examples.rows, examples.places))
    if len(places) < LEAST_RUNS:
        raise ValueError(
            f"{len(places)} finished runs are too few to fit to; {LEAST_RUNS} are needed"
        )
    base = np.log((np.bincount(places, minlength=N_SHARES) + 1.0) / (len(places) + N_SHARES))
    matrix = xgboost.QuantileDMatrix(
        rows,
        places,
        base_margin=np.tile(base, (len(places), 1)),
        max_bin=settings.bins,
        nthread=1,
    )
    grown = xgboost.train(
        {
            "objective": "multi:softprob",
            "num_class": N_SHARES,
            "multi_strategy": "multi_output_tree",
            "tree_method": "hist",
            "max_depth": settings.depth,
            "eta": settings.rate,
            "min_child_weight": settings.least_weight,
            "subsample": settings.row_share,
            "colsample_bytree": settings.column_share,
            "max_bin": settings.bins,
            "nthread": 1,
            "seed": seed,
        },
        matrix,
        settings.trees,
    )
    document = json.loads(grown.save_raw("json"))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    return FeatureExpert(trees=_compiled(trees, base), made_s=made_s, runs=len(places))


def _compiled(trees: list[dict[str, Any]], base: NDArray[np.float64]) -> VectorTrees:
    """The forest in level order over all trees."""
    level = [(tree, 0) for tree in range(len(trees))]
    numbers: dict[tuple[int, int], int] = {}
    while level:
        deeper = []
        for tree, node in level:
            numbers[tree, node] = len(numbers)
            left = trees[tree]["left_children"][node]
            if left >= 0:
                deeper += [(tree, left), (tree, trees[tree]["right_children"][node])]
        level = deeper
    slot = np.full(len(numbers), 2 * N_FEATURES, dtype=np.intp)
    threshold = np.zeros(len(numbers), dtype=np.float32)
    left_child = np.arange(len(numbers), dtype=np.intp)
    leaf = np.zeros(len(numbers), dtype=np.intp)
    margins: list[NDArray[np.float32]] = []
    vectors = [
        np.array(tree["leaf_weights"], dtype=np.float32).reshape(-1, len(base)) for tree in trees
    ]
    for (tree, node), number in numbers.items():
        written = trees[tree]
        left = written["left_children"][node]
        if left < 0:
            leaf[number] = len(margins)
            # A leaf's right child is its row among the leaves of its tree.
            margins.append(vectors[tree][written["right_children"][node]])
            continue
        feature = written["split_indices"][node]
        slot[number] = feature if written["default_left"][node] else N_FEATURES + feature
        threshold[number] = written["split_conditions"][node]
        left_child[number] = numbers[tree, left]
    return VectorTrees(
        n_features=N_FEATURES,
        n_trees=len(trees),
        slot=slot,
        threshold=threshold,
        left=left_child,
        leaf=leaf,
        margins=np.concatenate(margins),
        base=base,
    )
