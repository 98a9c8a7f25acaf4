"""The builds as Plimsoll serves them: it trains and decides as in service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.sap.builds import PENALTY, TASK, Builds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.deciding.choosing import cheapest_ceiling
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN, REQUEST
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.training.train import TrainingPlan, train
from plimsoll_predictor.training.when_due import Since, should_train

POLICY: Final = Policy(penalty=PENALTY)
"""The defaults, except the cost of a failed build: the score defines that."""
SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is trained.

    iterations: of the search for a classifier, per training.
    every: only each ``every``-th training that Plimsoll would make is made.
    """

    iterations: int
    every: int


FULL: Final = Effort(iterations=4, every=1)
QUICK: Final = Effort(iterations=1, every=4)


@dataclass(frozen=True, slots=True)
class Span:
    """Builds first to end (excluded), all decided by one training, which knew ``known`` builds."""

    known: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Served:
    """First sizes in bytes of a span's builds by each expert, and the sizes that were served.

    cheapest: the expert that had been the cheapest out of time. bins: of the classifier.
    """

    span: Span
    classifier_bytes: Sequence[float]
    boosting_bytes: Sequence[float]
    overall_bytes: Sequence[float]
    cheapest: str
    bins: int
    training_s: float


def spans(builds: Builds, effort: Effort) -> list[Span]:
    """The trainings Plimsoll would make whose sizes are scored, in order."""
    starts: list[int] = []
    trained: int | None = None
    for place, known in enumerate(builds.known.tolist()):
        if should_train(Since(runs=known, min_runs=POLICY.min_runs, trained_runs=trained)):
            starts.append(place)
            trained = known
    # Count from the last one before the first scored build, which must have a training.
    before = sum(start <= builds.first_scored for start in starts)
    kept = starts[max(before - 1, 0) :: effort.every]
    ends = [*kept[1:], len(builds)]
    return [
        Span(int(builds.known[first]), first, end) for first, end in zip(kept, ends, strict=True)
    ]


def served(builds: Builds, span: Span, effort: Effort) -> Served:
    """One training on what is known at a span's first build, and the sizes of the span's builds."""
    began_s = time.perf_counter()
    plan = TrainingPlan(
        policy=POLICY,
        seed=SEED,
        clock=lambda: 0.0,  # the budget is never spent: the same sizes on every machine
        now_s=0.0,
        budget_s=1.0,
        iterations=effort.iterations,
    )
    trained = train(str(TASK), builds.observations(span.known), plan)
    costs = trained.report.out_of_time_costs
    cheapest = min(costs, key=lambda name: costs[name].cost_gb_h)
    coming = builds.features[span.first : span.end]
    max_seen_bytes = float(builds.needs_bytes[: span.known].max()) * POLICY.headroom
    sizes = {
        CLASSIFIER: _by_classifier(trained.model, coming),
        BOOSTING: [
            trained.model.boosted_bid_bytes(features) or max_seen_bytes for features in coming
        ],
        MAX_SEEN: [max_seen_bytes] * len(coming),
        REQUEST: builds.requests_bytes[span.first : span.end].tolist(),
    }
    return Served(
        span=span,
        classifier_bytes=sizes[CLASSIFIER],
        boosting_bytes=sizes[BOOSTING],
        overall_bytes=sizes[cheapest],
        cheapest=cheapest,
        bins=len(trained.model.bins),
        training_s=time.perf_counter() - began_s,
    )


def joined(builds: Builds, parts: Sequence[tuple[Span, Sequence[float]]]) -> NDArray[np.float64]:
    """Sizes of spans as one array (n,); NaN where none was decided."""
    sizes = np.full(len(builds), np.nan)
    for span, sizes_bytes in parts:
        sizes[span.first : span.end] = sizes_bytes
    return sizes


def _by_classifier(model: Model, coming: Sequence[Features]) -> list[float]:
    return [
        float(cheapest_ceiling(model.probabilities(row), model.bins, PENALTY).ceiling_bytes)
        for row in coming
    ]
