"""Sees all pods of a namespace, however short their lives: some engines delete their pods."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubernetes_asyncio import watch

from tests.apiserver.controllers import Shop

KILLED = "OOMKilled"


@dataclass(slots=True)
class Witness:
    """pods: UID -> the pod as it was seen last.

    made_s, ended_s: UID -> when it, or its end, was first seen, Unix seconds.
    killed: UID -> the ID of its container that was killed for its memory; killed_s: UID -> when
        that was first seen.
    """

    pods: dict[str, Any] = field(default_factory=dict)
    made_s: dict[str, float] = field(default_factory=dict)
    killed: dict[str, str] = field(default_factory=dict)
    killed_s: dict[str, float] = field(default_factory=dict)
    ended_s: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, asyncio.Event] = field(default_factory=dict)

    async def ended(self, uid: str) -> Any:
        """Wait for a pod's end; return the pod as of the moment when its end is seen."""
        await self._ended.setdefault(uid, asyncio.Event()).wait()
        return self.pods[uid]

    def of(self, wanted: Mapping[str, str]) -> list[Any]:
        """The pods that have these labels."""
        return [
            pod
            for pod in self.pods.values()
            if wanted.items() <= (pod.metadata.labels or {}).items()
        ]

    def see(self, pod: Any) -> None:
        """Note one event of a pod."""
        uid = pod.metadata.uid
        self.pods[uid] = pod
        self.made_s.setdefault(uid, time.time())
        for status in pod.status.container_statuses or ():
            ended = status.state.terminated
            if ended is not None and ended.reason == KILLED:
                self.killed.setdefault(uid, ended.container_id.rpartition("/")[2])
                self.killed_s.setdefault(uid, time.time())
        if pod.status.phase in ("Succeeded", "Failed"):
            self.ended_s.setdefault(uid, time.time())
            self._ended.setdefault(uid, asyncio.Event()).set()


@contextlib.asynccontextmanager
async def witnessing(shop: Shop) -> AsyncIterator[Witness]:
    """Watch a namespace's pods while the block runs."""
    witness = Witness()
    watching = asyncio.create_task(_watch(shop, witness))
    try:
        yield witness
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _watch(shop: Shop, witness: Witness) -> None:
    version = (await shop.core.list_namespaced_pod(shop.namespace)).metadata.resource_version
    async with watch.Watch() as stream:
        events = stream.stream(
            shop.core.list_namespaced_pod, shop.namespace, resource_version=version
        )
        async for event in events:
            witness.see(event["object"])
