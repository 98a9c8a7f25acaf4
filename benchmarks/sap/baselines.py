"""The baselines for Plimsoll on the builds. Each gives every build its first size, (n,)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.sap.builds import Builds
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.boosting import MAX_BIN, PARAMETERS, ROUNDS

Sizes = NDArray[np.float64]
LEAST_OF_A_PROFILE: Final = 3
"""With fewer builds of a profile, the percentile of all profiles together replaces its own."""
GROWTH: Final = 1.1
"""It learns again whenever a tenth more builds are known, as Plimsoll does."""
FIRST_LEARNED_AT: Final = 200
N_BINS, CERTAIN, BIN_ROUNDS, BIN_DEPTH = 5, 0.8, 100, 6

Learner = Callable[[Sequence[Features], Sizes], Callable[[Sequence[Features]], Sizes]]
"""From known builds' features and needs to sizes for further builds."""


def requested(builds: Builds) -> Sizes:
    """The builds' requests."""
    return builds.requests_bytes


def percentile_per_profile(builds: Builds) -> Sizes:
    """1.1 times the 95th percentile of the known builds of the same profile."""
    known: dict[object, list[float]] = defaultdict(list)
    everyone: list[float] = []
    sizes = builds.requests_bytes.copy()
    for place, features in enumerate(builds.features):
        for learned in range(len(everyone), int(builds.known[place])):
            need_bytes = float(builds.needs_bytes[learned])
            known[builds.features[learned].get("buildProfile")].append(need_bytes)
            everyone.append(need_bytes)
        own = known[features.get("buildProfile")]
        needs = own if len(own) >= LEAST_OF_A_PROFILE else everyone
        if needs:
            sizes[place] = 1.1 * float(np.quantile(needs, 0.95))
    return sizes


def boosted_97(builds: Builds) -> Sizes:
    """1.1 times the boosted 97th percentile; the time of submission is a feature."""
    return _learned_anew(builds, _boosted_97, _with_times(builds))


def uniform_bins(builds: Builds) -> Sizes:
    """XGBoost over bins of equal width: the likeliest bin, or the next above if unsure."""
    return _learned_anew(builds, _uniform_bins, builds.features)


BASELINES: Final[Mapping[str, tuple[Callable[[Builds], Sizes], float]]] = {
    "requests": (requested, 161.8),
    "P95 per profile x 1.1": (percentile_per_profile, 95.3),
    "quantile boosting, 0.97 x 1.1": (boosted_97, 90.4),
    "XGBoost, uniform bins": (uniform_bins, 117.5),
}
"""Name -> the rule, and its published score; for the bins the middle of 112 to 123."""


def _with_times(builds: Builds) -> Sequence[Features]:
    return [
        {**features, "submitted": datetime.fromtimestamp(at_s, UTC).isoformat()}
        for features, at_s in zip(builds.features, builds.submitted_s.tolist(), strict=True)
    ]


def _learned_anew(builds: Builds, learner: Learner, features: Sequence[Features]) -> Sizes:
    sizes = builds.requests_bytes.copy()
    starts = [0]
    for place, known in enumerate(builds.known):
        if known >= max(FIRST_LEARNED_AT, GROWTH * builds.known[starts[-1]]):
            starts.append(place)
    for first, end in zip(starts[1:], [*starts[2:], len(builds)], strict=True):
        if end > builds.first_scored:
            known = int(builds.known[first])
            sizes[first:end] = learner(features[:known], builds.needs_bytes[:known])(
                features[first:end]
            )
    return sizes


def _boosted_97(
    features: Sequence[Features], needs_bytes: Sizes
) -> Callable[[Sequence[Features]], Sizes]:
    import xgboost

    schema = FeatureSchema.fit(features)
    data = xgboost.QuantileDMatrix(
        schema.expand(schema.encode_rows(features)), np.log(needs_bytes), max_bin=MAX_BIN
    )
    settings: dict[str, Any] = {**PARAMETERS, "quantile_alpha": 0.97, "nthread": 1, "seed": 1}
    booster = xgboost.train(settings, data, num_boost_round=ROUNDS)

    def sizes(coming: Sequence[Features]) -> Sizes:
        found = booster.inplace_predict(schema.expand(schema.encode_rows(coming)))
        return np.asarray(1.1 * np.exp(found), dtype=np.float64)

    return sizes


def _uniform_bins(
    features: Sequence[Features], needs_bytes: Sizes
) -> Callable[[Sequence[Features]], Sizes]:
    import xgboost

    schema = FeatureSchema.fit(features)
    ceilings = np.linspace(needs_bytes.min(), needs_bytes.max(), N_BINS + 1)[1:]
    met, labels = np.unique(np.searchsorted(ceilings, needs_bytes), return_inverse=True)
    data = xgboost.QuantileDMatrix(schema.expand(schema.encode_rows(features)), labels)
    settings: dict[str, Any] = {
        "objective": "multi:softprob",
        "num_class": len(met),
        "tree_method": "hist",
        "max_depth": BIN_DEPTH,
        "eta": 0.1,
        "nthread": 1,
        "seed": 1,
    }
    booster = xgboost.train(settings, data, num_boost_round=BIN_ROUNDS)

    def sizes(coming: Sequence[Features]) -> Sizes:
        proba = np.asarray(booster.inplace_predict(schema.expand(schema.encode_rows(coming))))
        likeliest = proba.argmax(axis=1) + (proba.max(axis=1) < CERTAIN)
        return np.asarray(ceilings[met[np.minimum(likeliest, len(met) - 1)]], dtype=np.float64)

    return sizes
