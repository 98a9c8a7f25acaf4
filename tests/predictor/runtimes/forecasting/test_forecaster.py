"""What the forecaster learns from, and what not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plimsoll_predictor.runtimes.forecasting import memory as module
from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.grid import SMALLEST_S
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OPEN_S
from tests.builders.runtimes.forecasters import (
    GAP_S,
    OWNER,
    START_S,
    TASK,
    a_forecaster,
    around,
    show,
)

LATER_S = START_S + 1e8
MONTH_S = 30 * 86400.0


def test_what_a_task_did_is_what_is_forecast() -> None:
    forecast = a_forecaster(around(500.0, 0.3, 300)).forecast(TASK, OWNER, LATER_S)
    assert forecast.known_runs == 300
    assert forecast.quantile_s(0.5) == pytest.approx(500.0, rel=0.15)
    assert forecast.quantile_s(0.95) == pytest.approx(500.0 * math.exp(0.3 * 1.645), rel=0.25)
    assert forecast.quantile_s(0.05) == pytest.approx(500.0 * math.exp(-0.3 * 1.645), rel=0.25)


@pytest.mark.slow
def test_nine_in_ten_runs_end_within_the_ninety_percent_quantile() -> None:
    runtimes_s = around(800.0, 0.5, 600)
    forecaster = Forecaster()
    at_s, within = START_S, 0
    for runtime_s in runtimes_s:
        within += runtime_s <= forecaster.forecast(TASK, OWNER, at_s).quantile_s(0.9)
        at_s = show(forecaster, [runtime_s], from_s=at_s)
    assert within / len(runtimes_s) == pytest.approx(0.9, abs=0.04)


def test_forecasting_changes_nothing() -> None:
    forecaster = a_forecaster(around(500.0, 0.3, 20))
    before = (forecaster.state.task(TASK), forecaster.state.shared())
    forecaster.state.take_unsaved()
    for _ in range(3):
        forecaster.forecast(TASK, OWNER, LATER_S)
        forecaster.forecast("shop/other", "shop2", LATER_S)
    assert (forecaster.state.task(TASK), forecaster.state.shared()) == before
    assert forecaster.state.take_unsaved() == module.Unsaved()


def test_one_run_moves_the_forecast_to_it() -> None:
    forecast = a_forecaster([300.0]).forecast(TASK, OWNER, START_S + 2000)
    assert forecast.usual_s == 300.0
    assert forecast.quantile_s(0.5) == pytest.approx(300.0, rel=0.3)


def test_always_the_same_runtime_is_forecast_narrowly() -> None:
    forecast = a_forecaster([100.0] * 200).forecast(TASK, OWNER, LATER_S)
    assert forecast.usual_s == 100.0
    assert forecast.quantile_s(0.9) / forecast.quantile_s(0.1) < 1.6
    assert forecast.longer_than(200.0) < 0.05


def test_two_modes_a_thousandfold_apart_are_both_forecast() -> None:
    random = np.random.default_rng(3)
    runtimes_s = [20.0 if pick else 20_000.0 for pick in random.random(400) < 0.5]
    forecast = a_forecaster(runtimes_s).forecast(TASK, OWNER, LATER_S)
    assert forecast.longer_than(15_000.0) == pytest.approx(0.5, abs=0.2)
    assert forecast.longer_than(40.0) - forecast.longer_than(10_000.0) < 0.05
    assert forecast.longer_than(40.0) == pytest.approx(forecast.longer_than(10_000.0), abs=0.05)


def test_a_run_already_longer_than_the_short_mode_is_of_the_long_one() -> None:
    random = np.random.default_rng(3)
    runtimes_s = [20.0 if pick else 20_000.0 for pick in random.random(400) < 0.5]
    left = a_forecaster(runtimes_s).forecast(TASK, OWNER, LATER_S).given_elapsed(200.0)
    assert left.quantile_s(0.5) == pytest.approx(20_000.0, rel=0.2)


@pytest.mark.parametrize(
    "runtime_s",
    [
        pytest.param(-1.0, id="finished before it started"),
        pytest.param(math.nan, id="not a number"),
        pytest.param(math.inf, id="endless"),
        pytest.param(-math.inf, id="endless backwards"),
    ],
)
def test_what_is_no_runtime_is_refused_and_teaches_nothing(runtime_s: float) -> None:
    forecaster = a_forecaster([100.0])
    before = forecaster.state.task(TASK)
    forecaster.submit("run", TASK, OWNER, LATER_S)
    with pytest.raises(ValueError, match="runtime"):
        forecaster.finish("run", runtime_s, LATER_S + 5)
    with pytest.raises(ValueError, match="runtime"):
        forecaster.learn(TASK, OWNER, runtime_s, LATER_S + 5)
    assert forecaster.state.task(TASK) == before
    assert forecaster.open_runs() == ()


def test_a_runtime_of_zero_is_the_shortest_the_grid_holds() -> None:
    zeros, shortest = Forecaster(), Forecaster()
    for _ in range(9):
        zeros.learn(TASK, OWNER, 0.0, START_S)
        shortest.learn(TASK, OWNER, SMALLEST_S, START_S)
    forecast = zeros.forecast(TASK, OWNER, LATER_S)
    assert forecast.usual_s == SMALLEST_S
    assert np.array_equal(forecast.masses, shortest.forecast(TASK, OWNER, LATER_S).masses)


def test_a_runtime_beyond_the_grid_counts_as_its_end() -> None:
    forecast = a_forecaster([1e9] * 20).forecast(TASK, OWNER, START_S + 1e11)
    assert forecast.longer_than(1e6) > 0.8


def test_a_runtime_beyond_the_grid_says_nothing_of_the_times_before_its_end() -> None:
    forecast = a_forecaster([30 * 86_400.0] * 30).forecast(TASK, OWNER, START_S + 1e10)
    assert forecast.known_share < 0.1
    assert forecast.longer_than(16 * 86_400.0) > 0.9


@pytest.mark.parametrize("time_s", [math.nan, math.inf])
def test_what_is_no_time_is_refused(time_s: float) -> None:
    forecaster = a_forecaster([100.0])
    with pytest.raises(ValueError, match="no time"):
        forecaster.submit("run", TASK, OWNER, time_s)
    with pytest.raises(ValueError, match="no time"):
        forecaster.learn(TASK, OWNER, 5.0, time_s)


def test_a_name_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no name"):
        Forecaster().submit("run", "x" * 5000, OWNER, START_S)


def test_a_clock_that_goes_back_does_no_harm() -> None:
    forecaster = a_forecaster(around(100.0, 0.1, 50))
    for number in range(20):
        at_s = START_S - number * MONTH_S
        forecaster.submit(f"b{number}", TASK, OWNER, at_s)
        forecaster.start(f"b{number}", at_s - 50)
        forecaster.submit(f"c{number}", TASK, OWNER, at_s - 100)
        forecaster.finish(f"b{number}", 100.0, at_s - 1000)
        forecaster.drop(f"c{number}")
    forecast = forecaster.forecast(TASK, OWNER, START_S - 20 * MONTH_S)
    assert forecast.quantile_s(0.5) == pytest.approx(100.0, rel=0.2)


def test_after_a_gap_of_months_the_past_still_counts() -> None:
    forecaster = a_forecaster(around(100.0, 0.1, 50))
    forecast = forecaster.forecast(TASK, OWNER, LATER_S + 9 * MONTH_S)
    assert forecast.quantile_s(0.5) == pytest.approx(100.0, rel=0.3)


def test_a_renamed_task_is_forecast_by_its_owner_better_than_by_everybody() -> None:
    forecaster = Forecaster()
    random = np.random.default_rng(5)
    at_s = START_S
    for number in range(150):
        # Other owners' runs have all lengths; this owner's take a quarter of an hour.
        other_s = float(np.exp(random.uniform(0.0, 12.0)))
        forecaster.learn(f"bank/t{number % 30}", "bank", other_s, at_s)
        forecaster.learn(
            f"shop/t{number % 5}", OWNER, float(around(900.0, 0.2, 1, number)[0]), at_s
        )
        at_s += GAP_S
    ours = forecaster.forecast("shop/renamed", OWNER, at_s)
    everybody = forecaster.forecast("new/task", "new", at_s)
    assert ours.known_runs == everybody.known_runs == 0
    within = {f: f.longer_than(600.0) - f.longer_than(1350.0) for f in (ours, everybody)}
    assert within[ours] > 3 * within[everybody]


def test_runs_that_outlast_what_was_expected_move_the_next_ones_forecast_up() -> None:
    random = np.random.default_rng(3)
    runtimes_s = [20.0 if pick else 20_000.0 for pick in random.random(100) < 0.9]
    forecaster = a_forecaster(runtimes_s)
    before = forecaster.forecast(TASK, OWNER, LATER_S).longer_than(1000.0)
    for number in range(6):
        forecaster.submit(f"long{number}", TASK, OWNER, LATER_S)
        forecaster.start(f"long{number}", LATER_S)
    just_started = forecaster.forecast(TASK, OWNER, LATER_S + 1).longer_than(1000.0)
    outlasting = forecaster.forecast(TASK, OWNER, LATER_S + 600).longer_than(1000.0)
    assert just_started == pytest.approx(before, rel=0.2)
    assert outlasting > 1.5 * before


def test_runs_that_never_started_say_nothing_of_how_long_they_last() -> None:
    forecaster = a_forecaster(around(100.0, 0.3, 50))
    before = forecaster.forecast(TASK, OWNER, LATER_S)
    for number in range(6):
        forecaster.submit(f"waiting{number}", TASK, OWNER, LATER_S)
    waiting = forecaster.forecast(TASK, OWNER, LATER_S)
    assert np.array_equal(before.masses, waiting.masses)


def test_a_killed_runs_time_is_no_runtime() -> None:
    forecaster = a_forecaster([100.0])
    before = forecaster.state.task(TASK)
    forecaster.submit("killed", TASK, OWNER, LATER_S)
    forecaster.start("killed", LATER_S)
    forecaster.drop("killed")
    assert forecaster.state.task(TASK) == before
    assert forecaster.finish("killed", 5.0, LATER_S + 5) is None
    assert forecaster.state.task(TASK) == before


def test_a_finished_run_is_told_where_it_fell_in_its_forecast() -> None:
    forecaster = a_forecaster(around(100.0, 0.2, 200))
    shares = {}
    for runtime_s in (1.0, 100.0, 50_000.0):
        run = f"run {runtime_s}"
        given = forecaster.submit(run, TASK, OWNER, LATER_S)
        shares[runtime_s] = forecaster.finish(run, runtime_s, LATER_S + runtime_s)
        assert shares[runtime_s] == pytest.approx(given.share_below(runtime_s), abs=1e-12)
    assert shares[1.0] is not None
    assert shares[1.0] < 0.02
    assert shares[100.0] == pytest.approx(0.5, abs=0.15)
    assert shares[50_000.0] is not None
    assert shares[50_000.0] > 0.98


def test_a_run_is_scored_by_the_forecast_it_was_given_whatever_ends_meanwhile() -> None:
    forecaster = a_forecaster(around(100.0, 0.2, 30))
    given = forecaster.submit("run", TASK, OWNER, LATER_S)
    after_s = show(forecaster, [1000.0] * 5, from_s=LATER_S + 1)
    share = forecaster.finish("run", 120.0, after_s)
    assert share == pytest.approx(given.share_below(120.0), abs=1e-12)


def test_open_runs_are_bounded_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OPEN_RUNS", 10)
    forecaster = Forecaster()
    for number in range(25):
        forecaster.submit(str(number), TASK, OWNER, START_S + number)
    assert forecaster.open_runs() == tuple(str(number) for number in range(15, 25))
    unsaved = forecaster.state.take_unsaved()
    assert unsaved.runs == set(forecaster.open_runs())
    assert unsaved.ended == {str(number) for number in range(15)}


def test_a_run_that_never_ends_is_dropped_after_a_bound() -> None:
    forecaster = Forecaster()
    forecaster.submit("endless", TASK, OWNER, START_S)
    forecaster.start("endless", START_S)
    forecaster.submit("soon", TASK, OWNER, START_S + MAX_OPEN_S - 1)
    assert forecaster.open_runs() == ("endless", "soon")
    forecaster.submit("late", TASK, OWNER, START_S + MAX_OPEN_S + 1)
    assert forecaster.open_runs() == ("soon", "late")


def test_tasks_and_owners_are_bounded_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TASKS", 10)
    monkeypatch.setattr(module, "MAX_OWNERS", 3)
    forecaster = Forecaster()
    for number in range(25):
        forecaster.learn(f"t{number}", f"o{number}", 100.0, START_S)
    known = [n for n in range(25) if forecaster.state.task(f"t{n}") is not None]
    assert known == list(range(15, 25))
    assert [n for n in range(25) if forecaster.state.owner(f"o{n}") is not None] == [22, 23, 24]
    assert {"t3", "t24"} <= forecaster.state.take_unsaved().tasks


def test_a_forgotten_task_is_new_again() -> None:
    forecaster = a_forecaster([100.0] * 9)
    forecaster.submit("run", TASK, OWNER, LATER_S)
    forecaster.state.take_unsaved()
    forecaster.forget(TASK)
    forecaster.forget("shop/unknown")
    assert forecaster.state.task(TASK) is None
    assert forecaster.open_runs() == ()
    assert forecaster.forecast(TASK, OWNER, LATER_S).known_runs == 0
    unsaved = forecaster.state.take_unsaved()
    assert unsaved.tasks == {TASK}
    assert unsaved.ended == {"run"}


def test_a_run_submitted_twice_is_one() -> None:
    forecaster = a_forecaster([100.0])
    forecaster.submit("run", TASK, OWNER, LATER_S)
    forecaster.submit("run", TASK, OWNER, LATER_S + 1)
    assert forecaster.open_runs() == ("run",)
    assert forecaster.finish("run", 100.0, LATER_S + 101) is not None
    assert forecaster.forecast(TASK, OWNER, LATER_S + 200).known_runs == 2


def test_what_changed_is_told_once() -> None:
    forecaster = a_forecaster([100.0])
    forecaster.submit("run", TASK, OWNER, LATER_S)
    unsaved = forecaster.state.take_unsaved()
    assert unsaved.tasks == {TASK}
    assert unsaved.owners == {OWNER}
    assert unsaved.shared
    assert unsaved.runs == {"run"}
    assert forecaster.state.take_unsaved().runs == set()
    forecaster.start("run", LATER_S)
    assert forecaster.state.take_unsaved().runs == {"run"}
    forecaster.drop("run")
    assert forecaster.state.take_unsaved().ended == {"run"}


def test_a_run_in_a_burst_teaches_less_than_one_alone() -> None:
    alone = a_forecaster([100.0] * 20)
    burst = a_forecaster([100.0] * 20)
    show(alone, [10_000.0], from_s=LATER_S)
    for number in range(40):
        burst.submit(str(number), TASK, OWNER, LATER_S)
    burst.finish("39", 10_000.0, LATER_S + 10_000)
    at_s = LATER_S + 20_000
    longer = [each.forecast(TASK, OWNER, at_s).longer_than(1000.0) for each in (alone, burst)]
    assert longer[0] > 2 * longer[1]


@pytest.mark.slow
def test_the_quantiles_are_numbers_whatever_was_seen() -> None:
    random = np.random.default_rng(11)
    forecaster = Forecaster()
    for number in range(3000):
        task = f"t{int(random.integers(7))}"
        forecaster.submit(str(number), task, OWNER, START_S + float(random.normal(0, 1e6)))
        if random.random() < 0.7:
            forecaster.start(str(number), START_S + float(random.normal(0, 1e6)))
        if random.random() < 0.9:
            ended = int(random.integers(max(0, number - 50), number + 1))
            runtime_s = float(np.exp(random.uniform(-3, 20)))
            forecaster.finish(str(ended), runtime_s, START_S + float(random.normal(0, 1e6)))
        quantiles_s = forecaster.forecast(task, OWNER, START_S).quantiles_s(QUANTILES)
        assert np.isfinite(quantiles_s).all()
        assert (np.diff(quantiles_s) >= 0).all()
