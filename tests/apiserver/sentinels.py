"""Proofs that something did not happen: a later event of the same kind was handled.

A test that only waits some seconds passes on a slow controller, whatever that does later. So it
does the same once more, in a namespace of its own where it has an effect, and waits for that. The
controller handles events and learned tasks in order, so earlier ones are done by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, a_shop, until
from tests.apiserver.waiting import RUNS, are_resized, queued, teach
from tests.conftest import Cluster


async def retries_of(shop: Shop, uid: str) -> list[Any]:
    """The pods that were made after this attempt."""
    return [
        pod
        for pod in (await shop.pods()).values()
        if (pod.metadata.annotations or {}).get(labels.RETRY_OF) == uid
    ]


async def policy_of(shop: Shop, name: str = "default") -> Mapping[str, Any]:
    """One of the namespace's SizingPolicies."""
    found: Mapping[str, Any] = await shop.custom.get_namespaced_custom_object(
        "plimsoll.dev", "v1alpha1", shop.namespace, "sizingpolicies", name
    )
    return found


async def is_in_force(shop: Shop, name: str = "default", verdict: str = "True") -> bool:
    """Whether the controller has read the policy and reports this about it."""
    conditions = ((await policy_of(shop, name)).get("status") or {}).get("conditions") or []
    return [each["status"] for each in conditions if each["type"] == "InForce"] == [verdict]


async def a_later_kill_is_retried(cluster: Cluster) -> None:
    """Wait until any pod killed before this call has been retried, or never will be."""
    async with a_shop(cluster.kubeconfig) as other:
        await other.enforce()
        # A pod killed while the controller still goes by an older policy is never retried.
        await until("the sentinel's policy", lambda: is_in_force(other))
        uid = await other.pod("sentinel")
        await other.end("sentinel", "killed")
        await until("the sentinel's retry", lambda: retries_of(other, uid))


async def a_later_pod_is_resized(cluster: Cluster, folder: Path) -> None:
    """Wait until all that waited or was learned before this call has been looked at."""
    async with a_shop(cluster.kubeconfig) as other:
        await other.enforce(minRuns=RUNS)
        await teach(other, folder)
        names = await queued(other, 1)
        await until("the sentinel's resize", lambda: are_resized(other, names))


async def attempts_are_counted(shop: Shop, count: int, task: str = "train") -> None:
    """Wait until the task's profile shows that many attempts: all consequences have then begun."""

    async def counted() -> bool:
        status = (await shop.profile(task)).get("status") or {}
        return bool(status.get("observations") == count)

    await until(f"{count} attempts in the profile", counted)
