"""An agent that raises pods of its node itself, by grants of the controller, with few rights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import memory_of, sizes_in_mode, told
from tests.rigs.node.agent_accounts import an_agent_account
from tests.rigs.node.enforced_limits import limit_file, limit_in
from tests.rigs.node.hand_alarms import IDLE_MIB, HandAlarms, an_idle_pod, hand_alarms

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


async def raised(alarms: HandAlarms, shop: Shop, name: str, uid: str) -> None:
    """Send alarms until the kernel enforces more, like an agent that continues to read."""

    def is_more() -> bool:
        # Read once: an alarm at the raised limit would be a new alarm, and raise the pod again.
        alarm = alarms.alarm(uid)
        if alarm.limit_bytes > IDLE_MIB * MIB:
            return True
        alarms.sender.offer([alarm])
        return False

    await until("the kernel enforces more", is_more)
    await told(shop, name, "Rescued")
    pod = await shop.pod_now(name)
    request, limit = memory_of(pod)
    assert request == limit
    assert parse_bytes(limit) == limit_in(limit_file(uid))
    note = json.loads(pod.metadata.annotations[labels.RESCUED])
    assert (note["limit"], note["uid"], note["raises"]) == ("64Mi", uid, 1)


async def test_what_is_granted_the_agent_raises_and_the_controller_notes_and_tells(
    plimsoll: Plimsoll, cluster: Cluster, tmp_path: Path
) -> None:
    async with a_shop(cluster.kubeconfig) as shop:
        await shop.enforce(rescue="auto", retry="never")
        await sizes_in_mode(shop, "enforce")
        uid = await an_idle_pod(shop, "idle")
        with (
            an_agent_account(cluster) as account,
            hand_alarms(cluster, plimsoll, tmp_path, account) as alarms,
        ):

            def granted() -> bool:
                alarms.sender.want([uid])
                return uid in alarms.granted

            await until("the controller grants a raise", granted)
            await raised(alarms, shop, "idle", uid)
            own = alarms.sender.own
            assert own is not None
            assert own.results == {"asked": 1, "refused": 0, "failed": 0}
            # Without the right, the agent asks the controller as before.
            (tmp_path / "api-token").write_text("nobody")
            other = await an_idle_pod(shop, "other")
            alarms.sender.want([other])
            await raised(alarms, shop, "other", other)
