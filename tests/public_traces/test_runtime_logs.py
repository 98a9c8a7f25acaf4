"""Forecasts on a public log: what was published of the simple methods, and that ours beats them.

`make test-traces` runs these where the logs are; see docs/forecast-benchmark.md. The shortest log,
as its replay is to take less than a minute; `make bench-forecast` replays all.
"""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.forecast.bars import AIMS, GAIN_PER_TASK, LIGHTGBM, LLNL, OWN, PUBLISHED
from plimsoll_predictor.replay.runtimes.judging import METHODS, Judged, judge
from plimsoll_predictor.replay.runtimes.log_reading import read_log
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog
from tests.rigs.traces import trace_file


@cache
def log() -> RuntimeLog:
    return read_log(trace_file(LLNL))


@cache
def judged(method: str) -> Judged:
    return judge(log(), METHODS[method])


def test_no_row_of_the_log_is_left_out() -> None:
    assert len(log().runs) == 113_613
    assert log().left_out == {}


@pytest.mark.parametrize("method", ["own-history", "last-20", "requested-time"])
def test_a_simple_method_reproduces_its_published_figures(method: str) -> None:
    found = judged(method).score
    assert (found.pin_runs, found.pin_tasks) == pytest.approx(PUBLISHED[method][LLNL], rel=0.02)


def test_ours_is_as_good_as_it_is_to_be() -> None:
    found, aim = judged(OWN).score, AIMS[LLNL]
    assert round(found.pin_runs, 3) <= aim.pin[0]
    assert round(found.pin_tasks, 3) <= aim.pin[1]
    assert aim.p95_coverage[0] <= found.p95_coverage <= aim.p95_coverage[1]
    assert found.skill_2x is not None
    assert found.skill_10x is not None
    assert found.skill_2x >= aim.skill[0]
    assert found.skill_10x >= aim.skill[1]


def test_ours_is_below_own_history_and_boosted_quantiles() -> None:
    own, history = judged(OWN).score, judged("own-history").score
    assert own.pin_tasks <= (1 - GAIN_PER_TASK) * history.pin_tasks
    assert own.pin_runs < LIGHTGBM[LLNL]
