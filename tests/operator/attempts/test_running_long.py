"""Runs that run long: when one does, by its own forecast, and what is reported."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from plimsoll_operator.attempts.running_long import (
    LEAST_RUNS_TO_WARN,
    Deadlines,
    RunForecast,
    running_long_words,
)
from plimsoll_operator.controller.hub.hub import Hub, RanLong, RunEnded, RunStarted, RuntimeForecast
from plimsoll_operator.controller.runtimes.living_runs import LongRuns
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_predictor.core.durations import clock_words
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from tests.builders.pods import a_pod

TRAIN = TaskId("lab", "train")
NOON_S = 1_700_000_000.0


def forecast_of(*runtimes_s: float) -> RunForecast:
    """The forecast of a run after those, submitted at noon."""
    forecaster = Forecaster()
    for number, runtime_s in enumerate(runtimes_s):
        forecaster.learn(str(TRAIN), "lab", runtime_s, NOON_S - 1000 + number)
    forecast = forecaster.forecast(str(TRAIN), "lab", NOON_S)
    return RunForecast(TRAIN, forecast, NOON_S)


MINUTES = forecast_of(*[60.0 + number % 10 for number in range(50)])


def test_a_run_has_a_deadline_of_its_own_from_its_start() -> None:
    assert MINUTES.deadline_s is None, "it waits"
    started = replace(MINUTES, started_s=NOON_S + 900)
    deadline_s = started.deadline_s
    assert deadline_s is not None
    assert 70 < deadline_s - (NOON_S + 900) < 300


def test_a_task_of_few_runs_is_not_held_against_them() -> None:
    for runs, held in ((LEAST_RUNS_TO_WARN - 1, False), (LEAST_RUNS_TO_WARN, True)):
        run = replace(forecast_of(*[60.0] * runs), started_s=NOON_S)
        assert (run.deadline_s is not None) is held


@pytest.mark.parametrize(("days", "held"), [(10, True), (25, False)])
def test_a_run_that_lasts_beyond_all_forecasts_has_no_deadline(days: int, held: bool) -> None:
    run = replace(forecast_of(*[days * DAY_S] * 100), started_s=NOON_S)
    assert (run.deadline_s is not None) is held


def test_the_words_say_how_long_how_unusual_and_when_it_ends() -> None:
    run = replace(MINUTES, started_s=NOON_S)
    words = running_long_words(run, NOON_S + 720)
    long = clock_words(run.long_after_s)
    assert words.startswith(f"running for 12m; 99 of 100 runs of lab/train end within {long}; ")
    even, surely = re.findall(r"by (\S+ \S+) UTC", words)
    assert "2023-11-14 22:25" <= even <= surely, "not before now: it has run for 12 minutes"
    assert words.endswith("UTC, 19 in 20")


@pytest.mark.parametrize("now_s", [NOON_S - 5, NOON_S, NOON_S + 1e12])
def test_the_words_are_said_at_any_time_of_a_clock(now_s: float) -> None:
    assert "running for" in running_long_words(replace(MINUTES, started_s=NOON_S), now_s)


def test_deadlines_pass_in_their_order_each_once() -> None:
    chance, deadlines = random.Random(7), Deadlines()
    due_s = {f"r{number}": chance.uniform(0, 100) for number in range(5_000)}
    for run, at_s in due_s.items():
        deadlines.put(run, at_s + 50)
        deadlines.put(run, at_s)  # moved: only the last counts
    ended = {run for run in due_s if chance.random() < 0.5}
    for run in ended:
        deadlines.drop(run)
    found: list[str] = []
    for now_s in range(0, 101, 5):
        found += deadlines.due(now_s)
    assert found == sorted(due_s.keys() - ended, key=lambda run: due_s[run])
    assert (len(deadlines), deadlines.next_s(), deadlines.due(1e9)) == (0, None, [])


def test_deadlines_of_runs_that_ended_are_not_kept() -> None:
    deadlines = Deadlines()
    for number in range(50_000):
        deadlines.put(f"r{number}", 1e9 + number)
        deadlines.drop(f"r{number - 10}")
    assert len(deadlines) == 10
    assert len(deadlines._heap) < 2_000


class Watching:
    """Running runs with a clock that tests set, and their reports."""

    def __init__(self) -> None:
        self.now_s = NOON_S
        self.told: list[RanLong] = []
        self.metrics, hub = ControllerMetrics(), Hub()
        hub.subscribe(RanLong, self.told.append)
        self.runs = LongRuns(hub, self.metrics.runs, lambda: self.now_s)

    def value(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"plimsoll_run_{name}")

    def look(self, after_s: float) -> None:
        self.now_s = NOON_S + after_s
        self.runs.look()


def test_a_run_is_told_once_when_it_passes_its_own_deadline() -> None:
    watching, run = Watching(), replace(MINUTES, started_s=NOON_S)
    watching.runs.see("u", a_pod().named("train-1", uid="u").built())
    watching.runs.run_started(RunStarted("u", run))
    watching.look(run.long_after_s - 1)
    assert (watching.told, watching.value("running_long")) == ([], 0)
    watching.look(run.long_after_s + 1)
    watching.look(run.long_after_s + 9999)
    assert [(each.attempt_uid, each.task, each.pod.name) for each in watching.told] == [
        ("u", TRAIN, "train-1")
    ]
    assert (watching.value("running_long"), watching.value("running")) == (1, 1)
    watching.runs.run_ended(RunEnded("u", 0.999))
    assert (watching.value("running_long"), watching.value("running")) == (0, 0)


def test_a_run_that_was_told_before_a_restart_is_counted_and_not_told_again() -> None:
    watching = Watching()
    watching.runs.run_started(
        RunStarted("u", replace(MINUTES, started_s=NOON_S - 9999, announced_s=NOON_S - 9000))
    )
    watching.runs.see("u", a_pod().named("train-1", uid="u").built())
    watching.look(1)
    assert (watching.told, watching.value("running_long")) == ([], 1)


def test_a_late_run_whose_pod_was_not_seen_yet_is_told_when_it_is() -> None:
    watching = Watching()
    watching.runs.run_started(RunStarted("u", replace(MINUTES, started_s=NOON_S - 9999)))
    watching.look(1)
    assert (watching.told, watching.value("running_long")) == ([], 1)
    watching.runs.see("u", a_pod().named("train-1", uid="u").built())
    watching.look(60)
    assert len(watching.told) == 1


def test_a_run_that_ends_in_time_is_not_told() -> None:
    watching, run = Watching(), replace(MINUTES, started_s=NOON_S)
    watching.runs.run_started(RunStarted("u", run))
    watching.runs.run_ended(RunEnded("u", 0.4))
    watching.look(run.long_after_s + 1)
    assert watching.told == []


def test_forecasts_are_counted_and_held_against_what_came() -> None:
    watching = Watching()
    for share in (0.1, 0.5, 0.951, 0.999):
        watching.runs.runtime_forecast(RuntimeForecast())
        watching.runs.run_ended(RunEnded("u", share))
    watching.runs.runtime_forecast(RuntimeForecast())
    watching.runs.run_ended(RunEnded("killed", None))
    assert watching.value("forecasts_total") == 5
    assert watching.value("forecasts_scored_total") == 4
    assert watching.value("beyond_p95_total") == 2
