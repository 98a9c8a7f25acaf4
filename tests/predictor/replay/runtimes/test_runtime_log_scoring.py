"""Figures of forecasts: their values on data whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray
from plimsoll_predictor.replay.runtimes.scoring import Scored, pins, score, skill, task_means

NORMAL_QUANTILES = np.quantile(np.random.default_rng(1).normal(size=400_000), SHARES)


def scored_of(quantiles_ln: FloatArray, runtimes_ln: FloatArray, known: int = 9) -> Scored:
    count = len(runtimes_ln)
    return Scored(
        quantiles_ln=quantiles_ln,
        runtimes_ln=runtimes_ln,
        tasks=np.zeros(count, dtype=np.int64),
        known=np.full(count, known),
        probabilities=np.full((count, 2), 0.5),
        happened=np.zeros((count, 2), dtype=np.bool_),
    )


def test_the_scored_quantiles_are_those_of_the_protocol() -> None:
    assert SHARES.tolist() == pytest.approx([0.01, *np.arange(0.05, 0.96, 0.05), 0.99])


def test_a_forecast_that_knew_has_no_pin() -> None:
    runtimes_ln = np.array([1.0, 2.0, 3.0])
    quantiles_ln = np.repeat(runtimes_ln[:, None], len(SHARES), axis=1)
    assert pins(quantiles_ln, runtimes_ln).tolist() == [0, 0, 0]


def test_pin_is_the_mean_pinball_loss_by_hand() -> None:
    # All quantiles at 0, a runtime at 1: each loses its share; at -1: the rest to 1.
    found = pins(np.zeros((2, len(SHARES))), np.array([1.0, -1.0]))
    assert found == pytest.approx([SHARES.mean(), (1 - SHARES).mean()])


def test_the_true_quantiles_have_the_least_pin_and_cover_as_they_say() -> None:
    runtimes_ln = np.random.default_rng(2).normal(size=20_000)
    true = score(scored_of(np.tile(NORMAL_QUANTILES, (20_000, 1)), runtimes_ln))
    assert true.p90_coverage == pytest.approx(0.90, abs=0.01)
    assert true.p95_coverage == pytest.approx(0.95, abs=0.01)
    assert true.p99_coverage == pytest.approx(0.99, abs=0.005)
    for wrong in (NORMAL_QUANTILES + 0.3, 1.5 * NORMAL_QUANTILES, 0.6 * NORMAL_QUANTILES):
        assert true.pin_runs < score(scored_of(np.tile(wrong, (20_000, 1)), runtimes_ln)).pin_runs


def test_a_task_counts_once_however_many_runs_it_has() -> None:
    values, tasks = np.array([1.0, 1.0, 1.0, 5.0]), np.array([4, 4, 4, 7])
    assert task_means(values, tasks).tolist() == [1, 5]


def test_only_tasks_with_few_known_runs_are_in_the_figure_of_few() -> None:
    scored = scored_of(np.zeros((4, len(SHARES))), np.array([1.0, 2.0, 3.0, 4.0]))
    known = np.array([0, 1, 5, 6])
    few = score(replace(scored, known=known)).pin_few_runs
    assert few == pytest.approx(2.5 * SHARES.mean())
    assert score(scored).pin_few_runs is None


def test_the_base_rate_has_no_skill_and_the_truth_nearly_all() -> None:
    happened = np.arange(1000) % 4 == 0
    assert skill(np.full(1000, 0.25), happened) == pytest.approx(0)
    assert skill(happened.astype(np.float64), happened) == pytest.approx(1, abs=1e-4)
    assert (skill(np.full(1000, 0.6), happened) or 0) < -0.2


def test_skill_leaves_out_runs_without_a_probability() -> None:
    happened = np.arange(1000) % 4 == 0
    said = np.where(np.arange(1000) < 500, 0.25, np.nan)
    assert skill(said, happened) == pytest.approx(0)


@pytest.mark.parametrize("what", [False, True])
def test_what_never_or_always_happens_has_no_skill_to_show(what: bool) -> None:
    assert skill(np.full(10, 0.5), np.full(10, what)) is None
    assert skill(np.full(10, np.nan), np.arange(10) > 5) is None


def test_a_certain_forecast_that_was_wrong_still_has_a_figure() -> None:
    found = skill(np.array([0.0, 1.0, 0.0, 1.0]), np.array([True, False, True, False]))
    assert found is not None
    assert np.isfinite(found)
    assert found < -10
