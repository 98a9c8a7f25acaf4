"""Batches that really queue: each pod asks for so much that the node holds only two at a time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.seeing import create
from tests.e2e.workloads import a_pod

AT_ONCE = 2
NEED_MIB = 20
LOOK_EVERY_S = 0.5


@contextlib.asynccontextmanager
async def a_closed_node(cluster: Cluster) -> AsyncIterator[str]:
    """The node takes no new pods inside the block; its name."""
    (node,) = cluster.get("nodes")["items"]
    name = str(node["metadata"]["name"])
    cluster.kubectl("cordon", name)
    try:
        yield name
    finally:
        cluster.kubectl("uncordon", name)


def too_large_mib(cluster: Cluster) -> int:
    """What a pod asks for, so that two fit on the node and a third one does not."""
    (node,) = cluster.get("nodes")["items"]
    return parse_bytes(node["status"]["allocatable"]["memory"]) * 2 // 5 // MIB


@dataclass(slots=True)
class Batch:
    """Pods of one task that were queued before any of them ran."""

    shop: Shop
    task: str
    size: int
    asked: str
    opened_s: float = 0.0
    first_end_s: float | None = None
    """When the first pod was seen to have succeeded; all times are by this process's clock."""
    sized_s: dict[str, float] = field(default_factory=dict)
    """Pod -> when it was first seen with another size, before it had a node."""
    ended_s: dict[str, float] = field(default_factory=dict)
    most_at_once: int = 0
    """The most pods that had a node, and had not ended, in one answer of the API server."""

    async def queue(self, mode: str) -> None:
        """Create all of them on a node that takes none."""
        names = [f"{self.task}-{number:03}" for number in range(self.size)]
        for start in range(0, self.size, 20):
            await asyncio.gather(
                *(create(self.shop, self._pod(name, mode)) for name in names[start : start + 20])
            )
        await until("all are queued", lambda: self._queued())

    async def run(self, stalled_s: float) -> None:
        """Watch from the moment that the node is open until all have succeeded.

        stalled_s: the longest time in which none ends.
        """
        self.opened_s = time.monotonic()
        while len(self.ended_s) < self.size:
            pods = await self.pods()
            for pod in pods:
                self._look(pod)
            self.most_at_once = max(self.most_at_once, sum(map(has_place, pods)))
            waited_s = time.monotonic() - max(self.ended_s.values(), default=self.opened_s)
            assert waited_s < stalled_s, f"{len(self.ended_s)} of {self.size}, then none"
            await asyncio.sleep(LOOK_EVERY_S)

    @property
    def makespan_s(self) -> float:
        """From the opening of the node to the last pod's end."""
        return max(self.ended_s.values()) - self.opened_s

    @property
    def corrected_s(self) -> float:
        """From the first pod's end to the last resize of a waiting pod."""
        assert self.first_end_s is not None
        return max(self.sized_s.values()) - self.first_end_s

    async def pods(self) -> list[Mapping[str, Any]]:
        """The batch's pods as JSON: typed ones of hundreds take a core for a second."""
        answer = await self.shop.core.list_namespaced_pod(
            self.shop.namespace,
            label_selector=f"{labels.TASK}={self.task}",
            _preload_content=False,
        )
        found: list[Mapping[str, Any]] = (await answer.json())["items"]
        return found

    def _pod(self, name: str, mode: str) -> dict[str, Any]:
        annotated = {labels.MODE: mode}
        return a_pod(
            name, f"eat {NEED_MIB} 1", task=self.task, memory=self.asked, annotated=annotated
        )

    async def _queued(self) -> bool:
        pods = await self.pods()
        assert {asked_of(pod) for pod in pods} == {self.asked}, "the task is not cold"
        return len(pods) == self.size and all(not pod["spec"].get("nodeName") for pod in pods)

    def _look(self, pod: Mapping[str, Any]) -> None:
        name, now_s = pod["metadata"]["name"], time.monotonic()
        if asked_of(pod) != self.asked:
            self.sized_s.setdefault(name, now_s)
        phase = pod["status"].get("phase")
        assert phase != "Failed", f"{name}: {pod['status']}"
        if phase == "Succeeded" and name not in self.ended_s:
            self.ended_s[name] = now_s
            self.first_end_s = self.first_end_s or now_s


def has_place(pod: Mapping[str, Any]) -> bool:
    """Whether a pod holds memory of a node."""
    is_over = pod["status"].get("phase") in ("Succeeded", "Failed")
    return bool(pod["spec"].get("nodeName")) and not is_over


def asked_of(pod: Mapping[str, Any]) -> str:
    """What a pod's container asks for now."""
    return str(pod["spec"]["containers"][0]["resources"]["requests"]["memory"])
