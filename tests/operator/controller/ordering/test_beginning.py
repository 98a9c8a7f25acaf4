"""A controller that begins has not seen all pods yet: nodes look emptier than they are."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering.releases import ALL_SEEN_WITHIN_S, SETTLING_S
from tests.builders.controller.turns import Queueing, a_queue, waits


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    async with a_queue() as made:
        made.releases._began_s = made.clock[0]
        yield made


@pytest.mark.slow
async def test_it_lets_nobody_go_at_first(queueing: Queueing) -> None:
    queueing.see(waits("cpu-0"))
    await queueing.look(SETTLING_S - 1.0)
    assert queueing.server.held == {"cpu-0"}
    await queueing.look(1.0)
    assert queueing.server.held == set()


async def test_nobody_has_a_turn_until_all_pods_were_seen(queueing: Queueing) -> None:
    queueing.past.complete = False
    queueing.see(waits("cpu-0"))
    await queueing.look(ALL_SEEN_WITHIN_S - 1.0)
    assert queueing.server.held == {"cpu-0"}
    queueing.past.complete = True
    await queueing.look()
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_nobody_waits_for_long_until_all_were_seen(queueing: Queueing) -> None:
    queueing.past.complete = False
    queueing.see(waits("cpu-0"))
    await queueing.look(ALL_SEEN_WITHIN_S)
    assert queueing.server.held == set()


@pytest.mark.slow
async def test_who_need_not_wait_goes_though_not_all_were_seen(queueing: Queueing) -> None:
    queueing.past.complete = False
    queueing.see(waits("cpu-0"))
    queueing.policies.set_namespace_spec("shop", None)
    await queueing.look(SETTLING_S)
    assert queueing.server.held == set()
