"""Calibration: chances come true as often as they say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.choosing import cheapest_bins
from plimsoll_predictor.model.calibration import (
    Calibration,
    HeldOut,
    fitted_calibration,
    shares_shift,
)
from plimsoll_predictor.training.classifier import (
    ClassifierName,
    Layout,
    TrainingPart,
    calibration_of,
    fit,
)
from plimsoll_predictor.training.folds import stratified_folds
from plimsoll_predictor.training.recipes import STARTING_RECIPES
from plimsoll_predictor.training.sampling import Rows, Sampler
from plimsoll_predictor.training.search import Judge, Problem
from plimsoll_predictor.training.u_score import Reliability, confusion_matrix, evaluate
from tests.builders.experts.serving import bins_up_to
from tests.builders.training.trainings import a_plan

NO_SHIFT = np.zeros(3)


def forecasts(n: int, *, boldness: float, seed: int = 0) -> HeldOut:
    """Runs drawn from known chances, forecast with margins ``boldness`` times too large."""
    draw = np.random.default_rng(seed)
    chances = draw.dirichlet(np.ones(3), n)
    y = np.array([draw.choice(3, p=row) for row in chances])
    bold = chances**boldness
    return HeldOut(bold / bold.sum(axis=1, keepdims=True), y, NO_SHIFT)


def plain(X: Rows) -> Rows:
    return X


def hazy_part(n: int, n_bins: int, *, seed: int = 3) -> TrainingPart:
    """Runs whose first column only hints at the bin; the upper bins are rare."""
    draw = np.random.default_rng(seed)
    y = np.minimum(draw.geometric(0.6, n) - 1, n_bins - 1).astype(np.int64)
    X = draw.normal(0, 1, (n, 4)).astype(np.float32)
    X[:, 0] += y
    return TrainingPart(X, y, Layout((), plain), n_bins=n_bins, seed=seed)


def off(proba: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Expected calibration error of the chances that a run's bin is at most k."""
    below = np.cumsum(proba, axis=1)[:, :-1]
    fits = y[:, np.newaxis] <= np.arange(below.shape[1])
    found = Reliability.of(np.minimum(below, 1.0).ravel(), fits.ravel()).error
    assert found is not None
    return found


def test_without_a_calibration_nothing_changes() -> None:
    held_out = forecasts(50, boldness=1.0)
    np.testing.assert_allclose(Calibration().applied(held_out.proba, NO_SHIFT), held_out.proba)


@pytest.mark.parametrize(
    ("boldness", "scale"),
    [
        pytest.param(1.4, 0.7, id="overconfident forecasts are drawn together"),
        pytest.param(4.0, 0.7, id="but never by more than what serves may need"),
        pytest.param(0.5, 2.0, id="timid ones are spread"),
        pytest.param(1.0, 1.0, id="right ones stay"),
    ],
)
def test_margins_are_stretched_to_what_came_true(boldness: float, scale: float) -> None:
    found = fitted_calibration([forecasts(2000, boldness=boldness)])
    assert found == Calibration(scale=scale, strength=0.0)


def test_a_sampler_that_made_rare_bins_frequent_is_taken_back() -> None:
    true = forecasts(2000, boldness=1.0)
    shift = shares_shift(np.array([80.0, 15.0, 5.0]), np.array([50.0, 50.0, 50.0]))
    swollen = true.proba * np.exp(-shift)
    held_out = replace(true, proba=swollen / swollen.sum(axis=1, keepdims=True), shift=shift)
    found = fitted_calibration([held_out])
    assert found == Calibration(scale=1.0, strength=1.0)
    np.testing.assert_allclose(found.applied(held_out.proba, shift), true.proba, rtol=1e-6)


def test_without_held_out_runs_there_is_no_calibration() -> None:
    nothing = HeldOut(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), NO_SHIFT)
    assert fitted_calibration([]) == fitted_calibration([nothing]) == Calibration()


