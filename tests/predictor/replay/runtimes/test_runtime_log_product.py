"""The product's forecaster, replayed, learns what the controller learns."""

from __future__ import annotations

from plimsoll_predictor.core.units import DAY_S
from plimsoll_predictor.replay.runtimes.product import Product
from plimsoll_predictor.replay.runtimes.protocol import replay_log
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.runtimes.forecasting.playing import play
from plimsoll_predictor.runtimes.forecasting.settings import MAX_OPEN_S
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from tests.builders.runtimes.runtime_logs import a_log, a_log_run

WAIT_S = MAX_OPEN_S + DAY_S
WAITED = a_log_run(2).of("late", "u").at(0.0, WAIT_S).run


def runs() -> list[LogRun]:
    """One that waits so long that its end seems to be missed, and one a day all along."""
    daily = [a_log_run(3 + day).of("daily").at(day * DAY_S).run for day in range(70)]
    return [WAITED, *daily]


def test_a_run_that_waited_for_months_is_learned_at_its_end() -> None:
    product, forecaster = Product(None), Forecaster()
    replay_log(a_log(runs()), product)
    play(runs(), forecaster)
    for each in (product._forecaster, forecaster):
        known = each.forecast("late", "u", 99 * DAY_S)
        assert (known.known_runs, known.usual_s) == (1, 60.0)
