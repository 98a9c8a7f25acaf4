"""Sizes against the API server's own LimitRanges and quotas: no pod is refused for its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.bounds.quotas import MEMORY, counts, read_quota
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.policy import Limits
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.apiserver.controllers import Shop, until
from tests.builders.pods import APod, a_pod, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

pytestmark = pytest.mark.cluster

LITTLE_BYTES, MUCH_BYTES = 100 * MIB, 8 * GIB
ASKED_BYTES = 2 * GIB
ALONE = a_pod().asking("2Gi").limited("2Gi")
PROXY = {
    "image": "localhost/none:1",
    "resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}},
}
INIT = {
    "image": "localhost/none:1",
    "resources": {"requests": {"memory": "256Mi"}, "limits": {"memory": "1Gi"}},
}
AFTER = ALONE.with_init_container("init", **INIT)
BESIDE = ALONE.with_container("proxy", **PROXY).owned_by_job()
"""A bare pod keeps what was written: its proxy might wait for a task that was killed."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a namespace allows, and the size nearest to the need that it admits."""

    pod: APod
    spec: dict[str, Any]
    need_bytes: int
    expected_bytes: int
    limits: Limits = Limits.EQUAL


def a_range(kind: str, **fields: str) -> dict[str, Any]:
    return {"limits": [{"type": kind, **{name: {"memory": of} for name, of in fields.items()}}]}


def a_quota(*keys: str, hard: str = "3Gi", **spec: Any) -> dict[str, Any]:
    return {"hard": dict.fromkeys(keys, hard), **spec}


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
    "a pod's ratio, with an init container": Bound(
        AFTER, a_range("Pod", maxLimitRequestRatio="2"), LITTLE_BYTES, GIB // 2
    ),
    "a container's maximum": Bound(ALONE, a_range("Container", max="3Gi"), MUCH_BYTES, 3 * GIB),
    "a pod's maximum": Bound(BESIDE, a_range("Pod", max="3Gi"), MUCH_BYTES, 3 * GIB - 128 * MIB),
}


async def in_force(shop: Shop, spec: dict[str, Any]) -> NamespaceState:
    """Write a namespace's LimitRange or ResourceQuota; return it as admission knows it."""
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


async def is_counted(shop: Shop, name: str) -> None:
    """Wait until the API server has counted what a quota's pods use."""

    async def counted() -> bool:
        quota = await shop.core.read_namespaced_resource_quota(name, shop.namespace)
        return bool(quota.status and quota.status.used)

    await until("the quota's use", counted)


@pytest.mark.parametrize("need_bytes", [GIB * 5 // 4, MUCH_BYTES])
async def test_ninety_pods_of_a_task_that_needs_more_fit_into_their_quota(
    shop: Shop, need_bytes: int
) -> None:
    """Admission does not learn meanwhile what is used; one state decides all pods."""
    spec = a_quota("requests.memory", "limits.memory", hard="100Gi")
    namespace = await in_force(shop, spec)
    await is_counted(shop, "bounds")
    task = TaskId(shop.namespace, "train")
    known = knowledge_of(task, max_need_bytes=need_bytes)
    state = AdmissionState(tasks={task: known}, namespaces={shop.namespace: namespace})
    pod = a_pod().in_namespace(shop.namespace).with_spec(schedulerName="nobody")
    refused = []
    for number in range(90):
        asking = pod.asking("1Gi").limited("1Gi").named(f"burst-{number:02}", uid=None)
        sized = asking.patched(size(asking.built(), state, shop.namespace).patch)
        try:
            await shop.core.create_namespaced_pod(shop.namespace, sized.built())
        except client.ApiException as error:
            refused.append(str(error.body))
    assert refused == []
    assert len(await shop.pods()) == 90


def by_class(operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


CRITICAL = "system-node-critical"
"""Every cluster has this priority class."""
PODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with a deadline": {"activeDeadlineSeconds": 60},
    "of a class": {"priorityClassName": CRITICAL},
    "reaching other namespaces": {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "namespaces": ["default"]}
                ]
            }
        }
    },
}
SCOPES: dict[str, dict[str, Any]] = {
    "none": {},
    "Terminating": {"scopes": ["Terminating"]},
    "NotTerminating": {"scopes": ["NotTerminating"]},
    "NotBestEffort": {"scopes": ["NotBestEffort"]},
    "PriorityClass": {"scopes": ["PriorityClass"]},
    "In": by_class("In", CRITICAL),
    "NotIn": by_class("NotIn", CRITICAL),
    "Exists": by_class("Exists"),
    "DoesNotExist": by_class("DoesNotExist"),
}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_quota_counts_the_pods_that_the_api_server_counts(shop: Shop, scope: str) -> None:
    """The quota is used up, so the API server refuses every pod that it counts."""
    quota = {"spec": a_quota("requests.memory", hard="1", **SCOPES[scope])}
    namespace = await in_force(shop, quota["spec"])
    await is_counted(shop, "bounds")
    (read,) = namespace.bounds.quotas
    for name, spec in PODS.items():
        pod = ALONE.in_namespace(shop.namespace).with_spec(**spec)
        counted = "exceeded quota" in await refusal(shop, pod)
        assert counts(read, pod.built()) is counted, name


async def test_a_quota_of_pods_that_reach_other_namespaces_counts_them_alone(shop: Shop) -> None:
    spec = {"hard": {"pods": "0"}, "scopes": ["CrossNamespacePodAffinity"]}
    await shop.core.create_namespaced_resource_quota(
        shop.namespace, {"metadata": {"name": "bounds"}, "spec": spec}
    )
    await is_counted(shop, "bounds")
    read = read_quota({"spec": {**spec, "hard": {"memory": "1Gi"}}}, MEMORY)
    for name, more in PODS.items():
        pod = ALONE.in_namespace(shop.namespace).with_spec(**more)
        assert counts(read, pod.built()) is ("exceeded quota" in await refusal(shop, pod)), name


async def test_a_best_effort_pod_is_not_given_a_size_that_a_quota_would_refuse(shop: Shop) -> None:
    """With a size, the quota counts the pod, and requires a CPU request."""
    spec = {"hard": {"requests.cpu": "4"}, "scopes": ["NotBestEffort"]}
    namespace = await in_force(shop, spec)
    await is_counted(shop, "bounds")
    task = TaskId(shop.namespace, "train")
    state = AdmissionState(tasks={task: knowledge_of(task)}, namespaces={shop.namespace: namespace})
    pod = a_pod().in_namespace(shop.namespace).with_spec(schedulerName="nobody")
    changed = pod.patched(size(pod.built(), state, shop.namespace).patch)
    assert await refusal(shop, changed) == ""
    assert "must specify" in await refusal(shop, pod.asking("1Gi").limited("1Gi"))
