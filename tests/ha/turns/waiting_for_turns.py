"""Nodes without kubelets, a past that says which task slows which, and pods that wait.

The nodes have slots, which no real node has, so that only pods of these tests are scheduled there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.replay.placing.world import World
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import RFC_3339, Shop, until
from tests.builders.placing.placed_runs import MEAN_S, keep, placed_runs
from tests.builders.runtimes.shapes import a_catalogue
from tests.builders.stores import an_attempt
from tests.conftest import Cluster
from tests.ha.figures import FIGURES
from tests.ha.turns.that_holds import API, TOKEN, a_plimsoll_that_holds
from tests.ha.whole import Whole
from tests.rigs.speed import Speed

SLOT = "example.com/slot"
SLOTS = 2
HEARTBEAT_S = 10.0
LONGEST_S = 60.0
"""No pod waits longer for a Plimsoll that is away."""
COMPUTES, WAITS = "computes", "waits"
SLOWDOWNS = [[1.9, 1.08], [1.07, 1.01]]
PAST_RUNS = 300


def teach(store: Store, shop: Shop) -> None:
    """Two tasks of ten minutes: one that computes, and one that waits."""
    kinds = tuple(str(shop.task(name)) for name in (COMPUTES, WAITS))
    world = World("two", kinds, np.array([1.0, 1.0]), np.array(SLOWDOWNS))
    keep(store, placed_runs(PAST_RUNS, seed=5, world=world))
    # The runs above already count as forecast: these runs tell how long the tasks take.
    store.observations.record([_a_run(TaskId.parse(kind), at) for kind in kinds for at in range(5)])
    # No turn depends on shapes of runtimes. With these, controllers learn none before tomorrow.
    store.shapes.save_catalogue(a_catalogue(), time.time())


def _a_run(task: TaskId, at: int) -> Any:
    made = an_attempt(f"long-{task.name}-{at}").built
    began_s = float(made.started_s or 0.0)
    return replace(
        made,
        task=task,
        run=f"long-{at}",
        features={},
        submitted_s=began_s,
        started_s=began_s,
        finished_s=began_s + MEAN_S,
    )


@contextlib.asynccontextmanager
async def nodes_with_slots(shop: Shop, *names: str) -> AsyncIterator[None]:
    """Ready, as if kubelets kept them, until the block ends."""
    for name in names:
        body = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
        await shop.core.create_node(body)
    beating = asyncio.create_task(_beat(shop, names))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        for name in names:
            await shop.core.delete_node(name)


async def _beat(shop: Shop, names: tuple[str, ...]) -> None:
    has = {"cpu": "8", "memory": "16Gi", "pods": "20", SLOT: str(SLOTS)}
    while True:
        now = datetime.now(UTC).strftime(RFC_3339)
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        status = {"capacity": has, "allocatable": has, "conditions": [ready]}
        for name in names:
            await shop.core.patch_node_status(
                name, {"status": status}, _content_type="application/merge-patch+json"
            )
        await asyncio.sleep(HEARTBEAT_S)


def a_manifest(task: str) -> dict[str, Any]:
    """A pod that takes a slot, without a name."""
    asked = {"memory": "64Mi", SLOT: "1"}
    container = {
        "name": "main",
        "image": "localhost/none:1",
        "resources": {"requests": asked, "limits": asked},
    }
    return {
        "metadata": {"labels": {labels.TASK: task}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


@dataclass(frozen=True, slots=True)
class Waiting:
    """A namespace whose pods wait for their turns, and all of Plimsoll's processes."""

    shop: Shop
    whole: Whole

    async def create(self, name: str, task: str, *, tried: bool = False, **of_pod: str) -> Any:
        """A bare pod that takes a slot. tried: a dry run. of_pod: more of its spec."""
        body = a_manifest(task)
        body["spec"].update(of_pod)
        body["metadata"]["name"] = name
        more = {"dry_run": "All"} if tried else {}
        return await self.shop.core.create_namespaced_pod(self.shop.namespace, body, **more)

    async def create_job(self, name: str, *, tried: bool = False, **spec: Any) -> Any:
        """A Job of pods that compute, by default of one. tried: a dry run."""
        template = a_manifest(COMPUTES)
        if "priorityClassName" in spec:
            template["spec"]["priorityClassName"] = spec.pop("priorityClassName")
        body = {"metadata": {"name": name}, "spec": {"template": template, **spec}}
        batch = client.BatchV1Api(self.shop.core.api_client)
        more = {"dry_run": "All"} if tried else {}
        return await batch.create_namespaced_job(self.shop.namespace, body, **more)

    async def suspended(self) -> set[str]:
        """The suspended Jobs, whoever suspended them."""
        batch = client.BatchV1Api(self.shop.core.api_client)
        found = await batch.list_namespaced_job(self.shop.namespace)
        return {job.metadata.name for job in found.items if job.spec.suspend}

    async def pod_of_job(self, name: str) -> str | None:
        """The name of a Job's pod; None while it has none."""
        pods = await self.shop.pods()
        of_job = (each for each, pod in pods.items() if pod.metadata.labels.get("job-name") == name)
        return next(of_job, None)

    async def refused(self, name: str, change: dict[str, Any], *, job: bool = False) -> str:
        """The API server's answer when admission's account changes a pod or a Job."""
        settings = client.Configuration(host=API)
        settings.ssl_ca_cert = self.shop.core.api_client.configuration.ssl_ca_cert
        token = (self.whole.folder / TOKEN).read_text()
        settings.api_key["BearerToken"] = f"Bearer {token}"
        async with client.ApiClient(settings) as api:
            patch = client.CoreV1Api(api).patch_namespaced_pod
            if job:
                patch = client.BatchV1Api(api).patch_namespaced_job
            try:
                await patch(
                    name,
                    self.shop.namespace,
                    change,
                    _content_type="application/strategic-merge-patch+json",
                )
            except client.ApiException as error:
                return str(error.body)
        return ""

    async def none_is_held(self) -> bool:
        """Whether no pod waits for a turn."""
        return not await self.held()

    async def gates(self) -> dict[str, list[str]]:
        """The scheduling gates of each pod."""
        return {
            name: [gate.name for gate in pod.spec.scheduling_gates or []]
            for name, pod in (await self.shop.pods()).items()
        }

    async def held(self) -> set[str]:
        """The pods that wait for a turn."""
        return {name for name, gates in (await self.gates()).items() if labels.ORDER_GATE in gates}

    async def node_of(self, name: str) -> str | None:
        """A pod's node; None while it has none."""
        found: str | None = (await self.shop.pods())[name].spec.node_name
        return found

    async def run(self, name: str, task: str) -> str:
        """Create a pod that runs from now on; return its node."""
        await self.create(name, task)
        node = await until(f"{name} has a node", lambda: self.node_of(name))
        now = datetime.now(UTC).strftime(RFC_3339)
        state = {"name": "main", "image": "localhost/none:1", "imageID": "", "ready": True}
        status = {
            "phase": "Running",
            "containerStatuses": [
                {**state, "restartCount": 0, "state": {"running": {"startedAt": now}}}
            ],
        }
        await self.shop.core.patch_namespaced_pod_status(
            name,
            self.shop.namespace,
            {"status": status},
            _content_type="application/merge-patch+json",
        )
        return str(node)

    async def holds(self) -> bool:
        """Whether a new pod would wait; nothing is created."""
        body = {
            "metadata": {"name": "tried", "labels": {labels.TASK: COMPUTES}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "localhost/none:1"}],
            },
        }
        try:
            tried = await self.shop.core.create_namespaced_pod(
                self.shop.namespace, body, dry_run="All"
            )
        except client.ApiException:
            return False  # a new namespace has no service account for a moment
        return bool(tried.spec.scheduling_gates)

    async def none_held(self, since: str, speed: Speed) -> None:
        """Wait until no pod is held: LONGEST_S at most, as is promised."""
        began_s = time.monotonic()
        await until(f"none waits for a turn, since {since}", self.none_is_held)
        took_s = time.monotonic() - began_s
        FIGURES.note(f"let go after {since}, s", speed.within(since, took_s, LONGEST_S))

    async def end_what_runs(self) -> None:
        """Act as the kubelet: pods that have a node succeed."""
        while True:
            for name, pod in (await self.shop.pods()).items():
                if pod.spec.node_name and pod.status.phase in ("Pending", "Running"):
                    await self.shop.end(name, "succeeded")
            await asyncio.sleep(0.1)

    async def all_end_once(self, names: set[str]) -> None:
        """Wait until all of them have had a node and succeeded, and nobody made another."""
        ending = asyncio.create_task(self.end_what_runs())

        async def all_ended() -> bool:
            pods = await self.shop.pods()
            return all(pods[name].status.phase == "Succeeded" for name in names)

        try:
            await until("all have started and ended", all_ended)
        finally:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
        assert set(await self.shop.pods()) == names


async def full(waiting: Waiting) -> dict[str, str]:
    """Run pods in all slots; return the node of each."""
    first = {
        "computes-0": await waiting.run("computes-0", COMPUTES),
        "waits-0": await waiting.run("waits-0", WAITS),
    }
    assert len(set(first.values())) == 2
    for name in ("waits-1", "waits-2"):
        first[name] = await waiting.run(name, WAITS)
    return first


@contextlib.asynccontextmanager
async def pods_that_wait(
    cluster: Cluster, shop: Shop, own: str, folder: Path, replicas: int = 1
) -> AsyncIterator[Waiting]:
    """Two nodes of two slots, and a Plimsoll that knows both tasks and holds their pods."""
    store = Store.open(f"sqlite:///{folder}/plimsoll.db")
    try:
        teach(store, shop)
    finally:
        store.close()
    names = tuple(f"{shop.namespace}-{number}" for number in (1, 2))
    async with (
        nodes_with_slots(shop, *names),
        a_plimsoll_that_holds(cluster, own, folder, replicas=replicas) as whole,
    ):
        waiting = Waiting(shop, whole)
        await until("a new pod would wait", waiting.holds)
        yield waiting
