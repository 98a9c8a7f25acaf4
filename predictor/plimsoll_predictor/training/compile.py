"""Compiles a fitted classifier to arrays that numpy alone answers from.

Only training needs this file. It runs without xgboost and scikit-learn: a fitted classifier brings
its own methods.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.model.svm import CompiledSvm
from plimsoll_predictor.model.trees import MAX_CLASSES, CompiledTrees

if TYPE_CHECKING:
    from xgboost import Booster


def compile_booster(booster: Booster, n_bins: int) -> CompiledTrees:
    """Compile a booster of ``multi:softprob`` or ``binary:logistic`` that tells n_bins apart.

    An early-stopped booster is cut after its best round, as XGBClassifier.predict_proba does.

    Raises:
        ModelError: for other boosters than gbtree, other objectives, categorical splits, trees
            with vector leaves, and a number of classes that is not n_bins.
    """
    learner = _learner(booster)
    base = _base_margins(learner)
    binary = learner["objective"]["name"] == "binary:logistic"
    n_classes = 2 if binary else len(base)
    if n_classes != n_bins:
        raise ModelError(f"a booster of {n_classes} classes cannot serve {n_bins} bins")
    return _compiled(learner, base, n_classes)


def compile_regression(booster: Booster) -> CompiledTrees:
    """Compile a booster of one quantile (``reg:quantileerror``); its margin is the answer.

    Raises:
        ModelError: for other objectives, several quantiles, and what ``compile_booster`` refuses.
    """
    learner = _learner(booster)
    objective = learner["objective"]["name"]
    if objective != "reg:quantileerror":
        raise ModelError(f"cannot compile the objective {objective!r}; train reg:quantileerror")
    base = _written_scores(learner)
    if len(base) != 1:
        raise ModelError(f"cannot compile {len(base)} quantiles at once; train one")
    return _compiled(learner, np.array(base, dtype=np.float64), 1)


def _learner(booster: Booster) -> dict[str, Any]:
    """The booster's JSON, cut after its best round if it was stopped early."""
    best = booster.attr("best_iteration")
    if best is not None:
        booster = booster[: int(best) + 1]
    learner: dict[str, Any] = json.loads(booster.save_raw(raw_format="json"))["learner"]
    grown = learner["gradient_booster"]
    # XGBoost 3.4 calls a booster that dropped trees "gbtree", too; its trees have weights.
    kind = "dart" if "weight_drop" in grown.get("model", ()) else grown["name"]
    if kind != "gbtree":
        raise ModelError(f"cannot compile a {kind!r} booster; train with booster='gbtree'")
    return learner


def _compiled(learner: dict[str, Any], base: NDArray[np.float64], n_classes: int) -> CompiledTrees:
    """Trees laid out level by level; children side by side."""
    n_features = int(learner["learner_model_param"]["num_feature"])
    trees = _in_rounds(learner["gradient_booster"]["model"], len(base))
    slots: list[int] = []
    values: list[float] = []
    lefts: list[int] = []
    level = [(tree, 0) for tree in trees]
    while level:
        next_level: list[tuple[dict[str, Any], int]] = []
        first_child = len(slots) + len(level)
        for tree, node in level:
            values.append(tree["split_conditions"][node])
            left = tree["left_children"][node]
            if left < 0:
                lefts.append(len(slots))
                slots.append(2 * n_features)
                continue
            lefts.append(first_child + len(next_level))
            missing_right = 0 if tree["default_left"][node] else n_features
            slots.append(tree["split_indices"][node] + missing_right)
            next_level += [(tree, left), (tree, tree["right_children"][node])]
        level = next_level
    return CompiledTrees(
        n_classes=n_classes,
        n_features=n_features,
        n_trees=len(trees),
        slot=np.array(slots, dtype=np.intp),
        value=np.array(values, dtype=np.float32),
        left=np.array(lefts, dtype=np.intp),
        base=base,
    )


def compile_svm(
    svc: Any, scaler: Any, medians: NDArray[np.float64], calibration: NDArray[np.float64]
) -> CompiledSvm:
    """Compile a fitted ``sklearn.svm.SVC`` with an RBF kernel.

    scaler: the fitted StandardScaler its rows went through, after imputing.
    medians: (n_features,), what stands for a missing value.
    calibration: (n_bins, n_bins): P(true bin | predicted bin), a row per prediction.

    Raises:
        ModelError: for other kernels, and classes other than 0 .. n_bins - 1.
    """
    if svc.kernel != "rbf":
        raise ModelError(f"cannot compile a {svc.kernel!r} kernel; train with kernel='rbf'")
    if list(svc.classes_) != list(range(len(calibration))):
        raise ModelError(
            f"an SVM of classes {list(svc.classes_)} cannot serve {len(calibration)} bins; each "
            "bin needs a run in training"
        )
    # gamma="scale" is resolved when fitting; only the private attribute has its number.
    return CompiledSvm(
        gamma=float(svc._gamma),
        median=_wide(medians),
        mean=_wide(scaler.mean_),
        scale=_wide(scaler.scale_),
        vectors=_wide(svc.support_vectors_),
        n_vectors_of_class=np.asarray(svc.n_support_, dtype=np.int32),
        coefficients=_wide(svc.dual_coef_),
        intercepts=_wide(svc.intercept_),
        calibration=_wide(calibration),
    )


def _wide(values: Any) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64, order="C")


def _base_margins(learner: dict[str, Any]) -> NDArray[np.float64]:
    """Margins before any tree, (n_groups,)."""
    objective = learner["objective"]["name"]
    scores = _written_scores(learner)
    if objective == "binary:logistic":
        # Written as a probability; float32 as XGBoost holds it.
        probability = float(np.float32(scores[0]))
        return np.array([math.log(probability / (1.0 - probability))])
    if objective != "multi:softprob":
        raise ModelError(
            f"cannot compile the objective {objective!r}; train with multi:softprob or "
            "binary:logistic"
        )
    n_classes = int(learner["learner_model_param"]["num_class"])
    if not 1 <= n_classes <= MAX_CLASSES:
        raise ModelError(f"cannot compile {n_classes} classes; at most {MAX_CLASSES}")
    # One score for all classes shifts all margins alike, which softmax does not see.
    return np.array(scores if len(scores) == n_classes else [0.0] * n_classes, dtype=np.float64)


def _written_scores(learner: dict[str, Any]) -> list[float]:
    """XGBoost 3 writes "[a,b]", older ones one number."""
    written = json.loads(learner["learner_model_param"]["base_score"])
    return written if isinstance(written, list) else [written]


def _in_rounds(model: dict[str, Any], n_groups: int) -> list[dict[str, Any]]:
    """The trees with groups taking turns, whatever the number of parallel trees."""
    for tree in model["trees"]:
        _check_tree(tree)
    groups = np.array(model["tree_info"], dtype=np.int64)
    if len(groups) % n_groups:
        raise ModelError(f"{len(groups)} trees do not divide into {n_groups} classes")
    order = np.argsort(groups, kind="stable").reshape(n_groups, -1).T.ravel()
    return [model["trees"][index] for index in order]


def _check_tree(tree: dict[str, Any]) -> None:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise ModelError("cannot compile trees with vector leaves; train one tree per class")
    if any(tree["split_type"]):
        raise ModelError("cannot compile categorical splits; expand categories before training")
