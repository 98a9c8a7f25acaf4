"""A run is called late only by forecasts that may also warn of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN, RunForecast
from plimsoll_operator.commands.runtimes.forecast_tables import forecast_table
from plimsoll_operator.views.runtimes.running_run import Punctuality, RunningRun
from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.builders.runtimes.forecasters import OWNER, START_S, TASK, a_forecaster
from tests.builders.runtimes.telling_pasts import NIGHTLY, steady_runs

NOW_S = START_S + 1e6
LONG_S = 1e5


def a_long_run(known_runs: int) -> RunningRun:
    """A run of a task whose known runs took a minute each; runs of its owner do, too."""
    forecaster = a_forecaster([60.0] * 30, task="shop/other")
    for number in range(known_runs):
        forecaster.learn(TASK, OWNER, 60.0, START_S + number)
    forecast = forecaster.forecast(TASK, OWNER, NOW_S)
    return RunningRun(name="x7", forecast=forecast, now_s=NOW_S, started_s=NOW_S - LONG_S)


@pytest.mark.parametrize("known_runs", [0, 1, LEAST_RUNS_TO_WARN - 1, LEAST_RUNS_TO_WARN, 30])
def test_a_run_is_running_long_only_where_its_pod_may_get_the_event(known_runs: int) -> None:
    run = a_long_run(known_runs)
    assert run.share_below is not None
    assert run.share_below > 0.99
    warned = RunForecast(TaskId.parse(TASK), run.forecast, NOW_S, started_s=run.started_s)
    told = Punctuality.UNKNOWN if warned.deadline_s is None else Punctuality.RUNNING_LONG
    assert run.punctuality is told
    assert run.to_dict()["punctuality"] == told.value
    assert (told is Punctuality.UNKNOWN) is (known_runs < LEAST_RUNS_TO_WARN)


@pytest.mark.slow
def test_the_terminal_says_why_it_is_not_known_whether_a_run_is_late(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
    store.observations.record(steady_runs(3))
    runtimes = gather_runtimes(store, NIGHTLY, NOW_S)
    store.close()
    console = Console(width=160, record=True, file=StringIO())
    console.print(forecast_table(runtimes, a_long_run(1), ()))
    text = " ".join(console.export_text().split())
    assert "is unknown: its forecast knew fewer than 5 runs of its task" in text
