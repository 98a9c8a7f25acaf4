"""What a TaskProfile's status says about its runs' times."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from plimsoll_operator.profile.runtime_status import (
    RECENT_RUNS,
    RuntimeFacts,
    Trend,
    runtime_status,
    trend_of,
)
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster


def facts(runtimes_s: Sequence[float]) -> RuntimeFacts:
    forecaster = Forecaster()
    for number, runtime_s in enumerate(runtimes_s):
        forecaster.learn("lab/train", "lab", runtime_s, 100.0 * number)
    at_s = 100.0 * len(runtimes_s)
    return RuntimeFacts(forecaster.forecast("lab/train", "lab", at_s), runtimes_s)


def test_a_task_of_which_no_run_is_known_has_none() -> None:
    assert runtime_status(RuntimeFacts()) is None


def test_the_status_says_the_usual_the_long_and_how_they_vary() -> None:
    chance = random.Random(1)
    runtimes_s = [40.0 * chance.lognormvariate(0, 0.3) for _ in range(100)]
    status = runtime_status(facts(runtimes_s))
    assert status is not None
    assert 35 <= status["p50Seconds"] <= 46
    assert 50 <= status["p95Seconds"] <= 100
    assert status["text"].split("-")[0] == status["p50"].replace(" ", "")
    assert 0 <= status["longerThanTwice"] < 0.1
    assert (status["forecastRuns"], status["trend"]) == (100, "steady")
    assert status["shape"]
    assert status["trendWords"].startswith("steady: the last 20 runs usually took ")


def test_the_status_of_one_run_says_little_and_no_trend() -> None:
    status = runtime_status(facts([370.0]))
    assert status is not None
    assert (status["forecastRuns"], status["trend"], status["trendWords"]) == (1, None, None)


def test_a_runtime_of_a_clock_that_counts_whole_seconds_may_be_0() -> None:
    status = runtime_status(RuntimeFacts(facts([1.0] * 9).forecast, [0.0] * 9))
    assert status is not None
    assert status["shape"]


def test_a_steady_task_whose_medians_differ_says_why_that_is_no_trend() -> None:
    earlier_s, last_s = [5.0, 7.0, 15.0] * 7, [5.0, 9.0, 15.0, 5.0, 9.0] * 4
    status = runtime_status(RuntimeFacts(facts([1.0] * 9).forecast, earlier_s + last_s))
    assert status is not None
    assert status["trendWords"] == (
        "steady: the last 20 runs usually took 9 s, the earlier ones 7 s, "
        "but single runs differ as much"
    )


@pytest.mark.slow
def test_a_run_more_does_not_make_the_status_tremble() -> None:
    chance = random.Random(2)
    runtimes_s = [600.0 * chance.lognormvariate(0, 0.1) for _ in range(300)]
    told = {
        (status["p50"], status["text"])
        for runs in range(280, 300)
        if (status := runtime_status(facts(runtimes_s[:runs]))) is not None
    }
    assert len(told) <= 6, told


@pytest.mark.parametrize(
    ("earlier", "last", "trend"),
    [
        pytest.param([60.0] * 9, [60.0] * RECENT_RUNS, Trend.UNKNOWN, id="too few before"),
        pytest.param([60.0] * 50, [90.0] * RECENT_RUNS, Trend.RISING, id="rises"),
        pytest.param([90.0] * 50, [60.0] * RECENT_RUNS, Trend.FALLING, id="falls"),
        pytest.param([60.0] * 50, [66.0] * RECENT_RUNS, Trend.STEADY, id="a tenth is nothing"),
        pytest.param([10.0, 1000.0] * 25, [10.0] * 9 + [1000.0] * 11, Trend.STEADY, id="two modes"),
    ],
)
def test_the_last_runs_are_held_against_those_before(
    earlier: list[float], last: list[float], trend: Trend
) -> None:
    assert trend_of([*earlier, *last]) is trend


@pytest.mark.slow
def test_chance_alone_is_seldom_a_trend() -> None:
    chance = random.Random(3)
    found = [trend_of([chance.lognormvariate(3, 0.5) for _ in range(200)]) for _ in range(200)]
    assert sum(each is not Trend.STEADY for each in found) <= 4
