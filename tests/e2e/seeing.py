"""What pods and Jobs show from outside, and waiting for it."""

from __future__ import annotations

import json
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.profile.event_manifests import CONTROLLER
from tests.apiserver.controllers import PATIENCE_S, Shop, until
from tests.e2e.workloads import Manifest, a_pod
from tests.rigs.images.eater import goes_on

WITHIN_S = PATIENCE_S
"""For events that take seconds on an idle machine: tests may share the machine."""


async def create(shop: Shop, manifest: Manifest, *, dry_run: bool = False) -> Any:
    """Create a pod or Job; return it as the API server made it."""
    dry = {"dry_run": "All"} if dry_run else {}
    if manifest["kind"] == "Job":
        batch = client.BatchV1Api(shop.core.api_client)
        return await batch.create_namespaced_job(shop.namespace, manifest, **dry)
    return await shop.core.create_namespaced_pod(shop.namespace, manifest, **dry)


async def sizes_in_mode(shop: Shop, mode: str) -> None:
    """Wait until admission knows the namespace's policy; the check has no side effect."""

    async def heard() -> bool:
        try:
            probe = await create(shop, a_pod("probe", "eat 1", task="probe"), dry_run=True)
        except client.ApiException as error:
            if error.status != 403:
                raise
            return False  # a new namespace has no service account for a moment
        return decision_of(probe).get("mode") == mode

    await until(f"mode {mode} at admission", heard, WITHIN_S)


def decision_of(pod: Any) -> dict[str, Any]:
    """What admission wrote on a pod; empty if it wrote nothing."""
    text = (pod.metadata.annotations or {}).get(labels.DECISION)
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def memory_of(pod: Any, container: int = 0) -> tuple[str | None, str | None]:
    """A container's memory request and limit."""
    resources = pod.spec.containers[container].resources
    return (resources.requests or {}).get("memory"), (resources.limits or {}).get("memory")


def end_of(pod: Any) -> tuple[str, int] | None:
    """Reason and exit code of the pod's container; None while it has none."""
    statuses = pod.status.container_statuses
    ended = statuses[0].state.terminated if statuses else None
    return (ended.reason, ended.exit_code) if ended else None


async def running(shop: Shop, name: str) -> None:
    """Wait until a pod runs."""
    await until(f"pod {name} runs", lambda: _in_phase(shop, name, "Running"), WITHIN_S)


async def go_on(uid: str) -> None:
    """End the pause of a pod's program, or its next one."""
    await until("a program that pauses", lambda: goes_on(uid), WITHIN_S)


async def ended(shop: Shop, name: str) -> Any:
    """Wait for a pod's end; the pod."""
    return await until(
        f"pod {name} ends", lambda: _in_phase(shop, name, "Succeeded", "Failed"), WITHIN_S
    )


async def _in_phase(shop: Shop, name: str, *phases: str) -> Any:
    pod = await shop.pod_now(name)
    return pod if pod is not None and pod.status.phase in phases else None


async def retries_of(shop: Shop, uid: str) -> list[Any]:
    """The pods that Plimsoll made after one that was killed."""
    return [
        pod
        for pod in (await shop.pods()).values()
        if (pod.metadata.annotations or {}).get(labels.RETRY_OF) == uid
    ]


async def retried(shop: Shop, uid: str, *, pauses: bool = False) -> Any:
    """Wait for the single retry of a killed pod, and its end; return the pod.

    pauses: whether it pauses, like the killed one, until the test lets it continue.
    """
    (retry,) = await until("a retry", lambda: retries_of(shop, uid), WITHIN_S)
    if pauses:
        await go_on(retry.metadata.uid)
    return await ended(shop, retry.metadata.name)


async def reasons_of(shop: Shop, pod: str) -> set[str]:
    """Reasons of the Events that Plimsoll sent on a pod."""
    # As core/v1: read as events.k8s.io, the client refuses the kubelet's own Events.
    found = await shop.core.list_namespaced_event(
        shop.namespace, field_selector=f"involvedObject.name={pod}"
    )
    return {event.reason for event in found.items if event.reporting_component == CONTROLLER}


async def told(shop: Shop, pod: str, reason: str) -> None:
    """Wait for an Event on a pod."""

    async def seen() -> bool:
        return reason in await reasons_of(shop, pod)

    await until(f"event {reason} on {pod}", seen, WITHIN_S)


async def pods_of_job(shop: Shop, name: str) -> list[Any]:
    """A Job's pods, oldest first."""
    found = await shop.core.list_namespaced_pod(
        shop.namespace, label_selector=f"batch.kubernetes.io/job-name={name}"
    )
    return sorted(found.items, key=lambda pod: pod.metadata.creation_timestamp)


async def job_is(shop: Shop, name: str, condition: str, within_s: float = WITHIN_S) -> Any:
    """Wait for a Job's condition ("Complete", "Failed"); the Job."""
    batch = client.BatchV1Api(shop.core.api_client)

    async def found() -> Any:
        job = await batch.read_namespaced_job(name, shop.namespace)
        conditions = job.status.conditions or []
        return job if any(c.type == condition and c.status == "True" for c in conditions) else None

    return await until(f"job {name} {condition}", found, within_s)
