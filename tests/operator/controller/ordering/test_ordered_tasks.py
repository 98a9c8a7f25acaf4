"""Whose new pods may wait: tasks that run long, and whose slowdown by others is known."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering.ordered_tasks import FIRST_LATENCY_S, LEAST_RUNTIMES
from plimsoll_operator.controller.ordering.releases import RENEW_EVERY_S
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.prices import costs_on_nodes
from tests.builders.controller.turns import CPU, WAIT, Queueing, a_queue, learned, runs, waits


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    async with a_queue() as made:
        yield made


@pytest.mark.slow
async def test_only_tasks_that_run_long_enough_are_ordered(queueing: Queueing) -> None:
    queueing.past.runtimes_s = {CPU: LEAST_RUNTIMES * FIRST_LATENCY_S - 1, WAIT: None}
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == set()
    # Releases were measured to be quick: shorter tasks are worth it.
    queueing.releases.ordered.latency.saw(FIRST_LATENCY_S / 4)
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == {str(CPU)}


@pytest.mark.slow
async def test_a_setting_has_shorter_tasks_ordered(queueing: Queueing) -> None:
    assert ControllerSettings().order_least_runtimes == LEAST_RUNTIMES
    queueing.past.runtimes_s = {CPU: 3 * FIRST_LATENCY_S, WAIT: FIRST_LATENCY_S}
    queueing.releases.ordered.least_runtimes = 2.0
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == {str(CPU)}


async def test_a_release_is_timed_until_the_pod_has_a_node(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    await queueing.look()
    queueing.clock[0] += 0.4
    queueing.see(runs("cpu-0", "node-2"))
    assert queueing.releases.ordered.latency.usual_s == pytest.approx(0.4)


@pytest.mark.slow
async def test_who_gets_along_with_all_alike_is_ordered_by_what_others_runs_tell(
    queueing: Queueing,
) -> None:
    """Otherwise it would start before its turn, with all that wait."""
    matrix = queueing.past.matrix = learned(runs=70, noise=0.3)
    known = costs_on_nodes(matrix)[0].known
    assert not known[matrix.place(str(WAIT))].any()
    assert known[matrix.place(str(CPU)), matrix.place(str(WAIT))]
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == {str(CPU), str(WAIT)}


@pytest.mark.slow
async def test_an_untaught_plimsoll_orders_nobody(queueing: Queueing) -> None:
    queueing.past.matrix = Interference().matrix()
    await queueing.look(RENEW_EVERY_S)
    assert queueing.ordered == set()
