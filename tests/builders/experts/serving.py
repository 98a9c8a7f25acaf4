"""Bins, models and knowledge for the tests of serving."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, ModelMetrics, Predictor

if TYPE_CHECKING:
    import xgboost

TRAIN = TaskId("shop", "train-demand")
REGIONS = ("eu", "us", "asia")

METRICS = ModelMetrics(
    u_score=12.5,
    accuracy=0.91,
    u_rate=0.03,
    optimal_improvement=0.6,
    estimated_improvement=0.52,
    confusion=((40, 2), (1, 57)),
    classifier="xgboost",
    sampler="smote",
    penalty=10.0,
)


def bins_up_to(*ceilings_mib: int) -> Bins:
    """Bins whose needs average nine tenths of the ceiling, each run taking a minute."""
    ceilings = tuple(size * MIB for size in ceilings_mib)
    return Bins(
        ceilings_bytes=ceilings,
        counts=tuple(10 for _ in ceilings),
        mean_need_bytes=tuple(0.9 * size for size in ceilings),
        mean_runtime_s=tuple(60.0 for _ in ceilings),
    )


def history(n: int = 240, seed: int = 0) -> list[dict[str, float | str]]:
    """Features of n runs, as annotations bring them: numbers as text, some missing."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, float | str]] = []
    for index in range(n):
        row: dict[str, float | str] = {
            "rows": str(int(rng.integers(1, 1000))),
            "columns": float(rng.integers(1, 50)),
            "region": REGIONS[int(rng.integers(0, 3))],
            "since": f"2025-{1 + index % 12:02d}-{1 + index % 28:02d}",
        }
        if index % 11 == 0:
            del row["columns"]
        rows.append(row)
    return rows


def train_booster(
    X: NDArray[np.float32], y: NDArray[np.int64], n_classes: int, **settings: Any
) -> xgboost.Booster:
    """A real booster; ``rounds`` and XGBoost's own settings may be given."""
    # Here and below: it takes a second to load, and many users of this module train nothing.
    import xgboost

    rounds = settings.pop("rounds", 8)
    if n_classes == 2:
        settings["objective"] = "binary:logistic"
    else:
        settings |= {"objective": "multi:softprob", "num_class": n_classes}
    settings = {"nthread": 1, "max_depth": 4, "seed": 1} | settings
    return xgboost.train(settings, xgboost.DMatrix(X, y), num_boost_round=rounds)


@cache
def a_model(*ceilings_mib: int, rows: int = 240) -> Model:
    """A model of history(): the more ``rows``, the higher the bin. Trained once a process."""
    from plimsoll_predictor.training.compile import compile_booster

    bins = bins_up_to(*(ceilings_mib or (300, 600, 900)))
    past = history(rows)
    schema = FeatureSchema.fit(past)
    predictor: Predictor | None = None
    if len(bins) > 1:
        X = schema.expand(schema.encode_rows(past))
        y = np.array([int(row["rows"]) * len(bins) // 1000 for row in past], dtype=np.int64)
        predictor = compile_booster(train_booster(X, y, len(bins)), len(bins))
    return Model(
        task=str(TRAIN),
        schema=schema,
        bins=bins,
        predictor=predictor,
        trained_s=1_700_000_000.0,
        observations=rows,
        metrics=METRICS,
    )


def with_boosted(model: Model, *, rows: int = 120) -> Model:
    """The model with boosted needs: the more ``rows`` a run of history() has, the higher."""
    from plimsoll_predictor.training.boosting import fit_boosted

    past = history(rows)
    X = model.schema.expand(model.schema.encode_rows(past))
    needs_bytes = np.array([(100.0 + int(row["rows"])) * MIB for row in past])
    return replace(model, version="", boosted=fit_boosted(X, needs_bytes, seed=1, threads=1))


@dataclass(frozen=True, slots=True)
class AKnownTask:
    """Builds what is known about a task; every step gives a new builder."""

    built: Knowledge = field(
        default_factory=lambda: Knowledge(
            task=TRAIN,
            policy=Policy(),
            runs=212,
            max_need_bytes=800 * MIB,
            largest_bytes=800 * MIB,
            champion=MAX_SEEN,
        )
    )

    def _with(self, **changes: Any) -> AKnownTask:
        return AKnownTask(replace(self.built, **changes))

    def after(self, runs: int) -> AKnownTask:
        return self._with(runs=runs)

    def needing(self, most_mib: int | None) -> AKnownTask:
        most_bytes = None if most_mib is None else most_mib * MIB
        return self._with(max_need_bytes=most_bytes, largest_bytes=most_bytes)

    def served_by(self, champion: str, model: Model | None = None) -> AKnownTask:
        return self._with(champion=champion, model=model)

    def under(self, **policy: Any) -> AKnownTask:
        return self._with(policy=replace(self.built.policy, **policy))

    def lifted(self, run: str, *, to_mib: int, after_mib: int, attempt: int = 2) -> AKnownTask:
        lift = Lift(to_mib * MIB, attempt, after_mib * MIB)
        return self._with(lifts={**self.built.lifts, run: lift})

    def paused(self) -> AKnownTask:
        return self.under(paused=True)
