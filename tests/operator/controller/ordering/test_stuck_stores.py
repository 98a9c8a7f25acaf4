"""Nobody waits for long, and releases go on, while the controller's store cannot be written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering import releases
from plimsoll_operator.controller.ordering.releases import RENEW_EVERY_S
from plimsoll_operator.controller.ordering.stuck_store import STUCK_FOR_S
from plimsoll_operator.controller.tasks.healing import HANGS_AFTER_S, UNSEEN
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from tests.builders.controller.ledgers import an_inside
from tests.builders.controller.turns import CPU, WAIT, Queueing, a_queue, waits


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    async with a_queue() as made:
        yield made


async def test_forecasts_that_do_not_come_stop_no_releases(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who saves what was learned holds its lock until the store takes it."""
    monkeypatch.setattr(releases, "RENEW_WITHIN_S", 0.1)

    async def never(task: TaskId, at_s: float) -> Forecast | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(queueing.past, "forecast", never)
    queueing.see(waits("cpu-0"))
    await asyncio.wait_for(queueing.look(RENEW_EVERY_S), 30.0)
    assert queueing.server.held == set()
    assert queueing.ordered == {str(CPU), str(WAIT)}, "a save takes long, and harms nobody"


async def test_nobody_waits_while_the_store_cannot_be_written(queueing: Queueing) -> None:
    queueing.see(waits("large", cpu="2"))
    queueing.past.store_is_stuck = True
    await queueing.look()
    await queueing.look(STUCK_FOR_S - 1.0)
    assert queueing.server.held == {"large"}
    assert queueing.ordered == {str(CPU), str(WAIT)}
    await queueing.look(1.0)
    assert queueing.server.held == set()
    assert queueing.ordered == set()
    queueing.past.store_is_stuck = False
    await queueing.look(1.0)
    assert queueing.ordered == {str(CPU), str(WAIT)}


@pytest.mark.slow
async def test_a_store_that_is_stuck_now_and_then_ends_no_order(queueing: Queueing) -> None:
    queueing.see(waits("large", cpu="2"))
    for is_stuck in (True, False, True):
        queueing.past.store_is_stuck = is_stuck
        await queueing.look(STUCK_FOR_S - 1.0)
    assert queueing.server.held == {"large"}
    assert queueing.ordered == {str(CPU), str(WAIT)}


def test_what_is_promised_is_kept_for_a_write_that_hangs() -> None:
    assert HANGS_AFTER_S + STUCK_FOR_S + RENEW_EVERY_S < 60.0


@pytest.mark.slow
async def test_the_controller_says_when_its_store_is_stuck(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        made = inside.controller
        made.bounds.set_unhealed(UNSEEN)
        assert not made.watch.releases.store_is_stuck(), "pods keep their order at each start"
        inside.store.database.trouble = "the disk is full"
        assert made.watch.releases.store_is_stuck()
