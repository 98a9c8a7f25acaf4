"""A task's past trainings and their reports, read for people and a tracking server. Pure.

Reports outlive the version that wrote them, and the report of a failed training says little: a
field that cannot be read is None or empty, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

import orjson
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, WrapValidator

from plimsoll_predictor.store import Training
from plimsoll_predictor.training.out_of_time import OutOfTimeCost
from plimsoll_predictor.training.report import TriedRecipe
from plimsoll_predictor.training.search import FoldScore

T = TypeVar("T")


def _or(default: Callable[[], Any]) -> WrapValidator:
    def read(value: object, handle: Callable[[object], Any]) -> Any:
        try:
            return handle(value)
        except ValidationError:
            return default()

    return WrapValidator(read)


Maybe = Annotated[T | None, _or(lambda: None)]
# JSON has lists where the records have tuples.
Listed = Annotated[tuple[T, ...], Field(strict=False)]
Some = Annotated[Listed[T], _or(tuple)]

_OLDER_COSTS: Final = "experts"
"""The name of the out-of-time costs in reports of older versions."""


class ReportFacts(BaseModel):
    """A training's report; ``TrainingReport`` of the predictor says what its fields mean.

    duration_s: processor time.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

    runs: Maybe[int] = None
    censored_runs: Maybe[int] = None
    first_s: Maybe[float] = None
    last_s: Maybe[float] = None
    reference_bytes: Maybe[float] = None
    seed: Maybe[int] = None
    budget_s: Maybe[float] = None
    duration_s: Maybe[float] = None
    cut_by_budget: Maybe[bool] = None
    folds: Maybe[int] = None
    fold_scores: Some[FoldScore] = ()
    iterations: Maybe[int] = None
    policy: Annotated[dict[str, Any], _or(dict)] = {}
    features: Some[str] = ()
    ceilings_bytes: Some[int] = ()
    bin_runs: Some[int] = ()
    recipe: Maybe[TriedRecipe] = None
    confusion: Some[Listed[int]] = ()
    trials: Some[TriedRecipe] = ()
    compared_runs: Maybe[int] = None
    out_of_time_costs: Annotated[dict[str, OutOfTimeCost], _or(dict)] = Field(
        default={}, validation_alias=AliasChoices("out_of_time_costs", _OLDER_COSTS)
    )
    plimsoll_version: Maybe[str] = None

    @property
    def u_score(self) -> float | None:
        """The chosen recipe's u-score; 0 with one bin, which cannot be wrong; None if unknown."""
        if self.recipe is not None:
            return self.recipe.u_score
        return 0.0 if len(self.ceilings_bytes) == 1 else None

    @property
    def accuracy(self) -> float | None:
        """The chosen recipe's accuracy; 1 with one bin; None if unknown."""
        if self.recipe is not None:
            return self.recipe.accuracy
        return 1.0 if len(self.ceilings_bytes) == 1 else None

    @property
    def recipe_words(self) -> str | None:
        """What predicts the bin, in words."""
        if self.recipe is not None:
            return self.recipe.words
        return "one bin" if len(self.ceilings_bytes) == 1 else None


def facts_of(report: Mapping[str, Any]) -> ReportFacts:
    """Read a training's report as far as possible."""
    return ReportFacts.model_validate_json(orjson.dumps(dict(report)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTraining:
    """One training and its report. serves: whether its result (a model or none) is in use."""

    training: Training
    facts: ReportFacts
    serves: bool

    @property
    def runs(self) -> int | None:
        """Runs learned from, or meant to be if the training failed; None if unknown."""
        return self.training.runs if self.facts.runs is None else self.facts.runs


def past_trainings(newest_first: Sequence[Training]) -> tuple[PastTraining, ...]:
    """A task's trainings, read; the order stays."""
    serving = next((each.row for each in newest_first if each.failure is None), None)
    return tuple(
        PastTraining(
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
