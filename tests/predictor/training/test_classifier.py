"""Classifiers behind one interface, and the search for their recipes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.training.classifier import ClassifierName, Layout, Recipe, TrainingPart, fit
from plimsoll_predictor.training.folds import stratified_folds
from plimsoll_predictor.training.recipes import STARTING_RECIPES, RecipeAsker
from plimsoll_predictor.training.sampling import Rows, Sampler
from plimsoll_predictor.training.search import Problem, SearchResult, search
from tests.builders.training.trainings import StepClock, a_plan


def _plain(X: Rows) -> Rows:
    return X


def _rows(
    n_bins: int, *, n_rows: int = 120, noise: float = 0.0, missing: float = 0.02
) -> tuple[Rows, np.ndarray]:
    """Rows whose first column says the bin, as far as the noise lets it; some cells missing."""
    random = np.random.default_rng(5)
    y = np.arange(n_rows) % n_bins
    X = random.normal(0, 1, (n_rows, 3))
    X[:, 0] = y + random.normal(0, 0.05 + noise, n_rows)
    X[random.random(X.shape) < missing] = np.nan
    return X.astype(np.float32), y


def _part(n_bins: int, seed: int = 1) -> TrainingPart:
    X, y = _rows(n_bins)
    return TrainingPart(X, y, Layout((), _plain), n_bins=n_bins, seed=seed)


@pytest.mark.parametrize("n_bins", [2, 3, 8])
@pytest.mark.parametrize("classifier", list(ClassifierName))
@pytest.mark.parametrize("sampler", list(Sampler))
def test_a_fitted_classifier_knows_its_rows_and_its_compiled_form_says_the_same(
    n_bins: int, classifier: ClassifierName, sampler: Sampler
) -> None:
    part = _part(n_bins)
    recipe = replace(STARTING_RECIPES[classifier], sampler=sampler)
    fitted = fit(part, recipe, threads=1)
    proba = fitted.predict_proba(part.X)
    assert proba.shape == (part.y.size, n_bins)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    assert (proba.argmax(axis=1) == part.y).mean() > 0.9
    compiled = fitted.compile()
    served = np.asarray([compiled.probabilities(row) for row in part.X])
    np.testing.assert_allclose(served, proba, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rare", [2, 3, 4])
@pytest.mark.parametrize("sampler", list(Sampler))
def test_a_heavy_bin_of_a_few_runs_is_learned(rare: int, sampler: Sampler) -> None:
    X, _ = _rows(2, n_rows=300)
    y = np.zeros(300, dtype=np.int64)
    y[-rare:] = 1
    X[-rare:, 0] = 50 + np.arange(rare)
    part = TrainingPart(X, y, Layout((), _plain), n_bins=2, seed=1)
    recipe = replace(STARTING_RECIPES[ClassifierName.XGBOOST], sampler=sampler)
    proba = fit(part, recipe, threads=1).predict_proba(X)
    assert proba.argmax(axis=1).tolist() == y.tolist()


def _problem(noise: float = 0.6, penalty: float = 10.0) -> Problem:
    X, y = _rows(3, noise=noise, missing=0.02 if noise else 0.0)
    ceilings = (100 * MIB, 300 * MIB, 900 * MIB)
    return Problem(
        X=X,
        y=y,
        runtimes_s=np.ones(y.size),
        reference_bytes=1000.0 * MIB,
        bins=Bins(ceilings, (40, 40, 40), (80.0 * MIB, 250.0 * MIB, 700.0 * MIB), (1.0, 1.0, 1.0)),
        layout=Layout((), _plain),
        folds=stratified_folds(y, 3),
        penalty=penalty,
    )


def _searched(
    problem: Problem, *, deadline_s: float = float("inf"), **changes: Any
) -> SearchResult:
    return search(problem, a_plan(**{"seed": 3, "iterations": 10, **changes}), deadline_s)


@pytest.fixture(scope="module")
def found() -> SearchResult:
    """An ordinary search."""
    return _searched(_problem())


@pytest.mark.slow
def test_the_search_keeps_the_lowest_u_score_of_all_trials(found: SearchResult) -> None:
    scores = [trial.evaluation.u_score for trial in found.trials]
    assert found.best.evaluation.u_score == min(scores)
    assert len(scores) == 10
    assert not found.cut_by_budget


@pytest.mark.slow
def test_the_same_seed_tries_the_same_recipes_and_another_seed_others(
    found: SearchResult,
) -> None:
    one, same = found.trials, _searched(_problem()).trials
    other = _searched(_problem(), seed=4, iterations=3).trials
    assert one == same
    assert [trial.recipe for trial in one[:3]] != [trial.recipe for trial in other]


@pytest.mark.slow
def test_a_deadline_cuts_the_search_and_the_first_trial_is_always_finished() -> None:
    found = _searched(_problem(), clock=StepClock(1.0), deadline_s=0.0)
    assert (len(found.trials), found.cut_by_budget) == (1, True)
    later = _searched(_problem(), clock=StepClock(1.0), deadline_s=13.5)
    assert (len(later.trials), later.cut_by_budget) == (4, True)


@pytest.mark.slow
def test_the_search_ends_where_nothing_better_is_possible() -> None:
    found = _searched(_problem(noise=0.0))
    assert found.best.evaluation.u_score == 0
    assert len(found.trials) < 10


@pytest.mark.slow
def test_classifiers_take_turns() -> None:
    found = _searched(_problem(), classifiers=tuple(ClassifierName), iterations=6)
    assert [trial.recipe.classifier for trial in found.trials] == list(ClassifierName) * 3


@pytest.mark.slow
def test_a_higher_penalty_is_answered_with_fewer_under_estimates() -> None:
    def under(penalty: float) -> float:
        found = _searched(_problem(penalty=penalty), iterations=5)
        return found.best.evaluation.u_rate

    assert under(30.0) < under(1.0)


@pytest.mark.slow
def test_one_sampler_is_enough_to_search_with() -> None:
    asker = RecipeAsker(
        ClassifierName.SVM, a_plan(samplers=(Sampler.RANDOM,), seed=1, iterations=12)
    )
    recipes: list[Recipe] = []
    for _ in range(12):
        recipes.append(asker.ask())
        asker.tell(1.0)
    assert {recipe.sampler for recipe in recipes} == {Sampler.RANDOM}
    assert len({tuple(recipe.parameters.items()) for recipe in recipes}) > 8
