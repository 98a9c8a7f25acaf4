"""A controller killed (-9) at a bad moment: nothing is lost, nothing is doubled."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import CONTROLLER, Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    end_of,
    ended,
    go_on,
    retried,
    retries_of,
    running,
)
from tests.e2e.workloads import LONG_S, a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


async def test_a_pod_killed_while_the_controller_is_dead_is_observed_once_and_retried_once(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    uid = (await create(shop, a_pod("heavy", f"eat 90 0 {LONG_S}"))).metadata.uid
    await running(shop, "heavy")
    before = plimsoll.pid(CONTROLLER)
    with plimsoll.without(CONTROLLER):
        await go_on(uid)
        assert end_of(await ended(shop, "heavy")) == ("OOMKilled", 137)
        assert plimsoll.observations(shop.task()) == []
    await plimsoll.back(CONTROLLER, before)
    assert (await retried(shop, uid, pauses=True)).status.phase == "Succeeded"
    # Once more, with nothing to do: it looks at both pods again and finds its own results.
    await plimsoll.killed(CONTROLLER)
    await create(shop, a_pod("later", "eat 8", task="later"))
    await until("the next pod", lambda: plimsoll.observations(shop.task("later")), WITHIN_S)
    seen = plimsoll.observations(shop.task())
    assert [each.outcome for each in seen] == [Outcome.OOM_KILLED, Outcome.SUCCEEDED]
    assert len(await retries_of(shop, uid)) == 1
    assert len(await shop.pods()) == 3
