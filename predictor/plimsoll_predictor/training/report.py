"""What a training says of itself; plain data for the store and for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from plimsoll_predictor.training.reliability import Reliability


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One number of bins, as a row of thesis Tables 6 and 11. Shares of one.

    u_score, accuracy, u_rate: of a quick classifier out of time, as it would be served. One bin
    cannot be wrong.
    served_improvement: of the reference's memory-time, failed attempts counted penalty times.
    """

    ceilings_bytes: tuple[int, ...]
    optimal_improvement: float
    time_based_optimal_improvement: float
    u_score: float
    accuracy: float
    u_rate: float
    estimated_improvement: float
    served_improvement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRecipe:
    """One trial of the search. u_score per hundred runs, accuracy and u_rate shares of one."""

    classifier: str
    sampler: str
    parameters: Mapping[str, float]
    u_score: float
    accuracy: float
    u_rate: float

    @property
    def words(self) -> str:
        """Classifier and sampler, as people read them."""
        return self.classifier if self.sampler == "none" else f"{self.classifier} + {self.sampler}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldScore:
    """The chosen recipe on one fold: trained on what came before, judged on validation_runs."""

    training_runs: int
    validation_runs: int
    u_score: float
    accuracy: float
    u_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfTimeCost:
    """What an expert would have cost on the task's past, by what it could have known then.

    cost_gb_h: waste (allocation - need) x runtime, plus allocation x runtime x penalty for each
        failed attempt. A penalty above one makes it a price, not memory that was really held.
    """

    cost_gb_h: float
    failed_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """How a model came to be.

    runs: learned from, the latest; censored_runs: of them, those whose need was only exceeded.
    first_s, last_s: Unix seconds of the oldest and newest run; None where no run has a time.
    recipe: the chosen one with its figures over all folds; None where there is one bin.
    fold_scores: of the chosen recipe, oldest fold first; none where there is one bin.
    ceilings_bytes, bin_runs: the chosen bins, and how many runs each holds.
    features: the names learned from. policy: ``Policy.to_dict()``, what people had set.
    out_of_time_costs: by expert, over the compared_runs; an expert that could not bid is missing.
    reliability: of the chances the classifier gave in the replay of the past; None if older.
    """

    runs: int
    censored_runs: int
    first_s: float | None
    last_s: float | None
    reference_bytes: float
    seed: int
    budget_s: float
    duration_s: float
    cut_by_budget: bool
    folds: int
    fold_scores: tuple[FoldScore, ...]
    iterations: int
    policy: Mapping[str, Any]
    features: tuple[str, ...]
    ceilings_bytes: tuple[int, ...]
    bin_runs: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    recipe: TriedRecipe | None
    confusion: tuple[tuple[int, ...], ...]
    trials: tuple[TriedRecipe, ...]
    compared_runs: int
    out_of_time_costs: Mapping[str, OutOfTimeCost]
    reliability: Reliability | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, but for tuples that JSON writes as lists."""
        return asdict(self)
