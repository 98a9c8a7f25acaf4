"""Pods that come one after another, run for a moment and end, and how long each waited."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop
from tests.ha.turns.waiting_for_turns import COMPUTES, WAITS, Waiting

LOOK_EVERY_S = 0.2
RUNS_S = 1.5
"""From the look at which a pod has a node to its end."""
NOT_OVER = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(slots=True)
class Flow:
    """The kubelet of nodes with that many places in all, and a clock beside it.

    started: by name, the UIDs of pods that got a node. held: pods that were seen behind the gate.
    """

    shop: Shop
    places: int
    started: dict[str, set[str]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    longest_idle_s: float = 0.0
    """The longest time in which a place was free, a pod was held, and none started."""
    longest_held_s: float = 0.0
    """The longest time for which one pod was held, with or without room."""
    _busy_s: float | None = None
    _held_since_s: dict[str, float] = field(default_factory=dict)
    _runs_since_s: dict[str, float] = field(default_factory=dict)

    async def keep(self) -> None:
        """Look until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            found = await self.shop.core.list_namespaced_pod(
                self.shop.namespace, field_selector=NOT_OVER
            )
            self.see(found.items, clock())
            for name in self._over(clock()):
                await self.shop.end(name, "succeeded")
                self._runs_since_s.pop(name)
            await asyncio.sleep(LOOK_EVERY_S)

    def see(self, pods: Sequence[Any], now_s: float) -> None:
        """Note which pods are held and which run. now_s: on a clock that cannot jump."""
        held = {pod.metadata.name for pod in pods if _is_held(pod)}
        running = {pod.metadata.name: pod.metadata.uid for pod in pods if pod.spec.node_name}
        new = running.keys() - self._runs_since_s.keys()
        for name in new:
            self._runs_since_s[name] = now_s
            self.started.setdefault(name, set()).add(running[name])
        self._note_waits(held, now_s)
        if self._busy_s is None or new or not held or len(running) >= self.places:
            self._busy_s = now_s
        self.longest_idle_s = max(self.longest_idle_s, now_s - self._busy_s)

    def _note_waits(self, held: set[str], now_s: float) -> None:
        self.held |= held
        for name in held:
            since_s = self._held_since_s.setdefault(name, now_s)
            self.longest_held_s = max(self.longest_held_s, now_s - since_s)

    def _over(self, now_s: float) -> list[str]:
        return [name for name, at_s in self._runs_since_s.items() if now_s - at_s >= RUNS_S]


async def create_until_gated(waiting: Waiting, gated: int, every_s: float) -> dict[str, str]:
    """Create pods of both tasks in turns until that many were gated; return all UIDs by name.

    Some are not gated: those that come while nobody could hold or release them.
    """
    made: dict[str, str] = {}
    while gated:
        name = f"flows-{len(made)}"
        pod = await waiting.create(name, COMPUTES if len(made) % 2 else WAITS)
        made[name] = pod.metadata.uid
        gated -= _is_held(pod)
        await asyncio.sleep(every_s)
    return made


def _is_held(pod: Any) -> bool:
    return labels.ORDER_GATE in [gate.name for gate in pod.spec.scheduling_gates or ()]
