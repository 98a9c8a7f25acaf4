"""Pods of several kinds on two nodes, some at a time, and when each ran."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.apiserver.controllers import Shop
from tests.e2e.seeing import create, ended
from tests.e2e.workloads import LONG_S, Manifest, a_pod

COMPUTES, WAITS, LASTS = "computes", "waits", "lasts"
KINDS = {COMPUTES: "turns 1 5000 0", WAITS: "turns 30 8 100"}
"""Each takes some three seconds alone: one computes, one sleeps and computes a little."""
COMMANDS = {**KINDS, LASTS: f"eat 8 {LONG_S}"}
"""A third kind, which sleeps until a test ends its sleep."""
RUNS, AT_ONCE = 40, 2
NODES = ("node-1", "node-2")
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Ran:
    """One pod, as Kubernetes reports it.

    started_s, finished_s: of its container, whole seconds. took_ms: by its program; 0 if that tells
        none.
    """

    uid: str
    kind: str
    node: str
    started_s: float
    finished_s: float
    took_ms: int

    @property
    def runtime_s(self) -> float:
        """Seconds by the container's times."""
        return self.finished_s - self.started_s


def a_pod_of(kind: str, name: str, node: str) -> Manifest:
    """A pod of a kind, for one node."""
    pod = a_pod(name, COMMANDS[kind], task=kind, memory="32Mi")
    pod["spec"]["nodeSelector"] = {HOSTNAME: node}
    return pod


async def run_shuffled(shop: Shop, seed: int, prefix: str) -> list[Ran]:
    """Run RUNS pods of both kinds in random order, AT_ONCE at a time on each node."""
    draw = Random(seed)
    kinds = [kind for kind in KINDS for _ in range(RUNS // len(KINDS))]
    draw.shuffle(kinds)
    return await _run_all(shop, {node: kinds[at::2] for at, node in enumerate(NODES)}, prefix)


async def _run_all(shop: Shop, queues: dict[str, Sequence[str]], prefix: str) -> list[Ran]:
    """Run each node's kinds in their order, AT_ONCE beside each other."""

    async def runs(node: str, waiting: list[tuple[int, str]]) -> list[Ran]:
        found = []
        while waiting:
            number, kind = waiting.pop(0)
            name = f"{prefix}-{node}-{number}"
            await create(shop, a_pod_of(kind, name, node))
            found.append(ran_of(kind, await ended(shop, name)))
        return found

    async with asyncio.TaskGroup() as group:
        places = [
            group.create_task(runs(node, waiting))
            for node, kinds in queues.items()
            for waiting in [list(enumerate(kinds))]
            for _ in range(AT_ONCE)
        ]
    return [each for place in places for each in place.result()]


def ran_of(kind: str, pod: Any) -> Ran:
    """Read an ended pod."""
    assert pod.status.phase == "Succeeded", pod.status
    state = pod.status.container_statuses[0].state.terminated
    return Ran(
        pod.metadata.uid,
        kind,
        pod.spec.node_name,
        state.started_at.timestamp(),
        state.finished_at.timestamp(),
        int(state.message or 0),
    )


def beside(one: Ran, all_of_them: Sequence[Ran]) -> dict[str, float]:
    """By brute force: kind -> how many of it were on the same node meanwhile, on average."""
    found: dict[str, float] = {}
    for other in all_of_them:
        if other.node == one.node and other.uid != one.uid:
            until_s = min(one.finished_s, other.finished_s)
            shared_s = until_s - max(one.started_s, other.started_s)
            if shared_s > 0:
                found[other.kind] = found.get(other.kind, 0.0) + shared_s / one.runtime_s
    return found
