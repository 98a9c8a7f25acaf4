"""Forecasts on a public log: published figures of the simple methods, which ours beats.

`make test-traces` runs these where the logs are; see docs/forecast-benchmark.md. Ours forecasts
only the first third of the shortest log: all of it takes minutes of a processor. `make soak`
replays it to its end and compares it with the published figures, and `make bench-forecast` replays
all logs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from benchmarks.forecast.bars import AIMS, GAIN_PER_TASK, LIGHTGBM, LLNL, OWN, PUBLISHED, Aim
from plimsoll_predictor.replay.runtimes.judging import METHODS, Judged, judge
from plimsoll_predictor.replay.runtimes.log_reading import read_log
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog
from tests.rigs.traces import trace_file

START_RUNS = 40_000
# Our figures on the log's start; the same margins as on the whole.
START_AIM = Aim(pin=(0.203, 0.218), p95_coverage=(0.94, 0.96), skill=(0.40, 0.53))


@cache
def log() -> RuntimeLog:
    return read_log(trace_file(LLNL))


@pytest.fixture(scope="module", name="runs")
def runs_of_ours(pytestconfig: pytest.Config) -> int:
    """How many runs of the log ours forecasts."""
    return len(log().runs) if pytestconfig.getoption("whole") else START_RUNS


@cache
def judged(method: str, runs: int | None = None) -> Judged:
    """A method's figures on the first so many runs; None is all."""
    return judge(replace(log(), runs=log().runs[:runs]), METHODS[method])


def test_no_row_of_the_log_is_left_out() -> None:
    assert len(log().runs) == 113_613
    assert log().left_out == {}


@pytest.mark.parametrize("method", ["own-history", "last-20", "requested-time"])
def test_a_simple_method_reproduces_its_published_figures(method: str) -> None:
    found = judged(method).score
    assert (found.pin_runs, found.pin_tasks) == pytest.approx(PUBLISHED[method][LLNL], rel=0.02)


def test_ours_is_as_good_as_it_is_to_be(runs: int) -> None:
    found = judged(OWN, runs).score
    aim = START_AIM if runs == START_RUNS else AIMS[LLNL]
    assert round(found.pin_runs, 3) <= aim.pin[0]
    assert round(found.pin_tasks, 3) <= aim.pin[1]
    assert aim.p95_coverage[0] <= found.p95_coverage <= aim.p95_coverage[1]
    assert found.skill_2x is not None
    assert found.skill_10x is not None
    assert found.skill_2x >= aim.skill[0]
    assert found.skill_10x >= aim.skill[1]


def test_ours_is_below_own_history_and_boosted_quantiles(runs: int) -> None:
    own, history = judged(OWN, runs).score, judged("own-history", runs).score
    assert own.pin_tasks <= (1 - GAIN_PER_TASK) * history.pin_tasks
    if runs > START_RUNS:  # for boosted quantiles, only figures on the whole log are published
        assert own.pin_runs < LIGHTGBM[LLNL]
