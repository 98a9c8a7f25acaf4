"""The mixture and the expert that knows features: weighed online, saved, and safe without it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.runtimes.features.feature_expert import SHARES, FeatureExpert
from plimsoll_predictor.runtimes.features.lines import signed_ln
from plimsoll_predictor.runtimes.forecasting.examples import FinishedRows
from plimsoll_predictor.runtimes.forecasting.forecast import QUANTILES
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.playing import play
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from tests.builders.experts.feature_experts import CLEAR, an_expert
from tests.builders.runtimes.forecasters import OWNER, START_S, TASK

SHORT, LONG = AskedRun(requested_s=60.0), AskedRun(requested_s=3600.0)
NEXT_S = START_S + 1e7


def run_of(number: int, asked: AskedRun, runtime_s: float) -> LogRun:
    at_s = START_S + number * 5000.0
    return LogRun(
        line=number,
        task=TASK,
        owner=OWNER,
        submitted_s=at_s,
        started_s=at_s + 1,
        runtime_s=runtime_s,
        finished_s=at_s + 1 + runtime_s,
        requested_s=asked.requested_s,
        features=asked.features,
    )


def ruled_runs(runs: int = 80, seed: int = 4) -> list[LogRun]:
    """Runs that asked for an hour take ten times as long."""
    dice, found = random.Random(seed), []
    for number in range(runs):
        asked = dice.choice((SHORT, LONG))
        found.append(run_of(number, asked, (30, 300)[asked is LONG] * dice.lognormvariate(0, 0.1)))
    return found


def a_forecaster(expert: FeatureExpert | None, runs: int = 80) -> Forecaster:
    forecaster = Forecaster()
    forecaster.expert = expert
    play(ruled_runs(runs), forecaster)
    return forecaster


def quantiles_s(forecaster: Forecaster, asked: AskedRun | None) -> np.ndarray:
    return forecaster.forecast(TASK, OWNER, NEXT_S, asked).quantiles_s(QUANTILES)


def test_what_a_run_asks_for_moves_its_forecast() -> None:
    forecaster = a_forecaster(an_expert())
    short, long = (
        forecaster.forecast(TASK, OWNER, NEXT_S, asked).quantile_s(0.5) for asked in (SHORT, LONG)
    )
    assert short < 60.0
    assert long > 200.0
    past = a_forecaster(None)
    assert np.array_equal(quantiles_s(past, SHORT), quantiles_s(past, LONG))


@pytest.mark.slow
def test_an_expert_that_is_always_wrong_loses_its_weight() -> None:
    right, wrong = a_forecaster(an_expert()), a_forecaster(an_expert(sure=-CLEAR))
    of_right, of_wrong = (each.feature_weight(TASK, OWNER, NEXT_S) for each in (right, wrong))
    assert of_right is not None
    assert of_wrong is not None
    assert of_right > 0.6
    assert of_wrong < 0.2
    assert a_forecaster(None).feature_weight(TASK, OWNER, NEXT_S) is None


def test_one_that_agrees_with_the_past_changes_little() -> None:
    calm, past = a_forecaster(an_expert(sure=0.0)), a_forecaster(None)
    forecasts = [each.forecast(TASK, OWNER, NEXT_S, SHORT) for each in (calm, past)]
    for runtime_s in np.geomspace(1, 10_000, 200):
        shares = [each.share_below(runtime_s) for each in forecasts]
        assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_the_experts_of_the_past_learn_the_same_with_and_without_it() -> None:
    with_it, without = a_forecaster(an_expert()), a_forecaster(None)
    with_it.expert = None
    assert np.array_equal(quantiles_s(with_it, LONG), quantiles_s(without, LONG))


def test_the_next_run_is_taken_to_ask_for_what_the_last_one_did() -> None:
    forecaster = a_forecaster(an_expert())
    last = ruled_runs()[-1].asked
    assert np.array_equal(quantiles_s(forecaster, None), quantiles_s(forecaster, last))


@pytest.mark.parametrize("restarted", [False, True])
def test_a_feature_of_the_last_run_counts_for_the_next_one(restarted: bool) -> None:
    forecaster = Forecaster()
    forecaster.expert = an_expert(ruling="the feature", asked_ln=signed_ln(1000.0))
    few, many = AskedRun(features={"rows": 100.0}), AskedRun(features={"rows": 9000.0})
    runs = [
        run_of(number, many if number % 2 else few, 300.0 if number % 2 else 30.0)
        for number in range(40)
    ]
    play(runs, forecaster)
    if restarted:
        saved = forecaster.state.task(TASK)
        assert saved is not None
        forecaster.state.restore_task(TASK, saved)
    of_few, of_many = quantiles_s(forecaster, few), quantiles_s(forecaster, many)
    assert of_few[10] < 60
    assert of_many[10] > 200
    assert np.array_equal(quantiles_s(forecaster, None), of_many)


def test_the_load_when_the_last_run_was_submitted_is_not_that_of_the_next_one() -> None:
    forecaster = a_forecaster(an_expert())
    crowded = AskedRun(requested_s=3600.0, busy=1.0, queued=500.0)
    forecaster.learn(TASK, OWNER, 300.0, NEXT_S - 5000.0, crowded)
    assert np.array_equal(quantiles_s(forecaster, None), quantiles_s(forecaster, LONG))


@pytest.mark.parametrize("until", [0, 7, 40])
def test_a_restart_changes_nothing_of_what_features_say(until: int) -> None:
    whole, halved = Forecaster(), Forecaster()
    whole.expert = halved.expert = an_expert()
    runs = ruled_runs()
    for forecaster in (whole, halved):
        play(runs[:until], forecaster)
        forecaster.submit("open", TASK, OWNER, runs[until].submitted_s, SHORT)
    restarted = Forecaster()
    restarted.expert = an_expert()
    state, into = halved.state, restarted.state
    into.restore_shared(state.shared())
    for saved, restore, name in (
        (state.owner(OWNER), into.restore_owner, OWNER),
        (state.task(TASK), into.restore_task, TASK),
        (state.run("open"), into.restore_run, "open"),
    ):
        if saved is not None:
            restore(name, saved)
    for forecaster in (whole, restarted):
        forecaster.finish("open", 45.0, runs[until].submitted_s + 46)
        play(runs[until + 1 :], forecaster)
    assert restarted.state.task(TASK) == whole.state.task(TASK)
    assert restarted.state.owner(OWNER) == whole.state.owner(OWNER)
    assert restarted.state.shared() == whole.state.shared()


def test_a_state_that_holds_what_nobody_wrote_of_features_is_refused() -> None:
    from plimsoll_predictor.runtimes.forecasting import feature_state
    from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast

    for head in (
        {"newest_ln": [1.0] * 9},
        {"newest_ln": ["x"]},
        {"newest_ln": [float("nan")]},
        {"lines": {"rows": [1.0]}},
        {"lines": {"rows": [0.0] * 8}},
        {"lines": {"rows": [1.0] * 7 + [float("inf")]}},
        {"lines": {f"f{number}": [1.0] * 8 for number in range(99)}},
        {"featureCredit": [1.0]},
        {"featureCredit": [-1.0, 0.0]},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - any sentence will do
            feature_state.restore_task(TaskPast(4), head)
    with pytest.raises(ValueError):  # noqa: PT011 - any sentence will do
        feature_state.restore_owner(OwnerPast(5), {"lastFinish_s": "noon"})


def test_a_state_of_an_older_version_begins_without_features() -> None:
    from plimsoll_predictor.runtimes.forecasting import feature_state
    from plimsoll_predictor.runtimes.forecasting.pasts import TaskPast

    past = TaskPast(4)
    feature_state.restore_task(past, {"runs": 3})
    assert past.newest_ln == ()
    assert past.asked == AskedRun()


def test_what_it_is_fitted_to_is_what_was_known_at_the_submission() -> None:
    finished = FinishedRows(most=50)
    forecaster = Forecaster(finished=finished)
    play(ruled_runs(), forecaster)
    examples = finished.examples()
    assert (finished.known, len(examples.rows), len(examples.places)) == (80, 50, 50)
    assert set(finished.tasks()) == {TASK}
    assert set(examples.places.tolist()) <= set(range(len(SHARES) - 1))
    # Two kinds of runs, each in its own half of the mixture's forecast, when it is settled.
    asked_ln = examples.rows[:, 16]
    assert examples.places[asked_ln > 6].mean() > examples.places[asked_ln < 6].mean() + 4
