"""An API server that is gone for a while."""

from __future__ import annotations

import pytest
from deploy.local.lifecycle import start_program, stop_program

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, decision_of, ended, go_on, retried, running
from tests.e2e.workloads import LONG_S, a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


async def test_what_ended_while_the_api_server_was_away_is_observed_and_healed(
    shop: Shop, plimsoll: Plimsoll, cluster: Cluster
) -> None:
    fitting = (
        await create(shop, a_pod("fitting", f"eat 40 {LONG_S}", task="fitting"))
    ).metadata.uid
    heavy = (await create(shop, a_pod("heavy", f"eat 90 0 {LONG_S}", task="heavy"))).metadata.uid
    for name in ("fitting", "heavy"):
        await running(shop, name)
    stop_program(cluster.handle, "kube-apiserver")
    try:
        # The agent does not need the API server; its last report tells that a pod has ended.
        for uid in (fitting, heavy):
            await go_on(uid)
            await until("its end", lambda uid=uid: final_peak(plimsoll, uid), WITHIN_S)
    finally:
        start_program(cluster.handle, "kube-apiserver")
        await until("the API server", cluster.handle.is_up, WITHIN_S)

    assert (await retried(shop, heavy, pauses=True)).status.phase == "Succeeded"
    (seen,) = await until("seen", lambda: plimsoll.observations(shop.task("fitting")), WITHIN_S)
    assert seen.outcome is Outcome.SUCCEEDED
    assert seen.peak_bytes is not None
    assert 40 * MIB <= seen.peak_bytes <= 56 * MIB

    pod = await create(shop, a_pod("next", "eat 40", task="fitting", memory="256Mi"))
    assert decision_of(pod)["mode"] == "enforce"
    assert (await ended(shop, "next")).status.phase == "Succeeded"


def final_peak(plimsoll: Plimsoll, uid: str) -> bool:
    return any(report["final"] for report in plimsoll.store.peaks.of_pod(uid))
