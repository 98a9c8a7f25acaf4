"""From a reading to the limit in force, both ways: the controller raises a pod, or its agent does.

It measures until the API server reports the pod's larger limit to a watcher, and until the kernel
has it. The pods on the real node are idle and the readings are made by hand, so that both ways do
the same work.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from kubernetes_asyncio import client, watch

from benchmarks.real_node.stand import Stand, a_stand
from benchmarks.rescue.latency import summary
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from tests.conftest import Cluster
from tests.rigs.images.eater import an_eating_pod
from tests.rigs.node.agent_accounts import an_agent_account
from tests.rigs.node.enforced_limits import limit_file, limit_in
from tests.rigs.node.hand_alarms import HandAlarms, hand_alarms

PODS: Final = 30
APART_S: Final = 2.0
"""Seconds between two pods: a kubelet carries out a pod's first raise at once."""
LOOK_S: Final = 0.002
AGAIN_S: Final = 0.3
WITHIN_S: Final = 30.0
LIMIT_MIB: Final = 64


async def both_ways(cluster: Cluster) -> dict[str, Any]:
    """Raise pods for the first time, by each way in turn. Figures in milliseconds."""
    ways = ("controller", "agent")
    patched_ms: dict[str, list[float]] = {way: [] for way in ways}
    limit_ms: dict[str, list[float]] = {way: [] for way in ways}
    async with a_stand(cluster) as stand:
        await _rescuing(stand)
        uids = [await _idle(stand, number) for number in range(PODS)]
        with (
            tempfile.TemporaryDirectory() as folder,
            an_agent_account(cluster) as account,
            hand_alarms(cluster, stand.plimsoll, Path(folder), None) as told,
            hand_alarms(cluster, stand.plimsoll, Path(folder), account) as own,
        ):
            for number, uid in enumerate(uids):
                way = ways[number % 2]
                await asyncio.sleep(APART_S)
                if way == "agent":
                    await _granted(own, uid)
                patched, limit = await _raise_ms(stand, own if number % 2 else told, number, uid)
                if number >= 2:  # the first of each way opens its connections
                    patched_ms[way].append(patched)
                    limit_ms[way].append(limit)
            results = own.sender.own.results if own.sender.own else {}
    return {
        "reading_to_patched_ms": {way: summary(ms) for way, ms in patched_ms.items()},
        "reading_to_limit_ms": {way: summary(ms) for way, ms in limit_ms.items()},
        "agent_raises": dict(results),
    }


async def _rescuing(stand: Stand) -> None:
    body = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "SizingPolicy",
        "metadata": {"name": "default"},
        "spec": {"mode": "enforce", "rescue": "auto", "retry": "never"},
    }
    where = ("plimsoll.dev", "v1alpha1", stand.namespace, "sizingpolicies")
    custom = client.CustomObjectsApi(stand.core.api_client)
    await custom.create_namespaced_custom_object(*where, body)
    await asyncio.sleep(2)  # admission learns of the policy


async def _idle(stand: Stand, number: int) -> str:
    manifest = an_eating_pod(f"idle-{number}", eats_mib=8, limit_mib=LIMIT_MIB, for_s=900)
    manifest["metadata"]["labels"] = {labels.TASK: f"idle-{number}"}
    uid = str((await stand.core.create_namespaced_pod(stand.namespace, manifest)).metadata.uid)

    def runs() -> bool:
        try:
            return bool(limit_file(uid))
        except FileNotFoundError:
            return False

    await stand.until("it runs", runs)
    return uid


async def _granted(own: HandAlarms, uid: str) -> None:
    while uid not in own.granted:
        own.sender.want([uid])
        await asyncio.sleep(AGAIN_S)


async def _raise_ms(stand: Stand, way: HandAlarms, number: int, uid: str) -> tuple[float, float]:
    """Return how long it took from the reading until it was patched, and until it was in force."""
    patched = asyncio.create_task(_patched_s(stand, f"idle-{number}"))
    await asyncio.sleep(AGAIN_S)  # it watches
    file = limit_file(uid)
    before, alarm = limit_in(file), way.alarm(uid)
    began_s = said_s = time.perf_counter()
    way.sender.offer([alarm])
    while limit_in(file) == before:
        now_s = time.perf_counter()
        if now_s - began_s > WITHIN_S:
            raise TimeoutError(f"{uid} was not raised")
        if now_s - said_s > AGAIN_S:
            way.sender.offer([way.alarm(uid)])  # as an agent repeats it
            said_s = now_s
        await asyncio.sleep(LOOK_S)
    limit_s = time.perf_counter()
    return (await patched - began_s) * 1e3, (limit_s - began_s) * 1e3


async def _patched_s(stand: Stand, name: str) -> float:
    """Return when a watcher of one pod sees the larger limit, by the counter's clock."""
    async with watch.Watch() as stream:
        events = stream.stream(
            stand.core.list_namespaced_pod,
            stand.namespace,
            field_selector=f"metadata.name={name}",
            _request_timeout=int(WITHIN_S),
        )
        async for event in events:
            limits = event["object"].spec.containers[0].resources.limits
            if parse_bytes(limits["memory"]) > LIMIT_MIB << 20:
                return time.perf_counter()
    raise TimeoutError(f"{name} was not patched")
