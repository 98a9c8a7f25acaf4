"""A queue of pods of four kinds on two real nodes, as usual or with Plimsoll's hints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kubernetes_asyncio import client

from tests.apiserver.controllers import Shop
from tests.e2e.seeing import create, sizes_in_mode
from tests.e2e.witnesses import Witness, witnessing
from tests.e2e.workloads import Manifest, a_pod

KINDS: Final = {
    "cpu": "turns 1 8000 0",
    "mem": "walk 64 30",
    "mixed": "turns 10 350 120",
    "wait": "turns 24 8 100",
}
"""Each takes two to three seconds alone. mem steps about in more memory than a cache holds."""
CPU_REQUEST: Final = "450m"
"""Two fit on a node of one core."""
UNENDED: Final = 3
"""Pods at once, on four places: who comes when one of them has ended may often choose a node."""
HEARD_S: Final = 5.0
"""Until admission has surely heard of a policy."""
_POLICY: Final = ("plimsoll.dev", "v1alpha1")


class Arm(Enum):
    """Who chooses a pod's node."""

    USUAL = "as usual"
    PLACED = "with hints"

    @property
    def policy(self) -> dict[str, str]:
        """What a SizingPolicy says of it."""
        return {"placing": "enforce" if self is Arm.PLACED else "never"}


@dataclass(frozen=True, slots=True)
class Run:
    """One pod that succeeded. waited_s: from its creation to its start. took_s: by itself."""

    kind: str
    node: str
    created_s: float
    started_s: float
    finished_s: float
    took_s: float

    @property
    def waited_s(self) -> float:
        """By Kubernetes' clocks, of whole seconds."""
        return self.started_s - self.created_s


@dataclass(frozen=True, slots=True)
class Played:
    """All runs of a queue, in the order in which they were submitted."""

    runs: Sequence[Run]

    def of_kind(self, kind: str) -> list[float]:
        """Runtimes, in seconds."""
        return [run.took_s for run in self.runs if run.kind == kind]

    @property
    def mean_s(self) -> float:
        """The mean runtime."""
        return sum(run.took_s for run in self.runs) / len(self.runs)

    @property
    def makespan_s(self) -> float:
        """From the first creation to the last end."""
        return max(r.finished_s for r in self.runs) - min(r.created_s for r in self.runs)

    @property
    def longest_wait_s(self) -> float:
        """Of any run, for its start."""
        return max(run.waited_s for run in self.runs)


async def played(shop: Shop, arm: Arm, name: str, kinds: Sequence[str]) -> Played:
    """Submit the kinds in their order, some at a time, and wait for the last one's end.

    name: begins the pods' names. AssertionError for a pod that fails.
    """
    await _with_policy(shop, arm)
    places = asyncio.Semaphore(UNENDED)
    async with witnessing(shop) as witness, asyncio.TaskGroup() as group:
        tasks = []
        for number, kind in enumerate(kinds):
            await places.acquire()
            made = await create(shop, a_pod_of(kind, f"{name}-{number}"))
            tasks.append(group.create_task(_run(witness, kind, made.metadata.uid, places)))
    return Played([task.result() for task in tasks])


async def _run(witness: Witness, kind: str, uid: str, places: asyncio.Semaphore) -> Run:
    pod = await witness.ended(uid)
    places.release()
    return run_of(kind, pod)


def a_pod_of(kind: str, name: str) -> Manifest:
    """A pod of a kind, for any node."""
    pod = a_pod(name, KINDS[kind], task=kind, memory="96Mi")
    (container,) = pod["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = CPU_REQUEST
    return pod


def run_of(kind: str, pod: Any) -> Run:
    """Read a pod that has succeeded."""
    assert pod.status.phase == "Succeeded", pod.status
    state = pod.status.container_statuses[0].state.terminated
    return Run(
        kind,
        pod.spec.node_name,
        pod.metadata.creation_timestamp.timestamp(),
        state.started_at.timestamp(),
        state.finished_at.timestamp(),
        int(state.message) / 1000,
    )


async def _with_policy(shop: Shop, arm: Arm) -> None:
    spec = {"mode": "recommend", **arm.policy}
    try:
        await shop.custom.patch_namespaced_custom_object(
            *(*_POLICY, shop.namespace, "sizingpolicies", "default", {"spec": spec}),
            _content_type="application/merge-patch+json",
        )
    except client.ApiException as error:
        if error.status != 404:
            raise
        await shop.enforce(**spec)
    await sizes_in_mode(shop, "recommend")
    await asyncio.sleep(HEARD_S)
