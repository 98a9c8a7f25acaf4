"""A raise that the real kubelet defers, because what other pods ask for fills the node.

The kubelet answers Infeasible to more than a node may allocate at all, which no raise asks for, and
where it resizes no pod of that kind, as with swap. That answer is tested without a real node
(tests/operator/controller/rescue).
"""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, memory_of, reasons_of, running, sizes_in_mode
from tests.e2e.workloads import a_pod
from tests.rigs.node.enforced_limits import limit_file, limit_in
from tests.rigs.node.hand_alarms import IDLE_MIB, an_idle_pod, hand_alarms

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

ASKED = (f"{IDLE_MIB}Mi", f"{IDLE_MIB}Mi")


def requested_bytes(pod: dict[str, Any]) -> int:
    """The request of a pod; nothing once it has ended."""
    if pod["status"]["phase"] in ("Succeeded", "Failed"):
        return 0
    asked = [each["resources"].get("requests", {}) for each in pod["spec"]["containers"]]
    return sum(parse_bytes(each["memory"]) for each in asked if "memory" in each)


async def fill(cluster: Cluster, shop: Shop) -> None:
    """Run a pod that requests all memory of the node that no pod requests, and uses none of it."""

    def pods() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = cluster.get("pods", "--all-namespaces")["items"]
        return found

    def alone() -> bool:
        others = {pod["metadata"]["namespace"] for pod in pods()} - {shop.namespace}
        return not any(each.startswith("test-") for each in others)

    await until("pods of earlier tests are gone", alone, WITHIN_S)
    (node,) = cluster.get("nodes")["items"]
    free_bytes = parse_bytes(node["status"]["allocatable"]["memory"])
    free_bytes -= sum(requested_bytes(pod) for pod in pods())
    filler = a_pod("filler", "eat 1 600", memory=f"{free_bytes // MIB}Mi")
    del filler["metadata"]["labels"][labels.TASK]
    await create(shop, filler)
    await running(shop, "filler")


def answers(plimsoll: Plimsoll, answer: str) -> int:
    """How often the controller has given this answer to an alarm."""
    url = f"http://127.0.0.1:{plimsoll.ports.controller}/metrics"
    with urllib.request.urlopen(url, timeout=10) as shown:
        text = shown.read().decode()
    found = re.search(rf'plimsoll_rescue_alarms_total{{answer="{answer}"}} (\S+)', text)
    return int(float(found[1])) if found else 0


async def why_left(shop: Shop, name: str) -> list[str]:
    """What Events say about why a pod was not rescued."""
    found = await shop.core.list_namespaced_event(
        shop.namespace, field_selector=f"involvedObject.name={name}"
    )
    return [event.message for event in found.items if event.reason == "NotRescued"]


async def test_a_raise_that_its_node_defers_is_withdrawn_and_not_asked_for_again(
    plimsoll: Plimsoll, cluster: Cluster, tmp_path: Path
) -> None:
    async with a_shop(cluster.kubeconfig) as shop:
        await shop.enforce(rescue="auto", retry="never")
        await sizes_in_mode(shop, "enforce")
        deferred, other = [await an_idle_pod(shop, name) for name in ("deferred", "other")]
        await fill(cluster, shop)
        with hand_alarms(cluster, plimsoll, tmp_path, account=None) as alarms:

            async def told() -> list[str]:
                alarms.sender.offer([alarms.alarm(deferred)])
                return await why_left(shop, "deferred")

            (why,) = await until("it is told that the pod is left", told, WITHIN_S)
            assert "its node answers Deferred to a raise" in why

            async def has_what_it_had() -> bool:
                pod = await shop.pod_now("deferred")
                pending = [c for c in pod.status.conditions if c.type == "PodResizePending"]
                return memory_of(pod) == ASKED and not pending

            await until("the raise is withdrawn", has_what_it_had, WITHIN_S)
            given_up = answers(plimsoll, "given_up")
            # With room again, another pod of the node is raised, once the controller asks the node
            # again.
            await shop.core.delete_namespaced_pod("filler", shop.namespace)

            def is_raised() -> bool:
                # Read once, or it would be raised again at its new limit.
                alarm = alarms.alarm(other)
                if alarm.limit_bytes > IDLE_MIB * MIB:
                    return True
                alarms.sender.offer([alarms.alarm(deferred), alarm])
                return False

            await until("another pod is raised", is_raised, WITHIN_S)
        assert answers(plimsoll, "given_up") > given_up
        pod = await shop.pod_now("deferred")
        assert memory_of(pod) == ASKED
        assert limit_in(limit_file(deferred)) == IDLE_MIB * MIB
        assert "Rescued" not in await reasons_of(shop, "deferred")
        assert pod.status.phase == "Running"
