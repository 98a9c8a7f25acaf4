"""Four kinds of pods that take equally long alone, on any machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from tests.apiserver.controllers import Shop, until
from tests.e2e.seeing import create, ended
from tests.e2e.workloads import Manifest, a_pod
from tests.placing.kinds import HOSTNAME, NODES

KINDS: Final = ("cpu", "mem", "mixed", "wait")
"""One computes; one steps about in more memory than a cache holds; one computes for a fifth of its
time; one sleeps, and computes a little in between."""
ALONE_S: Final = 4.0
"""The time of a run of each kind alone, by default."""
CPU_REQUEST: Final = "450m"
"""Two pods fit on a node of one core."""
_MIXED_TURNS, _MIXED_SHARE = 10, 0.2
_WAIT_TURN_MS, _WAIT_SHARE = 100, 0.04
"""About how long a turn is, and the share of it in which the kind computes. Steps are whole
millions, so a slow core has longer turns: by fixed turns it would compute for a larger share."""
_TRIED: Final = {"turns 1 6000 0": 6000, "walk 64 20": 20}
"""What is timed, with its millions of steps. The first steps in memory are slower than later ones,
so it is about as many as a run takes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Millions of steps per second on a core while the other core is as busy."""

    arithmetic: float
    memory: float

    def commands(self, alone_s: float = ALONE_S) -> Mapping[str, str]:
        """The command of each kind that takes so long alone."""
        millions = self.arithmetic * alone_s
        pause_ms = 1000 * alone_s * (1 - _MIXED_SHARE) / _MIXED_TURNS
        wait_millions = max(1, round(_WAIT_SHARE * self.arithmetic * _WAIT_TURN_MS / 1000))
        turn_s = wait_millions / self.arithmetic / _WAIT_SHARE
        return {
            "cpu": f"turns 1 {millions:.0f} 0",
            "mem": f"walk 64 {max(1.0, self.memory * alone_s):.0f}",
            "mixed": f"turns {_MIXED_TURNS} {millions * _MIXED_SHARE / _MIXED_TURNS:.0f} "
            f"{pause_ms:.0f}",
            "wait": f"turns {alone_s / turn_s:.0f} {wait_millions} "
            f"{1000 * turn_s * (1 - _WAIT_SHARE):.0f}",
        }


async def pace_of(shop: Shop) -> Pace:
    """Time both kinds of steps on both nodes at once, without other pods."""

    async def has_account() -> bool:
        found = await shop.core.list_namespaced_service_account(shop.namespace)
        return bool(found.items)

    await until("the namespace has a service account", has_account)
    return Pace(*[await _pace(shop, number, command) for number, command in enumerate(_TRIED)])


async def _pace(shop: Shop, number: int, command: str) -> float:
    async def took_s(node: str) -> float:
        pod = a_pod_of("tried", f"tried-{number}-{node}", command)
        pod["spec"]["nodeSelector"] = {HOSTNAME: node}
        await create(shop, pod)
        return took_s_of(await ended(shop, pod["metadata"]["name"]))

    return _TRIED[command] / mean(await asyncio.gather(*(took_s(node) for node in NODES)))


def a_pod_of(kind: str, name: str, command: str) -> Manifest:
    """A pod of a kind, for any node."""
    pod = a_pod(name, command, task=kind, memory="96Mi")
    (container,) = pod["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = CPU_REQUEST
    return pod


def took_s_of(pod: Any) -> float:
    """How long a pod's program took, by its own clock. AssertionError unless it succeeded."""
    assert pod.status.phase == "Succeeded", pod.status
    return int(pod.status.container_statuses[0].state.terminated.message) / 1000
