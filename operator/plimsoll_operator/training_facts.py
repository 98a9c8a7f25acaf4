"""What kept trainings say, read for people and for a tracking server. Pure.

Reports outlive the version that wrote them, and a failed training's says little: what cannot be
read is None or empty, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    WrapValidator,
)

from plimsoll_predictor.store import Training

T = TypeVar("T")


def _or(default: Callable[[], Any]) -> WrapValidator:
    def read(value: object, handle: Callable[[object], Any]) -> Any:
        try:
            return handle(value)
        except ValidationError:
            return default()

    return WrapValidator(read)


Maybe = Annotated[T | None, _or(lambda: None)]
Some = Annotated[tuple[T, ...], _or(tuple)]


_OLDER_COSTS: Final = "experts"
"""The name of the out-of-time costs in reports of older versions."""


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class RecipeFacts(_Read):
    """One trial. u_score per hundred runs, accuracy and u_rate shares of one."""

    classifier: str
    sampler: str
    parameters: Annotated[dict[str, FiniteFloat], _or(dict)] = {}
    u_score: FiniteFloat
    accuracy: FiniteFloat
    u_rate: FiniteFloat

    @property
    def words(self) -> str:
        """Classifier and sampler, as people read them."""
        return self.classifier if self.sampler == "none" else f"{self.classifier} + {self.sampler}"


class FoldFacts(_Read):
    """The chosen recipe on one fold, trained on what came before it."""

    training_runs: int
    validation_runs: int
    u_score: FiniteFloat
    accuracy: FiniteFloat
    u_rate: FiniteFloat


class OutOfTimeFacts(_Read):
    """What one expert would have cost on the task's past, penalties included."""

    cost_gb_h: FiniteFloat
    failed_attempts: Maybe[int] = None


class ReportFacts(_Read):
    """A training's report; see ``plimsoll_predictor.report.TrainingReport`` for what is meant.

    duration_s: processor time.
    """

    runs: Maybe[int] = None
    censored_runs: Maybe[int] = None
    first_s: Maybe[FiniteFloat] = None
    last_s: Maybe[FiniteFloat] = None
    reference_bytes: Maybe[FiniteFloat] = None
    seed: Maybe[int] = None
    budget_s: Maybe[FiniteFloat] = None
    duration_s: Maybe[FiniteFloat] = None
    cut_by_budget: Maybe[bool] = None
    folds: Maybe[int] = None
    fold_scores: Some[FoldFacts] = ()
    iterations: Maybe[int] = None
    policy: Annotated[dict[str, Any], _or(dict)] = {}
    features: Some[str] = ()
    ceilings_bytes: Some[int] = ()
    bin_runs: Some[int] = ()
    recipe: Maybe[RecipeFacts] = None
    confusion: Some[tuple[int, ...]] = ()
    trials: Some[RecipeFacts] = ()
    compared_runs: Maybe[int] = None
    out_of_time_costs: Annotated[dict[str, OutOfTimeFacts], _or(dict)] = Field(
        default={}, validation_alias=AliasChoices("out_of_time_costs", _OLDER_COSTS)
    )
    plimsoll_version: Maybe[str] = None

    @property
    def u_score(self) -> float | None:
        """Of the chosen recipe; 0 with one bin, which cannot be wrong; None if nobody said."""
        if self.recipe is not None:
            return self.recipe.u_score
        return 0.0 if len(self.ceilings_bytes) == 1 else None

    @property
    def accuracy(self) -> float | None:
        """Of the chosen recipe; 1 with one bin; None if nobody said."""
        if self.recipe is not None:
            return self.recipe.accuracy
        return 1.0 if len(self.ceilings_bytes) == 1 else None

    @property
    def recipe_words(self) -> str | None:
        """What predicts the bin."""
        if self.recipe is not None:
            return self.recipe.words
        return "one bin" if len(self.ceilings_bytes) == 1 else None


def facts_of(report: Mapping[str, Any]) -> ReportFacts:
    """Read a training's report as far as it can be read."""
    # JSON has lists where the records have tuples.
    return ReportFacts.model_validate(_as_tuples(dict(report)))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTraining:
    """One kept training and what its report says. serves: its model, or none, is in use."""

    training: Training
    facts: ReportFacts
    serves: bool

    @property
    def runs(self) -> int | None:
        """Runs learned from; of a failed training, those it would have; None if nobody said."""
        return self.training.runs if self.facts.runs is None else self.facts.runs


def kept_trainings(newest_first: Sequence[Training]) -> tuple[KeptTraining, ...]:
    """A task's trainings, read; the order stays."""
    serving = next((each.row for each in newest_first if each.failure is None), None)
    return tuple(
        KeptTraining(
            training=each,
            facts=facts_of(each.report),
            serves=each.row == serving and each.damage is None,
        )
        for each in newest_first
    )


def best_so_far(facts: ReportFacts) -> tuple[float, ...]:
    """The lowest u-score known after each trial."""
    best: list[float] = []
    for trial in facts.trials:
        best.append(min(trial.u_score, best[-1]) if best else trial.u_score)
    return tuple(best)


def _as_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_as_tuples, value))
    if isinstance(value, dict):
        return {key: _as_tuples(each) for key, each in value.items()}
    return value
