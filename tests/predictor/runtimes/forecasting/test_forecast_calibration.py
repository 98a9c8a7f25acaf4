"""Forecasts hold what they say for every kind of task, not only over all runs together."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from plimsoll_predictor.core.units import HOUR_S
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from tests.builders.runtimes.forecasters import OWNER, START_S

ROUNDS = 300
USUAL_S = 600.0
VARIED = "shop/varied"
NEW_IN_HEAD = ("pitOfWidth", "pitOfWidthInContext", "featuredPitOfWidth")


def play_hours(forecaster: Forecaster, steady_tasks: int, spread: float) -> list[float]:
    """Tasks within 2%, and one that varies: where its later runs fell in their forecasts."""
    random, shares = np.random.default_rng(7), []
    tasks = {f"shop/steady-{number}": 0.02 for number in range(steady_tasks)} | {VARIED: spread}
    for number in range(ROUNDS):
        at_s = START_S + HOUR_S * number
        for task, its_spread in tasks.items():
            runtime_s = USUAL_S * float(np.exp(its_spread * random.standard_normal()))
            forecast = forecaster.submit(task, task, OWNER, at_s)
            forecaster.start(task, at_s)
            forecaster.finish(task, runtime_s, at_s + runtime_s)
            if task == VARIED and number >= ROUNDS // 2:
                shares.append(forecast.share_below(runtime_s))
    return shares


@pytest.mark.parametrize("steady_tasks", [0, 12])
def test_a_task_that_varies_is_not_told_the_tails_of_its_steady_neighbours(
    steady_tasks: int,
) -> None:
    shares = np.array(play_hours(Forecaster(), steady_tasks, spread=0.8))
    assert 0.8 <= (shares <= 0.9).mean() <= 0.96
    assert 0.9 <= (shares <= 0.95).mean() <= 0.99
    assert (shares >= 0.99).mean() <= 0.03, "called running long"


def test_the_calibration_of_an_older_version_is_read_and_goes_on_by_width() -> None:
    learned = Forecaster()
    play_hours(learned, 2, spread=0.8)
    older = without_widths(learned.state.shared())
    forecaster = Forecaster()
    forecaster.state.restore_shared(older)
    task = learned.state.task(VARIED)
    assert task is not None
    forecaster.state.restore_task(VARIED, task)
    at_s = START_S + ROUNDS * HOUR_S
    now, then = (each.forecast(VARIED, "new", at_s) for each in (forecaster, learned))
    assert now.quantile_s(0.5) == pytest.approx(then.quantile_s(0.5), rel=0.1)
    assert set(head_of(forecaster.state.shared())) == set(head_of(learned.state.shared()))
    play_hours(forecaster, 2, spread=0.8)
    again = Forecaster()
    again.state.restore_shared(forecaster.state.shared())
    assert again.state.shared() == forecaster.state.shared()


@pytest.mark.parametrize("written", [None, "no base64", "AAAA", 7])
@pytest.mark.parametrize("key", NEW_IN_HEAD)
def test_a_calibration_that_is_none_is_refused(key: str, written: object) -> None:
    forecaster = Forecaster()
    before = forecaster.state.shared()
    damaged = with_head(before, {**head_of(before), key: written})
    with pytest.raises(ValueError, match=r"forecasts|array|reshape|base64|padded|buffer"):
        forecaster.state.restore_shared(damaged)
    assert forecaster.state.shared() == before


def without_widths(state: bytes) -> bytes:
    head = head_of(state)
    return with_head(state, {key: head[key] for key in head if key not in NEW_IN_HEAD})


def head_of(state: bytes) -> dict[str, object]:
    plain = zlib.decompress(state)
    head: dict[str, object] = json.loads(plain[4 : 4 + int.from_bytes(plain[:4], "big")])
    return head


def with_head(state: bytes, head: dict[str, object]) -> bytes:
    plain = zlib.decompress(state)
    body = plain[4 + int.from_bytes(plain[:4], "big") :]
    written = json.dumps(head).encode()
    return zlib.compress(len(written).to_bytes(4, "big") + written + body)
