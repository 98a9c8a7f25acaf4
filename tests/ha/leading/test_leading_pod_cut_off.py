"""The chart's leading pod loses its network in the middle of a burst of OOM kills."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any

import pytest
from deploy.chart.rendering import NAME

from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, until
from tests.apiserver.leading.candidates import LOST
from tests.ha.figures import FIGURES
from tests.ha.leading.bursts import Burst
from tests.ha.leading.pod_network import cut_off
from tests.ha.replicas.replicated import Replicated
from tests.rigs.speed import Speed

pytestmark = [pytest.mark.node]

PODS = 12
OVER_S = 10
LEASE_S = 10
"""The default."""
TAKES_OVER_WITHIN_S = 20.0
BACK_WITHIN_S = 120.0
"""The kubelet waits longer from restart to restart."""


def at_s(record: dict[str, Any]) -> float:
    return datetime.fromisoformat(record["timestamp"]).timestamp()


async def a_pair(replicated: Replicated) -> tuple[dict[str, Any], str]:
    """The pod that leads, and the name of the one that stands by."""

    async def found() -> tuple[dict[str, Any], str] | None:
        leader, pods = replicated.leader(), replicated.release.pods("controller")
        names = {pod["metadata"]["name"]: pod for pod in pods}
        others = names.keys() - {leader}
        if leader not in names or len(others) != 1:
            return None
        (other,) = others
        return (names[leader], other) if replicated.stands_by(other) else None

    pair: tuple[dict[str, Any], str] = await until("one leads, one stands by", found)
    return pair


def ended_itself(replicated: Replicated, pod: str, restarts: int) -> float | None:
    """When a controller's container ended once more, Unix seconds; checks how it ended."""
    (status,) = replicated.cluster.get("pod", pod, "-n", NAME)["status"]["containerStatuses"]
    if status["restartCount"] == restarts and "terminated" not in status["state"]:
        return None
    last = status["state"].get("terminated") or status["lastState"]["terminated"]
    assert last["exitCode"] == LOST, f"{pod} did not end by itself: {last}"
    return datetime.fromisoformat(last["finishedAt"]).timestamp()


@pytest.mark.timed
async def test_each_kill_is_retried_once_when_the_leading_pod_is_cut_off_in_a_burst(
    replicated: Replicated, shop: Shop, speed: Speed
) -> None:
    leader, other = await a_pair(replicated)
    name = leader["metadata"]["name"]
    (status,) = leader["status"]["containerStatuses"]
    burst = Burst(shop, "pod-cut")
    await burst.begin(PODS, OVER_S)
    await until("some are over", burst.some_are_over)
    with contextlib.closing(Store.open(replicated.url)) as store:
        with cut_off(replicated.cluster, leader["status"]["podIP"]):
            lost_s = datetime.now().timestamp()
            restarts = status["restartCount"]
            ended_s = await until("it ends", lambda: ended_itself(replicated, name, restarts))
            (started,) = await until(
                "another leads", lambda: replicated.logged(other, "controller started")
            )
            (leads,) = replicated.logged(other, "leads")
            await until("the Service leads to it", lambda: replicated.leader() == other)
            served_s = datetime.now().timestamp() - lost_s
            await burst.nothing_lost_nothing_doubled(store, 2 * LEASE_S / 5)
        healed_s = datetime.now().timestamp()
        await until("it stands by", lambda: replicated.stands_by(name), BACK_WITHIN_S)
        back_s = datetime.now().timestamp() - healed_s
        assert replicated.holder() == other
        await burst.nothing_lost_nothing_doubled(store, 2 * LEASE_S / 5)
    takes_s = at_s(started) - lost_s
    assert at_s(leads) >= ended_s  # never two at once
    ends = speed.within("its end", ended_s - lost_s, LEASE_S)
    FIGURES.note("ha.pod_cut_off_ends_itself_s", ends)
    words = speed.within("the takeover", takes_s, TAKES_OVER_WITHIN_S)
    FIGURES.note("ha.pod_cut_off_takeover_s", words)
    FIGURES.note("ha.pod_cut_off_service_follows_s", f"{served_s:.1f}")
    FIGURES.note("ha.pod_cut_off_stands_by_after_healing_s", f"{back_s:.1f}")
