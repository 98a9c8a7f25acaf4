"""A real controller gives back what was lowered, whatever people say meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_controller, observed, until
from tests.apiserver.sentinels import (
    a_later_kill_is_retried,
    is_in_force,
    policy_of,
    retries_of,
)
from tests.apiserver.waiting import logged
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

GIVEN, WRITTEN = "64Mi", "128Mi"
AS_WRITTEN = {"requests": {"memory": WRITTEN}, "limits": {"memory": WRITTEN}}
LOW_ON_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi."


def decision(shop: Shop, given_mib: int) -> dict[str, str]:
    """Admission's annotations on a pod whose author wrote 128Mi."""
    note = DecisionNote(
        task=str(shop.task()),
        run=None,
        attempt=1,
        allocation_bytes=given_mib * MIB,
        was_request_bytes=128 * MIB,
        was_limit_bytes=128 * MIB,
        bin=None,
        probability=None,
        model=None,
        reason=Reason.MAX_SEEN,
        why="a test says so",
        mode=Mode.ENFORCE,
        container="main",
    )
    return {labels.DECISION: note_to_json(note)}


async def say(shop: Shop, **spec: Any) -> None:
    """Change the namespace's SizingPolicy, and wait until the controller has read it."""
    await shop.custom.patch_namespaced_custom_object(
        *("plimsoll.dev", "v1alpha1", shop.namespace, "sizingpolicies", "default"),
        {"spec": spec},
        _content_type="application/merge-patch+json",
    )

    async def read() -> bool:
        policy = await policy_of(shop)
        return bool(policy["status"]["observedGeneration"] == policy["metadata"]["generation"])

    await until("the policy", read)


async def the_retry(shop: Shop, uid: str) -> Any:
    [pod] = await until("a retry", lambda: retries_of(shop, uid))
    return pod


def asked(pod: Any) -> dict[str, Any]:
    resources: client.V1ResourceRequirements = pod.spec.containers[0].resources
    return {"requests": dict(resources.requests), "limits": dict(resources.limits)}


@pytest.mark.parametrize("said", [{"paused": True}, {"mode": "recommend"}, {"mode": "off"}])
async def test_a_lowered_pod_is_retried_as_written_and_no_other(
    shop: Shop, cluster: Cluster, tmp_path: Path, said: dict[str, Any]
) -> None:
    await shop.enforce()
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("it starts", lambda: logged(tmp_path, "controller started"))
        await until("enforced", lambda: is_in_force(shop))
        await shop.pod("first")
        await shop.end("first", "succeeded")
        await until("it is known", lambda: observed(tmp_path, shop.task()))
        lowered = await shop.pod("lowered", memory=GIVEN, annotations=decision(shop, 64))
        whole = await shop.pod("whole", annotations=decision(shop, 128))
        await say(shop, **said)
        await shop.end("whole", "killed")
        await shop.end("lowered", "killed")
        retry = await the_retry(shop, lowered)
        assert asked(retry) == AS_WRITTEN
    # A restart repeats nothing, and the retry itself has what its author wrote.
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("it starts", lambda: len(logged(tmp_path, "controller started")) == 2)
        await shop.end(retry.metadata.name, "killed")
        await a_later_kill_is_retried(cluster)
        assert len(await retries_of(shop, lowered)) == 1
        assert await retries_of(shop, whole) == []
        assert await retries_of(shop, retry.metadata.uid) == []


async def test_a_pod_that_its_node_evicted_for_memory_is_retried_as_written(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("it starts", lambda: logged(tmp_path, "controller started"))
        await until("enforced", lambda: is_in_force(shop))
        evicted = await shop.pod("evicted", memory=GIVEN, annotations=decision(shop, 64))
        full_disk = await shop.pod("full-disk", memory=GIVEN, annotations=decision(shop, 64))
        await shop.end("full-disk", "stopped", reason="Evicted", message="low on resource: disk")
        await shop.end("evicted", "stopped", reason="Evicted", message=LOW_ON_MEMORY)
        assert asked(await the_retry(shop, evicted)) == AS_WRITTEN
        await a_later_kill_is_retried(cluster)
        assert await retries_of(shop, full_disk) == []
        causes = {each.cause for each in observed(tmp_path, shop.task())}
        assert causes == {Cause.NODE_PRESSURE, Cause.EVICTED}
