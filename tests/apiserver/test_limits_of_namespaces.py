"""Sizes against the API server's own LimitRanges and quotas: no pod is refused for its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.sizing.bounds import read_namespace
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.apiserver.controllers import Shop
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.admission_servers import knowledge_of

pytestmark = pytest.mark.cluster

LITTLE_BYTES, MUCH_BYTES = 100 * MIB, 8 * GIB
ASKED_BYTES = 2 * GIB
ALONE = a_pod().asking("2Gi").limited("2Gi")
PROXY = {
    "image": "localhost/none:1",
    "resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}},
}
BESIDE = ALONE.with_container("proxy", **PROXY)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a namespace allows, and the size nearest to the need that it lets in."""

    pod: APod
    spec: dict[str, Any]
    need_bytes: int
    expected_bytes: int
    limits: Limits = Limits.EQUAL


def a_range(kind: str, **fields: str) -> dict[str, Any]:
    return {"limits": [{"type": kind, **{name: {"memory": of} for name, of in fields.items()}}]}


def a_quota(key: str) -> dict[str, Any]:
    return {"hard": {key: "3Gi"}}


BOUNDS = {
    "a container's minimum": Bound(ALONE, a_range("Container", min="1Gi"), LITTLE_BYTES, GIB),
    "a pod's minimum": Bound(ALONE, a_range("Pod", min="1Gi"), LITTLE_BYTES, GIB),
    "a pod's minimum, with another container": Bound(
        BESIDE, a_range("Pod", min="1Gi"), LITTLE_BYTES, GIB - 64 * MIB
    ),
    "a container's ratio": Bound(
        ALONE, a_range("Container", maxLimitRequestRatio="2"), LITTLE_BYTES, GIB, Limits.KEEP
    ),
    "a pod's ratio": Bound(
        BESIDE, a_range("Pod", maxLimitRequestRatio="2"), LITTLE_BYTES, GIB, Limits.KEEP
    ),
    "a container's maximum": Bound(ALONE, a_range("Container", max="3Gi"), MUCH_BYTES, 3 * GIB),
    "a pod's maximum": Bound(BESIDE, a_range("Pod", max="3Gi"), MUCH_BYTES, 3 * GIB - 128 * MIB),
    "a quota of requests": Bound(ALONE, a_quota("requests.memory"), MUCH_BYTES, 3 * GIB),
    "a quota of limits": Bound(BESIDE, a_quota("limits.memory"), MUCH_BYTES, 3 * GIB - 128 * MIB),
}


async def in_force(shop: Shop, spec: dict[str, Any]) -> NamespaceState:
    """Write a namespace's LimitRange or ResourceQuota; what admission is told of it."""
    body = {"metadata": {"name": "bounds"}, "spec": spec}
    if "limits" in spec:
        await shop.core.create_namespaced_limit_range(shop.namespace, body)
        return NamespaceState(None, read_namespace([body], []))
    await shop.core.create_namespaced_resource_quota(shop.namespace, body)
    return NamespaceState(None, read_namespace([], [body]))


async def refusal(shop: Shop, pod: APod) -> str:
    """Why the API server would not create it; empty if it would."""
    try:
        await shop.core.create_namespaced_pod(shop.namespace, pod.built(), dry_run="All")
    except client.ApiException as error:
        return str(error.body)
    return ""


@pytest.mark.parametrize("name", BOUNDS)
async def test_a_size_goes_as_far_as_the_api_server_lets_it_in_and_no_further(
    shop: Shop, name: str
) -> None:
    bound = BOUNDS[name]
    namespace = await in_force(shop, bound.spec)
    pod = bound.pod.in_namespace(shop.namespace).with_spec(schedulerName="nobody")
    task = TaskId(shop.namespace, "train")
    known = knowledge_of(task, max_need_bytes=bound.need_bytes, limits=bound.limits)
    state = AdmissionState(tasks={task: known}, namespaces={shop.namespace: namespace})

    changed = pod.patched(size(pod.built(), state, shop.namespace).patch)

    request, limit = memory_of(changed)
    assert parse_bytes(request) == bound.expected_bytes
    assert await refusal(shop, changed) == ""
    step_bytes = MIB if bound.need_bytes > ASKED_BYTES else -MIB
    further = changed.asking(str(bound.expected_bytes + step_bytes))
    if bound.limits is Limits.EQUAL:
        assert limit == request
        further = further.limited(str(bound.expected_bytes + step_bytes))
    assert "memory" in await refusal(shop, further)
