"""How much features count in a task's forecasts; if they do not count, why."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.wording.figure_words import words_for_minute
from plimsoll_operator.wording.forecast_words import words_for_chance
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.runtimes.features.fitting import LEAST_RUNS
from plimsoll_predictor.store import LastTry, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureFacts:
    """What the expert that knows features says about one task.

    weight: how much it counts beside the past, 0 to 1; None if it does not serve. runs: how many
    it was fitted to. reasons: what moved the forecast of the task's newest run; empty if unknown.
    """

    weight: float | None
    runs: int
    last: LastTry | None
    reasons: str

    @property
    def words(self) -> str:
        """One line for people."""
        failed = self.last is not None and self.last.failure is not None
        if self.weight is None:
            if failed and self.last is not None:
                return f"the past alone; they could not be fitted: {self.last.failure}"
            return f"the past alone, until {LEAST_RUNS} attempts have been learned from"
        words = f"count {words_for_chance(self.weight)}, fitted to {counted(self.runs, 'run')}"
        if failed and self.last is not None:
            words += f"; fitting again failed at {words_for_minute(self.last.at_s)}"
        return f"{words}; of its newest run: {self.reasons}" if self.reasons else words

    def to_dict(self) -> dict[str, object]:
        """Plain JSON types."""
        return {
            "weight": self.weight,
            "fitted_to_runs": self.runs,
            "failure": self.last.failure if self.last else None,
            "reasons": self.reasons,
            "words": self.words,
        }


def feature_facts(store: Store, task: TaskId, weight: float | None) -> FeatureFacts:
    """Read them. weight: theirs in the task's forecast. StoreError if the store cannot be read."""
    serving = store.features.serving() if weight is not None else None
    explanation = store.features.explanation() if serving is not None else None
    reasons = explanation.of_task(str(task)) if explanation else None
    return FeatureFacts(
        weight=weight,
        runs=serving.runs if serving else 0,
        last=store.features.last_try(),
        reasons=reasons.words if reasons else "",
    )