def test_a_few_surprises_of_impossible_bins_do_not_choose_for_all_other_runs() -> None:
    sure = np.tile([1.0 - 2e-9, 1e-9, 1e-9], (500, 1))
    y = np.zeros(500, dtype=np.int64)
    y[:2] = 2
    found = fitted_calibration([HeldOut(sure, y, NO_SHIFT)])
    assert found.applied(sure[:1], NO_SHIFT)[0, 0] > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n_bins", [2, 3, 6])
@pytest.mark.parametrize("sampler", list(Sampler))
def test_compiled_trees_are_calibrated_alike(n_bins: int, sampler: Sampler) -> None:
    part = hazy_part(200, n_bins)
    recipe = replace(STARTING_RECIPES[ClassifierName.XGBOOST], sampler=sampler)
    fitted = fit(part, recipe, threads=1, calibration=Calibration(scale=0.7, strength=0.75))
    plainly = fit(part, recipe, threads=1).predict_proba(part.X)
    proba = fitted.predict_proba(part.X)
    assert not np.allclose(proba, plainly, atol=0.01)
    compiled = fitted.compile()
    served = np.asarray([compiled.probabilities(row) for row in part.X])
    np.testing.assert_allclose(served, proba, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_chances_of_later_runs_come_closer_to_what_comes_true() -> None:
    part = hazy_part(900, 3)
    known, coming = np.arange(600), np.arange(600, 900)
    recipe = STARTING_RECIPES[ClassifierName.XGBOOST]
    held_out = []
    for end in (200, 400):
        before, after = part.only(known[:end]), slice(end, end + 200)
        proba = fit(before, recipe, threads=1).predict_proba(part.X[after])
        held_out.append(HeldOut(proba, part.y[after], before.shift(recipe.sampler)))
    calibration = calibration_of(recipe, held_out)
    past = part.only(known)
    plainly = fit(past, recipe, threads=1).predict_proba(part.X[coming])
    proba = fit(past, recipe, threads=1, calibration=calibration).predict_proba(part.X[coming])
    assert off(proba, part.y[coming]) < 0.6 * off(plainly, part.y[coming])


@pytest.mark.slow
def test_a_recipes_figures_are_those_of_the_calibrated_trees_that_serve() -> None:
    part = hazy_part(300, 2)
    recipe = replace(STARTING_RECIPES[ClassifierName.XGBOOST], sampler=Sampler.SMOTE)
    problem = Problem(
        X=part.X,
        y=part.y,
        runtimes_s=np.full(300, 60.0),
        reference_bytes=4 * GIB,
        bins=bins_up_to(1000, 3000),
        layout=part.layout,
        folds=stratified_folds(part.y, 3),
        penalty=10.0,
    )
    trial = Judge(problem, a_plan(seed=part.seed)).judge(recipe, math.inf)
    assert trial is not None
    parts = [part.only(fold.training) for fold in problem.folds]
    said = [
        HeldOut(
            fit(past, recipe, threads=1).predict_proba(part.X[fold.validation]),
            part.y[fold.validation],
            past.shift(recipe.sampler),
        )
        for past, fold in zip(parts, problem.folds, strict=True)
    ]
    confusion = np.zeros((2, 2), dtype=np.int64)
    for place, (past, fold) in enumerate(zip(parts, problem.folds, strict=True)):
        others = fitted_calibration(said[:place] + said[place + 1 :])
        served = fit(past, recipe, threads=1, calibration=others).compile()
        proba = np.asarray([served.probabilities(row) for row in part.X[fold.validation]])
        chosen = cheapest_bins(proba, problem.bins, problem.penalty)
        confusion += confusion_matrix(part.y[fold.validation], chosen, 2)
    assert trial.evaluation == evaluate(confusion, problem.penalty)
    assert trial.calibration == fitted_calibration(said) != Calibration()


@pytest.mark.parametrize(
    "values", [{"scale": 0.0}, {"scale": float("nan")}, {"strength": 1.5}, {"strength": -0.1}]
)
def test_a_calibration_out_of_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ModelError, match="calibration"):
        Calibration(**values)
