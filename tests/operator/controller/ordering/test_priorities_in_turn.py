"""Priorities in the queue: nobody starts who would be preempted at once for one that waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering.other_pods import LIST_EVERY_S
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from tests.builders.controller.turns import WAIT, Queueing, a_queue, runs, waits
from tests.builders.pods import APod, a_pod

PASSED_OVER = {
    "type": "PodScheduled",
    "status": "False",
    "message": "0/2 nodes are available: 2 Insufficient cpu.",
}


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    """One core is free on each of two nodes; what runs there is of the highest priority."""
    async with a_queue() as made:
        made.see(runs("computes", "node-1").with_spec(priority=9))
        made.see(runs("waiting", "node-2", WAIT).with_spec(priority=9))
        yield made


def low(**spec: Any) -> APod:
    pod = a_pod().named("low", "uid-low").unlabelled().with_cpu("2").with_spec(**spec)
    return pod.with_status(phase="Pending", conditions=[PASSED_OVER])


async def test_none_waits_while_the_scheduler_has_a_pod_of_lower_priority(
    queueing: Queueing,
) -> None:
    for number in range(2):
        pod = waits(f"high-{number}", cpu="2").with_spec(priority=9)
        queueing.see(pod, created=number)
    queueing.see(waits("same", cpu="2"), created=2)
    await queueing.look()
    assert queueing.server.held == {"high-0", "high-1", "same"}
    queueing.server.has(low(nodeSelector={"pool": "elsewhere"}))
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.held == {"high-0", "high-1", "same"}
    queueing.server.has(low(nodeSelector=None))
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.held == {"same"}


async def test_with_one_that_has_waited_for_too_long_go_all_of_a_higher_priority(
    queueing: Queueing,
) -> None:
    queueing.see(waits("early", cpu="2").with_spec(priority=1))
    await queueing.look()
    late = waits("high", cpu="2").with_spec(priority=9)
    queueing.see(late, created=59)
    queueing.see(waits("lower", cpu="2"), created=59)
    await queueing.look(MOST_WAIT_S - 40.0)
    assert queueing.server.held == {"early", "high", "lower"}
    await queueing.look(10.0)
    assert queueing.server.held == {"lower"}


@pytest.mark.slow
async def test_where_none_of_the_highest_priority_fits_one_goes_in_front_and_no_more(
    queueing: Queueing,
) -> None:
    for number in range(4):
        large = waits(f"high-{number}", cpu="2").with_spec(priority=9)
        queueing.see(large, created=number)
    queueing.see(waits("small-0"), created=7)
    queueing.see(waits("small-1", WAIT), created=8)
    await queueing.look()
    assert queueing.server.held == {"high-1", "high-2", "high-3"}
    assert queueing.prefers("high-0") == []
    assert queueing.prefers("small-0") == ["node-2"]
