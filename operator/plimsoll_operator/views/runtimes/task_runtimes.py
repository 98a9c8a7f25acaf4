"""One task's runtimes, known, forecast and imagined, at a bounded cost however much is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.profile.runtime_status import SHOWN_RUNS, RuntimeFacts, runtime_status
from plimsoll_operator.views.runtimes.feature_facts import FeatureFacts, feature_facts
from plimsoll_operator.views.runtimes.stored_forecasts import READ_RUNS, stored_forecast, succeeded
from plimsoll_operator.wording.forecast_words import quantiles_dict
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import KNOWN_TO_S, SMALLEST_S
from plimsoll_predictor.runtimes.shapes.catalogue import Shape, ShapeLabel
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.runtimes.shapes.variation_summary import RuntimeSummary, summarise
from plimsoll_predictor.runtimes.what_if.estimating import estimate
from plimsoll_predictor.runtimes.what_if.past_run import of_observations
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.what_if import WhatIf
from plimsoll_predictor.store import Store
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

LONG_FROM: Final = 0.99
SHORT_TO: Final = 0.01
OWN_RUNS: Final = 5_000
OTHER_TASKS: Final = 20
RUNS_OF_OTHERS: Final = 500


class Anomaly(StrEnum):
    """How a run differs from its forecast."""

    LONG = "longer than 99 of 100 forecast"
    SHORT = "shorter than 99 of 100 forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypicalShape:
    """The learned shape that a task's runs are most like.

    place: its place among ``shapes``; the narrowest is 0. share: the probability of the shape.
    """

    shape: Shape
    place: int
    shapes: int
    share: float
    version: int
    normalisation: Normalisation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskRuntimes:
    """One task's runtimes and their forecast.

    at_s: when the run that is forecast is submitted. past: its newest attempts that were timed,
        oldest first. shares: attempt uid -> share of its forecast below its runtime, as far as
        known. runtimes_s: of the newest attempts that succeeded, those that its profile looks at,
        oldest first, as the grid can hold them. summary, trend, typical: of these; None if there
        are no, or too few, runs or shapes; trend is in the words of the task's profile. features:
        how much they count in the forecast. alone: whether the forecast was learned from ``past``
        alone, as no controller has learned from it.
    """

    task: TaskId
    at_s: float
    forecast: Forecast
    past: tuple[PastRuntime, ...]
    shares: Mapping[str, float]
    runtimes_s: tuple[float, ...]
    summary: RuntimeSummary | None
    trend: str | None
    typical: TypicalShape | None
    features: FeatureFacts
    alone: bool = False

    @property
    def runs(self) -> tuple[PastRuntime, ...]:
        """The attempts of ``past`` that succeeded: a killed attempt's time is no runtime."""
        return tuple(succeeded(self.past))

    def anomaly(self, each: PastRuntime) -> Anomaly | None:
        """How one of ``past`` differs from its forecast; None if it does not, or has none."""
        share = self.shares.get(each.attempt_uid)
        if share is None or each.outcome is not Outcome.SUCCEEDED:
            return None
        if share >= LONG_FROM:
            return Anomaly.LONG
        # The longest runs are not short, though most of their forecast may be longer still; nor are
        # the shortest: no forecast tells apart what a clock of whole seconds does not.
        within = SMALLEST_S < each.ran_s < KNOWN_TO_S
        return Anomaly.SHORT if share <= SHORT_TO and within else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        forecast, typical = self.forecast, self.typical
        return {
            "task": str(self.task),
            "at_s": self.at_s,
            "known_runs": forecast.known_runs,
            "usual_s": forecast.usual_s,
            **quantiles_dict(forecast),
            "longer_than_2_times_usual": forecast.longer_than_usual(2),
            "longer_than_10_times_usual": forecast.longer_than_usual(10),
            "variation": self.summary.to_dict() if self.summary else None,
            "trend": self.trend,
            "typical_shape": _typical_dict(typical) if typical else None,
            "features": self.features.to_dict(),
        }


def gather_runtimes(store: Store, task: TaskId, at_s: float) -> TaskRuntimes:
    """Read one task.

    Raises:
        StoreError: if the store cannot be read now.
    """
    past = store.runtimes.history(task, limit=READ_RUNS)
    newest_s = store.runtimes.newest(task, limit=SHOWN_RUNS)
    runtimes_s = tuple(max(each, SMALLEST_S) for each in newest_s)
    stored = stored_forecast(store, task, at_s, past)
    status = runtime_status(RuntimeFacts(stored.forecast, runtimes_s)) or {}
    return TaskRuntimes(
        task=task,
        at_s=at_s,
        forecast=stored.forecast,
        past=tuple(past),
        shares=stored.shares,
        runtimes_s=runtimes_s,
        summary=summarise(runtimes_s) if runtimes_s else None,
        trend=status.get("trendWords"),
        typical=_typical(store, runtimes_s),
        features=feature_facts(store, task, stored.feature_weight),
        alone=stored.alone,
    )


def ask_what_if(
    store: Store,
    task: TaskId,
    scenario: Scenario,
    *,
    own_runs: int = OWN_RUNS,
    others: int = OTHER_TASKS,
) -> WhatIf:
    """Tell how the scenario would change the task's runtimes.

    own_runs: how many of its newest attempts are read. others: how many other tasks of its owner.

    Raises:
        StoreError: if the store cannot be read now.
    """
    runs = of_observations(store.observations.of_task(task, limit=own_runs))
    beside = store.runtimes.others(task, tasks=others, limit=RUNS_OF_OTHERS) if others else {}
    of_others = {str(other): of_observations(past) for other, past in beside.items()}
    return estimate(runs, scenario, of_others)


def _typical(store: Store, runtimes_s: tuple[float, ...]) -> TypicalShape | None:
    catalogue = store.shapes.catalogue() if runtimes_s else None
    if catalogue is None:
        return None
    label: ShapeLabel = catalogue.label(runtimes_s)
    return TypicalShape(
        shape=catalogue.shapes[label.place],
        place=label.place,
        shapes=len(catalogue.shapes),
        share=label.posterior[label.name],
        version=catalogue.version,
        normalisation=catalogue.normalisation,
    )


def _typical_dict(typical: TypicalShape) -> dict[str, Any]:
    statistics = typical.shape.statistics
    return {
        "name": typical.shape.name,
        "share": typical.share,
        "version": typical.version,
        "normalisation": typical.normalisation.value,
        "outlier_share": statistics.outlier_share,
        "interquartile": statistics.interquartile,
        "p95": statistics.p95,
    }
