"""A forecast is a distribution: all its answers agree with each other."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES, Forecast
from plimsoll_predictor.runtimes.forecasting.grid import EDGES_S, N_BINS
from tests.builders.runtimes.forecasters import START_S, TASK, a_forecaster, around

DAY_S = 86400.0


@st.composite
def forecasts(draw: st.DrawFn) -> Forecast:
    masses = np.zeros(N_BINS)
    peaks = st.tuples(st.integers(0, N_BINS - 1), st.floats(1e-6, 1.0))
    for at, mass in draw(st.lists(peaks, min_size=1, max_size=12)):
        masses[at] += mass
    return Forecast(masses / masses.sum(), draw(st.integers(0, 1000)), 100.0)


@pytest.mark.slow
@given(forecasts())
def test_masses_sum_to_one_and_quantiles_rise(forecast: Forecast) -> None:
    assert math.isclose(float(forecast.masses.sum()), 1.0, rel_tol=1e-9)
    quantiles_s = forecast.quantiles_s(QUANTILES)
    assert len(quantiles_s) == 21
    assert (np.diff(quantiles_s) >= 0).all()


@pytest.mark.slow
@given(forecasts(), st.floats(0.001, 0.999))
def test_the_probability_to_outlast_a_quantile_is_what_is_left(
    forecast: Forecast, share: float
) -> None:
    quantile_s = forecast.quantile_s(share)
    assert forecast.longer_than(quantile_s * 1.0001) <= 1 - share + 1e-9
    assert forecast.longer_than(quantile_s * 0.9999) >= 1 - share - 1e-9


@pytest.mark.slow
@given(forecasts(), st.floats(0.01, 100 * DAY_S))
def test_a_run_that_has_lasted_ends_after_that(forecast: Forecast, elapsed_s: float) -> None:
    left = forecast.given_elapsed(elapsed_s)
    assert left.quantile_s(0.0) >= elapsed_s * (1 - 1e-9) or elapsed_s < EDGES_S[0]
    assert left.longer_than(elapsed_s * 0.999) == 1.0 or elapsed_s < EDGES_S[0]
    assert math.isclose(float(left.masses.sum()), 1.0, rel_tol=1e-9)
    assert (np.diff(left.quantiles_s(QUANTILES)) >= 0).all()


@pytest.mark.slow
@given(forecasts(), st.floats(1.0, DAY_S), st.floats(1.0, 30.0))
def test_having_lasted_is_bayes_rule(forecast: Forecast, elapsed_s: float, times: float) -> None:
    later_s = elapsed_s * times
    left = forecast.longer_than(elapsed_s)
    if left < 0.01:  # below that the tail beyond all bins begins to count
        return
    expected = forecast.longer_than(later_s) / left
    assert forecast.given_elapsed(elapsed_s).longer_than(later_s) == pytest.approx(
        expected, abs=1e-3
    )


@pytest.mark.slow
@given(forecasts(), st.floats(1.0, DAY_S))
def test_having_lasted_twice_is_having_lasted_the_longer(
    forecast: Forecast, elapsed_s: float
) -> None:
    twice = forecast.given_elapsed(elapsed_s).given_elapsed(3 * elapsed_s)
    once = forecast.given_elapsed(3 * elapsed_s)
    assert twice.elapsed_s == once.elapsed_s
    if forecast.longer_than(3 * elapsed_s) > 0.01:
        assert np.abs(np.asarray(twice.masses) - once.masses).max() < 1e-3


@pytest.mark.slow
@given(forecasts(), st.floats(2.0, DAY_S))
def test_what_is_written_is_read_alike(forecast: Forecast, elapsed_s: float) -> None:
    for each in (forecast, forecast.given_elapsed(elapsed_s)):
        again = Forecast.from_dict(json.loads(json.dumps(each.to_dict())))
        assert np.abs(np.asarray(again.masses) - each.masses).max() < 1e-6
        assert (again.known_runs, again.usual_s, again.elapsed_s) == (
            each.known_runs,
            each.usual_s,
            each.elapsed_s,
        )


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param({"first": -1}, id="bins before the grid"),
        pytest.param({"masses": [1] * 200}, id="bins beyond the grid"),
        pytest.param({"masses": []}, id="no masses"),
        pytest.param({"masses": [1, -1]}, id="a negative mass"),
        pytest.param({"masses": [float("nan")]}, id="a mass that is no number"),
        pytest.param({"masses": "many"}, id="masses that are text"),
        pytest.param({"usual_s": -5}, id="a negative usual"),
        pytest.param({"elapsed_s": float("inf")}, id="an endless elapsed time"),
        pytest.param({"knownRuns": None}, id="no count of runs"),
    ],
)
def test_what_is_no_forecast_is_refused(damaged: dict[str, Any]) -> None:
    written = a_forecaster([100.0]).forecast(TASK, "shop", START_S + DAY_S).to_dict()
    with pytest.raises(ValueError, match="no written forecast"):
        Forecast.from_dict({**written, **damaged})


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        a_forecaster([100.0]).forecast(TASK, "shop", START_S).quantile_s(share)


def test_a_run_that_outlived_everything_expected_may_last_as_long_again() -> None:
    forecast = a_forecaster(around(100.0, 0.05, 200)).forecast(TASK, "shop", START_S + 1e7)
    left = forecast.given_elapsed(1e6)
    assert left.quantile_s(0.5) > 1e6
    assert 0 < left.longer_than(1.2e6) < 1


def test_longer_than_the_usual_is_asked_in_multiples_of_the_median() -> None:
    forecaster = a_forecaster([100.0] * 9 + [1000.0])
    forecast = forecaster.forecast(TASK, "shop", START_S + 1e6)
    assert forecast.usual_s == 100.0
    assert forecast.longer_than_usual(2.0) == forecast.longer_than(200.0)
    assert a_forecaster().forecast(TASK, "shop", START_S).longer_than_usual(2.0) is None


def test_of_the_longest_runs_nothing_is_said_that_is_not_known() -> None:
    forecast = a_forecaster([25 * DAY_S] * 50).forecast(TASK, "shop", START_S + 2000 * DAY_S)
    assert forecast.known_share < 0.99
    assert forecast.share_below(25 * DAY_S) == forecast.share_below(17 * DAY_S)
    assert forecast.share_below(25 * DAY_S) == forecast.known_share
    assert forecast.longer_than_usual(2.0) is None
    hours = a_forecaster([7200.0] * 50).forecast(TASK, "shop", START_S + 2000 * DAY_S)
    assert hours.share_below(25 * DAY_S) > 0.99
    assert hours.longer_than_usual(300.0) == pytest.approx(0.0, abs=1e-3), "25 days"


def test_densities_are_as_wide_as_the_grid() -> None:
    edges_s, masses = a_forecaster([100.0]).forecast(TASK, "shop", START_S).densities()
    assert len(edges_s) == len(masses) + 1 == N_BINS + 1
    assert edges_s[int(np.argmax(masses))] < 105.0
    assert edges_s[int(np.argmax(masses)) + 1] > 95.0
