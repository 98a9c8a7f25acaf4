"""From a search's trials to the plain data of a training's report."""

from __future__ import annotations

from plimsoll_predictor.report import FoldScore, TriedRecipe
from plimsoll_predictor.search import Trial


def tried(trial: Trial) -> TriedRecipe:
    """One trial, with its figures over all folds."""
    return TriedRecipe(
        classifier=trial.recipe.classifier.value,
        sampler=trial.recipe.sampler.value,
        parameters=dict(trial.recipe.parameters),
        u_score=trial.evaluation.u_score,
        accuracy=trial.evaluation.accuracy,
        u_rate=trial.evaluation.u_rate,
    )


def fold_scores(trial: Trial) -> tuple[FoldScore, ...]:
    """One trial, fold by fold, oldest first."""
    return tuple(
        FoldScore(
            training_runs=fold.training_runs,
            validation_runs=sum(map(sum, fold.evaluation.confusion)),
            u_score=fold.evaluation.u_score,
            accuracy=fold.evaluation.accuracy,
            u_rate=fold.evaluation.u_rate,
        )
        for fold in trial.folds
    )
